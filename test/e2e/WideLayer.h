//===- WideLayer.h - one decoder layer of SmolLM2's shape -------------------===//
//
// 576 wide, 9 heads of 64 that share 3 key heads, 1536 hidden; matrices in Q4_1,
// 1024 tokens in Q8_0, which are the head as well: every kernel of the whole
// model at full width, in a file of 3 MB.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>

namespace fusec::e2e {

inline constexpr int64_t wideLayerVocab = 1024;

/// With random weights; the same file every time.
void writeWideLayer(const std::filesystem::path &file);

/// Layer 0 and the first 1024 tokens of SmolLM2-135M in Q4_1. InvalidArgument names what a file lacks.
Status cutWideLayer(const std::filesystem::path &smolLM2, const std::filesystem::path &file);

} // namespace fusec::e2e
