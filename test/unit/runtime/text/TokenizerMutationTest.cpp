//===- TokenizerMutationTest.cpp - damaged tokenizer.json ------------------===//
//
// A damaged file is refused or gives a tokenizer that still works; it never
// crashes. test/fuzz/TokenizerFuzzer.cpp drives the same path.
//
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/text/GoldenFile.h"
#include "test/unit/runtime/text/SmallTokenizer.h"

#include <random>

namespace fusec::text::test {
namespace {

void useTokenizer(std::string_view json) {
  Result<Tokenizer> tokenizer = Tokenizer::parse(json);
  if (!tokenizer) {
    EXPECT_FALSE(tokenizer.status().message().empty());
    return;
  }
  for (bool parseSpecial : {false, true}) {
    Result<std::vector<TokenId>> ids = tokenizer->encode("a b<|end|>1 \xE6\x97\xA5\xFF", {true, parseSpecial});
    if (!ids)
      continue;
    for (TokenId id : *ids)
      EXPECT_TRUE(id >= 0 && id < tokenizer->size());
    EXPECT_TRUE(isValidUtf8(tokenizer->decode(*ids)));
  }
}

/// A document that uses every kind of stage, with a small vocabulary.
std::string seed(bool sentencePiece) {
  nlohmann::json document =
      sentencePiece ? sentencePieceDocument({"\u2581", "a", "b", "ab"}) : byteLevelDocument({{"a", "b"}, {" ", "a"}});
  if (!sentencePiece) {
    document["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFKC"}}, {{"type", "Lowercase"}}}}};
    document["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"Regex", R"(\p{N}{1,3}|\s+(?!\S)| ?\w+)"}}}, {"behavior", "Isolated"}},
          {{"type", "Digits"}, {"individual_digits", true}},
          document["pre_tokenizer"]}}};
    document["post_processor"] = {{"type", "TemplateProcessing"},
                                  {"single", {{{"SpecialToken", {{"id", "<|end|>"}}}}, {{"Sequence", {{"id", "A"}}}}}},
                                  {"special_tokens", {{"<|end|>", {{"ids", {258}}}}}}};
  }
  return document.dump();
}

TEST(TokenizerMutation, byteFlipsAndTruncationsNeverCrash) {
  std::mt19937 random(2026);
  for (bool sentencePiece : {false, true}) {
    const std::string original = seed(sentencePiece);
    ASSERT_TRUE(Tokenizer::parse(original).ok()) << Tokenizer::parse(original).status().message();
    for (int round = 0; round < 5000; ++round) {
      std::string damaged = original;
      if (round % 8 == 7)
        damaged.resize(random() % damaged.size());
      // Half of the flips hit the stages rather than the long vocabulary.
      for (unsigned flips = 1 + random() % 3; flips > 0 && !damaged.empty(); --flips)
        damaged[random() % damaged.size()] = round % 2
                                                 ? static_cast<char>(random())
                                                 : static_cast<char>(" 0123456789\"{}[],:\\.-abcdeNS"[random() % 28]);
      useTokenizer(damaged);
    }
  }
}

/// Replaces whole values, which flips rarely achieve.
TEST(TokenizerMutation, wrongTypesEverywhere) {
  const nlohmann::json values[] = {
      nullptr, true, -1, 1e300, 4294967296, "", "x", nlohmann::json::array(), nlohmann::json::object(), {1, 2}};
  for (bool sentencePiece : {false, true}) {
    nlohmann::json original = nlohmann::json::parse(seed(sentencePiece));
    const nlohmann::json flat = original.flatten();
    for (const auto &[pointer, unused] : flat.items()) {
      if (pointer.starts_with("/model/vocab/") && pointer.size() > 16)
        continue;
      // The value itself and every container around it.
      for (nlohmann::json::json_pointer at(pointer); !at.empty(); at = at.parent_pointer())
        for (const nlohmann::json &value : values) {
          nlohmann::json damaged = original;
          damaged[at] = value;
          useTokenizer(damaged.dump());
        }
    }
  }
}

} // namespace
} // namespace fusec::text::test
