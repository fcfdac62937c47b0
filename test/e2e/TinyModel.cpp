//===- TinyModel.cpp - the random models of golden/e2e/tiny.json ------------===//
#include "test/e2e/TinyModel.h"

#include "test/unit/models/SafetensorsImage.h"

#include <fstream>

namespace fusec::e2e {
namespace {

uint64_t splitmix64(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::string weights(const nlohmann::json &tensors) {
  models::SafetensorsImage image;
  uint64_t counter = 0;
  for (const nlohmann::json &tensor : tensors) {
    const auto shape = tensor[1].get<std::vector<int64_t>>();
    const double offset = tensor[2], scale = tensor[3];
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    std::string bytes;
    for (int64_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(splitmix64(counter++) >> 40) / (1 << 23) - 1;
      const auto value = static_cast<float>(offset + scale * unit);
      bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    image.tensor(tensor[0], "F32", shape, bytes);
  }
  return image.build();
}

/// Token i is the character U+4E00 + i; nobody reads these models' text.
nlohmann::json tokenizer(int64_t vocab) {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int64_t i = 0; i < vocab; ++i) {
    const auto code = static_cast<uint32_t>(0x4E00 + i);
    const char text[] = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
                         static_cast<char>(0x80 | (code & 63))};
    vocabulary[std::string(text, 3)] = i;
  }
  return {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}};
}

} // namespace

void writeTinyModel(const nlohmann::json &record, const std::filesystem::path &directory) {
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "config.json") << record["config"].dump();
  std::ofstream(directory / "tokenizer.json") << tokenizer(record["config"]["vocab_size"]).dump();
  std::ofstream(directory / "model.safetensors", std::ios::binary) << weights(record["tensors"]);
}

std::vector<runtime::TokenId> tinyPrompt(const nlohmann::json &record) {
  const uint64_t vocab = record["config"]["vocab_size"];
  std::vector<runtime::TokenId> ids;
  for (uint64_t t = 0; t < record["length"].get<uint64_t>(); ++t)
    ids.push_back(static_cast<runtime::TokenId>(splitmix64((uint64_t{1} << 40) + t) % vocab));
  return ids;
}

} // namespace fusec::e2e
