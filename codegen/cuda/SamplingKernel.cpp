//===- SamplingKernel.cpp - the kernel that chooses tokens -----------------===//
#include "codegen/cuda/SamplingKernel.h"

#include "runtime/schema/SamplingMath.h"

#include <algorithm>

namespace fusec::codegen {

namespace {

/// A row is one block's work and is read about ten times, so as many loads in flight as a block can have.
constexpr int threadsPerRow = 1024;

constexpr const char *header = R"(//===- sample_tokens - one token per row of logits --------------------------===//
//
// Grid: [R] programs of @P threads; a block chooses the token of its row.
// Steps, in this order: temperature (0: the best id), top-k, top-p, min-p, draw.
// Parameters are read from device memory: a captured graph serves any of them.
//
// Ids from SamplingRow::ids on pad the vocabulary and are never chosen; -1 when
// no id is possible.
//
//===----------------------------------------------------------------------===//
#include "sampling.cuh"

using namespace fusec;

)";

constexpr const char *body = R"(extern "C" __global__ void __launch_bounds__(@P)
    sample_tokens(const float *logits, const SamplingRow *rows, int *choices, const long long *sizes) {
  constexpr int vocab = @V;
  __shared__ __align__(16) unsigned char shared[samplingScratchBytes];
  const long long row = blockIdx.x;
  if (row >= sizes[@R]) // R
    return;
  const int id = chooseToken<@P>(logits + row * vocab, rows[row], shared);
  if (threadIdx.x == 0)
    choices[row] = id;
}
)";

std::string filled(std::string text, const char *place, int64_t value) {
  const std::string number = std::to_string(value);
  for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + number.size()))
    text.replace(at, 2, number);
  return text;
}

} // namespace

std::optional<CudaKernelText> samplingKernel(int64_t vocab, std::span<const std::string> symbols) {
  const auto rows = std::find(symbols.begin(), symbols.end(), "R");
  if (vocab < 1 || vocab >= samplingMaxIds || rows == symbols.end())
    return std::nullopt;
  std::string text = filled(std::string(header) + body, "@P", threadsPerRow);
  text = filled(filled(std::move(text), "@V", vocab), "@R", rows - symbols.begin());
  return CudaKernelText{std::move(text), samplingKernelName, threadsPerRow, 0, "sample"};
}

} // namespace fusec::codegen
