//===- ReportDiff.cpp --------------------------------------------------------------------===//
#include "passes/report/ReportDiff.h"

#include "passes/report/ReportJson.h"

#include <cstdio>
#include <map>

namespace fusec::report {

namespace {

using Facts = std::map<std::string, std::string>;

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string wholeNumber(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

/// Kernels with equal members (different first layers, say) are added up.
Facts kernelFacts(const Report &report) {
  std::map<std::string, Kernel> byMembers;
  for (const Kernel &k : report.kernels) {
    std::string members = (k.partOf.empty() ? "" : "merge of ") + joined(k.members);
    Kernel &sum = byMembers[members + (k.recomputed.empty() ? "" : " (recomputing " + joined(k.recomputed) + ")")];
    sum.kind = k.kind;
    sum.launches += k.launches;
    sum.read += k.read;
    sum.written += k.written;
  }
  Facts facts;
  for (const auto &[members, k] : byMembers)
    facts[members] = std::to_string(k.launches) + (k.launches == 1 ? " launch, " : " launches, ") + k.kind +
                     ", reads " + wholeNumber(k.read) + ", writes " + wholeNumber(k.written) + " bytes";
  return facts;
}

Facts totalFacts(const Report &report) {
  return {{"kernels", std::to_string(report.kernels.size())},
          {"launches", std::to_string(report.launches)},
          {"bytes moved", wholeNumber(report.moved())}};
}

/// Only what was decided, not the figures behind it: those follow from the step and the machine.
Facts decisionFacts(const Report &report) {
  std::map<std::string, std::map<std::string, int64_t>> outcomes;
  for (const DecisionRow &d : report.decisions)
    outcomes[d.kind + " " + d.producer + " -> " + d.consumer][d.fused ? "fused" : "refused"] += d.count;
  Facts facts;
  for (const auto &[edge, counts] : outcomes)
    for (const auto &[outcome, count] : counts)
      facts[edge] += (facts[edge].empty() ? "" : ", ") + outcome + " " + std::to_string(count) + "x";
  return facts;
}

void compare(const Facts &first, const Facts &second, Difference::Kind kind, std::vector<Difference> &out) {
  Facts all = first;
  all.insert(second.begin(), second.end());
  for (const auto &[what, ignored] : all) {
    auto a = first.find(what), b = second.find(what);
    std::string left = a == first.end() ? "" : a->second, right = b == second.end() ? "" : b->second;
    if (left != right)
      out.push_back({kind, what, left, right});
  }
}

struct KindRow {
  Difference::Kind kind;
  const char *heading, *name;
};
constexpr KindRow kindRows[] = {{Difference::Kind::Total, "Totals", "total"},
                                {Difference::Kind::Kernel, "Kernels", "kernel"},
                                {Difference::Kind::Decision, "Decisions", "decision"}};

} // namespace

std::vector<Difference> compareReports(const Report &first, const Report &second, const DiffOptions &options) {
  std::vector<Difference> differences;
  if (options.kernels) {
    compare(totalFacts(first), totalFacts(second), Difference::Kind::Total, differences);
    compare(kernelFacts(first), kernelFacts(second), Difference::Kind::Kernel, differences);
  }
  compare(decisionFacts(first), decisionFacts(second), Difference::Kind::Decision, differences);
  return differences;
}

std::string printDifferences(const std::vector<Difference> &differences) {
  std::string text;
  for (const KindRow &row : kindRows) {
    bool any = false;
    for (const Difference &d : differences) {
      if (d.kind != row.kind)
        continue;
      if (!any)
        text += (text.empty() ? "" : "\n") + std::string(row.heading) + "\n\n";
      any = true;
      if (d.second.empty())
        text += "- " + d.what + ": " + d.first + "\n";
      else if (d.first.empty())
        text += "+ " + d.what + ": " + d.second + "\n";
      else
        text += "~ " + d.what + ": " + d.first + " -> " + d.second + "\n";
    }
  }
  return text;
}

std::string printDifferencesJson(const std::vector<Difference> &differences) {
  Json all = {{"same", differences.empty()}, {"differences", Json::array()}};
  for (const Difference &d : differences)
    for (const KindRow &row : kindRows)
      if (row.kind == d.kind)
        all["differences"].push_back({{"kind", row.name},
                                      {"what", d.what},
                                      {"first", d.first.empty() ? Json() : Json(d.first)},
                                      {"second", d.second.empty() ? Json() : Json(d.second)}});
  return dumped(all, 1) + "\n";
}

} // namespace fusec::report
