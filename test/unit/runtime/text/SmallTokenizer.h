//===- SmallTokenizer.h - tokenizers written out for tests -----------------===//
#pragma once

#include "runtime/text/ByteLevel.h"
#include "runtime/text/Tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fusec::text::test {

/// Byte-level BPE: ids 0-255 are the bytes, then one token per merge, then
/// "<|end|>" (special) and "<think>" (added, not special).
inline nlohmann::json byteLevelDocument(const std::vector<std::pair<std::string, std::string>> &merges) {
  nlohmann::json vocabulary = nlohmann::json::object(), list = nlohmann::json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[bytesToAlphabet(std::string(1, static_cast<char>(byte)))] = byte;
  int next = 256;
  for (const auto &[left, right] : merges) {
    vocabulary[bytesToAlphabet(left + right)] = next++;
    list.push_back({bytesToAlphabet(left), bytesToAlphabet(right)});
  }
  nlohmann::json byteLevel = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  return {{"added_tokens",
           {{{"id", next}, {"content", "<|end|>"}, {"special", true}, {"normalized", false}},
            {{"id", next + 1}, {"content", "<think>"}, {"special", false}, {"normalized", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byteLevel},
          {"decoder", byteLevel},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", list}}},
          {"fusec", {{"bos_id", 0}, {"eos_id", next}, {"end_ids", {next}}}}};
}

/// SentencePiece BPE with byte fallback: <unk> <s> </s>, 256 bytes, then pieces
/// with descending scores.
inline nlohmann::json sentencePieceDocument(const std::vector<std::string> &pieces) {
  nlohmann::json vocabulary = nlohmann::json::array();
  auto add = [&](std::string_view piece, const nlohmann::json &score) {
    vocabulary.push_back(nlohmann::json::array({piece, score}));
  };
  for (const char *control : {"<unk>", "<s>", "</s>"})
    add(control, nullptr);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", byte);
    add(name, nullptr);
  }
  double score = 0;
  for (const std::string &piece : pieces)
    add(piece, score -= 1);
  auto replace = [](const char *from, const char *to) -> nlohmann::json {
    return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  return {
      {"added_tokens",
       {{{"id", 0}, {"content", "<unk>"}, {"special", true}},
        {{"id", 1}, {"content", "<s>"}, {"special", true}},
        {{"id", 2}, {"content", "</s>"}, {"special", true}}}},
      {"normalizer",
       {{"type", "Sequence"}, {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}, replace(" ", "\u2581")}}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {replace("\u2581", " "),
          {{"type", "ByteFallback"}},
          {{"type", "Fuse"}},
          {{"type", "Strip"}, {"content", " "}, {"start", 1}}}}}},
      {"model", {{"type", "SentencePieceBPE"}, {"byte_fallback", true}, {"unk_id", 0}, {"vocab", vocabulary}}}};
}

inline Tokenizer load(const nlohmann::json &document) {
  Result<Tokenizer> tokenizer = Tokenizer::parse(document.dump());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::move(tokenizer).value();
}

} // namespace fusec::text::test
