//===- PlanModel.cpp - a plan driven token by token -------------------------------===//
#include "ir/reference/PlanModel.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace mlir;

namespace fusec::reference {

Result<PlanModel> PlanModel::create(ModuleOp module, plan::ProgramOp program, Environment environment,
                                    Precision precision, PlanModelOptions options) {
  PlanModel model(module, program, std::move(environment), precision, std::move(options));
  model.environment.page = static_cast<int64_t>(program.getPage());
  model.makeBlockTable();
  FUSEC_RETURN_IF_ERROR(model.makeCaches());
  return model;
}

void PlanModel::makeBlockTable() {
  const int64_t blocks = roundToPages(options.contextTokens, environment.page) / environment.page;
  std::vector<double> pages(options.sequences * blocks);
  std::iota(pages.begin(), pages.end(), 1.0);
  std::shuffle(pages.begin(), pages.end(), std::mt19937(1));
  inputs.buffers["block_table"] = Tensor::fromValues(Element::I32, {options.sequences, blocks}, std::move(pages));
}

Status PlanModel::makeCaches() {
  const int64_t pages = inputs.buffers["block_table"].size() + 1;
  for (auto buffer : program.getOps<plan::BufferOp>()) {
    if (buffer.getKind() != plan::BufferKind::Cache)
      continue;
    auto type = cast<tile::BufferType>(buffer.getType());
    if (!type.isPaged())
      return invalidArgument("cache '" + buffer.getName().str() + "' is not paged");
    FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(type.getElementType()));
    FUSEC_ASSIGN_OR_RETURN(Shape rest, environment.extents(type.getDims().drop_front(2)));
    inputs.buffers[buffer.getName()] = Tensor::filled(element, {pages, environment.page, rest[0], rest[1]}, 0.0);
  }
  return {};
}

/// Runs of up to `most` tokens of one sequence: (first token, tokens) of each.
static Tensor queryTiles(const Tensor &sequences, int64_t most) {
  std::vector<double> tiles;
  const std::vector<double> of = sequences.values();
  for (size_t first = 0, end; first < of.size(); first = end) {
    for (end = first; end < of.size() && of[end] == of[first] && end - first < static_cast<size_t>(most);)
      ++end;
    tiles.push_back(static_cast<double>(first));
    tiles.push_back(static_cast<double>(end - first));
  }
  const int64_t count = static_cast<int64_t>(tiles.size()) / 2;
  return Tensor::fromValues(Element::I32, {count, 2}, std::move(tiles));
}

Result<Tensor> PlanModel::step(ArrayRef<Chunk> chunks, LogitRows rows) {
  FUSEC_ASSIGN_OR_RETURN(StepInputs step, history.append(chunks, rows));
  if (step.context > options.contextTokens)
    return resourceExhausted("a sequence of " + std::to_string(step.context) + " tokens, more than " +
                             std::to_string(options.contextTokens));
  Environment stepEnvironment = environment;
  stepEnvironment.symbols["C"] = roundToPages(step.context, environment.page);
  inputs.buffers["tokens"] = step.tokens;
  inputs.buffers["positions"] = step.positions;
  inputs.buffers["sequences"] = step.sequences;
  inputs.buffers["output_rows"] = step.outputRows;
  if (auto tile = program->getAttrOfType<IntegerAttr>("query_tile"))
    inputs.buffers["query_tiles"] = queryTiles(step.sequences, tile.getInt());
  FUSEC_ASSIGN_OR_RETURN(PlanRun run, interpretPlan(module, program, inputs, stepEnvironment, precision, options.plan));
  lastLaunches = std::move(run.launches);
  auto it = run.outputs.find("logits");
  if (it == run.outputs.end())
    return notFound("the program has no output 'logits'");
  return it->second;
}

Result<Tensor> PlanModel::logits(ArrayRef<int32_t> tokens, LogitRows rows) {
  return step({Chunk{0, std::vector<int32_t>(tokens.begin(), tokens.end())}}, rows);
}

} // namespace fusec::reference
