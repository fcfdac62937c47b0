//===- PreTokenizer.h - cutting text into the words BPE works on -----------===//
//
// The `pre_tokenizer` object of tokenizer.json as a flat list of steps: Split,
// Digits, Punctuation, Whitespace, WhitespaceSplit, ByteLevel, Metaspace,
// Sequence. Each step cuts every piece of the step before it.
//
// ByteLevel's alphabet is not applied to the text (the vocabulary is kept in
// raw bytes instead), except between ByteLevel and later steps of a Sequence,
// which by definition see the alphabet.
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
#include <vector>

namespace fusec::text {

/// Text and the ascending, disjoint pieces of it that become words. Bytes
/// outside all pieces are dropped.
struct PreTokenized {
  std::string text;
  std::vector<TextRange> pieces;
};

class PreTokenizer {
public:
  /// Null or absent means one piece. Unsupported for other kinds.
  static Result<PreTokenizer> parse(const nlohmann::json *spec);

  /// True when the vocabulary is spelled in the byte-level alphabet.
  bool isByteLevel() const { return byteLevel; }

  /// Cuts `text` (valid UTF-8, normalized). `atTextStart`: it begins the whole
  /// input rather than following an added token (Metaspace's "first" scheme).
  Result<PreTokenized> run(std::string text, bool atTextStart) const;

private:
  enum class Kind { Split, ByteLevel, Metaspace };
  enum class Behavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
  enum class PrependScheme { Always, First, Never };
  using CharacterClass = bool (*)(char32_t);

  struct Step {
    Kind kind;
    std::optional<Regex> pattern{};          ///< Split; ByteLevel with use_regex.
    CharacterClass characterClass = nullptr; ///< Split by a property instead of a pattern.
    Behavior behavior = Behavior::Isolated;
    bool invert = false;
    bool addPrefixSpace = false;  ///< ByteLevel.
    bool spellInAlphabet = false; ///< ByteLevel that is not the last step.
    std::string replacement{};    ///< Metaspace.
    PrependScheme prependScheme = PrependScheme::Always;
  };
  struct Segment {
    TextRange range;
    bool isMatch;
  };

  Status append(const nlohmann::json &spec, int depth);
  Status appendSplit(const nlohmann::json &spec);
  Status appendDigits(const nlohmann::json &spec);
  Status appendPunctuation(const nlohmann::json &spec);
  Status appendByteLevel(const nlohmann::json &spec);
  Status appendMetaspace(const nlohmann::json &spec);
  static Result<Behavior> parseBehavior(const nlohmann::json &spec, const char *fallback);

  static Status split(const Step &step, PreTokenized &work);
  static void findByClass(CharacterClass inClass, std::string_view text, std::vector<TextRange> &matches);
  static void emit(const std::vector<Segment> &segments, Behavior behavior, std::vector<TextRange> &out);
  static void prefixSpaces(PreTokenized &work);
  static void replaceSpaces(const Step &step, PreTokenized &work, bool atTextStart);

  std::vector<Step> steps;
  bool byteLevel = false;
};

} // namespace fusec::text
