//===- Report.h - what a compilation decided, as data ---------------------------------===//
//
// One model from which every form of `fusec explain` is printed: the table, the
// JSON and the page. Plain data: no IR, so it outlives the compilation. All
// orders depend on the model and the options alone.
//
// Units: bytes and seconds are per step of the given size, unless a name says
// otherwise. Names are unique within a graph (uniqueOpName).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fusec::report {

/// How each obligation of a derived fusion was met, in the order the compiler states them.
using Proof = std::vector<std::pair<std::string, std::string>>;

/// The step that bytes are counted for: one sequence.
struct StepShape {
  int64_t tokens = 1;    ///< Tokens computed.
  int64_t context = 512; ///< Positions in the cache afterwards.
};

/// One op of a graph that computes.
struct Op {
  std::string name;                ///< "blk.0.attn_norm.weight:map#2"
  std::string launchName;          ///< Without the ordinal, as launches list it.
  std::string kind;                ///< "map", "contract", ...
  std::string type;                ///< Of the result.
  int64_t layer = -1;              ///< -1: outside of layers.
  int64_t group = -1;              ///< Kernel group; -1: none (recomputed in its readers, or not grouped yet).
  std::string kernel;              ///< "k3": what the group became; empty: not grouped.
  bool recomputed = false;         ///< Inlined into every reader.
  std::optional<int64_t> cascade;  ///< Number of the derived loop it shares.
  std::vector<std::string> inputs; ///< Names of ops, weights, caches and inputs.
  double resultBytes = 0;          ///< What it hands over.
  double unfusedBytes = 0;         ///< Moved if it had a kernel of its own.
  double operations = 0;           ///< Scalar operations, by the cost model's weights.
  Proof proof;
};

struct Graph {
  std::vector<Op> ops; ///< In graph order.
};

/// One kernel, its launches added up.
struct Kernel {
  std::string name;                     ///< "k3"
  std::string kind;                     ///< "rows", "contract" or "cascade" (derived).
  std::vector<std::string> members;     ///< Ops of its first launch, without layer numbers.
  std::vector<std::string> recomputed;  ///< Ops computed here that other kernels compute, too.
  std::vector<std::string> launchNames; ///< What its launches compute, in order.
  std::vector<int64_t> groups;          ///< Kernel groups it serves, in order.
  std::string partOf;                   ///< The kernel whose partial results it merges; empty: it is whole.
  std::string variant;                  ///< The tile kernel that runs at this step.
  std::string schedule;                 ///< Its choices, as text.
  int64_t launches = 0;                 ///< Per step.
  int64_t launchesPerLayer = 0;         ///< In a layer that has it; 0: outside of layers.
  double read = 0, written = 0;         ///< Bytes, each buffer once per launch.
  double loaded = 0;                    ///< Bytes that all programs load, repeats included; caches hold the repeats.
  double minimum = 0;                   ///< Bytes that no fusion can remove.
  double unfused = 0;                   ///< Bytes if every member were a kernel of its own.
  double operations = 0;
  std::optional<double> seconds; ///< Measured, per step.
  double moved() const { return read + written; }
  double saved() const { return unfused - moved(); }
};

/// Equal decisions of all layers, counted.
struct DecisionRow {
  std::string kind, producer, consumer; ///< Without layer numbers.
  bool fused = false;
  bool asked = false;    ///< Legal, and so a line of a fusion plan.
  std::string decidedBy; ///< "cost", "plan", "rule", "limit", "switch"; "legality" when it was never a question.
  std::string reason, obligation;
  std::optional<double> secondsSaved; ///< Per token, by the cost model.
  double bytes = 0;                   ///< Written and read again when the two are apart; of one edge.
  int64_t count = 0;
  Proof proof;
};

/// Memory a step needs beside weights.
struct Memory {
  struct Slot {
    int64_t slot = 0;
    std::string type, holder; ///< Shape of its buffers, and the first one's name.
    int64_t buffers = 0;
    double bytes = 0;
    int64_t tokenDims = 0, contextDims = 0; ///< How often tokens and context multiply the size.
    int64_t outputDims = 0;                 ///< How often the number of rows with logits does.
  };
  std::vector<Slot> slots;
  double slotBytes = 0;
  double cacheBytesPerPosition = 0;
  double weightBytes = 0;
  /// "tokens", "tokens x context", "output rows", "nothing", ...: what the largest activation grows with.
  std::string largestGrowth;
  /// Whether no activation grows with tokens times context.
  bool attentionLinear = true;
};

/// Machine figures for the roofline, from the timings file.
struct Machine {
  double bytesPerSecond = 0, operationsPerSecond = 0;
};

struct Phase {
  std::string name;
  double seconds = 0;
};

/// A decision a plan can address, by full name.
struct Candidate {
  std::string kind, producer, consumer, reason;
  bool taken = false, profitable = false;
  std::string decidedBy;
};

/// A rule or a plugin of the user's that took part.
struct Extension {
  std::string kind, name; ///< "rule" or "plugin".
  std::string from;       ///< The rule's file, or the plugin's version.
  int64_t matches = 0;    ///< Of a rule.
};

struct Report {
  std::string model, architecture, level;
  std::vector<Extension> extensions;
  StepShape step;
  int64_t layers = 0;
  int64_t launches = 0, unfusedLaunches = 0;
  int64_t launchesPerLayer = 0; ///< Of a middle layer.
  double read = 0, written = 0, loaded = 0, unfused = 0, operations = 0;
  double minimum = 0; ///< Weights, caches, inputs and outputs, each once.
  Graph before, after;
  std::vector<Kernel> kernels;        ///< In order of first launch.
  std::vector<DecisionRow> decisions; ///< Sorted.
  std::vector<Candidate> candidates;  ///< In the order asked.
  std::string fusionPlan;             ///< The plan that repeats them (printFusionPlan).
  Memory memory;
  std::vector<std::string> idlePlanLines;
  std::vector<Phase> phases; ///< Compile time; empty unless asked for, as it differs from run to run.
  std::optional<Machine> machine;
  double moved() const { return read + written; }
};

} // namespace fusec::report
