//===- GgufImage.h - writes GGUF bytes for tests ---------------------------===//
//
// Writes whatever it is told, also what no reader should accept.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/Gguf.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fusec::models {

/// Appends little-endian values and length-prefixed strings.
struct ByteWriter {
  std::string bytes;
  template <typename T> ByteWriter &put(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  ByteWriter &text(std::string_view value) {
    put<uint64_t>(value.size());
    bytes += value;
    return *this;
  }
};

inline std::span<const std::byte> asBytes(const std::string &text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

/// A GGUF image under construction.
class GgufImage {
public:
  struct Tensor {
    std::string name;
    std::vector<uint64_t> ne; ///< GGUF order: innermost first.
    uint32_t type = 0;
    std::string data;
    std::optional<uint64_t> offset; ///< Instead of the next free one.
    std::optional<uint32_t> dims;   ///< Instead of ne.size().
  };

  uint32_t version = 3;
  uint64_t alignment = 32; ///< Of the data; written as metadata only by `entry`.
  std::optional<uint64_t> tensorCount, entryCount;
  std::vector<Tensor> tensors;

  template <typename T> GgufImage &scalar(std::string_view key, GgufType type, T value) {
    return entry(key, type, ByteWriter().put(value).bytes);
  }
  GgufImage &u32(std::string_view key, uint32_t value) { return scalar(key, GgufType::UInt32, value); }
  GgufImage &f32(std::string_view key, float value) { return scalar(key, GgufType::Float32, value); }
  GgufImage &text(std::string_view key, std::string_view value) {
    return entry(key, GgufType::String, ByteWriter().text(value).bytes);
  }
  GgufImage &strings(std::string_view key, const std::vector<std::string> &values) {
    ByteWriter w;
    w.put(static_cast<uint32_t>(GgufType::String)).put<uint64_t>(values.size());
    for (const std::string &value : values)
      w.text(value);
    return entry(key, GgufType::Array, w.bytes);
  }
  GgufImage &entry(std::string_view key, GgufType type, std::string_view payload) {
    return rawEntry(key, static_cast<uint32_t>(type), payload);
  }
  GgufImage &rawEntry(std::string_view key, uint32_t type, std::string_view payload) {
    ByteWriter w;
    w.text(key).put(type);
    w.bytes += payload;
    entries.push_back(w.bytes);
    return *this;
  }
  GgufImage &tensor(Tensor t) {
    tensors.push_back(std::move(t));
    return *this;
  }
  /// An F32 tensor of the right size filled with `value`; `ne` innermost first.
  GgufImage &floats(std::string_view name, std::vector<uint64_t> ne, float value = 0.0f) {
    uint64_t elements = 1;
    for (uint64_t n : ne)
      elements *= n;
    ByteWriter w;
    for (uint64_t i = 0; i < elements; ++i)
      w.put(value);
    return tensor({std::string(name), std::move(ne), 0, std::move(w.bytes), {}, {}});
  }

  /// The file's bytes. `edges` (optional) receives the position after each part.
  std::string build(std::vector<size_t> *edges = nullptr) const {
    ByteWriter w;
    auto edge = [&] {
      if (edges)
        edges->push_back(w.bytes.size());
    };
    w.bytes = "GGUF";
    edge();
    w.put(version)
        .put<uint64_t>(tensorCount.value_or(tensors.size()))
        .put<uint64_t>(entryCount.value_or(entries.size()));
    edge();
    for (const std::string &e : entries) {
      w.bytes += e;
      edge();
    }
    std::string data;
    for (const Tensor &t : tensors) {
      data.resize((data.size() + alignment - 1) / alignment * alignment);
      w.text(t.name).put<uint32_t>(t.dims.value_or(static_cast<uint32_t>(t.ne.size())));
      for (uint64_t n : t.ne)
        w.put(n);
      w.put(t.type).put<uint64_t>(t.offset.value_or(data.size()));
      data += t.data;
      edge();
    }
    w.bytes.resize((w.bytes.size() + alignment - 1) / alignment * alignment);
    edge();
    w.bytes += data;
    edge();
    return w.bytes;
  }

private:
  std::vector<std::string> entries;
};

} // namespace fusec::models
