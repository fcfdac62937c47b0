//===- EmbeddingReply.cpp - embeddings in OpenAI's form ----------------------------===//
#include "serve/openai/EmbeddingReply.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace fusec::serve {

std::string base64(std::span<const std::byte> bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < count ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += j <= count ? digits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::vector<float> shortened(std::span<const float> embedding, int64_t dimensions) {
  std::vector<float> kept(embedding.begin(), embedding.begin() + dimensions);
  if (kept.size() == embedding.size())
    return kept;
  double squares = 0;
  for (float value : kept)
    squares += static_cast<double>(value) * value;
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (float &value : kept)
    value = static_cast<float>(value * scale);
  return kept;
}

/// Each number in the fewest digits that give it back: a JSON library would print the digits of a double.
static void appendNumbers(std::string &out, std::span<const float> values) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    char text[32];
    const auto printed = std::to_chars(text, text + sizeof text, values[i]);
    out.append(i == 0 ? "" : ",").append(text, printed.ptr);
  }
  out += ']';
}

static void appendEmbedding(std::string &out, std::span<const float> values, EmbeddingFormat format) {
  static_assert(std::endian::native == std::endian::little, "clients read little-endian floats");
  if (format == EmbeddingFormat::Float)
    appendNumbers(out, values);
  else
    out += '"' + base64(std::as_bytes(values)) + '"';
}

int64_t inputTokens(const EmbeddingCall &call) {
  int64_t tokens = 0;
  for (const auto &input : call.inputs)
    tokens += static_cast<int64_t>(input.size());
  return tokens;
}

std::string embeddingReply(const EmbeddingCall &call, std::string_view model,
                           const std::vector<std::vector<float>> &embeddings) {
  std::string out = R"({"object":"list","data":[)";
  for (size_t i = 0; i < embeddings.size(); ++i) {
    out +=
        (i == 0 ? "" : ",") + std::string(R"({"object":"embedding","index":)") + std::to_string(i) + R"(,"embedding":)";
    appendEmbedding(out, shortened(embeddings[i], call.dimensions), call.format);
    out += '}';
  }
  const int64_t tokens = inputTokens(call);
  const nlohmann::json usage = {{"prompt_tokens", tokens}, {"total_tokens", tokens}};
  return out + R"(],"model":)" + dumpJson(std::string(model)) + R"(,"usage":)" + dumpJson(usage) + "}";
}

} // namespace fusec::serve
