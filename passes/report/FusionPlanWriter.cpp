//===- FusionPlanWriter.cpp - a compilation's candidates as a fusion plan ----------------===//
//
// 1. Gather the candidates by what they are called without layer numbers.
// 2. Where all of a name's pattern agree, one line with `*` stands for them.
// 3. Replay the lines; what they do not decide as the compiler did is spelled
//    out below them, where it has the last word.
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/FusionPlan.h"
#include "passes/report/OpName.h"
#include "passes/report/PrintReport.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace fusec::report {

namespace {

struct Line {
  FusionEdge edge;
  bool wild = false;
  bool fuse = false;
  std::string note;
};

FusionEdge edgeOf(const Candidate &c) { return {c.kind, c.producer, c.consumer}; }

std::string noteOf(const Candidate &c, size_t count) {
  std::string note = count > 1 ? std::to_string(count) + "x, " : "";
  note += c.reason.empty() ? (c.profitable ? "saves by cost" : "costs more than it saves") : c.reason;
  if (c.decidedBy != "cost")
    note += "; decided by the " + c.decidedBy;
  return note;
}

std::string textOf(const Line &line) {
  std::string text =
      llvm::formatv("{0}  {1,-12}  {2} -> {3}", line.fuse ? "fuse" : "keep", line.edge.kind,
                    spelledInPlan(line.edge.producer, line.wild), spelledInPlan(line.edge.consumer, line.wild));
  std::string note = line.note;
  std::replace_if(note.begin(), note.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text + "   # " + note + "\n";
}

/// Names that mean something else as a pattern are never folded.
bool canBeWild(const FusionEdge &edge) {
  return llvm::StringRef(edge.producer + edge.consumer).find_first_of("*\\\"") == llvm::StringRef::npos;
}

std::vector<Line> foldedLines(const Report &report) {
  std::map<FusionEdge, size_t> numbers; // in order of the first member
  std::vector<std::vector<const Candidate *>> families;
  for (const Candidate &c : report.candidates) {
    auto [it, isNew] =
        numbers.try_emplace({c.kind, withoutLayer(c.producer), withoutLayer(c.consumer)}, families.size());
    if (isNew)
      families.emplace_back();
    families[it->second].push_back(&c);
  }
  std::vector<Line> lines;
  for (const auto &members : families) {
    const Candidate &first = *members.front();
    FusionEdge pattern{first.kind, withoutLayer(first.producer), withoutLayer(first.consumer)};
    bool agree = llvm::all_of(members, [&](const Candidate *c) { return c->taken == first.taken; });
    if (agree && members.size() > 1 && canBeWild(edgeOf(first)))
      lines.push_back({pattern, true, first.taken, noteOf(first, members.size())});
    else
      for (const Candidate *c : members)
        lines.push_back({edgeOf(*c), false, c->taken, noteOf(*c, 1)});
  }
  return lines;
}

/// Candidates that the lines decide otherwise than the compiler did.
std::vector<Line> corrections(const Report &report, const std::string &text) {
  Result<FusionPlan> plan = FusionPlan::parse(text);
  std::vector<Line> lines;
  if (!plan)
    return lines;
  for (const Candidate &c : report.candidates) {
    const PlanLine *line = plan->find(edgeOf(c));
    if (!line || line->fuse != c.taken)
      lines.push_back({edgeOf(c), false, c.taken, noteOf(c, 1)});
  }
  return lines;
}

constexpr const char *preamble = R"(# Fusion plan of @MODEL@. Replay it with --fusion-plan=FILE (docs/fusion-plan.md).
#
#   fuse KIND PRODUCER -> CONSUMER     put the two into one kernel
#   keep KIND PRODUCER -> CONSUMER     keep them apart
#
# `*` matches any run of characters; the last line that matches decides; what no line
# matches is left to the cost model.

)";

} // namespace

std::string printFusionPlan(const Report &report) {
  std::string text = preamble, lines;
  std::string model = report.model.empty() ? "a graph" : report.model;
  std::replace_if(model.begin(), model.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  text.replace(text.find("@MODEL@"), 7, model);
  for (const Line &line : foldedLines(report))
    lines += textOf(line);
  std::vector<Line> exceptions = corrections(report, lines);
  if (!exceptions.empty())
    lines += "\n# Exceptions from lines above.\n";
  for (const Line &line : exceptions)
    lines += textOf(line);
  text += lines;
  text += "\n# Not legal here, for reference:\n";
  for (const DecisionRow &d : report.decisions)
    if (!d.fused && !d.asked)
      text += textOf({{d.kind, d.producer, d.consumer}, true, false, d.reason}).replace(0, 4, "#   ");
  return text;
}

} // namespace fusec::report
