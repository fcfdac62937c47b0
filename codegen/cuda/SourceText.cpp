//===- SourceText.cpp ------------------------------------------------------===//
#include "codegen/cuda/SourceText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace fusec::codegen::cuda {

namespace {

constexpr size_t widest = 112;

bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// The lambda's head, "[=](int row, int) {".
std::string headOf(const LambdaText &lambda) {
  std::vector<std::string> parameters;
  for (const std::string &parameter : lambda.parameters) {
    auto [type, name] = StringRef(parameter).rsplit(' ');
    auto inLine = [&name = name](const std::string &line) { return mentions(line, name); };
    bool isUsed = mentions(lambda.result, name) || llvm::any_of(lambda.statements, inLine);
    parameters.push_back(isUsed ? parameter : type.str());
  }
  return std::string(lambda.captures ? "[=]" : "[]") + "(" + llvm::join(parameters, ", ") + ") {";
}

std::vector<std::string> bodyOf(const LambdaText &lambda) {
  std::vector<std::string> body = lambda.statements;
  if (!lambda.result.empty())
    body.push_back("return " + lambda.result + ";");
  return body;
}

std::string onOneLine(const LambdaText &lambda) {
  return headOf(lambda) + " " + llvm::join(bodyOf(lambda), " ") + " }";
}

} // namespace

bool mentions(StringRef text, StringRef name) {
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
    bool startsWord = at == 0 || !isWord(text[at - 1]);
    bool endsWord = at + name.size() == text.size() || !isWord(text[at + name.size()]);
    if (startsWord && endsWord)
      return true;
  }
  return false;
}

void SourceText::line(StringRef text) { content.push_back({depth, text.str(), ""}); }

void SourceText::declare(StringRef name, StringRef text) { content.push_back({depth, text.str(), name.str()}); }

/// True if one of `later`, last line first, reads the variable before its block ends.
bool SourceText::isRead(const Line &declaration, llvm::ArrayRef<Line> later) {
  for (const Line &line : llvm::reverse(later)) {
    if (line.depth < declaration.depth)
      return false;
    if (mentions(line.text, declaration.declares))
      return true;
  }
  return false;
}

/// The lines that are left when declarations which nothing reads are gone, last ones first.
std::vector<SourceText::Line> SourceText::used() const {
  std::vector<Line> kept;
  for (const Line &line : llvm::reverse(content))
    if (line.declares.empty() || isRead(line, kept))
      kept.push_back(line);
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::string SourceText::text() const {
  std::string result;
  for (const Line &line : used())
    result.append(line.text.empty() ? 0 : 2 * line.depth, ' ').append(line.text).append("\n");
  return result;
}

std::vector<std::string> SourceText::lines() const {
  std::vector<std::string> result;
  for (const Line &line : content)
    result.push_back(line.text);
  return result;
}

void SourceText::open(StringRef text) {
  line(text);
  ++depth;
}

void SourceText::close(StringRef text) {
  --depth;
  line(text);
}

void SourceText::append(const SourceText &other, int levels) {
  for (Line line : other.content) {
    line.depth += levels;
    content.push_back(line);
  }
}

void SourceText::blank() {
  if (content.empty() || !content.back().text.empty())
    line("");
}

void SourceText::call(StringRef before, llvm::ArrayRef<LambdaText> lambdas, StringRef after) {
  std::vector<std::string> flat;
  bool isShort = true;
  for (const LambdaText &lambda : lambdas) {
    flat.push_back(onOneLine(lambda));
    isShort &= bodyOf(lambda).size() == 1;
  }
  std::string whole = before.str() + llvm::join(flat, ", ") + after.str();
  if (isShort && 2 * depth + whole.size() <= widest)
    return line(whole);
  std::string start = before.str();
  for (size_t i = 0; i < lambdas.size(); ++i) {
    const bool isLast = i + 1 == lambdas.size();
    open(start + headOf(lambdas[i]));
    for (const std::string &statement : bodyOf(lambdas[i]))
      line(statement);
    start = "}, ";
    --depth;
    if (isLast)
      line("}" + after.str());
  }
}

} // namespace fusec::codegen::cuda
