//===- PrintHtml.cpp - a report as one page -----------------------------------------------===//
//
// The page is fixed text (page/page.html, .css, .js) around the report's JSON.
// Layers that are alike but for their number are written once, with the list of
// the layers they stand for.
//
// Names come from model files. They reach the page inside JSON only, where every
// character that means something to HTML is escaped, and the script puts them in
// as text.
//
//===----------------------------------------------------------------------===//
#include "passes/report/PageAssets.h"
#include "passes/report/PrintReport.h"
#include "passes/report/ReportJson.h"

#include <map>

namespace fusec::report {

namespace {

/// JSON that can stand inside a script element.
std::string forScript(const std::string &json) {
  std::string out;
  for (char c : json) {
    switch (c) {
    case '<':
      out += "\\u003c";
      break;
    case '>':
      out += "\\u003e";
      break;
    case '&':
      out += "\\u0026";
      break;
    default:
      out += c;
    }
  }
  return out;
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The end of the number that makes up a whole component after the dot at `dot`; `dot` when there is none.
size_t endOfNumber(const std::string &text, size_t dot) {
  size_t end = dot + 1;
  while (end < text.size() && isDigit(text[end]))
    ++end;
  bool whole = end == text.size() || text[end] == '.' || text[end] == ':' || text[end] == ' ';
  return end > dot + 1 && whole ? end : dot;
}

/// "blk.7.x + blk.7.y" -> "blk.*.x + blk.*.y", so that equal layers are equal text.
std::string withoutNumbers(const std::string &text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = text[at] == '.' ? endOfNumber(text, at) : at;
    out += end == at ? std::string(1, text[at]) : std::string(".*");
    at = end == at ? at + 1 : end;
  }
  return out;
}

bool isInLayer(const std::string &name, int64_t layer) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (size_t end = endOfNumber(name, dot); end != dot)
      return name.compare(dot + 1, end - dot - 1, std::to_string(layer)) == 0;
  return false;
}

std::vector<Op> opsOf(const Graph &graph, int64_t layer) {
  std::vector<Op> ops;
  for (const Op &op : graph.ops)
    if (op.layer == layer)
      ops.push_back(op);
  return ops;
}

/// What makes two layers alike: everything but numbers of groups and of the layer before.
std::string signatureOf(const std::vector<Op> &ops, int64_t layer) {
  std::map<int64_t, size_t> groups;
  std::string text;
  for (const Op &op : ops) {
    size_t group = op.group < 0 ? 0 : groups.try_emplace(op.group, groups.size() + 1).first->second;
    text += op.kind + " " + withoutNumbers(op.name) + " " + op.type + " " + op.kernel + " " + std::to_string(group) +
            (op.recomputed ? " r" : "") + (op.cascade ? " c" : "") + "\n";
    for (const std::string &input : op.inputs)
      text += std::string("  ") + (isInLayer(input, layer) ? "" : "^") + withoutNumbers(input) + "\n";
  }
  return text;
}

/// The sections of the graph: what lies outside of layers, and each kind of layer.
Json sectionsOf(const Report &report) {
  Json sections = Json::array();
  std::map<std::string, size_t> known;
  for (int64_t layer = -1; layer < report.layers; ++layer) {
    std::vector<Op> before = opsOf(report.before, layer), after = opsOf(report.after, layer);
    if (before.empty() && after.empty())
      continue;
    std::string signature = std::to_string(layer < 0) + signatureOf(before, layer) + "\n" + signatureOf(after, layer);
    auto [it, isNew] = known.try_emplace(signature, sections.size());
    if (isNew)
      sections.push_back({{"layers", Json::array()}, {"before", graphJson(before)}, {"after", graphJson(after)}});
    if (layer >= 0)
      sections[it->second]["layers"].push_back(layer);
  }
  return sections;
}

/// Lists of launches repeat layer numbers only; the page shows how many there are.
void dropLaunchLists(Json &overview) {
  for (Json &kernel : overview["kernels"])
    kernel.erase("computes");
}

void replace(std::string &text, const std::string &mark, const std::string &content) {
  size_t at = text.find(mark);
  if (at != std::string::npos)
    text.replace(at, mark.size(), content);
}

} // namespace

std::string printHtml(const Report &report) {
  Json data = overviewJson(report);
  dropLaunchLists(data);
  data["sections"] = sectionsOf(report);
  std::string page = pageHtml;
  replace(page, "/*STYLE*/", pageStyle);
  replace(page, "/*SCRIPT*/", pageScript);
  // Last, so that nothing in a name can be taken for a mark.
  replace(page, "/*DATA*/", forScript(dumped(data, -1)));
  return page;
}

} // namespace fusec::report
