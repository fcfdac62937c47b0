//===- EmbeddingReply.h - embeddings in OpenAI's form ------------------------------===//
//
// Pure functions of their arguments.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/openai/EmbeddingCall.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::serve {

/// The whole answer to `call`: `embeddings` one per input, in order, each of the model's width.
std::string embeddingReply(const EmbeddingCall &call, std::string_view model,
                           const std::vector<std::vector<float>> &embeddings);

/// Tokens of all inputs.
int64_t inputTokens(const EmbeddingCall &call);

/// The first `dimensions` numbers, brought to length 1 in L2 where some are left out.
std::vector<float> shortened(std::span<const float> embedding, int64_t dimensions);

/// RFC 4648, with padding.
std::string base64(std::span<const std::byte> bytes);

} // namespace fusec::serve
