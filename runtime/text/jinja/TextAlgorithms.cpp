//===- TextAlgorithms.cpp - str operations that keep origins -----------------===//
#include "runtime/text/jinja/TextAlgorithms.h"

#include <algorithm>
#include <utility>

namespace fusec::text::jinja {

namespace {

bool stripped(std::string_view character, CodePoint c, std::optional<std::string_view> chars) {
  return chars ? chars->find(character) != std::string_view::npos : c.valid && isSpace(c.value);
}

/// Start of the character that ends at `end`.
size_t previousStart(std::string_view text, size_t end) {
  for (size_t back = 1; back <= 4 && back <= end; ++back) {
    CodePoint c = decodeAt(text.substr(0, end), end - back);
    if (c.valid && c.length == back)
      return end - back;
  }
  return end - 1;
}

/// Applies `convert(character, first)` to each character; `first` tells a run's first character.
template <typename Convert> Text mapCharacters(const Text &text, Convert convert) {
  Text out;
  out.markup = text.markup;
  for (size_t pos = 0; pos < text.size();) {
    CodePoint c = decodeAt(text.view(), pos);
    std::string mapped;
    if (c.valid)
      convert(c.value, mapped);
    else
      mapped = text.bytes()[pos];
    out.append(mapped, text.trustedAt(pos));
    pos += c.length;
  }
  return out;
}

bool unlimited(int64_t limit, size_t done) { return limit < 0 || static_cast<int64_t>(done) < limit; }

size_t skipSpaces(const Text &text, size_t pos, bool spaces) {
  while (pos < text.size()) {
    CodePoint c = decodeAt(text.view(), pos);
    if ((c.valid && isSpace(c.value)) != spaces)
      break;
    pos += c.length;
  }
  return pos;
}

size_t skipSpacesBack(const Text &text, size_t end, bool spaces) {
  while (end > 0) {
    size_t start = previousStart(text.view(), end);
    CodePoint c = decodeAt(text.view(), start);
    if ((c.valid && isSpace(c.value)) != spaces)
      break;
    end = start;
  }
  return end;
}

/// Length of the line break at `pos`, 0 if there is none (str.splitlines' list).
size_t lineBreakAt(const Text &text, size_t pos) {
  CodePoint c = decodeAt(text.view(), pos);
  if (c.value == '\r' && pos + 1 < text.size() && text.bytes()[pos + 1] == '\n')
    return 2;
  bool breaks = c.valid && ((c.value >= 10 && c.value <= 13) || (c.value >= 0x1C && c.value <= 0x1E) ||
                            c.value == 0x85 || c.value == 0x2028 || c.value == 0x2029);
  return breaks ? c.length : 0;
}

void appendTimes(Text &out, const Text &fill, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out.append(fill);
}

} // namespace

Text stripText(const Text &text, Side side, std::optional<std::string_view> chars) {
  size_t begin = 0, end = text.size();
  while (side != Side::Right && begin < end) {
    CodePoint c = decodeAt(text.view(), begin);
    if (!stripped(text.view().substr(begin, c.length), c, chars))
      break;
    begin += c.length;
  }
  while (side != Side::Left && end > begin) {
    size_t start = previousStart(text.view(), end);
    if (!stripped(text.view().substr(start, end - start), decodeAt(text.view(), start), chars))
      break;
    end = start;
  }
  return text.slice(begin, end);
}

std::vector<Text> splitText(const Text &text, std::string_view separator, int64_t limit) {
  std::vector<Text> parts;
  size_t pos = 0;
  for (size_t hit;
       unlimited(limit, parts.size()) && (hit = text.view().find(separator, pos)) != std::string_view::npos;) {
    parts.push_back(text.slice(pos, hit));
    pos = hit + separator.size();
  }
  parts.push_back(text.slice(pos, text.size()));
  return parts;
}

std::vector<Text> splitTextFromRight(const Text &text, std::string_view separator, int64_t limit) {
  std::vector<Text> parts;
  size_t end = text.size();
  for (size_t hit; unlimited(limit, parts.size()) &&
                   (hit = text.view().substr(0, end).rfind(separator)) != std::string_view::npos;) {
    parts.push_back(text.slice(hit + separator.size(), end));
    end = hit;
  }
  parts.push_back(text.slice(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> splitWords(const Text &text, int64_t limit) {
  std::vector<Text> parts;
  size_t pos = skipSpaces(text, 0, true);
  while (pos < text.size() && unlimited(limit, parts.size())) {
    size_t end = skipSpaces(text, pos, false);
    parts.push_back(text.slice(pos, end));
    pos = skipSpaces(text, end, true);
  }
  if (pos < text.size())
    parts.push_back(text.slice(pos, skipSpacesBack(text, text.size(), true)));
  return parts;
}

std::vector<Text> splitWordsFromRight(const Text &text, int64_t limit) {
  std::vector<Text> parts;
  size_t end = skipSpacesBack(text, text.size(), true);
  while (end > 0 && unlimited(limit, parts.size())) {
    size_t start = skipSpacesBack(text, end, false);
    parts.push_back(text.slice(start, end));
    end = skipSpacesBack(text, start, true);
  }
  if (end > 0)
    parts.push_back(text.slice(skipSpaces(text, 0, true), end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> splitLines(const Text &text, bool keepEnds) {
  std::vector<Text> lines;
  size_t start = 0;
  for (size_t pos = 0; pos < text.size();) {
    size_t breakLength = lineBreakAt(text, pos);
    if (!breakLength) {
      pos += decodeAt(text.view(), pos).length;
      continue;
    }
    lines.push_back(text.slice(start, keepEnds ? pos + breakLength : pos));
    start = pos += breakLength;
  }
  if (start < text.size())
    lines.push_back(text.slice(start, text.size()));
  return lines;
}

Text replaceText(const Text &text, std::string_view from, const Text &to, int64_t limit) {
  Text out;
  out.markup = text.markup;
  size_t pos = 0, done = 0;
  if (from.empty()) { // Python puts `to` before every character and at the end.
    while (unlimited(limit, done)) {
      out.append(to);
      ++done;
      if (pos >= text.size())
        return out;
      size_t end = pos + decodeAt(text.view(), pos).length;
      out.append(text, pos, end);
      pos = end;
    }
  } else {
    for (size_t hit; unlimited(limit, done) && (hit = text.view().find(from, pos)) != std::string_view::npos; ++done) {
      out.append(text, pos, hit);
      out.append(to);
      pos = hit + from.size();
    }
  }
  out.append(text, pos, text.size());
  return out;
}

Text mapCase(const Text &text, CaseMap map) {
  return mapCharacters(text, [map](char32_t c, std::string &out) { appendCaseMapped(c, map, out); });
}

Text capitalizeText(const Text &text) {
  bool first = true;
  return mapCharacters(text, [&](char32_t c, std::string &out) {
    appendCaseMapped(c, std::exchange(first, false) ? CaseMap::Title : CaseMap::Lower, out);
  });
}

Text titleText(const Text &text) {
  bool inWord = false;
  return mapCharacters(text, [&](char32_t c, std::string &out) {
    appendCaseMapped(c, inWord ? CaseMap::Lower : CaseMap::Title, out);
    inWord = isCased(c);
  });
}

Text titleWords(const Text &text) {
  bool start = true;
  return mapCharacters(text, [&](char32_t c, std::string &out) {
    bool separator =
        isSpace(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) != std::string_view::npos);
    appendCaseMapped(c, start ? CaseMap::Upper : CaseMap::Lower, out);
    start = separator;
  });
}

Text swapCase(const Text &text) {
  return mapCharacters(text, [](char32_t c, std::string &out) {
    appendCaseMapped(c, isUpper(c) ? CaseMap::Lower : CaseMap::Upper, out);
  });
}

Text padText(const Text &text, int64_t width, const Text &fill, Side textSide) {
  int64_t room = std::max<int64_t>(width - static_cast<int64_t>(countCodePoints(text.view())), 0);
  // str.center gives the odd character to the left when the width is odd too.
  int64_t before = textSide == Side::Left ? 0 : textSide == Side::Right ? room : room / 2 + (room & width & 1);
  Text out;
  out.markup = text.markup;
  appendTimes(out, fill, before);
  out.append(text);
  appendTimes(out, fill, room - before);
  return out;
}

size_t byteOfCharacter(std::string_view text, int64_t index) {
  size_t pos = 0;
  for (; index > 0 && pos < text.size(); --index)
    pos += decodeAt(text, pos).length;
  return pos;
}

} // namespace fusec::text::jinja
