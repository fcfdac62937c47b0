//===- BytePaths.cpp - characters as paths of bytes ------------------------===//
#include "runtime/grammar/BytePaths.h"

#include "runtime/grammar/CodePoints.h"

#include <algorithm>

namespace fusec::grammar {

namespace {

/// A number range as sequences of digit ranges: base 2^bits, `count` digits, high digit first.
struct DigitRange {
  uint32_t low, high;
};
using DigitPath = std::vector<DigitRange>;

void splitDigits(uint32_t low, uint32_t high, int bits, int count, DigitPath &prefix, std::vector<DigitPath> &out) {
  if (count == 0) {
    out.push_back(prefix);
    return;
  }
  int shift = bits * (count - 1);
  uint32_t rest = (1u << shift) - 1;
  auto part = [&](uint32_t digitLow, uint32_t digitHigh, uint32_t restLow, uint32_t restHigh) {
    prefix.push_back({digitLow, digitHigh});
    splitDigits(restLow, restHigh, bits, count - 1, prefix, out);
    prefix.pop_back();
  };
  uint32_t first = low >> shift, last = high >> shift;
  bool wholeFirst = (low & rest) == 0, wholeLast = (high & rest) == rest;
  if (first == last) {
    part(first, last, low & rest, high & rest);
    return;
  }
  if (!wholeFirst)
    part(first, first, low & rest, rest);
  uint32_t middle = wholeFirst ? first : first + 1, middleEnd = wholeLast ? last + 1 : last;
  if (middle < middleEnd)
    part(middle, middleEnd - 1, 0, rest);
  if (!wholeLast)
    part(last, last, 0, high & rest);
}

std::vector<DigitPath> digitPaths(uint32_t low, uint32_t high, int bits, int count) {
  std::vector<DigitPath> out;
  DigitPath prefix;
  splitDigits(low, high, bits, count, prefix, out);
  return out;
}

/// Characters whose UTF-8 has one length.
struct Utf8Class {
  char32_t low, high;
  int length;
  uint8_t lead;
};
constexpr Utf8Class kUtf8Classes[] = {
    {0, 0x7F, 1, 0}, {0x80, 0x7FF, 2, 0xC0}, {0x800, 0xFFFF, 3, 0xE0}, {0x10000, kLastCodePoint, 4, 0xF0}};

void appendUtf8Paths(const Utf8Class &kind, char32_t low, char32_t high, std::vector<BytePath> &out) {
  if (low > high)
    return;
  int bits = kind.length == 1 ? 7 : 6;
  for (const DigitPath &digits : digitPaths(low, high, bits, kind.length)) {
    BytePath path;
    for (size_t i = 0; i < digits.size(); ++i) {
      uint8_t mark = i == 0 ? kind.lead : 0x80;
      path.push_back({static_cast<uint8_t>(mark | digits[i].low), static_cast<uint8_t>(mark | digits[i].high)});
    }
    out.push_back(std::move(path));
  }
}

/// Four hexadecimal digits.
std::vector<BytePath> hexPaths(uint32_t low, uint32_t high) {
  std::vector<BytePath> out;
  for (const DigitPath &digits : digitPaths(low, high, 4, 4)) {
    BytePath path;
    for (const DigitRange &digit : digits)
      path.push_back({static_cast<uint8_t>(digit.low), static_cast<uint8_t>(digit.high), true});
    out.push_back(std::move(path));
  }
  return out;
}

void appendPairs(char32_t low, char32_t high, std::vector<BytePath> &out) {
  for (const DigitPath &pair : digitPaths(low - 0x10000, high - 0x10000, 10, 2))
    for (const BytePath &first : hexPaths(0xD800 + pair[0].low, 0xD800 + pair[0].high))
      for (const BytePath &second : hexPaths(0xDC00 + pair[1].low, 0xDC00 + pair[1].high)) {
        BytePath path = first;
        path.push_back({'\\', '\\'});
        path.push_back({'u', 'u'});
        path.insert(path.end(), second.begin(), second.end());
        out.push_back(std::move(path));
      }
}

} // namespace

std::vector<BytePath> utf8Paths(char32_t low, char32_t high) {
  std::vector<BytePath> out;
  const CodePoints points = CodePoints::range(low, high);
  for (const CodePoints::Range &range : points.ranges())
    for (const Utf8Class &kind : kUtf8Classes)
      appendUtf8Paths(kind, std::max(range.low, kind.low), std::min(range.high, kind.high), out);
  return out;
}

std::vector<BytePath> escapePaths(char32_t low, char32_t high) {
  std::vector<BytePath> out;
  const CodePoints points = CodePoints::range(low, high);
  for (const CodePoints::Range &range : points.ranges()) {
    if (range.low <= 0xFFFF)
      for (BytePath &path : hexPaths(range.low, std::min<char32_t>(range.high, 0xFFFF)))
        out.push_back(std::move(path));
    if (range.high > 0xFFFF)
      appendPairs(std::max<char32_t>(range.low, 0x10000), range.high, out);
  }
  return out;
}

void BytePaths::edge(StateId from, const ByteStep &step, StateId to, OpId op) {
  if (!step.hex) {
    builder.byteEdge(from, step.low, step.high, to, op);
    return;
  }
  uint8_t low = step.low, high = step.high;
  if (low < 10)
    builder.byteEdge(from, static_cast<uint8_t>('0' + low), static_cast<uint8_t>('0' + std::min<int>(high, 9)), to, op);
  if (high < 10)
    return;
  int first = std::max<int>(low, 10) - 10, last = high - 10;
  builder.byteEdge(from, static_cast<uint8_t>('a' + first), static_cast<uint8_t>('a' + last), to, op);
  builder.byteEdge(from, static_cast<uint8_t>('A' + first), static_cast<uint8_t>('A' + last), to, op);
}

StateId BytePaths::before(std::span<const ByteStep> steps, StateId to, PathOps ops) {
  if (steps.empty())
    return to;
  auto [entry, isNew] = suffixes.try_emplace({BytePath(steps.begin(), steps.end()), to, ops}, 0);
  if (!isNew)
    return entry->second;
  StateId state = builder.addState(rule);
  entry->second = state;
  edge(state, steps.front(), before(steps.subspan(1), to, ops), steps.size() == 1 ? ops.last : ops.check);
  return state;
}

void BytePaths::add(StateId from, const std::vector<BytePath> &paths, StateId to, PathOps ops) {
  for (const BytePath &path : paths) {
    std::span<const ByteStep> steps(path);
    edge(from, steps.front(), before(steps.subspan(1), to, ops), steps.size() == 1 ? ops.last : ops.check);
  }
}

} // namespace fusec::grammar
