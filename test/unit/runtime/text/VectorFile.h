//===- VectorFile.h - .inp/.out token vectors ------------------------------===//
#pragma once

#include "test/unit/runtime/text/GoldenFile.h"

#include <sstream>

namespace fusec::text::test {

/// Checks `base`.inp against `base`.out, which must hold `count` cases.
inline void checkVectors(const Tokenizer &tokenizer, const std::filesystem::path &base, size_t count) {
  static constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  std::string input = readFile(base.string() + ".inp");
  std::istringstream output(readFile(base.string() + ".out"));
  size_t cases = 0;
  for (size_t at = 0, end; (end = input.find(kSeparator, at)) != std::string::npos;
       at = end + kSeparator.size(), ++cases) {
    std::string text = input.substr(at, end - at), line;
    SCOPED_TRACE(nlohmann::json(text).dump());
    ASSERT_TRUE(std::getline(output, line));
    std::istringstream numbers(line);
    std::vector<TokenId> expected{std::istream_iterator<TokenId>(numbers), {}};
    Result<std::vector<TokenId>> ids = tokenizer.encode(text, {.addSpecial = false, .parseSpecial = false});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, expected);
    // SentencePiece's leading space is stripped again, so the text returns.
    EXPECT_EQ(stream(tokenizer, expected), text);
    EXPECT_EQ(tokenizer.decode(expected), text);
  }
  EXPECT_EQ(cases, count);
}

} // namespace fusec::text::test
