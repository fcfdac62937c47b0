//===- BuildReport.cpp -----------------------------------------------------------------===//
#include "passes/report/BuildReport.h"

#include "passes/fusion/DataFlow.h"
#include "passes/report/OpName.h"
#include "passes/report/Traffic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

using namespace mlir;

namespace fusec::report {

namespace {

/// A type as the IR prints it, without the dialect's name.
std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  for (StringRef prefix : {"!fuse.tensor", "!tile.buffer"})
    if (StringRef(text).starts_with(prefix))
      return text.substr(prefix.size());
  return text;
}

class GraphCapture {
public:
  GraphCapture(func::FuncOp function, const StepSizes &sizes) : function(function), sizes(sizes) {}

  Graph run() {
    for (Operation &op : function.getBody().front().without_terminator())
      names[&op] = numbered(opName(&op));
    Graph graph;
    for (Operation &op : function.getBody().front().without_terminator())
      if (!isIndexOnly(&op))
        graph.ops.push_back(capture(&op));
    return graph;
  }

private:
  /// As uniqueOpName, in one walk.
  std::string numbered(const std::string &name) {
    int64_t ordinal = ++seen[name];
    return ordinal == 1 ? name : name + "#" + std::to_string(ordinal);
  }

  Op capture(Operation *op) {
    Op row;
    row.name = names[op];
    row.launchName = opName(op);
    row.kind = op->getName().stripDialect().str();
    row.type = op->getNumResults() > 0 ? typeText(op->getResult(0).getType()) : "";
    row.layer = layerOf(modelName(op->getLoc()));
    if (auto group = op->getAttrOfType<IntegerAttr>("group"))
      row.group = group.getInt();
    row.recomputed = op->hasAttr("inline");
    if (auto cascade = op->getAttrOfType<IntegerAttr>("cascade"))
      row.cascade = cascade.getInt();
    if (auto proof = op->getAttrOfType<DictionaryAttr>("proof"))
      row.proof = proofOf(proof);
    for (Value operand : op->getOperands())
      addInputs(operand, row.inputs);
    if (op->getNumResults() > 0)
      row.resultBytes = bytesOf(cast<fuse::GraphTensorType>(op->getResult(0).getType()), sizes);
    row.unfusedBytes = unfusedBytes(op, sizes);
    row.operations = operationsOf(op, sizes);
    return row;
  }

  /// What a value comes from, seen through index-only ops.
  void addInputs(Value value, std::vector<std::string> &inputs) {
    std::string name;
    Operation *def = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto attr = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "fuse.name");
      name = attr ? attr.str() : "argument " + std::to_string(argument.getArgNumber());
    } else if (auto weight = dyn_cast<fuse::WeightOp>(def)) {
      for (Attribute part : weight.getNames())
        name += (name.empty() ? "" : " + ") + cast<StringAttr>(part).str();
    } else if (auto constant = dyn_cast<fuse::ConstantOp>(def)) {
      name = constant.getName().str();
    } else if (isIndexOnly(def)) {
      for (Value operand : def->getOperands())
        addInputs(operand, inputs);
      return;
    } else {
      name = names[def];
    }
    if (!llvm::is_contained(inputs, name))
      inputs.push_back(name);
  }

  func::FuncOp function;
  const StepSizes &sizes;
  std::map<std::string, int64_t> seen;
  llvm::DenseMap<Operation *, std::string> names;
};

/// Launches of the layer in the middle: first and last ones carry what surrounds the layers.
int64_t launchesOfMiddleLayer(const std::vector<Kernel> &kernels, int64_t layers) {
  int64_t launches = 0;
  for (const Kernel &kernel : kernels)
    launches +=
        llvm::count_if(kernel.launchNames, [&](const std::string &name) { return layerOf(name) == layers / 2; });
  return layers > 0 ? launches : 0;
}

/// Tells every op the kernel its group became.
void nameKernels(Report &report) {
  std::map<int64_t, std::string> kernels;
  for (const Kernel &kernel : report.kernels)
    for (int64_t group : kernel.groups)
      kernels.emplace(group, kernel.name);
  for (Op &op : report.after.ops)
    if (auto it = kernels.find(op.group); it != kernels.end())
      op.kernel = it->second;
}

int64_t countLayers(const Graph &graph) {
  int64_t layers = 0;
  for (const Op &op : graph.ops)
    layers = std::max(layers, op.layer + 1);
  return layers;
}

} // namespace

Proof proofOf(DictionaryAttr dictionary) {
  Proof proof;
  for (NamedAttribute entry : dictionary) {
    std::string text;
    if (auto string = dyn_cast<StringAttr>(entry.getValue()))
      text = string.str();
    else
      llvm::raw_string_ostream(text) << entry.getValue();
    proof.push_back({entry.getName().str(), text});
  }
  return proof;
}

Graph captureGraph(ModuleOp module, const StepSizes &sizes) {
  Graph all;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.getBody().empty()) {
      Graph graph = GraphCapture(function, sizes).run();
      all.ops.insert(all.ops.end(), graph.ops.begin(), graph.ops.end());
    }
  return all;
}

Report buildReport(ReportInput input) {
  StepSizes sizes = stepSizes(input.step.tokens, input.step.context, input.page);
  Report report;
  report.step = input.step;
  report.before = std::move(input.before);
  report.after = captureGraph(input.grouped, sizes);
  report.layers = countLayers(report.after);
  report.kernels = buildKernels(input.plan, report.after, sizes, input.step);
  nameKernels(report);
  report.decisions = buildDecisions(input.control, sizes);
  report.memory = buildMemory(input.plan, sizes);
  report.idlePlanLines = input.control.idleLines();
  for (const AskedFusion &question : input.control.asked())
    report.candidates.push_back({question.edge.kind, question.edge.producer, question.edge.consumer, question.reason,
                                 question.taken, question.profitable, decidedByName(question.by)});
  for (const Kernel &kernel : report.kernels) {
    report.launches += kernel.launches;
    report.read += kernel.read;
    report.written += kernel.written;
    report.loaded += kernel.loaded;
    report.operations += kernel.operations;
  }
  for (const Op &op : report.before.ops)
    report.unfused += op.unfusedBytes;
  report.unfusedLaunches = static_cast<int64_t>(report.before.ops.size());
  report.launchesPerLayer = launchesOfMiddleLayer(report.kernels, report.layers);
  report.minimum = minimumBytesOf(input.plan, sizes, singleSequence(sizes, input.step.context));
  return report;
}

} // namespace fusec::report
