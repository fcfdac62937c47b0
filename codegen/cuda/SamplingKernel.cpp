//===- SamplingKernel.cpp - kernels that choose tokens ---------------------===//
#include "codegen/cuda/SamplingKernel.h"

#include "runtime/schema/SamplingMath.h"

#include <algorithm>

namespace fusec::codegen {

namespace {

/// A row is one block's work and is read about ten times, so as many loads in flight as a block can have.
constexpr int sampleThreads = 1024;
/// Words are a 32nd of the logits, and read once.
constexpr int mergeThreads = 256;

constexpr const char *sampleText = R"(//===- sample_tokens - one token per row of logits --------------------------===//
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

extern "C" __global__ void __launch_bounds__(@P)
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

constexpr const char *mergeText = R"(//===- best_tokens - the best id of each row ---------------------------------===//
//
// Grid: [R] programs of @P threads. The head left a word, score and id, for every
// 16 ids; the largest word of a row has its best id. -1 when no id is possible.
//
//===----------------------------------------------------------------------===//
#include "best_ids.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(@P)
    best_tokens(const SamplingMass *words, int *choices, const long long *sizes) {
  constexpr int wordsPerRow = @W;
  __shared__ __align__(16) unsigned char shared[samplingScratchBytes];
  const long long row = blockIdx.x;
  if (row >= sizes[@R]) // R
    return;
  const int id = bestOfWords<@P>(words + row * wordsPerRow, wordsPerRow, shared);
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

std::optional<SamplingTexts> samplingKernels(int64_t vocab, std::span<const std::string> symbols) {
  const auto rows = std::find(symbols.begin(), symbols.end(), "R");
  if (vocab < 1 || vocab >= samplingMaxIds || rows == symbols.end())
    return std::nullopt;
  auto kernel = [&](const char *text, const char *entry, int threads) {
    std::string all = filled(filled(text, "@P", threads), "@V", vocab);
    all = filled(std::move(all), "@W", (vocab + bestIdsUnit - 1) / bestIdsUnit);
    return CudaKernelText{filled(std::move(all), "@R", rows - symbols.begin()), entry, threads, 0, "sample"};
  };
  return SamplingTexts{kernel(sampleText, "sample_tokens", sampleThreads),
                       kernel(mergeText, "best_tokens", mergeThreads)};
}

} // namespace fusec::codegen
