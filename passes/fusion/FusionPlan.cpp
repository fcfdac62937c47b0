//===- FusionPlan.cpp ---------------------------------------------------------------===//
#include "passes/fusion/FusionPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <limits>

using llvm::StringRef;

namespace fusec {

namespace {

constexpr StringRef kinds[] = {"derive", "prologue", "inline", "side-by-side", "epilogue", "row", "horizontal"};

std::string listOfKinds() { return llvm::join(fusionKinds(), ", "); }

//===----------------------------------------------------------------------===//
// Reading a line
//===----------------------------------------------------------------------===//

/// A word of the file as a message shows it: printable and short, as the file may be anything.
std::string shown(StringRef word) {
  std::string text = word.take_front(40).str();
  std::replace_if(text.begin(), text.end(), [](char c) { return !llvm::isPrint(c); }, '?');
  return "'" + text + (word.size() > 40 ? "...'" : "'");
}

/// Cuts one line into words; a word in quotes may hold anything, `\` before a character means itself.
class LineReader {
public:
  LineReader(StringRef line, int64_t number) : rest(line), number(number) {}

  Status error(const std::string &what) const {
    return invalidArgument("line " + std::to_string(number) + ": " + what);
  }

  bool atEnd() {
    rest = rest.ltrim(" \t\r");
    return rest.empty() || rest.starts_with("#");
  }

  /// A bare word as it is.
  std::string word() {
    atEnd();
    StringRef found = rest.take_until([](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    rest = rest.drop_front(found.size());
    return found.str();
  }

  /// A name as a pattern.
  Result<std::string> pattern() {
    if (atEnd())
      return error("expected a name, found the end of the line");
    if (!rest.starts_with("\""))
      return escapeBackslashes(word());
    rest = rest.drop_front();
    std::string text;
    while (!rest.empty() && rest.front() != '"') {
      bool escaped = rest.front() == '\\' && rest.size() > 1;
      FUSEC_RETURN_IF_ERROR(escaped ? takeEscape(text) : takePlain(text));
    }
    if (rest.empty())
      return error("a quoted name has no closing quote");
    rest = rest.drop_front();
    return text;
  }

private:
  static std::string escapeBackslashes(StringRef text) {
    std::string out;
    for (char c : text)
      out += c == '\\' ? std::string("\\\\") : std::string(1, c);
    return out;
  }

  Status takePlain(std::string &text) {
    text += rest.front();
    rest = rest.drop_front();
    return {};
  }

  /// `\xHH` is a byte; any other escape stays one, for the pattern to undo.
  Status takeEscape(std::string &text) {
    unsigned byte = 0;
    if (rest[1] != 'x') {
      text += rest.take_front(2);
      rest = rest.drop_front(2);
      return {};
    }
    if (rest.size() < 4 || rest.substr(2, 2).getAsInteger(16, byte))
      return error("expected two hexadecimal digits after \\x");
    text += '\\';
    text += static_cast<char>(byte);
    rest = rest.drop_front(4);
    return {};
  }

  StringRef rest;
  int64_t number;
};

Result<PlanLine> parseLine(StringRef line, int64_t number) {
  LineReader reader(line, number);
  PlanLine row;
  row.number = number;
  std::string verb = reader.word();
  if (verb != "fuse" && verb != "keep")
    return reader.error("expected 'fuse' or 'keep', found " + shown(verb));
  row.fuse = verb == "fuse";
  if (reader.atEnd())
    return reader.error("expected a kind (" + listOfKinds() + "), found the end of the line");
  row.kind = reader.word();
  if (row.kind != "*" && !llvm::is_contained(kinds, row.kind))
    return reader.error("unknown kind " + shown(row.kind) + ", expected " + listOfKinds() + " or *");
  FUSEC_ASSIGN_OR_RETURN(row.producer, reader.pattern());
  std::string arrow = reader.atEnd() ? "the end of the line" : shown(reader.word());
  if (arrow != "'->'")
    return reader.error("expected '->' after the first name, found " + arrow);
  FUSEC_ASSIGN_OR_RETURN(row.consumer, reader.pattern());
  if (!reader.atEnd())
    return reader.error("expected the end of the line or a note after #, found " + shown(reader.word()));
  row.text = verb + " " + row.kind + " " + row.producer + " -> " + row.consumer;
  return row;
}

/// Number of single-character changes that lead from one text to the other.
size_t editDistance(StringRef a, StringRef b) { return a.edit_distance(b); }

} // namespace

llvm::ArrayRef<StringRef> fusionKinds() { return kinds; }

bool matchesPattern(StringRef pattern, StringRef name) {
  // Where to go on after a mismatch: one character later for the last wildcard seen.
  size_t p = 0, n = 0, star = StringRef::npos, resume = 0;
  while (n < name.size()) {
    bool escaped = p + 1 < pattern.size() && pattern[p] == '\\';
    if (!escaped && p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p + escaped] == name[n]) {
      p += 1 + escaped;
      ++n;
    } else if (star != StringRef::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

std::string spelledInPlan(StringRef name, bool wild) {
  auto isSafe = [&](char c) { return llvm::isPrint(c) && c != ' ' && c != '"' && c != '\\' && (wild || c != '*'); };
  if (!name.empty() && llvm::all_of(name, isSafe) && name.front() != '#')
    return name.str();
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\' || (c == '*' && !wild))
      text += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      text += "\\x" + llvm::utohexstr(static_cast<unsigned char>(c), /*LowerCase=*/true, /*Width=*/2);
    else
      text += c;
  }
  return text + "\"";
}

const FusionEdge *nearestEdge(StringRef text, llvm::ArrayRef<FusionEdge> edges) {
  const FusionEdge *nearest = nullptr;
  size_t least = std::numeric_limits<size_t>::max();
  for (const FusionEdge &edge : edges)
    if (size_t distance = editDistance(text, edge.text()); distance < least) {
      least = distance;
      nearest = &edge;
    }
  return nearest;
}

bool PlanLine::matchesNames(const FusionEdge &edge) const {
  return matchesPattern(producer, edge.producer) && matchesPattern(consumer, edge.consumer);
}

bool PlanLine::matches(const FusionEdge &edge) const {
  return (kind == "*" || kind == edge.kind) && matchesNames(edge);
}

Result<FusionPlan> FusionPlan::parse(StringRef text) {
  FusionPlan plan;
  int64_t number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    StringRef trimmed = line.trim(" \t\r");
    if (trimmed.empty() || trimmed.starts_with("#"))
      continue;
    FUSEC_ASSIGN_OR_RETURN(PlanLine row, parseLine(line, number));
    plan.rows.push_back(std::move(row));
  }
  return plan;
}

const PlanLine *FusionPlan::find(const FusionEdge &edge) const {
  for (const PlanLine &row : llvm::reverse(rows))
    if (row.matches(edge))
      return &row;
  return nullptr;
}

} // namespace fusec
