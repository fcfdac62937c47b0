//===- RandomModel.cpp - the models of golden/e2e/{tiny,storage}.json -------===//
#include "test/e2e/RandomModel.h"

#include "test/unit/models/GgufImage.h"
#include "test/unit/models/SafetensorsImage.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fstream>

namespace fusec::e2e {
namespace {

uint64_t splitmix64(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

int64_t elementsOf(const nlohmann::json &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// float32(offset + scale * u(i)) for the tensor's elements; takes as many numbers from the stream.
std::string affineFloats(const nlohmann::json &tensor, uint64_t &counter) {
  const int64_t count = elementsOf(tensor[1]);
  const double offset = tensor[2], scale = tensor[3];
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(splitmix64(counter++) >> 40) / (1 << 23) - 1;
    const auto value = static_cast<float>(offset + scale * unit);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  return bytes;
}

/// Random blocks of the record's storage type with their forced words.
std::string randomBlocks(const nlohmann::json &record, const nlohmann::json &shape, uint64_t &counter) {
  const size_t blockBytes = record["block_bytes"];
  const size_t size = static_cast<size_t>(elementsOf(shape)) / record["block_elements"].get<size_t>() * blockBytes;
  std::string bytes;
  while (bytes.size() < size) {
    const uint64_t number = splitmix64(counter++);
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
  }
  bytes.resize(size);
  for (size_t block = 0; block < size; block += blockBytes)
    for (const nlohmann::json &rule : record["words"]) {
      uint16_t word;
      char *at = bytes.data() + block + rule[0].get<size_t>();
      std::memcpy(&word, at, sizeof word);
      word = static_cast<uint16_t>((word & rule[1].get<unsigned>()) | rule[2].get<unsigned>());
      std::memcpy(at, &word, sizeof word);
    }
  return bytes;
}

/// Token i is the character U+4E00 + i; nobody reads these models' text.
std::string tokenText(int64_t i) {
  const auto code = static_cast<uint32_t>(0x4E00 + i);
  const char text[] = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
                       static_cast<char>(0x80 | (code & 63))};
  return {text, sizeof text};
}

nlohmann::json tokenizer(int64_t vocab) {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int64_t i = 0; i < vocab; ++i)
    vocabulary[tokenText(i)] = i;
  return {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}};
}

void addMetadata(models::GgufImage &image, const std::string &arch, int64_t vocab) {
  image.text("general.architecture", arch);
  image.u32(arch + ".block_count", 1).u32(arch + ".context_length", 512);
  image.u32(arch + ".embedding_length", 256).u32(arch + ".feed_forward_length", 256);
  image.u32(arch + ".attention.head_count", 8).u32(arch + ".attention.head_count_kv", 2);
  image.f32(arch + ".attention.layer_norm_rms_epsilon", 1e-5f);
  std::vector<std::string> tokens;
  for (int64_t i = 0; i < vocab; ++i)
    tokens.push_back(tokenText(i));
  image.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  image.strings("tokenizer.ggml.tokens", tokens).strings("tokenizer.ggml.merges", {});
}

} // namespace

void writeTinyModel(const nlohmann::json &record, const std::filesystem::path &directory) {
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "config.json") << record["config"].dump();
  std::ofstream(directory / "tokenizer.json") << tokenizer(record["config"]["vocab_size"]).dump();
  models::SafetensorsImage image;
  uint64_t counter = 0;
  for (const nlohmann::json &tensor : record["tensors"])
    image.tensor(tensor[0], "F32", tensor[1].get<std::vector<int64_t>>(), affineFloats(tensor, counter));
  std::ofstream(directory / "model.safetensors", std::ios::binary) << image.build();
}

void writeStorageModel(const nlohmann::json &record, const std::filesystem::path &file) {
  models::GgufImage image;
  addMetadata(image, record["arch"], vocabOf(record));
  uint64_t counter = 0;
  for (const nlohmann::json &tensor : record["tensors"]) {
    auto ne = tensor[1].get<std::vector<uint64_t>>();
    std::reverse(ne.begin(), ne.end());
    const bool isFloats = tensor.size() > 2;
    std::string bytes = isFloats ? affineFloats(tensor, counter) : randomBlocks(record, tensor[1], counter);
    image.tensor({tensor[0], ne, isFloats ? 0 : record["type"].get<uint32_t>(), std::move(bytes), {}, {}});
  }
  std::ofstream(file, std::ios::binary) << image.build();
}

int64_t vocabOf(const nlohmann::json &record) {
  return record.contains("vocab") ? record["vocab"].get<int64_t>() : record["config"]["vocab_size"].get<int64_t>();
}

std::vector<runtime::TokenId> promptOf(const nlohmann::json &record) {
  std::vector<runtime::TokenId> ids;
  for (uint64_t t = 0; t < record["length"].get<uint64_t>(); ++t)
    ids.push_back(
        static_cast<runtime::TokenId>(splitmix64((uint64_t{1} << 40) + t) % static_cast<uint64_t>(vocabOf(record))));
  return ids;
}

double worstDifference(const nlohmann::json &record, const std::vector<float> &logits) {
  const auto vocab = static_cast<size_t>(vocabOf(record));
  double worst = 0;
  for (const auto &[position, row] : record["rows"].items())
    for (size_t i = 0; i < vocab; ++i)
      worst = std::max(worst, std::abs(logits[std::stoul(position) * vocab + i] - row[i].get<double>()));
  return worst;
}

} // namespace fusec::e2e
