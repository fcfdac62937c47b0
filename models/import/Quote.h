//===- Quote.h - text from files inside error messages ---------------------===//
//
// Names found in a hostile file may hold control bytes or be megabytes long;
// `quote` makes them safe to print on one line.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::models {

/// `text` in single quotes, control bytes as \xNN, cut after `maxChars` bytes.
inline std::string quote(std::string_view text, size_t maxChars = 80) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "'";
  for (unsigned char c : text.substr(0, maxChars)) {
    if (c >= 0x20 && c != 0x7f) {
      out += static_cast<char>(c);
      continue;
    }
    out += "\\x";
    out += digits[c >> 4];
    out += digits[c & 15];
  }
  return out + (text.size() > maxChars ? "...'" : "'");
}

/// "[64, 172]"
inline std::string shapeText(const std::vector<int64_t> &shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

} // namespace fusec::models
