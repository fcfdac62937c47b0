//===- Compiler.cpp - compileModel: from a model file to an artifact --------------===//
#include "tools/fusec/Compiler.h"

#include "codegen/artifact/ArtifactWriter.h"
#include "runtime/device/host/CpuLevel.h"
#include "tools/fusec/Compilation.h"
#include "tools/fusec/CompilerTargets.h"
#include "tools/fusec/ModelDigest.h"
#include "tools/fusec/TargetChoice.h"
#include "tools/fusec/Version.h"

#include "llvm/Support/raw_ostream.h"

#include <future>

namespace fusec {

namespace {

namespace fs = std::filesystem;

void report(const CompileOptions &options, std::string_view stage, double fraction) {
  if (options.progress)
    options.progress(stage, fraction);
}

/// `--compile-to`: the module as text.
Status writeIR(mlir::ModuleOp module, const fs::path &path) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path.string(), error);
  if (error)
    return invalidArgument("cannot write '" + path.string() + "': " + error.message());
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(true));
  return {};
}

Result<std::string> digestOf(const models::Model &model) {
  ModelKind kind = model.gguf() ? ModelKind::Gguf : ModelKind::HuggingFace;
  FUSEC_ASSIGN_OR_RETURN(std::vector<fs::path> files, modelFiles(model.path(), kind));
  return digestFiles(files);
}

void reportTaken(const Compilation &compilation, const CompileOptions &options) {
  if (options.taken)
    for (const FusionControl::Taken &fusion : compilation.fusions().log())
      options.taken->push_back({fusion.kind, fusion.producer, fusion.consumer, fusion.reason});
}

Status buildArtifact(Compilation &compilation, const CompileOptions &options) {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  std::error_code error;
  fs::create_directories(options.output, error);
  std::future<Status> text =
      std::async(std::launch::async, [&] { return codegen::writeModelText(options.output, compilation.model()); });
  FUSEC_ASSIGN_OR_RETURN(std::vector<codegen::TargetPlan> targets, compileTargets(compilation, options, modules));
  codegen::ArtifactOptions artifact;
  artifact.version = FUSEC_VERSION;
  artifact.kvLayout = options.kvLayout;
  artifact.pooling = options.pooling.value_or(compilation.model().config().pooling.value_or(Pooling::Last));
  FUSEC_ASSIGN_OR_RETURN(artifact.digest, digestOf(compilation.model()));
  FUSEC_ASSIGN_OR_RETURN(artifact.extensions, compilation.usedExtensions());
  artifact.progress = [&](double fraction) { report(options, "packing weights", 0.7 + 0.3 * fraction); };
  FUSEC_RETURN_IF_ERROR(text.get());
  return codegen::writeArtifact(options.output, compilation.model(), targets, artifact);
}

} // namespace

std::string defaultLevel() {
  for (std::string_view level : runtime::cpuLevels())
    if (runtime::cpuSupports(level))
      return std::string(level);
  return std::string(runtime::cpuLevels().back());
}

std::vector<std::string> compilerPhases() {
  std::vector<std::string> names;
  for (const PhaseInfo &phase : phases())
    names.push_back(phase.name.str());
  return names;
}

/// Vectors and steps of a loop over cached positions do not reach over a page's end.
static Status checkPageTokens(int64_t tokens) {
  if (tokens >= leastPageTokens && tokens <= mostPageTokens && (tokens & (tokens - 1)) == 0)
    return {};
  return invalidArgument("a page of the KV cache has a power of two of tokens, " + std::to_string(leastPageTokens) +
                         " to " + std::to_string(mostPageTokens) + ", not " + std::to_string(tokens));
}

Result<fs::path> compileModel(const CompileOptions &options) {
  if (options.kvDtype && !isCacheType(*options.kvDtype))
    return invalidArgument("a KV cache is stored in " + cacheTypeNames() + ", not in " +
                           std::string(info(*options.kvDtype).name));
  FUSEC_RETURN_IF_ERROR(checkPageTokens(options.pageTokens));
  FUSEC_ASSIGN_OR_RETURN(TargetChoice target, parseTargetChoice(options.target)); // Said before the work.
  if (target.kind == TargetKind::Host && options.libraryProducts != "off")
    return invalidArgument("--library-products " + options.libraryProducts + " is for CUDA, the target is the CPU");
  if (target.kind == TargetKind::Cuda && options.embeddings)
    return unsupported("--embeddings is for the CPU, the target is CUDA");
  FUSEC_RETURN_IF_ERROR(parseMlirFlags(options.mlirFlags));
  report(options, "reading the model", 0.0);
  Compilation compilation(options);
  FUSEC_RETURN_IF_ERROR(compilation.open());
  if (options.compileTo.empty() && !compilation.hasModel())
    return invalidArgument("'" + options.model.string() +
                           "' names no model to take weights from; use --compile-to for its IR");
  report(options, "fusing", 0.05);
  FUSEC_ASSIGN_OR_RETURN(PipelineOptions pipeline, firstPipeline(compilation, options));
  if (!options.compileTo.empty()) {
    std::optional<Phase> last = phaseByName(options.compileTo);
    if (!last)
      return invalidArgument("unknown phase '" + options.compileTo + "'");
    FUSEC_RETURN_IF_ERROR(compilation.runThrough(*last, pipeline));
    FUSEC_RETURN_IF_ERROR(writeIR(compilation.module(), options.output));
    compilation.warnAboutIdleRules();
    return options.output;
  }
  FUSEC_RETURN_IF_ERROR(compilation.runThrough(Phase::Groups, pipeline));
  reportTaken(compilation, options);
  FUSEC_RETURN_IF_ERROR(buildArtifact(compilation, options));
  compilation.warnAboutIdleRules();
  report(options, "done", 1.0);
  return options.output;
}

} // namespace fusec
