//===- ReportJson.cpp - a report as JSON, and back ---------------------------------------===//
#include "passes/report/ReportJson.h"

#include "passes/report/PrintReport.h"

namespace fusec::report {

namespace {

Json proofJson(const Proof &proof) {
  Json object = Json::object();
  for (const auto &[name, how] : proof)
    object[name] = how;
  return object;
}

Json opJson(const Op &op) {
  Json row = {{"name", op.name},
              {"kind", op.kind},
              {"type", op.type},
              {"layer", op.layer},
              {"inputs", op.inputs},
              {"result_bytes", op.resultBytes},
              {"unfused_bytes", op.unfusedBytes},
              {"operations", op.operations}};
  if (op.group >= 0)
    row["group"] = op.group;
  if (!op.kernel.empty())
    row["kernel"] = op.kernel;
  if (op.recomputed)
    row["recomputed"] = true;
  if (op.cascade)
    row["cascade"] = *op.cascade;
  if (!op.proof.empty())
    row["proof"] = proofJson(op.proof);
  return row;
}

Json kernelJson(const Kernel &k) {
  Json row = {{"kernel", k.name},           {"kind", k.kind},
              {"launches", k.launches},     {"launches_per_layer", k.launchesPerLayer},
              {"ops", k.members},           {"recomputed", k.recomputed},
              {"computes", k.launchNames},  {"variant", k.variant},
              {"schedule", k.schedule},     {"read_bytes", k.read},
              {"written_bytes", k.written}, {"loaded_bytes", k.loaded},
              {"minimum_bytes", k.minimum}, {"unfused_bytes", k.unfused},
              {"saved_bytes", k.saved()},   {"operations", k.operations}};
  if (!k.partOf.empty())
    row["merges_partial_results_of"] = k.partOf;
  if (k.seconds)
    row["seconds"] = *k.seconds;
  return row;
}

Json decisionJson(const DecisionRow &d) {
  Json row = {{"fused", d.fused},          {"kind", d.kind},     {"producer", d.producer},
              {"consumer", d.consumer},    {"reason", d.reason}, {"legal", d.fused || d.asked},
              {"decided_by", d.decidedBy}, {"bytes", d.bytes},   {"count", d.count}};
  if (!d.obligation.empty())
    row["obligation"] = d.obligation;
  if (d.secondsSaved)
    row["seconds_saved_per_token"] = *d.secondsSaved;
  if (!d.proof.empty())
    row["proof"] = proofJson(d.proof);
  return row;
}

Json memoryJson(const Memory &memory) {
  Json slots = Json::array();
  for (const Memory::Slot &slot : memory.slots)
    slots.push_back({{"slot", slot.slot},
                     {"type", slot.type},
                     {"first", slot.holder},
                     {"buffers", slot.buffers},
                     {"bytes", slot.bytes},
                     {"token_dimensions", slot.tokenDims},
                     {"context_dimensions", slot.contextDims}});
  return {{"slots", slots},
          {"activation_bytes", memory.slotBytes},
          {"weight_bytes", memory.weightBytes},
          {"cache_bytes_per_position", memory.cacheBytesPerPosition},
          {"largest_activation_grows_with", memory.largestGrowth},
          {"attention_memory", memory.attentionLinear ? "linear" : "tokens x context"}};
}

} // namespace

Json totalsJson(const Report &r) {
  return {{"launches", r.launches},
          {"launches_per_layer", r.launchesPerLayer},
          {"unfused_launches", r.unfusedLaunches},
          {"read_bytes", r.read},
          {"written_bytes", r.written},
          {"loaded_bytes", r.loaded},
          {"moved_bytes", r.moved()},
          {"minimum_bytes", r.minimum},
          {"unfused_bytes", r.unfused},
          {"operations", r.operations}};
}

Json graphJson(const std::vector<Op> &ops) {
  Json rows = Json::array();
  for (const Op &op : ops)
    rows.push_back(opJson(op));
  return rows;
}

Json overviewJson(const Report &r) {
  Json all = {{"model", r.model},
              {"architecture", r.architecture},
              {"level", r.level},
              {"step", {{"T", r.step.tokens}, {"C", r.step.context}}},
              {"layers", r.layers},
              {"totals", totalsJson(r)},
              {"kernels", Json::array()},
              {"decisions", Json::array()},
              {"memory", memoryJson(r.memory)}};
  for (const Kernel &k : r.kernels)
    all["kernels"].push_back(kernelJson(k));
  for (const DecisionRow &d : r.decisions)
    all["decisions"].push_back(decisionJson(d));
  for (const Extension &used : r.extensions)
    all["extensions"].push_back(
        {{"kind", used.kind}, {"name", used.name}, {"from", used.from}, {"matches", used.matches}});
  if (!r.idlePlanLines.empty())
    all["plan_lines_without_effect"] = r.idlePlanLines;
  for (const Phase &phase : r.phases)
    all["compile_seconds"][phase.name] = phase.seconds;
  if (r.machine)
    all["machine"] = {{"bytes_per_second", r.machine->bytesPerSecond},
                      {"flops_per_second", r.machine->operationsPerSecond}};
  return all;
}

std::string dumped(const Json &json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string printJson(const Report &report) {
  Json all = overviewJson(report);
  all["fusion_plan"] = report.fusionPlan;
  all["graph"] = {{"before", graphJson(report.before.ops)}, {"after", graphJson(report.after.ops)}};
  return dumped(all, 1) + "\n";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

std::string text(const Json &object, const char *key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

double number(const Json &object, const char *key) {
  auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

int64_t integer(const Json &object, const char *key) {
  auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

bool flag(const Json &object, const char *key) {
  auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

std::vector<std::string> texts(const Json &object, const char *key) {
  std::vector<std::string> words;
  auto it = object.find(key);
  if (it != object.end() && it->is_array())
    for (const Json &word : *it)
      if (word.is_string())
        words.push_back(word.get<std::string>());
  return words;
}

Kernel readKernel(const Json &row) {
  Kernel k;
  k.name = text(row, "kernel");
  k.kind = text(row, "kind");
  k.members = texts(row, "ops");
  k.recomputed = texts(row, "recomputed");
  k.partOf = text(row, "merges_partial_results_of");
  k.launches = integer(row, "launches");
  k.launchesPerLayer = integer(row, "launches_per_layer");
  k.read = number(row, "read_bytes");
  k.written = number(row, "written_bytes");
  k.minimum = number(row, "minimum_bytes");
  k.unfused = number(row, "unfused_bytes");
  return k;
}

DecisionRow readDecision(const Json &row) {
  DecisionRow d;
  d.fused = flag(row, "fused");
  d.kind = text(row, "kind");
  d.producer = text(row, "producer");
  d.consumer = text(row, "consumer");
  d.reason = text(row, "reason");
  d.asked = flag(row, "legal");
  d.count = integer(row, "count");
  return d;
}

} // namespace

Result<Report> readJson(std::string_view source) {
  Json all = Json::parse(source, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object() || !all.contains("kernels") || !all["kernels"].is_array() || !all.contains("decisions") ||
      !all["decisions"].is_array())
    return corruptData("expected a report of `fusec explain --json`: an object with kernels and decisions");
  Report report;
  report.model = text(all, "model");
  report.level = text(all, "level");
  report.fusionPlan = text(all, "fusion_plan");
  if (all.contains("step")) {
    report.step.tokens = integer(all["step"], "T");
    report.step.context = integer(all["step"], "C");
  }
  for (const Json &row : all["kernels"])
    report.kernels.push_back(readKernel(row));
  for (const Json &row : all["decisions"])
    report.decisions.push_back(readDecision(row));
  for (const Kernel &k : report.kernels) {
    report.launches += k.launches;
    report.read += k.read;
    report.written += k.written;
  }
  if (all.contains("totals"))
    report.minimum = number(all["totals"], "minimum_bytes");
  return report;
}

} // namespace fusec::report
