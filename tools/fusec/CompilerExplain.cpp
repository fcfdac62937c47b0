//===- CompilerExplain.cpp - what the compiler decided, as a report -------------===//
//
// Kernels with the ops fused into each, bytes moved by a decode step against
// the minimum, and every fusion looked at with its reason. Layers repeat, so
// rows that differ only in the layer number are counted, not repeated.
//
//===----------------------------------------------------------------------===//
#include "ir/plan/PlanDialect.h"
#include "passes/fusion/Grouping.h"
#include "passes/report/OpName.h"
#include "passes/report/Traffic.h"
#include "tools/fusec/Compilation.h"
#include "tools/fusec/ModelDigest.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

#include <map>

using json = nlohmann::ordered_json;

namespace fusec {

namespace {

/// The step the bytes are counted for: one token with this many positions in the cache.
constexpr int64_t stepContext = 512;

/// "blk.7.attn_q" -> "blk.*.attn_q".
std::string withoutLayer(llvm::StringRef name) {
  std::string out;
  for (size_t i = 0; i < name.size();) {
    bool number = llvm::isDigit(name[i]) && i > 0 && name[i - 1] == '.';
    if (!number) {
      out += name[i++];
      continue;
    }
    while (i < name.size() && llvm::isDigit(name[i]))
      ++i;
    out += '*';
  }
  return out;
}

struct KernelRow {
  std::vector<std::string> ops;
  int64_t launches = 0;
  double read = 0, written = 0, minimum = 0;
};

/// Kernels in order of first launch.
llvm::MapVector<llvm::StringRef, KernelRow> kernelRows(llvm::ArrayRef<LaunchTraffic> traffic) {
  llvm::MapVector<llvm::StringRef, KernelRow> rows;
  for (const LaunchTraffic &launch : traffic) {
    plan::LaunchOp op = launch.launch;
    KernelRow &row = rows[op.getKernel()];
    if (row.launches++ == 0)
      if (op.getOps())
        for (auto name : op.getOps()->getAsRange<mlir::StringAttr>())
          row.ops.push_back(withoutLayer(name));
    row.read += launch.readBytes;
    row.written += launch.writtenBytes;
    row.minimum += launch.minimumBytes;
  }
  return rows;
}

using DecisionKey = std::tuple<bool, std::string, std::string, std::string, std::string>;

/// Decisions with layer numbers removed, and how often each occurs.
std::map<DecisionKey, int64_t> countDecisions(mlir::ModuleOp primitives) {
  std::map<DecisionKey, int64_t> counts;
  FusionControl control{FusionOptions()};
  for (auto function : primitives.getOps<mlir::func::FuncOp>())
    for (const Decision &d : group(function, CostModel(256, 512), control).decisions)
      ++counts[{d.fused, d.kind, withoutLayer(opName(d.producer)), withoutLayer(opName(d.consumer)), d.reason}];
  return counts;
}

json toJson(const llvm::MapVector<llvm::StringRef, KernelRow> &rows, const std::map<DecisionKey, int64_t> &decisions,
            llvm::StringRef level) {
  json report = {{"level", level.str()},
                 {"step", {{"T", 1}, {"C", stepContext}}},
                 {"kernels", json::array()},
                 {"decisions", json::array()}};
  for (const auto &[name, row] : rows)
    report["kernels"].push_back({{"kernel", name.str()},
                                 {"launches", row.launches},
                                 {"ops", row.ops},
                                 {"read_bytes", row.read},
                                 {"written_bytes", row.written},
                                 {"minimum_bytes", row.minimum}});
  for (const auto &[key, count] : decisions) {
    const auto &[fused, kind, producer, consumer, reason] = key;
    report["decisions"].push_back({{"fused", fused},
                                   {"kind", kind},
                                   {"producer", producer},
                                   {"consumer", consumer},
                                   {"reason", reason},
                                   {"count", count}});
  }
  return report;
}

std::string kibibytes(double bytes) { return llvm::formatv("{0:f1}", bytes / 1024).str(); }

std::string toText(const llvm::MapVector<llvm::StringRef, KernelRow> &rows,
                   const std::map<DecisionKey, int64_t> &decisions, llvm::StringRef level) {
  std::string text;
  llvm::raw_string_ostream out(text);
  KernelRow total;
  out << "Kernels (level " << level << "; bytes of one decode step with " << stepContext << " positions, KiB)\n\n"
      << llvm::formatv("{0,-7} {1,8} {2,12} {3,12} {4,12}  {5}\n", "kernel", "launches", "read", "written", "minimum",
                       "ops");
  for (const auto &[name, row] : rows) {
    out << llvm::formatv("{0,-7} {1,8} {2,12} {3,12} {4,12}  {5}\n", name, row.launches, kibibytes(row.read),
                         kibibytes(row.written), kibibytes(row.minimum), llvm::join(row.ops, ", "));
    total.launches += row.launches;
    total.read += row.read;
    total.written += row.written;
    total.minimum += row.minimum;
  }
  out << llvm::formatv("{0,-7} {1,8} {2,12} {3,12} {4,12}  moved / minimum = {5:f3}\n", "total", total.launches,
                       kibibytes(total.read), kibibytes(total.written), kibibytes(total.minimum),
                       (total.read + total.written) / total.minimum);
  for (bool fused : {true, false}) {
    out << (fused ? "\nFused\n\n" : "\nRefused\n\n");
    for (const auto &[key, count] : decisions)
      if (std::get<0>(key) == fused)
        out << llvm::formatv("{0,4}x {1,-12} {2} -> {3}: {4}\n", count, std::get<1>(key), std::get<2>(key),
                             std::get<3>(key), std::get<4>(key));
  }
  return text;
}

/// `--kernel`: the variants of one kernel as IR.
Result<std::string> kernelText(mlir::ModuleOp module, const std::string &name) {
  mlir::SymbolTable symbols(module);
  auto kernel = symbols.lookup<plan::KernelOp>(name);
  if (!kernel)
    return notFound("there is no kernel '" + name + "'; run without --kernel for the list");
  std::string text;
  llvm::raw_string_ostream out(text);
  kernel->print(out, mlir::OpPrintingFlags().useLocalScope());
  for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>()) {
    out << "\n";
    symbols.lookup(variant.getKernel().getValue())->print(out, mlir::OpPrintingFlags().useLocalScope());
  }
  out << "\n";
  return text;
}

} // namespace

Result<std::string> explainModel(const ExplainOptions &options) {
  if (std::filesystem::exists(options.model / "manifest.json"))
    return unsupported("'" + options.model.string() + "' is an artifact; explain needs the model it was compiled from");
  CompileOptions compile;
  compile.model = options.model;
  Compilation compilation(compile);
  FUSEC_RETURN_IF_ERROR(compilation.open());
  FUSEC_RETURN_IF_ERROR(compilation.runThrough(Phase::Derived, {}));
  std::map<DecisionKey, int64_t> decisions = countDecisions(compilation.module());
  FUSEC_RETURN_IF_ERROR(compilation.runThrough(Phase::Groups, {}));
  std::string level = options.levels.empty() ? defaultLevel() : options.levels.front();
  FUSEC_ASSIGN_OR_RETURN(auto plan, compilation.planFor({registersOf(level), 64}, level));
  if (!options.kernel.empty())
    return kernelText(*plan, options.kernel);
  StepSizes sizes;
  sizes["T"] = sizes["S"] = sizes["R"] = 1;
  sizes["C"] = stepContext;
  sizes["B"] = stepContext / 64;
  auto rows = kernelRows(trafficOf(*plan, sizes));
  return options.json ? toJson(rows, decisions, level).dump(1) + "\n" : toText(rows, decisions, level);
}

} // namespace fusec
