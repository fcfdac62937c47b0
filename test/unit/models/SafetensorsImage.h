//===- SafetensorsImage.h - writes safetensors bytes for tests -------------===//
#pragma once

#include "models/import/Safetensors.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fusec::models {

/// A safetensors image under construction; `header` may be edited before build.
class SafetensorsImage {
public:
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  std::optional<uint64_t> headerLength; ///< Instead of the true one.

  /// Appends a tensor whose bytes are `bytes`.
  SafetensorsImage &tensor(const std::string &name, const std::string &dtype, const std::vector<int64_t> &shape,
                           std::string_view bytes) {
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
    return *this;
  }
  /// An F32 tensor with every element `value`.
  SafetensorsImage &floats(const std::string &name, const std::vector<int64_t> &shape, float value = 0.0f) {
    int64_t elements = 1;
    for (int64_t n : shape)
      elements *= n;
    std::string bytes;
    for (int64_t i = 0; i < elements; ++i)
      bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return tensor(name, "F32", shape, bytes);
  }
  std::string build() const { return buildWith(header.dump()); }
  std::string buildWith(const std::string &text) const {
    const uint64_t length = headerLength.value_or(text.size());
    return std::string(reinterpret_cast<const char *>(&length), 8) + text + data;
  }
};

} // namespace fusec::models
