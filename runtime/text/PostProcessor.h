//===- PostProcessor.h - the tokens around a text --------------------------===//
//
// The `post_processor` object of tokenizer.json for a single text: which token
// ids come before and after it (BOS, EOS, CLS, SEP).
//
// Threading: plain data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/TokenId.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace fusec::text {

struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;

  /// Null or absent adds nothing. TemplateProcessing, RobertaProcessing,
  /// BertProcessing, ByteLevel (adds nothing) and Sequence are supported.
  static Result<PostProcessor> parse(const nlohmann::json *spec);
};

} // namespace fusec::text
