//===- StringLiteral.cpp - escapes of a template's string literals -----------===//
#include "runtime/text/jinja/StringLiteral.h"

#include "runtime/text/jinja/Unicode.h"

#include <charconv>

namespace fusec::text::jinja {

namespace {

constexpr std::pair<char, std::string_view> kSimpleEscapes[] = {{'n', "\n"}, {'t', "\t"}, {'r', "\r"}, {'\\', "\\"},
                                                                {'\'', "'"}, {'"', "\""}, {'a', "\a"}, {'b', "\b"},
                                                                {'f', "\f"}, {'v', "\v"}, {'\n', ""}};
constexpr std::pair<char, int> kHexEscapes[] = {{'x', 2}, {'u', 4}, {'U', 8}};

/// Decodes one escape whose letter stands at `pos`; moves `pos` behind it.
class EscapeReader {
public:
  EscapeReader(std::string_view b, std::string &o) : body(b), out(o) {}

  Status read(size_t &pos) {
    char letter = body[pos];
    for (const auto &[c, text] : kSimpleEscapes)
      if (c == letter) {
        out += text;
        ++pos;
        return {};
      }
    for (const auto &[c, digits] : kHexEscapes)
      if (c == letter)
        return readHex(pos, digits);
    if (letter >= '0' && letter <= '7')
      return readOctal(pos);
    out += '\\';
    return {};
  }

private:
  Status readHex(size_t &pos, int digits) {
    auto count = static_cast<size_t>(digits);
    uint32_t value = 0;
    if (pos + 1 + count > body.size())
      return corruptData("truncated escape in a string");
    const char *begin = body.data() + pos + 1;
    auto parsed = std::from_chars(begin, begin + count, value, 16);
    if (parsed.ptr != begin + count || value > 0x10FFFF)
      return corruptData("malformed escape in a string");
    pos += 1 + count;
    appendUtf8(joinSurrogates(value, pos), out);
    return {};
  }
  /// "\ud83d\ude00" spells one character; Python would keep two surrogates that no UTF-8 text can hold.
  char32_t joinSurrogates(uint32_t high, size_t &pos) {
    bool paired = high >= 0xD800 && high < 0xDC00 && pos + 6 <= body.size() && body.substr(pos, 2) == "\\u";
    uint32_t low = 0;
    if (paired)
      std::from_chars(body.data() + pos + 2, body.data() + pos + 6, low, 16);
    if (low < 0xDC00 || low > 0xDFFF)
      return high;
    pos += 6;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }
  Status readOctal(size_t &pos) {
    char32_t value = 0;
    for (int i = 0; i < 3 && pos < body.size() && body[pos] >= '0' && body[pos] <= '7'; ++i)
      value = value * 8 + static_cast<char32_t>(body[pos++] - '0');
    appendUtf8(value, out);
    return {};
  }

  std::string_view body;
  std::string &out;
};

} // namespace

Result<std::string> decodeStringLiteral(std::string_view body) {
  std::string out;
  EscapeReader reader(body, out);
  for (size_t pos = 0; pos < body.size();) {
    if (body[pos] != '\\' || pos + 1 == body.size()) {
      out += body[pos++];
      continue;
    }
    FUSEC_RETURN_IF_ERROR(reader.read(++pos));
  }
  return out;
}

} // namespace fusec::text::jinja
