//===- WideLayer.cpp - one decoder layer of SmolLM2's shape -----------------===//
#include "test/e2e/WideLayer.h"

#include "runtime/base/Float16.h"
#include "test/unit/models/GgufImage.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <random>

namespace fusec::e2e {
namespace {

constexpr uint32_t floats = 0, q4_1 = 3, q8_0 = 8; // type ids of GGUF

struct Shape {
  const char *name;
  std::vector<uint64_t> ne; ///< Columns, rows.
  uint32_t type;
};

const Shape shapes[] = {
    {"token_embd.weight", {576, wideLayerVocab}, q8_0},
    {"blk.0.attn_norm.weight", {576}, floats},
    {"blk.0.attn_q.weight", {576, 576}, q4_1},
    {"blk.0.attn_k.weight", {576, 192}, q4_1},
    {"blk.0.attn_v.weight", {576, 192}, q4_1},
    {"blk.0.attn_output.weight", {576, 576}, q4_1},
    {"blk.0.ffn_norm.weight", {576}, floats},
    {"blk.0.ffn_gate.weight", {576, 1536}, q4_1},
    {"blk.0.ffn_up.weight", {576, 1536}, q4_1},
    {"blk.0.ffn_down.weight", {1536, 576}, q4_1},
    {"output_norm.weight", {576}, floats},
};

uint64_t elementsOf(const Shape &shape) {
  uint64_t count = 1;
  for (uint64_t extent : shape.ne)
    count *= extent;
  return count;
}

uint64_t bytesOf(const Shape &shape) {
  const uint64_t n = elementsOf(shape);
  return shape.type == floats ? 4 * n : shape.type == q4_1 ? n / 32 * 20 : n / 32 * 34;
}

models::GgufImage metadata() {
  models::GgufImage image;
  image.text("general.architecture", "llama");
  image.u32("llama.block_count", 1).u32("llama.context_length", 1024);
  image.u32("llama.embedding_length", 576).u32("llama.feed_forward_length", 1536);
  image.u32("llama.attention.head_count", 9).u32("llama.attention.head_count_kv", 3);
  image.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f).f32("llama.rope.freq_base", 1e5f);
  image.u32("llama.rope.dimension_count", 64);
  std::vector<std::string> tokens;
  for (int64_t i = 0; i < wideLayerVocab; ++i)
    tokens.push_back("t" + std::to_string(i));
  image.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  image.strings("tokenizer.ggml.tokens", tokens).strings("tokenizer.ggml.merges", {});
  return image;
}

void write(const std::filesystem::path &file, const std::function<std::string(const Shape &)> &dataOf) {
  models::GgufImage image = metadata();
  for (const Shape &shape : shapes)
    image.tensor({shape.name, shape.ne, shape.type, dataOf(shape), {}, {}});
  std::ofstream(file, std::ios::binary) << image.build();
}

/// Weights whose products with a normalised row are about 1: uniform codes, scales 20 % apart.
class RandomTensors {
public:
  std::string operator()(const Shape &shape) {
    std::string bytes;
    const double deviation = 1 / std::sqrt(static_cast<double>(shape.ne[0]));
    for (uint64_t i = 0; i < elementsOf(shape) / 32; ++i)
      if (shape.type == floats)
        for (int j = 0; j < 32; ++j)
          put(bytes, static_cast<float>(between(0.8, 1.2)));
      else if (shape.type == q4_1)
        addBlock(bytes, deviation * std::sqrt(12.0) / 15, -7.5, 16);
      else
        addBlock(bytes, deviation * std::sqrt(12.0) / 255, 0, 32);
    return bytes;
  }

private:
  double between(double low, double high) { return low + (high - low) * static_cast<double>(rng()) / 4294967296.0; }
  template <class T> static void put(std::string &bytes, T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  /// A scale, a minimum of that many scales unless it is 0, random codes.
  void addBlock(std::string &bytes, double scale, double minimum, int codes) {
    scale *= between(0.8, 1.2);
    put(bytes, floatToHalf(static_cast<float>(scale)));
    if (minimum != 0)
      put(bytes, floatToHalf(static_cast<float>(scale * minimum)));
    for (int i = 0; i < codes; ++i)
      put(bytes, static_cast<uint8_t>(rng() >> 24));
  }

  std::mt19937 rng{2024};
};

} // namespace

void writeWideLayer(const std::filesystem::path &file) { write(file, RandomTensors()); }

Status cutWideLayer(const std::filesystem::path &smolLM2, const std::filesystem::path &file) {
  FUSEC_ASSIGN_OR_RETURN(models::Gguf model, models::Gguf::open(smolLM2));
  for (const Shape &shape : shapes) {
    const models::TensorInfo *tensor = model.findTensor(shape.name);
    if (!tensor || tensor->bytes < static_cast<int64_t>(bytesOf(shape)))
      return invalidArgument("'" + smolLM2.string() + "' has no '" + shape.name + "' of at least " +
                             std::to_string(bytesOf(shape)) + " bytes");
  }
  write(file, [&](const Shape &shape) {
    return std::string(reinterpret_cast<const char *>(model.findTensor(shape.name)->data), bytesOf(shape));
  });
  return {};
}

} // namespace fusec::e2e
