//===- DecisionTable.cpp - every edge looked at, equal ones of all layers together --------===//
#include "passes/report/BuildReport.h"
#include "passes/report/OpName.h"

using namespace mlir;

namespace fusec::report {

namespace {

/// What was asked of the control, by edge.
class Questions {
public:
  explicit Questions(const FusionControl &control) {
    for (const AskedFusion &question : control.asked()) {
      byEdge[question.edge] = &question;
      if (isRecomputing(question.edge))
        byProducer[question.edge.producer] = &question;
    }
  }

  /// The question behind a decision, or null: it was not legal. One question about recomputing an
  /// op stands for all its readers.
  const AskedFusion *find(const FusionEdge &edge) const {
    if (auto it = byEdge.find(edge); it != byEdge.end())
      return it->second;
    auto it = isRecomputing(edge) ? byProducer.find(edge.producer) : byProducer.end();
    return it == byProducer.end() ? nullptr : it->second;
  }

private:
  static bool isRecomputing(const FusionEdge &edge) { return edge.kind == "inline" || edge.kind == "prologue"; }

  std::map<FusionEdge, const AskedFusion *> byEdge;
  std::map<std::string, const AskedFusion *> byProducer;
};

/// Refusals of derived fusions begin with the obligation that failed ("separable: ...") or "cost: ...".
void splitObligation(DecisionRow &row) {
  constexpr StringRef obligations[] = {"separable", "repair",   "homomorphism", "identity",
                                       "aligned",   "numerics", "residency"};
  if (row.kind != "derive" || row.fused)
    return;
  auto [name, rest] = StringRef(row.reason).split(": ");
  bool isObligation = llvm::is_contained(obligations, name);
  if (rest.empty() || !(isObligation || name == "cost"))
    return;
  row.obligation = isObligation ? name.str() : "";
  row.reason = rest.str();
}

/// With its proof listed, a derived fusion's reason is what came of it: "one loop: ..." repeats the proof.
void shortenProven(DecisionRow &row) {
  if (!row.proof.empty())
    row.reason = StringRef(row.reason).split(": ").first.str();
}

DecisionRow rowOf(const DecisionRecord &record, const Questions &questions) {
  DecisionRow row;
  row.kind = record.edge.kind;
  row.producer = withoutLayer(record.edge.producer);
  row.consumer = withoutLayer(record.edge.consumer);
  row.fused = record.fused;
  row.reason = record.reason;
  row.obligation = record.obligation;
  row.secondsSaved = record.secondsSaved;
  if (record.proof && record.fused)
    row.proof = proofOf(record.proof);
  splitObligation(row);
  shortenProven(row);
  // One pair may be looked at in two ways, of which only one was legal.
  const AskedFusion *question = row.obligation.empty() ? questions.find(record.edge) : nullptr;
  row.asked = question != nullptr;
  row.decidedBy = question ? decidedByName(question->by) : "legality";
  return row;
}

} // namespace

const char *decidedByName(DecidedBy by) {
  switch (by) {
  case DecidedBy::Cost:
    return "cost";
  case DecidedBy::Plan:
    return "plan";
  case DecidedBy::Rule:
    return "rule";
  case DecidedBy::Limit:
    return "limit";
  case DecidedBy::Switch:
    return "switch";
  }
  return "";
}

std::vector<DecisionRow> buildDecisions(const FusionControl &control, const StepSizes &sizes) {
  Questions questions(control);
  using Key = std::tuple<bool, std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, DecisionRow> rows;
  for (const DecisionRecord &record : control.decisions()) {
    DecisionRow row = rowOf(record, questions);
    if (auto type = dyn_cast_or_null<fuse::GraphTensorType>(record.value))
      row.bytes = 2 * bytesOf(type, sizes);
    Key key{!row.fused, row.kind, row.producer, row.consumer, row.obligation + row.reason, row.decidedBy};
    ++rows.try_emplace(key, std::move(row)).first->second.count;
  }
  std::vector<DecisionRow> list;
  for (auto &[key, row] : rows)
    list.push_back(std::move(row));
  return list;
}

} // namespace fusec::report
