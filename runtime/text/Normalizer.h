//===- Normalizer.h - text clean-up before tokenization --------------------===//
//
// The `normalizer` object of tokenizer.json as a flat list of steps: NFC, NFD,
// NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Sequence.
//
// Threading: immutable after parse.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/Regex.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::text {

class Normalizer {
public:
  /// Null or absent means no normalization. Unsupported for other kinds.
  static Result<Normalizer> parse(const nlohmann::json *spec);

  bool empty() const { return steps.empty(); }

  /// `text` must be valid UTF-8 and so is the result.
  Result<std::string> apply(std::string_view text) const;

private:
  enum class Kind { Nfc, Nfd, Nfkc, Nfkd, Lowercase, StripAccents, Strip, Prepend, Replace };
  struct Step {
    Kind kind;
    std::string content;            ///< Prepend, Replace: what to insert.
    std::optional<Regex> pattern{}; ///< Replace.
    bool stripLeft = false, stripRight = false;
  };

  Status append(const nlohmann::json &spec, int depth);
  Status appendReplace(const nlohmann::json &spec);
  Status appendStrip(const nlohmann::json &spec);
  static Result<std::string> applyStep(const Step &step, std::string text);

  std::vector<Step> steps;
};

/// A `pattern` object, {"String": s} or {"Regex": r}; not empty.
Result<Regex> parsePattern(const nlohmann::json &owner, std::string_view what);

} // namespace fusec::text
