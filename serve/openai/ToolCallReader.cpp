//===- ToolCallReader.cpp - text of a model to content and calls of functions -------===//
#include "serve/openai/ToolCallReader.h"

#include "runtime/base/Json.h"

#include <algorithm>

namespace fusec::serve {

static constexpr std::string_view spaces = " \t\r\n";

ToolCallReader::ToolCallReader(const ToolUse &use) : use(use), state(State::Text) {
  if (use.forced)
    enterBody(0);
}

std::vector<AnswerPiece> ToolCallReader::push(std::string_view text) {
  held += text;
  while (step()) {
  }
  return std::exchange(out, {});
}

std::vector<AnswerPiece> ToolCallReader::finish() {
  if (state == State::Body && !use.forced)
    endBody(CallScanner::State::Failed);
  const bool onlySpaces = held.find_first_not_of(spaces) == std::string::npos;
  if (state == State::Text && !(numCalls > 0 && onlySpaces) && !use.forced)
    giveContent(held);
  held.clear();
  return std::exchange(out, {});
}

/// True when something was decided and more may be.
bool ToolCallReader::step() {
  switch (state) {
  case State::Text:
    return readText();
  case State::Body:
    return readBody();
  case State::Close:
    return readClose();
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Where the text ends that certainly comes before a marker: spaces and a beginning of the marker are held back.
static size_t certainLength(std::string_view text, std::string_view marker) {
  size_t part = std::min(text.size(), marker.size() - 1);
  while (!text.ends_with(marker.substr(0, part)))
    --part;
  const size_t last = text.substr(0, text.size() - part).find_last_not_of(spaces);
  return last == std::string_view::npos ? 0 : last + 1;
}

/// Where a call without a marker begins. Further ones may follow a semicolon.
std::optional<size_t> ToolCallReader::bareCall() const {
  if (!use.format->bare || !mayBeBare)
    return std::nullopt;
  const size_t first = held.find_first_not_of(numCalls > 0 ? " \t\r\n;" : spaces);
  return first != std::string::npos && held[first] == '{' ? std::optional(first) : std::nullopt;
}

bool ToolCallReader::readText() {
  const std::string_view marker = use.format->begin;
  if (const auto bare = bareCall()) {
    enterBody(*bare);
    return true;
  }
  const size_t found = held.find(marker);
  if (found != std::string::npos) {
    const size_t last = std::string_view(held).substr(0, found).find_last_not_of(spaces);
    const size_t before = last == std::string::npos ? 0 : last + 1;
    if (before > 0)
      giveContent(std::string_view(held).substr(0, before));
    held.erase(0, before);
    enterBody(found - before + marker.size());
    return true;
  }
  const size_t separators = numCalls > 0 && use.format->bare && mayBeBare ? held.find_first_not_of(" \t\r\n;") : 0;
  if (separators == std::string::npos)
    return false; // The next call may follow.
  const size_t certain = certainLength(held, marker);
  giveContent(std::string_view(held).substr(0, certain));
  held.erase(0, certain);
  return false;
}

void ToolCallReader::giveContent(std::string_view text) {
  if (text.empty())
    return;
  mayBeBare = false;
  out.push_back({.kind = AnswerPiece::Kind::Content, .text = std::string(text)});
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The JSON begins at `begin`; what stands before is kept for the case that it is no call.
void ToolCallReader::enterBody(size_t begin) {
  raw = held.substr(0, begin);
  bodyBegin = begin;
  held.erase(0, begin);
  scanner.emplace(use.format->list, use.format->arguments);
  sent.clear();
  state = State::Body;
}

bool ToolCallReader::readBody() {
  auto now = CallScanner::State::Open;
  size_t taken = 0;
  while (taken < held.size() && now == CallScanner::State::Open)
    now = scanner->feed(held[taken++]);
  raw += held.substr(0, taken);
  held.erase(0, taken);
  if (now != CallScanner::State::Open)
    endBody(now);
  else if (use.forced)
    giveCalls();
  return now != CallScanner::State::Open;
}

void ToolCallReader::endBody(CallScanner::State end) {
  if (end == CallScanner::State::Complete && (use.forced || isRight())) {
    giveCalls();
    numCalls += static_cast<int>(scanner->calls().size());
    state = State::Close;
  } else {
    state = State::Text;
    giveContent(raw);
  }
  raw.clear();
}

/// Whether what was read is JSON and calls functions that there are.
bool ToolCallReader::isRight() const {
  const auto parsed = parseJson(std::string_view(raw).substr(bodyBegin), "call", {.rejectDuplicateKeys = true});
  const auto known = [&](const ScannedCall &call) {
    const bool takesObject = call.arguments.empty() || call.arguments.front() == '{';
    return call.named && takesObject && std::find(use.names.begin(), use.names.end(), call.name) != use.names.end();
  };
  const auto &calls = scanner->calls();
  return parsed.ok() && !calls.empty() && std::all_of(calls.begin(), calls.end(), known);
}

/// What is new of the calls of this body.
void ToolCallReader::giveCalls() {
  using Kind = AnswerPiece::Kind;
  const auto &calls = scanner->calls();
  for (size_t i = 0; i < calls.size() && calls[i].named; ++i) {
    const int index = numCalls + static_cast<int>(i);
    if (index > 0 && !use.parallel)
      return;
    if (i == sent.size()) {
      sent.push_back(0);
      out.push_back({Kind::Call, calls[i].name, index, use.format->newId()});
    }
    std::string more = calls[i].arguments.substr(sent[i]);
    sent[i] = calls[i].arguments.size();
    if (calls[i].closed && calls[i].arguments.empty())
      more = "{}"; // The model left them out. Only when not forced, so this is looked at once.
    if (!more.empty())
      out.push_back({.kind = Kind::Arguments, .text = std::move(more), .call = index});
  }
}

/// Skips the marker behind a call.
bool ToolCallReader::readClose() {
  const std::string_view end = use.format->end;
  const size_t first = held.find_first_not_of(spaces);
  const std::string_view rest = first == std::string::npos ? std::string_view() : std::string_view(held).substr(first);
  const std::string_view marker = end.substr(std::min(end.find_first_not_of(spaces), end.size()));
  if (!marker.empty() && rest.size() < marker.size() && marker.starts_with(rest))
    return false;
  if (!marker.empty() && rest.starts_with(marker))
    held.erase(0, first + marker.size());
  state = State::Text;
  return true;
}

} // namespace fusec::serve
