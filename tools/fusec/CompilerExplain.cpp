//===- CompilerExplain.cpp - what the compiler decided, as a report -------------===//
//
// Compiles as far as the plan of one level, keeps what the report needs after
// each phase, and prints it. Comparing loads two reports, from whatever they
// are, and prints what differs.
//
//===----------------------------------------------------------------------===//
#include "ir/plan/PlanDialect.h"
#include "passes/report/BuildReport.h"
#include "passes/report/KernelTimings.h"
#include "passes/report/PlanReport.h"
#include "passes/report/PrintReport.h"
#include "passes/report/ReportDiff.h"
#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Compilation.h"
#include "tools/fusec/ModelDigest.h"

#include "mlir/IR/SymbolTable.h"

#include <chrono>

namespace fusec {

namespace {

namespace fs = std::filesystem;

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

/// One model's way to a report.
class Explanation {
public:
  explicit Explanation(const ExplainOptions &options) : options(options), compile(compileOptions(options)) {}

  /// Compiles up to the plan.
  Status run() {
    FUSEC_RETURN_IF_ERROR(timed("import", [&] { return compilation.open(); }));
    report::Graph before;
    for (const PhaseInfo &phase : phases()) {
      if (phase.phase == Phase::Import || phase.phase == Phase::Plan)
        continue;
      FUSEC_RETURN_IF_ERROR(timed(phase.name.str(), [&] { return compilation.runThrough(phase.phase, {}); }));
      if (phase.phase == Phase::Primitives)
        before =
            report::captureGraph(compilation.module(), stepSizes(options.tokens, options.context, options.pageTokens));
    }
    FUSEC_RETURN_IF_ERROR(timed("plan", [&] { return makePlan(); }));
    report::ReportInput input{
        std::move(before), compilation.module(), *plan, compilation.fusions(), {options.tokens, options.context},
        options.pageTokens};
    result = report::buildReport(std::move(input));
    describe(); // Names the model; the plan's head does, too.
    result.fusionPlan = report::printFusionPlan(result);
    return options.timings.empty() ? Status() : addTimings();
  }

  report::Report takeReport() { return std::move(result); }
  mlir::ModuleOp planModule() { return *plan; }

private:
  static CompileOptions compileOptions(const ExplainOptions &options) {
    CompileOptions compile;
    compile.model = options.model;
    compile.kvDtype = options.kvDtype;
    compile.compileFrom = options.compileFrom;
    compile.fusionPlan = options.fusionPlan;
    compile.extensions = options.extensions;
    return compile;
  }

  template <typename Work> Status timed(const std::string &phase, Work work) {
    auto start = std::chrono::steady_clock::now();
    Status status = work();
    times.push_back({phase, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
    return status;
  }

  Status makePlan() {
    level = options.levels.empty() ? defaultLevel() : options.levels.front();
    FUSEC_ASSIGN_OR_RETURN(plan, compilation.planFor({registersOf(level), options.pageTokens}, level));
    return {};
  }

  void describe() {
    result.level = level;
    if (compilation.hasModel()) {
      const models::ModelConfig &config = compilation.model().config();
      result.model = config.name.empty() ? options.model.filename().string() : config.name;
      result.architecture = std::string(config.architecture->name);
    } else {
      result.model = options.model.filename().string();
    }
    if (options.phaseTimes)
      result.phases = times;
    describeExtensions();
  }

  void describeExtensions() {
    for (const auto &file : compilation.extensions().rules())
      for (const Rule &rule : file->rules())
        result.extensions.push_back({"rule", rule.name, file->path().filename().string(), rule.matches});
    for (const LoadedPlugin *plugin : compilation.extensions().plugins())
      result.extensions.push_back({"plugin", plugin->name, plugin->version});
    compilation.warnAboutIdleRules();
  }

  Status addTimings() {
    FUSEC_ASSIGN_OR_RETURN(std::string text, readWholeFile(options.timings));
    return report::addTimings(result, text).withContext(options.timings.string());
  }

  const ExplainOptions &options;
  CompileOptions compile;
  Compilation compilation{compile};
  std::string level;
  mlir::OwningOpRef<mlir::ModuleOp> plan;
  std::vector<report::Phase> times;
  report::Report result;
};

Status refuseArtifact(const fs::path &model) {
  if (fs::exists(model / "manifest.json"))
    return unsupported("'" + model.string() + "' is an artifact; explain needs the model it was compiled from");
  return {};
}

/// One side of a comparison.
struct Side {
  report::Report report;
  bool decisionsOnly = false; ///< Read from a plan.
};

/// A model (or IR with `--compile-from`), a JSON report or a fusion plan, told apart by what is in it.
Result<Side> loadSide(const fs::path &path, const ExplainOptions &options) {
  FUSEC_RETURN_IF_ERROR(refuseArtifact(path));
  if (!options.compileFrom.empty() || detectModelKind(path)) {
    ExplainOptions own = options;
    own.model = path;
    Explanation explanation(own);
    FUSEC_RETURN_IF_ERROR(explanation.run());
    return Side{explanation.takeReport()};
  }
  FUSEC_ASSIGN_OR_RETURN(std::string text, readWholeFile(path));
  size_t first = text.find_first_not_of(" \t\r\n");
  bool isJson = first != std::string::npos && text[first] == '{';
  Result<report::Report> report = isJson ? report::readJson(text) : report::reportOfPlan(text);
  if (!report)
    return report.status().withContext("'" + path.string() + "': expected a model, a JSON report or a fusion plan");
  return Side{std::move(*report), !isJson};
}

Result<ExplainOutput> compareTwo(const ExplainOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(Side first, loadSide(options.model, options));
  FUSEC_ASSIGN_OR_RETURN(Side second, loadSide(options.other, options));
  bool plans = first.decisionsOnly || second.decisionsOnly;
  // Against a plan, a report counts as the plan it would be written as.
  if (plans)
    for (Side *side : {&first, &second})
      if (!side->decisionsOnly)
        side->report = report::asPlan(side->report);
  std::vector<report::Difference> differences = report::compareReports(first.report, second.report, {!plans});
  ExplainOutput output;
  output.same = differences.empty();
  output.report = options.form == ReportForm::Json ? report::printDifferencesJson(differences)
                                                   : report::printDifferences(differences);
  return output;
}

} // namespace

Result<ExplainOutput> explainModel(const ExplainOptions &options) {
  if (!options.other.empty())
    return compareTwo(options);
  FUSEC_RETURN_IF_ERROR(refuseArtifact(options.model));
  Explanation explanation(options);
  FUSEC_RETURN_IF_ERROR(explanation.run());
  ExplainOutput output;
  report::Report report = explanation.takeReport();
  output.plan = report.fusionPlan;
  if (options.html)
    output.page = report::printHtml(report);
  if (!options.kernel.empty()) {
    FUSEC_ASSIGN_OR_RETURN(output.report, kernelText(explanation.planModule(), options.kernel));
  } else {
    output.report = options.form == ReportForm::Json ? report::printJson(report) : report::printText(report);
  }
  return output;
}

} // namespace fusec
