#include "codegen/cuda/EmitKernel.h"
namespace fusec::codegen {
Result<CudaKernelText> emitCudaKernel(tile::KernelOp kernel, const CudaEmitOptions &options) {
  std::string name = kernel.getSymName().str();
  std::string text = "// " + name + "\nextern \"C\" __global__ void __launch_bounds__(128) " + name + "(";
  for (size_t i = 0; i < kernel.getBody().getNumArguments(); ++i) text += "float *b" + std::to_string(i) + ", ";
  text += "const long long *sizes) { b0[threadIdx.x] = sizes[0]; }\n";
  return CudaKernelText{text, name, 128, 0, "elementwise"};
}
}
