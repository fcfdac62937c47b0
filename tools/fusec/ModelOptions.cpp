//===- ModelOptions.cpp - from MODEL on a command line to an engine --------===//
#include "tools/fusec/ModelOptions.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Json.h"
#include "runtime/device/host/CpuLevel.h"
#include "runtime/exec/Executor.h"
#include "tools/fusec/ArtifactCache.h"
#include "tools/fusec/Compiler.h"
#include "tools/fusec/ProgressBar.h"
#include "tools/fusec/Version.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace fusec {

/// The storage types of caches, as the table spells them.
static std::vector<std::string> cacheTypes() {
  std::vector<std::string> names;
  for (const StorageTypeInfo &row : storageTypes)
    if (isCacheType(row.type))
      names.emplace_back(row.name);
  return names;
}

CLI::Option *KvDtypeOption::declare(CLI::App &app) {
  auto spelled = [](const std::string &asked) { return asked == "fp8" ? std::string("fp8_e4m3") : asked; };
  return app
      .add_option("--kv-dtype", name,
                  "how keys and values are stored: " + cacheTypeNames() +
                      " (also: fp8); default: f32, and on GPUs what products round to")
      ->transform(CLI::IsMember(cacheTypes(), spelled));
}

void KvLayoutOption::declare(CLI::App &app) {
  std::vector<std::string> names;
  for (const KvLayoutName &row : kvLayouts)
    names.emplace_back(row.name);
  app.add_option(
         "--kv-layout", name,
         "where a sequence's cache pages lie: paged (anywhere) or contiguous (mapped side by side); default: paged")
      ->check(CLI::IsMember(names));
}

CLI::Option *KvPageOption::declare(CLI::App &app) {
  return app
      .add_option("--kv-page-tokens", tokens,
                  "tokens of a page of the KV cache: 16, 32, 64 or 128; default: 64. Smaller ones waste less memory")
      ->check(CLI::IsMember({16, 32, 64, 128}));
}

int64_t KvPageOption::chosen() const { return tokens == 0 ? defaultPageTokens : tokens; }

CLI::Option *EmbeddingsOption::declare(CLI::App &app) {
  std::vector<std::string> names = {"model"};
  for (const PoolingRow &row : poolings)
    names.emplace_back(row.name);
  // A flag, so that it takes no word that follows: the pooling is given with '='.
  return app
      .add_flag("--embeddings{model}", name,
                "compile for embeddings instead of text, of the last token, the mean or the first one (cls): "
                "--embeddings=last|mean|cls; default: what the model says, else last")
      ->check(CLI::IsMember(names));
}

void FusionPlanOption::declare(CLI::App &app) {
  app.add_option("--fusion-plan", file, "take and refuse fusions as this file says (docs/fusion-plan.md)");
}

std::optional<StorageType> KvDtypeOption::type() const { return storageTypeByName(name); }

void ModelOptions::declare(CLI::App &app) {
  app.add_option("MODEL", model, "GGUF file, Hugging Face directory or artifact directory")->required();
  app.add_option("-t,--threads", threads, "threads; 0 = one per physical core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("-c,--context,--ctx", contextTokens, "tokens of context; 0 = the model's, at most 4096")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--chunk", chunkTokens, "prompt tokens per step; never changes the result")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  device.declare(app);
  app.add_option("--level", level, "CPU level of the kernels; default: the best this CPU runs")
      ->check(CLI::IsMember({"avx2", "avx512"}));
  kvDtype.declare(app);
  kvLayout.declare(app);
  kvPage.declare(app);
  fusionPlan.declare(app);
  extensions.declare(app);
  app.add_flag("--recompile", recompile, "compile again, even when the cache has the model");
}

/// The level to compile for: the asked one, else the best that this CPU runs.
static Result<std::string> hostLevel(const std::string &asked) {
  std::vector<std::string> all;
  for (std::string_view name : runtime::cpuLevels())
    all.emplace_back(name);
  return runtime::chooseCpuLevel(all, asked);
}

CompileOptions compileOptionsFor(const ModelOptions &options, const std::string &target, const std::string &level,
                                 const Environment &environment) {
  CompileOptions compile;
  compile.model = options.model;
  compile.extensions = options.extensions.files;
  compile.target = target;
  compile.math = options.device.math;
  if (!options.device.libraryProducts.empty())
    compile.libraryProducts = options.device.libraryProducts;
  compile.nvrtc = environment.nvrtc;
  compile.kernelCache = environment.cacheRoot;
  if (target == "host" && !level.empty())
    compile.levels = {level};
  compile.kvDtype = options.kvDtype.type();
  compile.kvLayout = options.kvLayout.layout();
  compile.pageTokens = options.kvPage.chosen();
  compile.embeddings = options.embeddings.given();
  compile.pooling = options.embeddings.pooling();
  compile.fusionPlan = options.fusionPlan.file;
  return compile;
}

static Status compileInto(const std::filesystem::path &directory, const ModelOptions &options,
                          const std::string &target, const std::string &level, const Environment &environment) {
  ProgressBar bar(environment);
  CompileOptions compile = compileOptionsFor(options, target, level, environment);
  compile.output = directory;
  compile.progress = [&bar](std::string_view stage, double fraction) { bar.update(stage, fraction); };
  return compileModel(compile).status();
}

/// An artifact's cache is what it was compiled with; asking for another must not be ignored.
static Status checkKv(const std::filesystem::path &artifact, const ModelOptions &options) {
  const std::string pages = options.kvPage.tokens == 0 ? "" : std::to_string(options.kvPage.tokens);
  if (options.kvDtype.name.empty() && options.kvLayout.name.empty() && pages.empty())
    return {};
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json manifest, readJsonFile(artifact / "manifest.json"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *kv, jsonObject(manifest, "kv"));
  FUSEC_ASSIGN_OR_RETURN(std::string dtype, jsonString(*kv, "dtype"));
  FUSEC_ASSIGN_OR_RETURN(std::string layout, jsonString(*kv, "layout"));
  FUSEC_ASSIGN_OR_RETURN(int64_t tokens, jsonInt(*kv, "page_tokens"));
  struct Asked {
    const char *option;
    const std::string &value;
    std::string has;
    const char *verb;
  };
  for (const Asked &asked : {Asked{"--kv-dtype", options.kvDtype.name, dtype, "is "},
                             Asked{"--kv-layout", options.kvLayout.name, layout, "is "},
                             Asked{"--kv-page-tokens", pages, std::to_string(tokens), "has pages of "}})
    if (!asked.value.empty() && asked.value != asked.has)
      return invalidArgument(std::string(asked.option) + " " + asked.value + ": '" + artifact.string() +
                             "' is an artifact whose cache " + asked.verb + asked.has + "; compile its model again");
  return {};
}

/// Likewise what it gives.
static Status checkEmbeddings(const std::filesystem::path &artifact, const EmbeddingsOption &asked) {
  if (!asked.given())
    return {};
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json manifest, readJsonFile(artifact / "manifest.json"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *model, jsonObject(manifest, "model"));
  std::string has;
  if (jsonFind(*model, "embedding")) {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *embedding, jsonObject(*model, "embedding"));
    FUSEC_ASSIGN_OR_RETURN(has, jsonString(*embedding, "pooling"));
  }
  if (!has.empty() && (!asked.pooling() || has == asked.name))
    return {};
  return invalidArgument("--embeddings" + (asked.pooling() ? "=" + asked.name : std::string()) + ": '" +
                         artifact.string() + "' is an artifact that was compiled for " +
                         (has.empty() ? "text" : "embeddings of pooling " + has) + "; compile its model again");
}

/// Likewise who computes large products.
static Status checkLibraryProducts(const std::filesystem::path &artifact, const std::string &asked) {
  if (asked.empty())
    return {};
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json manifest, readJsonFile(artifact / "manifest.json"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *launches, jsonArray(manifest, "launches"));
  const bool has = std::any_of(launches->begin(), launches->end(), [](const nlohmann::json &launch) {
    return launch.is_object() && launch.value("kind", "kernel") == "library_product";
  });
  if (has == (asked != "off"))
    return {};
  return invalidArgument("--library-products " + asked + ": '" + artifact.string() + "' is an artifact compiled " +
                         (has ? "with" : "without") + " products of a library; compile its model again");
}

/// What `--library-products` adds to the key of a compiled model: a file counts by its content.
static Result<std::string> libraryProductsKey(const std::string &asked) {
  if (asked.empty() || asked == "off" || asked == "auto")
    return "library-products=" + (asked.empty() ? "off" : asked);
  FUSEC_ASSIGN_OR_RETURN(std::string rates, readWholeFile(asked));
  return "library-products=" + rates;
}

Result<std::filesystem::path> artifactFor(const ModelOptions &options, const Environment &environment) {
  const std::filesystem::path model = options.model;
  FUSEC_ASSIGN_OR_RETURN(ModelKind kind, detectModelKind(model));
  if (kind == ModelKind::Artifact) {
    FUSEC_RETURN_IF_ERROR(checkKv(model, options));
    FUSEC_RETURN_IF_ERROR(checkEmbeddings(model, options.embeddings));
    FUSEC_RETURN_IF_ERROR(checkLibraryProducts(model, options.device.libraryProducts));
    if (!options.fusionPlan.file.empty())
      return invalidArgument("--fusion-plan: '" + model.string() +
                             "' is an artifact, whose fusions are done; "
                             "expected the model it was compiled from");
    FUSEC_RETURN_IF_ERROR(options.extensions.checkNoneFor(model));
    return model;
  }
  if (environment.cacheRoot.empty())
    return notFound("no place for the compiled model: set XDG_CACHE_HOME or HOME to an absolute "
                    "path, or use `fusec compile MODEL -o DIRECTORY`");
  const ArtifactCache cache(environment.cacheRoot);
  FUSEC_ASSIGN_OR_RETURN(auto files, modelFiles(model, kind));
  FUSEC_ASSIGN_OR_RETURN(std::string digest, cache.digests().digestOf(files));
  FUSEC_ASSIGN_OR_RETURN(std::string target, options.device.compileTarget(options.level));
  std::string level;
  if (target == "host") {
    FUSEC_ASSIGN_OR_RETURN(level, hostLevel(options.level));
  }
  FUSEC_ASSIGN_OR_RETURN(std::string compiler, cache.digests().digestOf({compilerLibrary()}));
  // On the CPU the default is a type: naming it asks for the same model.
  const std::string kvDtype = target == "host" && options.kvDtype.name.empty() ? "f32" : options.kvDtype.name;
  ArtifactKey key{.modelDigest = digest,
                  .compilerVersion = FUSEC_VERSION "-" + compiler,
                  .levels = {level},
                  .options = {"kv-dtype=" + kvDtype, "kv-page-tokens=" + std::to_string(options.kvPage.chosen()),
                              "kv-layout=" + std::string(nameOf(options.kvLayout.layout())), "target=" + target,
                              "math=" + (target == "host" ? std::string() : options.device.math),
                              "embeddings=" + options.embeddings.name}};
  FUSEC_ASSIGN_OR_RETURN(std::string products, libraryProductsKey(options.device.libraryProducts));
  key.options.push_back(products);
  FUSEC_ASSIGN_OR_RETURN(std::vector<std::string> extensions, options.extensions.keyParts());
  key.options.insert(key.options.end(), extensions.begin(), extensions.end());
  if (!options.fusionPlan.file.empty()) {
    FUSEC_ASSIGN_OR_RETURN(std::string plan, readWholeFile(options.fusionPlan.file));
    key.options.push_back("fusion-plan=" + plan);
  }
  if (options.recompile)
    FUSEC_RETURN_IF_ERROR(cache.remove(key));
  return cache.findOrBuild(key, [&](const std::filesystem::path &directory) {
    return compileInto(directory, options, target, level, environment);
  });
}

Result<std::unique_ptr<runtime::Engine>> openEngine(const ModelOptions &options, const Environment &environment,
                                                    const runtime::EngineOptions &more) {
  FUSEC_ASSIGN_OR_RETURN(std::string device, options.device.deviceName(options.level));
  FUSEC_ASSIGN_OR_RETURN(std::filesystem::path artifact, artifactFor(options, environment));
  ProgressBar bar(environment);
  runtime::EngineOptions engine = more;
  engine.artifact = artifact;
  engine.threads = options.threads;
  engine.contextTokens = options.contextTokens;
  engine.chunkTokens = options.chunkTokens;
  engine.level = options.level;
  engine.device = device;
  engine.graphs = options.device.graphs;
  engine.progress = [&bar](std::string_view stage, double fraction) { bar.update(stage, fraction); };
  Result<std::unique_ptr<runtime::Engine>> opened = runtime::Engine::create(engine);
  bar.finish();
  if (opened)
    for (const std::string &note : (*opened)->executorInfo().notes)
      std::fprintf(stderr, "fusec: note: %s\n", note.c_str());
  return opened;
}

int reportError(const Status &status) {
  std::fprintf(stderr, "fusec: %s\n", status.message().c_str());
  return status.code() == ErrorCode::Cancelled ? ExitInterrupted : ExitFailure;
}

} // namespace fusec
