//===- SamplingKernel.h - kernels that choose tokens -----------------------===//
//
// Stand behind the head in the plan of a CUDA target (codegen/SamplingPlan.h); no
// graph has them, since they are no part of the model. One block per row.
//
//   sample_tokens   logits f32 [R, vocab], a SamplingRow (runtime/schema/SamplingMath.h) per row, chosen ids i32 [R]
//   best_tokens     words of 64 bits [R, vocab / bestIdsUnit, rounded up] (device/best_ids.cuh), chosen ids i32 [R]
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaKernelText.h"

#include <optional>
#include <span>

namespace fusec::codegen {

struct SamplingTexts {
  CudaKernelText sample, merge;
};

/// `symbols`: the order of `sizes`. Nothing for a vocabulary that sampling.cuh does not take: then the host samples.
std::optional<SamplingTexts> samplingKernels(int64_t vocab, std::span<const std::string> symbols);

} // namespace fusec::codegen
