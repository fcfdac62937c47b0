//===- PreTokenizer.cpp - cutting text into the words BPE works on ---------===//
#include "runtime/text/PreTokenizer.h"

#include "runtime/text/ByteLevel.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace fusec::text {

void PreTokenizer::findByClass(CharacterClass inClass, std::string_view text, std::vector<TextRange> &matches) {
  matches.clear();
  for (size_t at = 0; at < text.size();) {
    CodePoint c = decodeUtf8(text, at);
    if (inClass(c.value))
      matches.push_back({at, at + c.length});
    at += c.length;
  }
}

/// Turns matched and unmatched segments (which cover a piece) into pieces.
void PreTokenizer::emit(const std::vector<Segment> &segments, Behavior behavior, std::vector<TextRange> &out) {
  size_t first = out.size();
  auto merges = [&](size_t i) { // Whether segment i extends the piece before it.
    if (i == 0)
      return false;
    bool current = segments[i].isMatch, previous = segments[i - 1].isMatch;
    switch (behavior) {
    case Behavior::Contiguous:
      return current == previous;
    case Behavior::MergedWithPrevious:
      return current && !previous;
    case Behavior::MergedWithNext:
      return previous && !current;
    case Behavior::Removed:
    case Behavior::Isolated:
      return false;
    }
    return false;
  };
  for (size_t i = 0; i < segments.size(); ++i) {
    if (behavior == Behavior::Removed && segments[i].isMatch)
      continue;
    if (out.size() > first && merges(i))
      out.back().end = segments[i].range.end;
    else
      out.push_back(segments[i].range);
  }
}

Status PreTokenizer::split(const Step &step, PreTokenized &work) {
  std::vector<TextRange> matches, result;
  std::vector<Segment> segments;
  std::optional<RegexScanner> scanner;
  if (step.pattern)
    scanner.emplace(*step.pattern);
  result.reserve(work.pieces.size());
  for (const TextRange &piece : work.pieces) {
    std::string_view text = std::string_view(work.text).substr(piece.begin, piece.end - piece.begin);
    if (scanner)
      FUSEC_RETURN_IF_ERROR(scanner->findAll(text, matches));
    else
      findByClass(step.characterClass, text, matches);
    segments.clear();
    size_t at = piece.begin;
    for (const TextRange &match : matches) {
      TextRange range{piece.begin + match.begin, piece.begin + match.end};
      if (at < range.begin)
        segments.push_back({{at, range.begin}, step.invert});
      segments.push_back({range, !step.invert});
      at = range.end;
    }
    if (at < piece.end)
      segments.push_back({{at, piece.end}, step.invert});
    emit(segments, step.behavior, result);
  }
  work.pieces = std::move(result);
  return {};
}

namespace {

/// Rewrites every piece of `work`; `rewrite(piece text, index, output)`.
template <typename Rewrite> void rewritePieces(PreTokenized &work, Rewrite rewrite) {
  std::string text;
  text.reserve(work.text.size() + work.pieces.size());
  for (size_t i = 0; i < work.pieces.size(); ++i) {
    TextRange &piece = work.pieces[i];
    size_t begin = text.size();
    rewrite(std::string_view(work.text).substr(piece.begin, piece.end - piece.begin), i, text);
    piece = {begin, text.size()};
  }
  work.text = std::move(text);
}

void spellInAlphabet(PreTokenized &work) {
  rewritePieces(work, [](std::string_view piece, size_t, std::string &out) { out += bytesToAlphabet(piece); });
}

void readFromAlphabet(PreTokenized &work) {
  rewritePieces(work, [](std::string_view piece, size_t, std::string &out) {
    // Pieces end at character borders, so every one reads back.
    out += alphabetToBytes(piece).value_or(std::string(piece));
  });
}

} // namespace

void PreTokenizer::prefixSpaces(PreTokenized &work) {
  rewritePieces(work, [](std::string_view piece, size_t, std::string &out) {
    if (!piece.starts_with(' '))
      out += ' ';
    out += piece;
  });
}

void PreTokenizer::replaceSpaces(const Step &step, PreTokenized &work, bool atTextStart) {
  // "first" asks for the very beginning of the input.
  bool firstIsStart = atTextStart && !work.pieces.empty() && work.pieces.front().begin == 0;
  rewritePieces(work, [&](std::string_view piece, size_t index, std::string &out) {
    bool prepend = step.prependScheme == PrependScheme::Always ||
                   (step.prependScheme == PrependScheme::First && index == 0 && firstIsStart);
    if (prepend && !piece.starts_with(' ') && !piece.starts_with(step.replacement))
      out += step.replacement;
    for (char c : piece)
      if (c == ' ')
        out += step.replacement;
      else
        out += c;
  });
}

Result<PreTokenized> PreTokenizer::run(std::string text, bool atTextStart) const {
  PreTokenized work{std::move(text), {}};
  if (work.text.empty())
    return work;
  work.pieces.push_back({0, work.text.size()});
  bool spelled = false;
  for (const Step &step : steps) {
    if (step.kind == Kind::Metaspace)
      replaceSpaces(step, work, atTextStart);
    if (step.kind == Kind::ByteLevel && step.addPrefixSpace)
      prefixSpaces(work);
    if (step.pattern || step.characterClass != nullptr)
      FUSEC_RETURN_IF_ERROR(split(step, work));
    if (step.spellInAlphabet) {
      spellInAlphabet(work);
      spelled = true;
    }
  }
  if (spelled)
    readFromAlphabet(work);
  return work;
}

} // namespace fusec::text
