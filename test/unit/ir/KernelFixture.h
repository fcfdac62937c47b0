//===- KernelFixture.h - runs tile kernels from text ---------------------------===//
#pragma once

#include "test/unit/ir/IRFixture.h"

#include "ir/reference/KernelInterpreter.h"

namespace fusec::reference {

class KernelFixture : public IRFixture {
protected:
  Result<KernelRun> tryKernel(llvm::StringRef text, llvm::ArrayRef<Tensor> buffers,
                              Precision precision = Precision::Exact, KernelOptions options = {}) {
    mlir::ModuleOp parsed = parse(text);
    if (!parsed)
      return invalidArgument("does not parse");
    return interpretKernel(*parsed.getOps<tile::KernelOp>().begin(), buffers, environment, precision, options);
  }
  KernelRun runKernel(llvm::StringRef text, llvm::ArrayRef<Tensor> buffers, Precision precision = Precision::Exact,
                      KernelOptions options = {}) {
    Result<KernelRun> result = tryKernel(text, buffers, precision, options);
    EXPECT_TRUE(result) << result.status().message();
    return result ? *result : KernelRun();
  }
  void expectError(const Result<KernelRun> &result, const std::string &part) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.status().message().find(part), std::string::npos) << result.status().message();
  }
};

inline Tensor nans(llvm::ArrayRef<int64_t> shape) { return Tensor::filled(Element::F32, shape, NAN); }

} // namespace fusec::reference
