//===- ShuffledText.cpp - a graph under other names, in another order -----------===//
#include "test/unit/passes/ShuffledText.h"

#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <vector>

namespace fusec::differential {

namespace {

const std::regex valueName("%(v|arg_)[0-9]+");

/// The function's values that a piece of text names.
std::set<std::string> namesIn(const std::string &text) {
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), valueName), end; it != end; ++it)
    names.insert(it->str());
  return names;
}

struct Statement {
  std::string text, defines;
  std::set<std::string> reads;
};

/// Statements begin with two spaces and a value's name; regions are indented deeper.
std::vector<Statement> statementsOf(const std::string &body) {
  std::vector<Statement> statements;
  for (size_t at = 0; at < body.size();) {
    size_t next = body.find("\n  %v", at);
    next = next == std::string::npos ? body.size() : next + 1;
    Statement statement{body.substr(at, next - at), "", {}};
    statement.reads = namesIn(statement.text);
    statement.defines = statement.text.substr(2, statement.text.find(' ', 2) - 2);
    statement.reads.erase(statement.defines);
    statements.push_back(std::move(statement));
    at = next;
  }
  return statements;
}

/// Any order in which definitions come before uses.
std::string reordered(std::vector<Statement> statements, std::mt19937 &random) {
  std::set<std::string> open;
  for (const Statement &statement : statements)
    open.insert(statement.defines);
  std::string text;
  while (!statements.empty()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < statements.size(); ++i)
      if (std::none_of(statements[i].reads.begin(), statements[i].reads.end(),
                       [&](const std::string &name) { return open.count(name); }))
        ready.push_back(i);
    const size_t chosen = ready[random() % ready.size()];
    text += statements[chosen].text;
    open.erase(statements[chosen].defines);
    statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return text;
}

std::string renamed(const std::string &text, std::mt19937 &random) {
  std::map<std::string, std::string> fresh;
  for (const std::string &name : namesIn(text))
    fresh[name] = "%n" + std::to_string(random()) + "_" + std::to_string(fresh.size());
  std::string out;
  size_t last = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), valueName), end; it != end; ++it) {
    out += text.substr(last, static_cast<size_t>(it->position()) - last) + fresh[it->str()];
    last = static_cast<size_t>(it->position() + it->length());
  }
  return out + text.substr(last);
}

} // namespace

std::string shuffledText(const std::string &text, uint32_t seed) {
  std::mt19937 random(seed);
  const size_t begin = text.find("{\n  %v") + 2, end = text.find("  return ");
  return renamed(text.substr(0, begin) + reordered(statementsOf(text.substr(begin, end - begin)), random) +
                     text.substr(end),
                 random);
}

} // namespace fusec::differential
