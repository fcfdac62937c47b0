//===- EmbeddingCall.h - an embedding request, understood -------------------------===//
//
// From the body of a request to token ids. Runs on a worker thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/openai/GenerationCall.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fusec::serve {

enum class EmbeddingFormat { Float, Base64 };

struct EmbeddingCall {
  std::vector<std::vector<text::TokenId>> inputs; ///< None empty, each within the context.
  EmbeddingFormat format = EmbeddingFormat::Float;
  int64_t dimensions = 0;         ///< Numbers to give of each embedding, from 1 to the model's.
  std::string user;               ///< For the log.
  std::vector<std::string> texts; ///< Of the inputs; only with ApiOptions::logPrompts.
};

Failure readEmbeddingCall(const std::string &body, const CallContext &context, EmbeddingCall &call);

} // namespace fusec::serve
