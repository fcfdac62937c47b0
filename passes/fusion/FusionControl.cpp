//===- FusionControl.cpp ------------------------------------------------------------===//
#include "passes/fusion/FusionControl.h"

#include "passes/fusion/DataFlow.h"
#include "passes/report/OpName.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace fusec {

static std::string nameOf(mlir::Operation *op) { return op ? uniqueOpName(op) : std::string(); }

FusionControl::FusionControl(FusionOptions given) : options(std::move(given)) {
  Result<FusionPlan> parsed = FusionPlan::parse(options.plan);
  if (parsed)
    plan = std::move(*parsed);
  else
    planError = parsed.status();
}

void FusionControl::enter(mlir::Block &block) {
  // Ordinals as uniqueOpName counts them, in one walk.
  std::map<std::string, int64_t> seen;
  llvm::DenseMap<mlir::Operation *, std::string> names;
  for (mlir::Operation &op : block) {
    std::string name = opName(&op);
    int64_t ordinal = ++seen[name];
    names[&op] = ordinal == 1 ? name : name + "#" + std::to_string(ordinal);
    GraphOp &entry = graph[names[&op]];
    entry.transparent = isIndexOnly(&op) || llvm::isa<fuse::MapOp, fuse::GatherOp>(op);
    for (mlir::Value operand : op.getOperands())
      if (mlir::Operation *def = operand.getDefiningOp())
        entry.producers.push_back(names.lookup(def));
  }
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// What becomes of a wish once the switches have been looked at.
bool FusionControl::fallsTo(bool wanted, DecidedBy &by, llvm::StringRef kind) const {
  if (!options.enabled || (kind == "derive" && !options.derivation)) {
    by = DecidedBy::Switch;
    return false;
  }
  if (wanted && options.limit >= 0 && taken() >= options.limit) {
    by = DecidedBy::Limit;
    return false;
  }
  return wanted;
}

bool FusionControl::take(const FusionCandidate &candidate, bool profitable) {
  AskedFusion question{
      {candidate.kind.str(), nameOf(candidate.producer), nameOf(candidate.consumer)}, candidate.reason, profitable};
  bool wanted = profitable;
  if (std::optional<HintAnswer> hint = hints.answer(candidate)) {
    wanted = hint->fuse;
    question.by = DecidedBy::Rule;
    question.reason = hint->reason;
  }
  if (const PlanLine *line = plan.find(question.edge)) {
    wanted = line->fuse;
    question.by = DecidedBy::Plan;
  }
  question.taken = fallsTo(wanted, question.by, candidate.kind);
  if (question.taken)
    takenOnes.push_back({question.edge.kind, question.edge.producer, question.edge.consumer, candidate.reason});
  if (question.taken)
    hints.taken(candidate);
  bool taken = question.taken;
  questions.push_back(std::move(question));
  return taken;
}

std::string FusionControl::verdict(const std::string &reason) const {
  const AskedFusion &last = questions.back();
  if (last.by == DecidedBy::Rule)
    return last.reason;
  return last.taken || last.by == DecidedBy::Cost ? reason : "legal, but switched off by the fusion plan or limit";
}

bool FusionControl::takeRewrite(llvm::StringRef rule, mlir::Operation *op) {
  DecidedBy by = DecidedBy::Cost;
  if (!fallsTo(true, by, "rule"))
    return false;
  takenOnes.push_back({"rule", nameOf(op), "", "rule '" + rule.str() + "' matches it"});
  return true;
}

void FusionControl::record(const Decision &d) {
  DecisionRecord row;
  mlir::Operation *consumer = d.consumer ? d.consumer : d.producer;
  row.edge = {d.kind, nameOf(d.producer), nameOf(consumer)};
  row.fused = d.fused;
  row.reason = d.reason;
  row.obligation = d.obligation;
  row.secondsSaved = d.secondsSaved;
  row.proof = d.proof ? d.proof : consumer->getAttrOfType<mlir::DictionaryAttr>("proof");
  if (d.producer->getNumResults() > 0)
    row.value = d.producer->getResult(0).getType();
  records.push_back(std::move(row));
}

//===----------------------------------------------------------------------===//
// Whether the plan fitted
//===----------------------------------------------------------------------===//

Status FusionControl::lineError(const PlanLine &line, const std::string &what) const {
  std::string place = options.planName.empty() ? "fusion plan" : options.planName;
  return invalidArgument(place + ", line " + std::to_string(line.number) + ", '" + line.text + "': " + what);
}

bool FusionControl::wasAsked(const PlanLine &line) const {
  return llvm::any_of(questions, [&](const AskedFusion &q) { return line.matches(q.edge); });
}

bool FusionControl::isKnown(llvm::StringRef pattern) const {
  return llvm::any_of(graph, [&](const auto &entry) { return matchesPattern(pattern, entry.first); });
}

std::vector<FusionEdge> FusionControl::knownEdges() const {
  std::set<FusionEdge> all;
  for (const AskedFusion &q : questions)
    all.insert(q.edge);
  for (const DecisionRecord &d : records)
    all.insert(d.edge);
  return {all.begin(), all.end()};
}

Status FusionControl::unknownName(const PlanLine &line, llvm::StringRef pattern) const {
  std::string what = "no op of this graph is called '" + pattern.str() + "'";
  std::vector<FusionEdge> edges = knownEdges();
  if (const FusionEdge *nearest = nearestEdge(line.kind + " " + line.producer + " -> " + line.consumer, edges))
    what += "; the nearest candidate is '" + nearest->text() + "'";
  return lineError(line, what);
}

Status FusionControl::checkLine(const PlanLine &line) const {
  if (wasAsked(line))
    return {};
  for (const DecisionRecord &d : records)
    if (line.matches(d.edge)) {
      if (!line.fuse || d.fused)
        return {};
      return lineError(line, "not legal: " + d.reason);
    }
  if (!isKnown(line.producer))
    return unknownName(line, line.producer);
  if (!isKnown(line.consumer))
    return unknownName(line, line.consumer);
  // The ops are there and nobody asked: other choices made the line idle, or nothing connects them.
  if (!line.fuse || line.kind == "horizontal" || connects(line))
    return {};
  return lineError(line, "not legal: the second op does not use what the first one computes");
}

/// Whether a matching consumer reads a matching producer, seen through ops that a kernel could recompute.
bool FusionControl::connects(const PlanLine &line) const {
  for (const auto &[name, op] : graph) {
    if (!matchesPattern(line.consumer, name))
      continue;
    std::vector<llvm::StringRef> pending(op.producers.begin(), op.producers.end());
    std::set<llvm::StringRef> seen;
    while (!pending.empty()) {
      llvm::StringRef current = pending.back();
      pending.pop_back();
      if (!seen.insert(current).second)
        continue;
      if (matchesPattern(line.producer, current))
        return true;
      if (auto it = graph.find(current); it != graph.end() && it->second.transparent)
        pending.insert(pending.end(), it->second.producers.begin(), it->second.producers.end());
    }
  }
  return false;
}

Status FusionControl::finish() const {
  if (!planError.ok())
    return planError.withContext(options.planName.empty() ? "fusion plan" : options.planName);
  // Where fusions are switched off the graph lacks ops that later ones would have made.
  if (options.limit >= 0 || !options.enabled || !options.derivation)
    return {};
  for (const PlanLine &line : plan.lines())
    FUSEC_RETURN_IF_ERROR(checkLine(line));
  return {};
}

std::vector<std::string> FusionControl::idleLines() const {
  std::vector<std::string> idle;
  for (const PlanLine &line : plan.lines())
    if (!wasAsked(line))
      idle.push_back("line " + std::to_string(line.number) + ": " + line.text);
  return idle;
}

} // namespace fusec
