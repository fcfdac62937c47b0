//===- IRFixture.h - parses IR from text and runs it ---------------------------===//
#pragma once

#include "ir/InitAllDialects.h"
#include "ir/reference/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fusec::reference {

class IRFixture : public ::testing::Test {
protected:
  IRFixture() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The module must parse and verify.
  mlir::ModuleOp parse(llvm::StringRef text) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      std::string location;
      llvm::raw_string_ostream(location) << d.getLocation();
      ADD_FAILURE() << location << ": " << d.str();
      return mlir::success();
    });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return module ? *module : mlir::ModuleOp();
  }

  /// Parses a module with one function, runs it.
  Result<std::vector<Tensor>> tryRun(llvm::StringRef text, llvm::ArrayRef<Tensor> inputs,
                                     Precision precision = Precision::F64) {
    mlir::ModuleOp parsed = parse(text);
    if (!parsed)
      return invalidArgument("does not parse");
    return interpretGraph(*parsed.getOps<mlir::func::FuncOp>().begin(), inputs, environment, precision);
  }

  /// The same, must succeed; the values of the first result in row-major order.
  std::vector<double> run(llvm::StringRef text, llvm::ArrayRef<Tensor> inputs, Precision precision = Precision::F64) {
    Result<std::vector<Tensor>> results = tryRun(text, inputs, precision);
    if (!results) {
      ADD_FAILURE() << results.status().message();
      return {};
    }
    shape.assign((*results)[0].shape().begin(), (*results)[0].shape().end());
    return (*results)[0].values();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Environment environment;
  std::vector<int64_t> shape; ///< Of the last run's first result.
};

inline Tensor floats(llvm::ArrayRef<int64_t> shape, std::vector<double> values) {
  return Tensor::fromValues(Element::F32, shape, std::move(values));
}
inline Tensor integers(std::vector<double> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return Tensor::fromValues(Element::I32, {n}, std::move(values));
}
/// Uniform in [-1, 1], exact in f32.
inline Tensor randomFloats(llvm::ArrayRef<int64_t> shape, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<double> values(numElements(shape));
  for (double &v : values)
    v = uniform(generator);
  return floats(shape, std::move(values));
}

/// Unit roundoff of f32.
inline constexpr double f32Roundoff = 0x1p-24;

inline void expectNear(llvm::ArrayRef<double> actual, llvm::ArrayRef<double> expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
}

} // namespace fusec::reference
