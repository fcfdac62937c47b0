//===- VerifySession.h - the comparisons of fusec verify -------------------===//
//
// Compiles what has to be compared, runs it, and fills the report. The subject
// is what `fusec run` would use: the same options, the same cache entry.
//
// Threading: one call at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ProgressBar.h"
#include "tools/fusec/VerifyArtifacts.h"
#include "tools/fusec/VerifyReport.h"
#include "tools/fusec/VerifyRunner.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fusec {

struct VerifyOptions {
  ModelOptions model;
  VerifyLengths lengths;
  std::string prompt;                   ///< Text; the runner repeats or cuts it.
  std::vector<std::string> promptWords; ///< The words of the command line that gave it; empty: built in.
  int64_t referenceTokens = 0;          ///< Tokens to interpret in double; 0: none.
  int64_t fusionLimit = -1;             ///< The subject takes only the first so many fusions; negative: all.
  bool bisect = false;                  ///< Search also when nothing fails.
  bool searchFailures = true;           ///< Search when fused against unfused fails.
  std::vector<std::string> pickedRows;  ///< Ids of rows to run; empty: all.
};

class VerifySession {
public:
  VerifySession(const VerifyOptions &options, const Environment &environment);

  /// All comparisons. A row that fails is part of the report, not an error.
  Result<VerifyReport> run();

private:
  /// One piece of work; `weight` is its share of the progress bar.
  struct Step {
    std::string id; ///< Of its row, should it fail.
    std::string label;
    double weight;
    std::function<Status()> run;
  };

  Status openSubject();
  void planSteps();
  void planSameBits();
  void planThreads(VerifySetup setup);
  void planVariants();
  void planLevels();
  void planReference();
  Status runSteps(ProgressBar &bar);

  void add(std::string id, std::string label, double weight, std::function<Status()> run);
  bool wanted(const std::string &id) const;
  VerifySetup setupOf(const std::filesystem::path &artifact) const;
  CompileOptions compileOptions(const std::string &level);
  bool isOnGpu() const { return device != "host"; }
  CompileOptions plainOptions();
  Result<VerifyTrace> traceOf(CompileOptions compile);

  void sameBits(const std::string &id, const std::string &what, VerifySetup setup);
  void skip(const std::string &id, const std::string &what, const std::string &why);
  void fail(const Step &step, const Status &status);
  bool hasBound(const std::string &id, const std::string &what);
  void planSkip(const std::string &id, const std::string &what, const std::string &why);
  VerifyRow makeRow(const std::string &id, const std::string &what, const VerifyTrace &actual,
                    const VerifyTrace &expected) const;
  void boundedRow(const std::string &id, const std::string &what, const VerifyTrace &actual,
                  const VerifyTrace &expected, double bound);
  Status compareLevel(const std::string &level);
  Status compareReference();
  Result<BisectSample> measure(CompileOptions compile, bool anyBit);
  Status search(bool anyBit);
  Result<bool> searchPlugins(bool anyBit);
  Status searchFusions(bool anyBit);
  std::string commandWith(int64_t limit) const;

  const VerifyOptions &options;
  const Environment &environment;
  std::filesystem::path scratch;
  bool isArtifact = false;
  std::string device, target; ///< Of the subject; see DeviceOptions.

  std::optional<VerifyArtifact> limited; ///< The subject when it is not from the cache.
  std::filesystem::path subjectPath;
  std::optional<VerifyRunner> runner;
  std::optional<VerifyTrace> unfused;
  double bound = 0;

  std::vector<Step> steps;
  std::function<void(std::string_view, double)> progress; ///< Within the current step.
  VerifyReport report;
};

} // namespace fusec
