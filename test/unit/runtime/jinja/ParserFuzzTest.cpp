//===- ParserFuzzTest.cpp - damaged templates never crash --------------------===//
//
// Drives the fuzzer's entry point with mutations of the feature templates, so
// that every build checks it, not only one with libFuzzer.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/JinjaFuzzer.cpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

namespace {

std::vector<std::string> seeds() {
  std::ifstream in(std::string(FUSEC_SOURCE_DIR) + "/test/golden/templates/features.json");
  std::vector<std::string> sources;
  for (const auto &row : nlohmann::json::parse(in, nullptr, false))
    sources.push_back(row["source"].get<std::string>());
  return sources;
}

void feed(const std::string &text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
}

} // namespace

TEST(JinjaFuzz, ByteFlips) {
  std::vector<std::string> sources = seeds();
  std::mt19937 random(7);
  for (int round = 0; round < 12'000; ++round) {
    std::string text = sources[random() % sources.size()];
    for (unsigned flips = 1 + random() % 3; flips && !text.empty(); --flips)
      text[random() % text.size()] ^= static_cast<char>(1u << (random() % 8));
    feed(text);
  }
}

TEST(JinjaFuzz, Truncations) {
  for (const std::string &source : seeds())
    for (size_t length = 0; length < source.size(); length += 1 + source.size() / 16)
      feed(source.substr(0, length));
}

TEST(JinjaFuzz, SplicedPieces) {
  std::vector<std::string> sources = seeds();
  std::mt19937 random(11);
  for (int round = 0; round < 6'000; ++round) {
    std::string text;
    for (int piece = 0; piece < 4; ++piece) {
      const std::string &source = sources[random() % sources.size()];
      size_t begin = random() % (source.size() + 1);
      text += source.substr(begin, random() % 24);
    }
    feed("{{ " + text);
    feed(text);
  }
}
