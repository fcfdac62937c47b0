//===- VerifySession.cpp ---------------------------------------------------===//
//
// 1. Compile (or find) the subject and run it: prompt, continuation, logits.
// 2. List the comparisons as steps; a few need artifacts of their own.
// 3. Run them, then search for the guilty fusion if there is one.
//
//===----------------------------------------------------------------------===//
#include "tools/fusec/VerifySession.h"

#include "runtime/device/host/CpuLevel.h"
#include "tools/fusec/ModelDigest.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace fusec {

namespace fs = std::filesystem;

/// Shares of the progress bar: compiling a model takes about as long as running it a few times.
static constexpr double compileWeight = 3, runWeight = 1;

/// Every level there could be kernels for, so that the report says why one is missing.
static constexpr const char *knownLevels[] = {"amx", "avx512", "avx2"};

VerifySession::VerifySession(const VerifyOptions &options, const Environment &environment)
    : options(options), environment(environment),
      scratch(environment.cacheRoot.empty() ? fs::temp_directory_path() : environment.cacheRoot / "verify") {}

Result<VerifyReport> VerifySession::run() {
  const auto start = std::chrono::steady_clock::now();
  FUSEC_RETURN_IF_ERROR(openSubject());
  ProgressBar bar(environment);
  planSteps();
  FUSEC_RETURN_IF_ERROR(runSteps(bar));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(report);
}

//===----------------------------------------------------------------------===//
// Subject
//===----------------------------------------------------------------------===//

Status VerifySession::openSubject() {
  FUSEC_ASSIGN_OR_RETURN(ModelKind kind, detectModelKind(options.model.model));
  isArtifact = kind == ModelKind::Artifact;
  FUSEC_ASSIGN_OR_RETURN(device, options.model.device.deviceName(options.model.level));
  if (!isArtifact) {
    FUSEC_ASSIGN_OR_RETURN(target, options.model.device.compileTarget(options.model.level));
  }
  if (isArtifact && options.fusionLimit >= 0)
    return invalidArgument("--fusion-limit compiles the model anew; '" + options.model.model + "' is an artifact");
  if (options.fusionLimit >= 0) {
    ProgressBar bar(environment);
    progress = [&bar](std::string_view stage, double fraction) { bar.update(stage, fraction); };
    CompileOptions compile = compileOptions(options.model.level);
    compile.fusionLimit = options.fusionLimit;
    FUSEC_ASSIGN_OR_RETURN(limited, VerifyArtifact::compile(scratch, std::move(compile)));
    subjectPath = limited->path();
  } else {
    FUSEC_ASSIGN_OR_RETURN(subjectPath, artifactFor(options.model, environment));
  }
  VerifySetup subject = setupOf(subjectPath);
  subject.level = options.model.level;
  subject.threads = options.model.threads;
  FUSEC_ASSIGN_OR_RETURN(runner, VerifyRunner::create(subject, options.lengths, options.prompt));
  report.model = runner->modelName();
  report.level = runner->level();
  report.threads = runner->threads();
  report.promptTokens = runner->promptTokens();
  report.generateTokens = runner->generateTokens();
  return {};
}

/// As the subject runs.
VerifySetup VerifySession::setupOf(const fs::path &artifact) const {
  VerifySetup setup;
  setup.artifact = artifact;
  setup.device = device;
  setup.graphs = options.model.device.graphs;
  if (runner && !isOnGpu()) {
    setup.level = runner->level();
    setup.threads = runner->threads();
  }
  return setup;
}

/// With everything the user asked for.
CompileOptions VerifySession::compileOptions(const std::string &level) {
  CompileOptions compile = compileOptionsFor(options.model, target, level, environment);
  compile.extensions.warning = {}; // Said once, for the subject.
  compile.progress = [this](std::string_view stage, double fraction) {
    if (progress)
      progress(stage, fraction);
  };
  return compile;
}

/// The model as it is: no fusion, and nothing of the user's.
CompileOptions VerifySession::plainOptions() {
  CompileOptions compile = compileOptions(runner->level());
  compile.fusion = false;
  compile.fusionPlan.clear();
  compile.extensions = {};
  return compile;
}

Result<VerifyTrace> VerifySession::traceOf(CompileOptions compile) {
  FUSEC_ASSIGN_OR_RETURN(VerifyArtifact artifact, VerifyArtifact::compile(scratch, std::move(compile)));
  return runner->run(setupOf(artifact.path()));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

VerifyRow VerifySession::makeRow(const std::string &id, const std::string &what, const VerifyTrace &actual,
                                 const VerifyTrace &expected) const {
  VerifyRow row;
  row.id = id;
  row.what = what;
  row.logits = compareLogits(actual.logits, expected.logits, expected.vocab);
  row.tokens = compareContinuations(actual, expected, runner->promptTokens());
  return row;
}

void VerifySession::boundedRow(const std::string &id, const std::string &what, const VerifyTrace &actual,
                               const VerifyTrace &expected, double allowed) {
  VerifyRow row = makeRow(id, what, actual, expected);
  row.demand = VerifyDemand::Bound;
  row.bound = allowed;
  report.rows.push_back(std::move(row));
}

void VerifySession::skip(const std::string &id, const std::string &what, const std::string &why) {
  VerifyRow row;
  row.id = id;
  row.what = what;
  row.skipped = why;
  report.rows.push_back(std::move(row));
}

void VerifySession::planSkip(const std::string &id, const std::string &what, const std::string &why) {
  if (wanted(id))
    add(id, what, 0, [=, this] {
      skip(id, what, why);
      return Status();
    });
}

/// A comparison that could not be made: the others still are.
void VerifySession::fail(const Step &step, const Status &status) {
  VerifyRow row;
  row.id = step.id;
  row.what = step.label;
  row.error = status.message();
  report.rows.push_back(std::move(row));
}

/// Whether there is an unfused model and its noise to compare with; else the row is skipped.
bool VerifySession::hasBound(const std::string &id, const std::string &what) {
  if (!report.noise)
    skip(id, what, "there is no unfused model to hold it to");
  return report.noise.has_value();
}

bool VerifySession::wanted(const std::string &id) const {
  const auto &picked = options.pickedRows;
  return picked.empty() || std::any_of(picked.begin(), picked.end(), [&](const std::string &name) {
           return id == name || id.starts_with(name + "-");
         });
}

void VerifySession::add(std::string id, std::string label, double weight, std::function<Status()> run) {
  steps.push_back({std::move(id), std::move(label), weight, std::move(run)});
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void VerifySession::planSteps() {
  planVariants();
  planSameBits();
  planLevels();
  planReference();
}

/// The subject's own artifact under another configuration.
void VerifySession::sameBits(const std::string &id, const std::string &what, VerifySetup setup) {
  if (!wanted(id))
    return;
  add(id, what, runWeight, [this, id, what, setup]() -> Status {
    FUSEC_ASSIGN_OR_RETURN(VerifyTrace other, runner->run(setup));
    report.rows.push_back(makeRow(id, what, other, runner->subject()));
    return {};
  });
}

void VerifySession::planThreads(VerifySetup setup) {
  for (int threads : std::set<int>{1, runner->threads() + 1}) {
    setup.threads = threads;
    if (threads != runner->threads())
      sameBits("threads-" + std::to_string(threads),
               std::to_string(threads) + " / " + std::to_string(runner->threads()) + " threads", setup);
  }
}

void VerifySession::planSameBits() {
  const auto length = static_cast<int64_t>(runner->ids().size());
  const VerifySetup subject = setupOf(subjectPath);
  sameBits("repeat", "the same again", subject);
  VerifySetup setup = subject;
  if (isOnGpu()) {
    setup.graphs = !subject.graphs;
    setup.chunkTokens = 1; // Only such steps are captured.
    sameBits("graphs", subject.graphs ? "decode without graphs / whole prompt" : "decode by graphs / whole prompt",
             setup);
  } else {
    planThreads(setup);
  }
  setup = subject;
  for (int64_t chunk : std::set<int64_t>{7, 64, options.model.chunkTokens}) {
    setup.chunkTokens = chunk;
    if (chunk > 1 && chunk < length)
      sameBits("chunks-" + std::to_string(chunk), "chunks of " + std::to_string(chunk) + " / whole prompt", setup);
  }
  setup.chunkTokens = 1;
  if (length > 1)
    sameBits("decode", "decode (1 token a step) / whole prompt", setup);
}

void VerifySession::planVariants() {
  if (isArtifact) {
    const std::string why = "an artifact holds one form only; verify the model file for this";
    planSkip("fused", "fused / unfused", why);
    return planSkip("derived", "derived / underived", why);
  }
  if (!wanted("fused") && !wanted("derived") && !wanted("extensions") && !wanted("level") && !wanted("reference"))
    return;
  // The bound comes from these two, and all rows that reassociate are held to it.
  add("unfused", "the unfused model", compileWeight + runWeight, [this]() -> Status {
    FUSEC_ASSIGN_OR_RETURN(unfused, traceOf(plainOptions()));
    return {};
  });
  add("noise", "the noise of rounding", compileWeight + runWeight, [this]() -> Status {
    if (!unfused)
      return {};
    CompileOptions compile = plainOptions();
    compile.perturb = true;
    FUSEC_ASSIGN_OR_RETURN(VerifyTrace moved, traceOf(std::move(compile)));
    const LogitDifference noise = compareLogits(moved.logits, unfused->logits, unfused->vocab);
    if (noise.oneSided > 0 || noise.notNumbers > 0)
      return internalError("the unfused model gives NaN or infinite logits, which have no noise to measure");
    report.noise = noise.maxRelative;
    bound = boundFromNoise(*report.noise);
    return {};
  });
  if (wanted("fused"))
    add("fused", "fused / unfused", compileWeight, [this]() -> Status {
      if (!hasBound("fused", "fused / unfused"))
        return {};
      boundedRow("fused", "fused / unfused", runner->subject(), *unfused, bound);
      const VerifyRow &row = report.rows.back();
      if (!row.passed())
        return options.searchFailures ? search(/*anyBit=*/false) : Status();
      if (options.bisect && row.logits.bitEqual())
        report.notes.push_back("Bisection: the fused model gives the unfused one's bits; no fusion changes any.");
      return options.bisect && !row.logits.bitEqual() ? search(/*anyBit=*/true) : Status();
    });
  if (!options.model.extensions.files.empty() && wanted("extensions"))
    add("extensions", "with / without rules and plugins", compileWeight + runWeight, [this]() -> Status {
      if (!hasBound("extensions", "with / without rules and plugins"))
        return {};
      CompileOptions compile = compileOptions(runner->level());
      compile.extensions = {};
      FUSEC_ASSIGN_OR_RETURN(VerifyTrace without, traceOf(std::move(compile)));
      boundedRow("extensions", "with / without rules and plugins", runner->subject(), without, bound);
      return {};
    });
  if (wanted("derived"))
    add("derived", "derived / underived", compileWeight + runWeight, [this]() -> Status {
      if (!hasBound("derived", "derived / underived"))
        return {};
      CompileOptions compile = compileOptions(runner->level());
      compile.derivation = false;
      FUSEC_ASSIGN_OR_RETURN(VerifyTrace underived, traceOf(std::move(compile)));
      boundedRow("derived", "derived / underived", runner->subject(), underived, bound);
      return {};
    });
}

void VerifySession::planLevels() {
  for (const char *level : knownLevels) {
    const std::string id = std::string("level-") + level, what = std::string(level) + " / " + runner->level();
    const auto all = runtime::cpuLevels();
    if (level == runner->level() || !wanted(id))
      continue;
    if (std::find(all.begin(), all.end(), level) == all.end())
      planSkip(id, what, "this fusec has no kernels for it");
    else if (!runtime::cpuSupports(level))
      planSkip(id, what, "this CPU does not run it");
    else
      add(id, what, compileWeight + runWeight, [this, name = std::string(level)] { return compareLevel(name); });
  }
}

Status VerifySession::compareLevel(const std::string &level) {
  const std::string id = "level-" + level, what = level + " / " + runner->level();
  VerifySetup setup = setupOf(subjectPath);
  setup.level = level;
  setup.device = "host"; // A GPU is held to the CPU this way.
  if (isArtifact) {
    Result<VerifyTrace> other = runner->run(setup);
    if (!other && other.status().code() == ErrorCode::NotFound) {
      skip(id, what, "the artifact has no kernels for it");
      return {};
    }
    if (!other)
      return other.status();
    // Without the model there is no noise to hold it to; levels round alike but for exp and sums.
    boundedRow(id, what, *other, runner->subject(), verifyFloor);
    return {};
  }
  if (!hasBound(id, what))
    return {};
  CompileOptions compile = compileOptions(level);
  compile.target = "host";
  compile.levels = {level};
  compile.fusionLimit = options.fusionLimit;
  FUSEC_ASSIGN_OR_RETURN(VerifyArtifact artifact, VerifyArtifact::compile(scratch, std::move(compile)));
  setup.artifact = artifact.path();
  FUSEC_ASSIGN_OR_RETURN(VerifyTrace other, runner->run(setup));
  boundedRow(id, what, other, runner->subject(), bound);
  return {};
}

void VerifySession::planReference() {
  if (options.referenceTokens == 0 || !wanted("reference"))
    return;
  const char *fusedWhat = "fused / interpreted in double";
  if (isArtifact)
    return planSkip("reference", fusedWhat, "an artifact holds no graph; verify the model file for this");
  add("reference", fusedWhat, 10 * compileWeight, [this] { return compareReference(); });
}

/// The first tokens of both, against the model's definition. Fusion may not lose accuracy: the
/// fused error is held to twice the unfused one.
Status VerifySession::compareReference() {
  if (!hasBound("reference", "fused / interpreted in double"))
    return {};
  const auto count = std::min<int64_t>(options.referenceTokens, static_cast<int64_t>(runner->ids().size()));
  ReferenceOptions reference;
  reference.model = options.model.model;
  reference.ids.assign(runner->ids().begin(), runner->ids().begin() + count);
  reference.progress = [this](std::string_view stage, double fraction) { progress(stage, fraction); };
  VerifyTrace oracle{.vocab = unfused->vocab};
  FUSEC_ASSIGN_OR_RETURN(oracle.logits, referenceLogits(reference));
  auto first = [&](const VerifyTrace &trace) {
    VerifyTrace cut{.vocab = trace.vocab};
    cut.logits.assign(trace.logits.begin(), trace.logits.begin() + count * trace.vocab);
    return cut;
  };
  boundedRow("reference-unfused", "unfused / interpreted in double", first(*unfused), oracle, bound);
  const double unfusedError = report.rows.back().logits.maxRelative;
  boundedRow("reference-fused", "fused / interpreted in double", first(runner->subject()), oracle,
             2 * unfusedError + verifyFloor);
  return {};
}

Status VerifySession::runSteps(ProgressBar &bar) {
  double total = 0, done = 0;
  for (const Step &step : steps)
    total += step.weight;
  for (const Step &step : steps) {
    progress = [&](std::string_view stage, double fraction) {
      bar.update(step.label + ": " + std::string(stage), (done + fraction * step.weight) / total);
    };
    bar.update(step.label, done / total);
    if (Status status = step.run(); status.code() == ErrorCode::Cancelled)
      return status;
    else if (!status.ok())
      fail(step, status);
    done += step.weight;
  }
  progress = {};
  return {};
}

} // namespace fusec
