//===- GoldenFile.h - the token ids other implementations found ------------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/text/Detokenizer.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/text/Utf8.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fusec::text::test {

inline std::filesystem::path sourceDirectory() { return FUSEC_SOURCE_DIR; }
inline std::filesystem::path goldenDirectory() { return sourceDirectory() / "test/golden/tokenizer"; }
/// Shared model data beside the repository; may be absent.
inline std::filesystem::path dataDirectory() { return sourceDirectory() / "../shared/data"; }

inline std::string readFile(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

#define FUSEC_SKIP_WITHOUT(path)                                                                                       \
  if (!std::filesystem::exists(path))                                                                                  \
  GTEST_SKIP() << "needs " << (path)

/// Feeds ids one by one, checking that every delta is whole characters.
inline std::string stream(const Tokenizer &tokenizer, const std::vector<TokenId> &ids, DecodeOptions options = {}) {
  Detokenizer detokenizer(tokenizer, options);
  std::string text;
  for (TokenId id : ids) {
    std::string delta = detokenizer.push(id);
    EXPECT_TRUE(isValidUtf8(delta));
    text += delta;
  }
  return text + detokenizer.finish();
}

/// Checks the rows of make_goldens.py. "plain" (special tokens as text) is
/// comparable only where no other added token occurs, which the maker's
/// library would still recognise.
inline void checkCases(const Tokenizer &tokenizer, const nlohmann::json &cases) {
  for (const nlohmann::json &row : cases) {
    auto text = row["text"].get<std::string>();
    SCOPED_TRACE(nlohmann::json(text).dump());
    auto expected = row["ids"].get<std::vector<TokenId>>();
    Result<std::vector<TokenId>> ids = tokenizer.encode(text, {.addSpecial = true, .parseSpecial = true});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, expected);
    if (*ids == expected) {
      EXPECT_EQ(tokenizer.decode(*ids, false), row["decoded"].get<std::string>());
      EXPECT_EQ(stream(tokenizer, *ids, {.skipSpecial = false}), tokenizer.decode(*ids, false));
    }
    auto plain = row.value("plain", expected);
    bool comparable = true;
    for (TokenId id : plain)
      comparable &= !tokenizer.isAdded(id) || tokenizer.isSpecial(id);
    Result<std::vector<TokenId>> plainIds = tokenizer.encode(text, {.addSpecial = true, .parseSpecial = false});
    ASSERT_TRUE(plainIds.ok()) << plainIds.status().message();
    if (comparable)
      EXPECT_EQ(*plainIds, plain);
  }
}

} // namespace fusec::text::test
