//===- Compiler.h - the compiler as the tool sees it -----------------------===//
//
// The one border between the command line and the compiler half: nothing else
// in tools/fusec includes MLIR, and nothing here mentions it.
//
//   CompileOptions options;
//   options.model = "model.gguf";
//   options.output = "model.fusec";
//   Result<std::filesystem::path> artifact = compileModel(options);
//
// Threading: functions are reentrant; two compiles may run at once into
// different output directories.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/schema/KvLayout.h"
#include "runtime/schema/Pooling.h"
#include "runtime/schema/StorageType.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusec {

/// What a user adds to the compiler; see docs/extending.
struct ExtensionFiles {
  std::vector<std::filesystem::path> rules;   ///< `--fusion-rules`, in order.
  std::vector<std::filesystem::path> plugins; ///< `--load-pass-plugin`, in order.
  /// Called on the compiling thread with a sentence about what is probably a mistake; may be empty.
  std::function<void(const std::string &)> warning;
  bool empty() const { return rules.empty() && plugins.empty(); }
};

/// One fusion that a compilation took.
struct TakenFusion {
  std::string kind;     ///< derive, epilogue, prologue, inline, row, horizontal or side-by-side;
                        ///< or rule, for a rewrite by a rule of the user's.
  std::string producer; ///< By the model's names, e.g. "blk.0.attn_q.weight:contract".
  std::string consumer; ///< Likewise; empty for a rule.
  std::string reason;   ///< Why it is legal and worth it.
};

inline constexpr int64_t defaultPageTokens = 64, leastPageTokens = 16, mostPageTokens = 128;

struct CompileOptions {
  std::filesystem::path model;         ///< GGUF file (any part of a split one) or Hugging Face directory.
  std::filesystem::path output;        ///< Artifact directory to create; its parent must exist.
  std::string target = "host";         ///< "host", "cuda" or "cuda:sm_80,sm_90a" (TargetChoice.h).
  std::string math = "auto";           ///< CUDA: what products round operands to: "f32", "bf16", "f16".
  std::string libraryProducts = "off"; ///< CUDA: "off", "auto" or a file of rates (LibraryProducts.h).
  bool streamWeights = false;          ///< CUDA: packed weights of few tokens come through shared memory.
  std::vector<std::string> levels;     ///< CPU levels ("avx2", "avx512"); empty = the host's best one.
  std::filesystem::path nvrtc;         ///< CUDA: libnvrtc.so; empty = the usual places.
  std::filesystem::path kernelCache;   ///< CUDA: cache directory for compiled kernels; empty = none.
  /// How keys and values are stored; IR of `compileFrom` says it itself. Empty: f32, or the 16 bits that products round
  /// their operands to anyway, which changes no result.
  std::optional<StorageType> kvDtype;
  KvLayout kvLayout = KvLayout::Paged; ///< Where the cache pages of a sequence lie.
  int64_t pageTokens =
      defaultPageTokens;               ///< Positions of a page of the cache, a constant of its kernels: a power of two.
  bool embeddings = false;             ///< Give hidden states for embeddings instead of logits. CPU only.
  std::optional<Pooling> pooling;      ///< Of embeddings; empty: the model's, else the last token's.
  std::filesystem::path dumpPhasesTo;  ///< Directory for the IR after each phase; empty = none.
  std::filesystem::path dumpKernelsTo; ///< Directory for each kernel's IR and LLVM IR; empty = none.
  std::filesystem::path remarksFile;   ///< YAML file of all decisions; empty = none.
  std::string compileFrom;             ///< Phase that `model` (then an .mlir file) is at; empty = a model file.
  std::string compileTo;               ///< Last phase to run; then `output` is an .mlir file; empty = all.
  std::vector<std::string> mlirFlags;  ///< MLIR's own flags, e.g. "--mlir-print-ir-after-all".
  bool fusion = true;                  ///< False: every op its own kernel, nothing derived.
  bool derivation = true;              ///< False: only fusions that need no algebra.
  std::filesystem::path fusionPlan;    ///< File of a fusion plan to replay; empty = none.
  int64_t fusionLimit = -1;            ///< Take only the first so many fusions; negative: all.
  bool perturb = false;                ///< Move every value by about its rounding: a probe, see perturb-rounding.
  /// Receives the fusions taken, in the order they were asked for; null: not wanted.
  std::vector<TakenFusion> *taken = nullptr;
  ExtensionFiles extensions; ///< Rules and plugins to apply.
  /// Called on the compiling thread as work advances; `fraction` runs from 0 to 1 over all stages.
  std::function<void(std::string_view stage, double fraction)> progress;
};

/// The library the compiler half lives in; its content is part of every cache key.
std::filesystem::path compilerLibrary();

/// Names of the phases for compileFrom and compileTo, in order.
std::vector<std::string> compilerPhases();

/// Compiles a model file into an artifact directory and returns `options.output`.
/// Errors name the file, tensor or key, with expected and found.
Result<std::filesystem::path> compileModel(const CompileOptions &options);

/// The forms that a report has.
enum class ReportForm { Text, Json };

struct ExplainOptions {
  std::filesystem::path model;            ///< GGUF file, Hugging Face directory, or .mlir file with compileFrom.
  std::vector<std::string> levels;        ///< As in CompileOptions.
  std::optional<StorageType> kvDtype;     ///< As in CompileOptions.
  int64_t pageTokens = defaultPageTokens; ///< As in CompileOptions.
  std::string compileFrom;                ///< As in CompileOptions; Primitives or before.
  std::filesystem::path fusionPlan;       ///< As in CompileOptions.
  ExtensionFiles extensions;              ///< As in CompileOptions.
  int64_t tokens = 1;                     ///< Of the step that bytes are counted for.
  int64_t context = 512;                  ///< Positions in the cache after it; at least `tokens`.
  ReportForm form = ReportForm::Text;     ///< Of ExplainOutput::report.
  bool html = false;                      ///< Fill ExplainOutput::page.
  bool phaseTimes = false;                ///< Report compile time, which differs from run to run.
  std::filesystem::path timings;          ///< Kernel times (docs/fusion-plan.md); empty = none.
  std::string kernel;                     ///< Only this kernel, with its IR; empty = the overview.
  std::filesystem::path other;            ///< Not empty: compare `model` with this. Both may be plans or JSON reports.
  std::function<void(std::string_view stage, double fraction)> progress;
};

struct ExplainOutput {
  std::string report; ///< Ready to print.
  std::string page;   ///< The same as one HTML page.
  std::string plan;   ///< The fusion plan that repeats what was decided.
  bool same = true;   ///< Of a comparison.
};

/// What the compiler decided: kernels, the ops fused into each, bytes read and written against the
/// minimum, refused fusions with reasons. Or, with `other`, what two differ in.
Result<ExplainOutput> explainModel(const ExplainOptions &options);

struct ReferenceOptions {
  std::filesystem::path model;                                           ///< GGUF file or Hugging Face directory.
  std::vector<int32_t> ids;                                              ///< In [0, vocab), not empty.
  std::function<void(std::string_view stage, double fraction)> progress; ///< As in CompileOptions.
};

/// Logits `[ids, vocab]` as the model defines them: its graph with the named ops, interpreted in
/// double without any rounding but that of the result. Slow: seconds per token for 100M weights,
/// which are held decoded in memory (4 bytes each).
Result<std::vector<float>> referenceLogits(const ReferenceOptions &options);

/// fusec's mlir-opt: all dialects and passes registered. `arguments` are the words after
/// `fusec opt`. Prints by itself, as MLIR's tools do; returns the exit code.
int optMain(const std::string &program, const std::vector<std::string> &arguments);

} // namespace fusec
