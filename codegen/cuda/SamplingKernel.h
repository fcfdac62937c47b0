//===- SamplingKernel.h - the kernel that chooses tokens -------------------===//
//
// Stands behind the head in the plan of a CUDA target; no graph has it, since it
// is no part of the model. Arguments: logits f32 [R, vocab], a SamplingRow
// (runtime/schema/SamplingMath.h) per row, chosen ids i32 [R]; one block per row.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaKernelText.h"

#include <optional>
#include <span>

namespace fusec::codegen {

/// Its entry, and its name in the plan.
inline constexpr const char *samplingKernelName = "sample_tokens";

/// `symbols`: the order of `sizes`. Nothing for a vocabulary that sampling.cuh does not take: then the host samples.
std::optional<CudaKernelText> samplingKernel(int64_t vocab, std::span<const std::string> symbols);

} // namespace fusec::codegen
