//===- ByteLevel.cpp - the printable alphabet of byte-level vocabularies ---===//
#include "runtime/text/ByteLevel.h"

#include "runtime/text/Utf8.h"

#include <array>

namespace fusec::text {

namespace {

constexpr bool standsForItself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr int kFirstNumbered = 0x100;
constexpr int kAlphabetEnd = kFirstNumbered + 68;

struct Alphabet {
  std::array<int16_t, 256> toCharacter{};
  std::array<int16_t, kAlphabetEnd> toByte{};
};

constexpr Alphabet makeAlphabet() {
  Alphabet alphabet;
  for (int16_t &byte : alphabet.toByte)
    byte = -1;
  int next = kFirstNumbered;
  for (int byte = 0; byte < 256; ++byte) {
    int character = standsForItself(byte) ? byte : next++;
    alphabet.toCharacter[byte] = static_cast<int16_t>(character);
    alphabet.toByte[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = makeAlphabet();

} // namespace

std::string bytesToAlphabet(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char byte : bytes)
    appendUtf8(out, static_cast<char32_t>(kAlphabet.toCharacter[static_cast<unsigned char>(byte)]));
  return out;
}

std::optional<std::string> alphabetToBytes(std::string_view spelling) {
  std::string out;
  out.reserve(spelling.size());
  for (size_t at = 0; at < spelling.size();) {
    CodePoint c = decodeUtf8(spelling, at);
    if (!c.valid || c.value >= kAlphabetEnd || kAlphabet.toByte[c.value] < 0)
      return std::nullopt;
    out.push_back(static_cast<char>(kAlphabet.toByte[c.value]));
    at += c.length;
  }
  return out;
}

} // namespace fusec::text
