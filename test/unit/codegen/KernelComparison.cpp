//===- KernelComparison.cpp ---------------------------------------------------===//
#include "test/unit/codegen/KernelComparison.h"

#include "test/unit/codegen/KernelHarness.h"

#include "ir/InitAllDialects.h"
#include "ir/reference/KernelInterpreter.h"

#include "mlir/Parser/Parser.h"

#include <cmath>

using namespace fusec::reference;

namespace fusec::codegen {

namespace {

/// Where an element of the interpreter's tensor lies in the host's memory.
int64_t hostOffset(tile::Layout layout, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> i) {
  if (layout == tile::Layout::PagedK) // [pages][H][D][P]
    return ((i[0] * shape[2] + i[2]) * shape[3] + i[3]) * shape[1] + i[1];
  if (layout == tile::Layout::PagedV) // [pages][H][P][D]
    return ((i[0] * shape[2] + i[2]) * shape[1] + i[1]) * shape[3] + i[3];
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    offset = offset * shape[d] + i[d];
  return offset;
}

GuardedBuffer toHost(const Tensor &tensor, tile::Layout layout) {
  GuardedBuffer memory(tensor.size() * 4);
  (void)forEachIndex(tensor.shape(), [&](llvm::ArrayRef<int64_t> i) {
    int64_t at = hostOffset(layout, tensor.shape(), i);
    if (isFloat(tensor.element()))
      memory.as<float>()[at] = static_cast<float>(tensor.get(i));
    else
      memory.as<int32_t>()[at] = static_cast<int32_t>(tensor.get(i));
    return Status();
  });
  return memory;
}

Tensor fromHost(const GuardedBuffer &memory, const Tensor &like, tile::Layout layout) {
  Tensor tensor = like.clone();
  (void)forEachIndex(like.shape(), [&](llvm::ArrayRef<int64_t> i) {
    int64_t at = hostOffset(layout, like.shape(), i);
    tensor.set(i, isFloat(like.element()) ? memory.as<float>()[at] : memory.as<int32_t>()[at]);
    return Status();
  });
  return tensor;
}

} // namespace

ComparedRun runKernelEverywhere(const std::string &text, const std::vector<Tensor> &buffers,
                                const std::map<std::string, int64_t> &symbols, int64_t page) {
  ComparedRun run;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return run.error = "the kernel text does not parse", run;
  auto kernel = *module->getOps<tile::KernelOp>().begin();
  Environment environment;
  environment.page = page;
  std::vector<int64_t> values;
  for (const char *name : {"T", "S", "B", "R", "C"}) {
    auto found = symbols.find(name);
    values.push_back(found != symbols.end() ? found->second : *name == 'C' ? page : 1);
    environment.symbols[name] = values.back();
  }
  for (const Tensor &buffer : buffers)
    run.expected.push_back(buffer.clone());
  Result<KernelRun> interpreted = interpretKernel(kernel, run.expected, environment, Precision::Exact);
  if (!interpreted)
    return run.error = interpreted.status().message(), run;

  auto layoutOf = [&](size_t i) {
    return mlir::cast<tile::BufferType>(kernel.getBody().getArgument(i).getType()).getLayout();
  };
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(text, level, page);
    if (!kernels.error().empty())
      return run.error = kernels.error(), run;
    std::vector<GuardedBuffer> memory;
    std::vector<void *> addresses;
    for (size_t i = 0; i < buffers.size(); ++i) {
      memory.push_back(toHost(buffers[i], layoutOf(i)));
      addresses.push_back(memory.back().as());
    }
    kernels.run(kernel.getSymName().str(), addresses, values, interpreted->programs);
    HostOutcome &outcome = run.outcomes.emplace_back(HostOutcome{level, {}});
    for (size_t i = 0; i < buffers.size(); ++i) {
      outcome.buffers.push_back(fromHost(memory[i], buffers[i], layoutOf(i)));
      if (!memory[i].slackIsUntouched())
        run.error = level + " wrote behind buffer " + std::to_string(i);
    }
  }
  return run;
}

int64_t differences(const Tensor &a, const Tensor &b) {
  int64_t wrong = 0;
  const std::vector<double> x = a.values(), y = b.values();
  for (size_t i = 0; i < x.size(); ++i)
    wrong += !(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])));
  return wrong;
}

} // namespace fusec::codegen
