//===- ByteReader.h - a bounds-checked cursor over bytes -------------------===//
//
// Reads little-endian scalars and byte runs; a read past the end returns false
// and moves nothing. Borrows the bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace fusec::models {

static_assert(std::endian::native == std::endian::little, "model files are read in place as little endian");

class ByteReader {
public:
  explicit ByteReader(std::span<const std::byte> bytes) : all(bytes) {}

  uint64_t position() const { return at; }
  uint64_t remaining() const { return all.size() - at; }

  template <typename T> bool read(T &out) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    if (remaining() < sizeof(T))
      return false;
    std::memcpy(&out, all.data() + at, sizeof(T));
    at += sizeof(T);
    return true;
  }

  bool take(uint64_t count, std::span<const std::byte> &out) {
    if (remaining() < count)
      return false;
    out = all.subspan(at, count);
    at += count;
    return true;
  }

  /// A string stored as a 64-bit length and its bytes.
  bool readString(std::string_view &out) {
    const size_t start = at;
    uint64_t length = 0;
    std::span<const std::byte> bytes;
    if (!read(length) || !take(length, bytes)) {
      at = start;
      return false;
    }
    out = {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
    return true;
  }

private:
  std::span<const std::byte> all;
  size_t at = 0;
};

} // namespace fusec::models
