//===- CmdCompile.cpp - fusec compile: a model file to an artifact ---------===//
#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/Compiler.h"
#include "tools/fusec/Interrupt.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ProgressBar.h"
#include "tools/fusec/TargetChoice.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace fusec {

namespace fs = std::filesystem;

namespace {

class CompileCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Status checkMlirFlags();
  Status chooseOutput();
  Result<fs::path> compileAndPublish();

  CompileOptions options;
  std::string model, output, dumpPhasesTo, dumpKernelsTo, remarks;
  KvDtypeOption kvDtype;
  KvLayoutOption kvLayout;
  KvPageOption kvPage;
  EmbeddingsOption embeddings;
  FusionPlanOption fusionPlan;
  ExtensionOptions extensions;
  bool force = false;
  CLI::App *parsed = nullptr;
};

void CompileCommand::declare(CLI::App &app) {
  parsed = &app;
  app.add_option("MODEL", model, "GGUF file or Hugging Face directory (an .mlir file with --compile-from)")->required();
  app.add_option("-o,--output", output,
                 "artifact directory to create; default: the model's name + .fusec in this directory");
  CLI::Option *target =
      app.add_option("--target", options.target, "what kernels run on: host, cuda, or cuda:sm_80,sm_90a,...")
          ->capture_default_str();
  app.add_option("--math", options.math, "CUDA: what matrix products round their operands to")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(mathNames), std::end(mathNames))))
      ->capture_default_str()
      ->needs(target);
  app.add_flag("--stream-weights", options.streamWeights,
               "CUDA: packed weights of products of few tokens come through a ring in shared memory")
      ->needs(target);
  app.add_option("--library-products", options.libraryProducts, libraryProductsHelp)
      ->type_name("off|auto|FILE")
      ->capture_default_str()
      ->needs(target);
  app.add_option("--level", options.levels, "CPU levels to compile for; default: the best this CPU runs")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"avx2", "avx512"}))
      ->excludes(target);
  CLI::Option *kvDtypeGiven = kvDtype.declare(app);
  kvLayout.declare(app);
  kvPage.declare(app);
  CLI::Option *embeddingsGiven = embeddings.declare(app);
  fusionPlan.declare(app);
  extensions.declare(app);
  app.add_flag("--force", force, "replace an existing output");
  const char *group = "Looking inside";
  app.add_option("--dump-phases-to", dumpPhasesTo, "write the IR after each phase into this directory")->group(group);
  app.add_option("--dump-kernels-to", dumpKernelsTo, "write each kernel's code into this directory")->group(group);
  app.add_option("--compile-from", options.compileFrom, "start with the IR of this phase")
      ->excludes(kvDtypeGiven)    // The IR says how its caches are stored, ...
      ->excludes(embeddingsGiven) // ... and what it gives.
      ->group(group);
  app.add_option("--compile-to", options.compileTo, "stop after this phase and write its IR")->group(group);
  app.add_option("--remarks", remarks, "write every decision with its reason to this YAML file")->group(group);
  app.add_flag("!--no-fusion", options.fusion, "give every op its own kernel; derive nothing")->group(group);
  app.add_option("--fusion-limit", options.fusionLimit, "take only the first so many fusions")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.allow_extras(); // MLIR's own flags; checkMlirFlags refuses all others.
  std::string phases;
  for (const std::string &phase : compilerPhases())
    phases += (phases.empty() ? "" : ", ") + phase;
  app.footer("Phases: " + phases +
             "\nMLIR's printing flags are accepted, e.g. --mlir-print-ir-after-all.\n\n"
             "Examples:\n"
             "  fusec compile model.gguf -o model.fusec\n"
             "  fusec compile model.gguf --level avx2,avx512 --dump-phases-to ir\n"
             "  fusec compile model.gguf --kv-dtype f16      # half the cache memory and traffic\n"
             "  fusec compile model.gguf --embeddings=mean   # for /v1/embeddings instead of text\n"
             "  fusec compile model.gguf --target cuda:sm_80,sm_90a --dump-kernels-to kernels\n"
             "  fusec compile model.gguf --compile-to groups -o model.mlir");
}

Status CompileCommand::checkMlirFlags() {
  for (const std::string &word : parsed->remaining()) {
    if (!word.starts_with("--mlir-"))
      return invalidArgument("compile: unknown argument '" + word + "'");
    options.mlirFlags.push_back(word);
  }
  return {};
}

Status CompileCommand::chooseOutput() {
  fs::path place = output;
  if (place.empty()) {
    const fs::path name = fs::path(model).lexically_normal();
    const fs::path base = name.has_filename() ? name : name.parent_path(); // "model/" has none.
    const bool isFile = fs::is_regular_file(base);
    place = (isFile ? base.stem() : base.filename()).string() + (options.compileTo.empty() ? ".fusec" : ".mlir");
  }
  options.output = place;
  std::error_code error;
  if (fs::exists(place, error) && !force)
    return invalidArgument("'" + place.string() + "' exists: name another output with -o, or use --force");
  return {};
}

/// Compiles beside the output's place and renames, so that an output is whole or not there.
Result<fs::path> CompileCommand::compileAndPublish() {
  const fs::path place = options.output;
  std::error_code error;
  const fs::path parent = place.has_parent_path() ? place.parent_path() : fs::path(".");
  fs::create_directories(parent, error);
  const fs::path temporary = uniqueTemporary(parent);
  auto discard = [temporary] {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
  };
  InterruptCleanup cleanup(discard);
  options.output = temporary;
  if (Result<fs::path> built = compileModel(options); !built) {
    discard();
    return built.status();
  }
  if (force)
    fs::remove_all(place, error);
  fs::rename(temporary, place, error);
  if (error) {
    discard();
    return notFound("'" + place.string() + "': cannot write: " + error.message());
  }
  return place;
}

int CompileCommand::execute(const Environment &environment) {
  options.model = model;
  options.extensions = extensions.files;
  options.kvDtype = kvDtype.type();
  options.kvLayout = kvLayout.layout();
  options.pageTokens = kvPage.chosen();
  options.embeddings = embeddings.given();
  options.pooling = embeddings.pooling();
  options.fusionPlan = fusionPlan.file;
  options.dumpPhasesTo = dumpPhasesTo;
  options.dumpKernelsTo = dumpKernelsTo;
  options.remarksFile = remarks;
  options.nvrtc = environment.nvrtc;
  options.kernelCache = environment.cacheRoot;
  Status usage = checkMlirFlags();
  if (usage.ok())
    usage = parseTargetChoice(options.target).status();
  if (usage.ok())
    usage = chooseOutput();
  if (!usage.ok()) {
    reportError(usage);
    return ExitUsage;
  }
  ProgressBar bar(environment);
  options.progress = [&bar](std::string_view stage, double fraction) { bar.update(stage, fraction); };
  Result<fs::path> written = compileAndPublish();
  bar.finish();
  if (!written)
    return reportError(written.status());
  std::printf("%s\n", written->c_str());
  return ExitOk;
}

} // namespace

std::unique_ptr<Command> makeCompile() { return std::make_unique<CompileCommand>(); }

} // namespace fusec
