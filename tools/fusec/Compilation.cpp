//===- Compilation.cpp -----------------------------------------------------------===//
#include "tools/fusec/Compilation.h"

#include "ir/InitAllDialects.h"
#include "models/arch/Decoder.h"
#include "passes/Passes.h"
#include "tools/fusec/ModelDigest.h"
#include "tools/fusec/TargetChoice.h"

#include "runtime/base/AtomicFile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ToolOutputFile.h"

namespace fusec {

namespace {

/// Collects MLIR's errors while alive.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &d) {
          if (d.getSeverity() == mlir::DiagnosticSeverity::Error && text.empty()) {
            llvm::raw_string_ostream stream(text);
            stream << placeOf(d.getLocation()) << ": " << d;
          }
          return mlir::success();
        }) {}
  Status status(const std::string &what) { return internalError(what + " failed" + (text.empty() ? "" : ": " + text)); }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

mlir::DialectRegistry registry() {
  mlir::DialectRegistry all;
  registerAllDialects(all);
  return all;
}

FusionOptions fusionOptions(const CompileOptions &options) {
  FusionOptions fusion;
  fusion.enabled = options.fusion;
  fusion.derivation = options.derivation;
  fusion.limit = options.fusionLimit;
  return fusion;
}

/// The attribute that remembers which model a dumped module came from.
constexpr llvm::StringLiteral sourceAttr = "fuse.model";

Status writeModule(mlir::ModuleOp module, const std::filesystem::path &path) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path.string(), error);
  if (error)
    return invalidArgument("cannot write '" + path.string() + "': " + error.message());
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(true));
  return {};
}

} // namespace

int64_t registersOf(llvm::StringRef level) { return level == "avx512" ? 32 : 16; }

Status parseMlirFlags(const std::vector<std::string> &flags) {
  static const bool registered = [] {
    mlir::registerAsmPrinterCLOptions();
    mlir::registerMLIRContextCLOptions();
    mlir::registerPassManagerCLOptions();
    mlir::registerDefaultTimingManagerCLOptions();
    return true;
  }();
  (void)registered;
  std::vector<const char *> words = {"fusec"};
  for (const std::string &flag : flags)
    words.push_back(flag.c_str());
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (!llvm::cl::ParseCommandLineOptions(static_cast<int>(words.size()), words.data(), "", &stream))
    return invalidArgument("MLIR does not accept these flags: " + message);
  return {};
}

Compilation::Compilation(const CompileOptions &options)
    : options(options), context(registry()), fusion(std::make_shared<FusionControl>(fusionOptions(options))) {
  context.loadAllAvailableDialects();
}

Status Compilation::enableRemarks() {
  if (options.remarksFile.empty())
    return {};
  mlir::remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis = categories.failed = ".*";
  auto policy = std::make_unique<mlir::remark::RemarkEmittingPolicyAll>();
  if (failed(mlir::remark::enableOptimizationRemarksWithLLVMStreamer(
          context, options.remarksFile.string(), llvm::remarks::Format::YAML, std::move(policy), categories)))
    return invalidArgument("cannot write remarks to '" + options.remarksFile.string() + "'");
  return {};
}

Status Compilation::readFusionPlan() {
  if (options.fusionPlan.empty())
    return {};
  std::optional<Phase> from = phaseByName(options.compileFrom);
  if (from && *from >= Phase::Groups)
    return invalidArgument("a fusion plan decides nothing after phase 'groups', where '" + options.model.string() +
                           "' starts");
  FusionOptions asked = fusionOptions(options);
  asked.planName = options.fusionPlan.string();
  FUSEC_ASSIGN_OR_RETURN(asked.plan, readWholeFile(options.fusionPlan));
  FUSEC_RETURN_IF_ERROR(FusionPlan::parse(asked.plan).status().withContext(asked.planName));
  fusion = std::make_shared<FusionControl>(std::move(asked));
  return {};
}

/// A model that was made for embeddings gives no sensible logits.
Status Compilation::checkPurpose() const {
  const std::optional<Pooling> pooling = source->config().pooling;
  if (!pooling || options.embeddings)
    return {};
  return unsupported("'" + options.model.string() + "' is a model for embeddings (pooling_type " +
                     std::string(nameOf(*pooling)) + "), which generates no text: use --embeddings");
}

Status Compilation::open() {
  FUSEC_RETURN_IF_ERROR(enableRemarks());
  FUSEC_RETURN_IF_ERROR(readFusionPlan());
  FUSEC_ASSIGN_OR_RETURN(added, Extensions::open(context, options.extensions.rules, options.extensions.plugins));
  for (const std::unique_ptr<RuleFile> &file : added.rules())
    file->state().control = fusion.get();
  if (!options.compileFrom.empty())
    return openIR();
  FUSEC_ASSIGN_OR_RETURN(models::Model opened, models::openModel(options.model));
  source = std::move(opened);
  FUSEC_RETURN_IF_ERROR(checkPurpose());
  Diagnostics diagnostics(context);
  graph = models::buildGraph(context, *source, options.kvDtype.value_or(*storageTypeByName(math())),
                             options.embeddings ? models::GraphResult::Hidden : models::GraphResult::Logits);
  (*graph)->setAttr(sourceAttr, mlir::StringAttr::get(&context, options.model.string()));
  if (failed(mlir::verify(*graph)))
    return diagnostics.status("the imported graph of '" + options.model.string() + "'");
  const PhaseInfo &import = phases().front();
  return dump(*graph, import, "");
}

/// Whether a matrix of the model is stored in less than 32 bits.
static bool hasShortWeights(const models::Model &model) {
  return llvm::any_of(model.weights(), [](const models::Weight &weight) {
    return weight.shape.size() > 1 && weight.type != StorageType::F32;
  });
}

std::string Compilation::math() const {
  Result<TargetChoice> choice = parseTargetChoice(options.target);
  if (!choice || choice->kind == TargetKind::Host)
    return "f32";
  if (options.math != "auto")
    return options.math;
  return source && hasShortWeights(*source) ? "bf16" : "f32";
}

Status Compilation::openIR() {
  std::optional<Phase> phase = phaseByName(options.compileFrom);
  if (!phase)
    return invalidArgument("unknown phase '" + options.compileFrom + "'");
  Diagnostics diagnostics(context);
  graph = mlir::parseSourceFile<mlir::ModuleOp>(options.model.string(), &context);
  if (!graph)
    return diagnostics.status("reading '" + options.model.string() + "'")
        .withContext("compile-from " + options.compileFrom);
  done = *phase;
  auto path = (*graph)->getAttrOfType<mlir::StringAttr>(sourceAttr);
  if (!path)
    return {};
  FUSEC_ASSIGN_OR_RETURN(models::Model opened, models::openModel(path.str()));
  source = std::move(opened);
  return {};
}

Status Compilation::dump(mlir::ModuleOp target, const PhaseInfo &phase, const std::string &suffix) {
  if (options.dumpPhasesTo.empty())
    return {};
  std::error_code error;
  std::filesystem::create_directories(options.dumpPhasesTo, error);
  std::string number = std::to_string(static_cast<int>(phase.phase));
  return writeModule(target, options.dumpPhasesTo / (number + "-" + phase.name.str() + suffix + ".mlir"));
}

Status Compilation::runPhase(mlir::ModuleOp target, const PhaseInfo &phase, const PipelineOptions &pipeline,
                             const std::string &suffix) {
  mlir::PassManager manager(&context);
  if (!options.mlirFlags.empty() && failed(mlir::applyPassManagerCLOptions(manager)))
    return invalidArgument("MLIR's pass flags contradict each other");
  PipelineOptions asked = pipeline;
  asked.fusion = fusion;
  added.appendBefore(manager, phase.phase);
  buildPhase(manager, phase.phase, asked);
  if (options.perturb && phase.phase == Phase::Primitives)
    manager.addPass(createPerturbRoundingPass());
  added.appendAfter(manager, phase.phase);
  Diagnostics diagnostics(context);
  if (failed(manager.run(target)))
    return diagnostics.status("phase '" + phase.name.str() + "'");
  return dump(target, phase, suffix);
}

Result<std::vector<codegen::UsedExtension>> Compilation::usedExtensions() const {
  std::vector<codegen::UsedExtension> used;
  for (const auto &file : added.rules()) {
    FUSEC_ASSIGN_OR_RETURN(std::string digest, digestFiles({file->path()}));
    used.push_back({"rules", file->path().filename().string(), "", digest});
  }
  for (const LoadedPlugin *plugin : added.plugins()) {
    FUSEC_ASSIGN_OR_RETURN(std::string digest, digestFiles({plugin->path}));
    used.push_back({"plugin", plugin->name, plugin->version, digest});
  }
  return used;
}

void Compilation::warnAboutIdleRules() const {
  if (options.extensions.warning)
    for (const std::string &sentence : added.idleRules(done, *fusion))
      options.extensions.warning(sentence);
}

Status Compilation::runThrough(Phase last, const PipelineOptions &pipeline) {
  for (const PhaseInfo &phase : phases()) {
    if (phase.phase <= done || phase.phase > last)
      continue;
    FUSEC_RETURN_IF_ERROR(runPhase(*graph, phase, pipeline, ""));
    done = phase.phase;
    if (done == Phase::Groups) // The last question was asked.
      FUSEC_RETURN_IF_ERROR(fusion->finish());
  }
  return {};
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> Compilation::planFor(const PipelineOptions &pipeline, llvm::StringRef level) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = mlir::ModuleOp(graph->clone());
  if (done < Phase::Plan)
    FUSEC_RETURN_IF_ERROR(runPhase(*copy, phases().back(), pipeline, "-" + level.str()));
  return copy;
}

} // namespace fusec
