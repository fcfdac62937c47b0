//===- CompiledGraph.h - graph text, compiled and interpreted ----------------===//
//
// One graph, three ways to run a step of it:
//
//   graph text --interpretGraph--------------------------> the definition
//        | all passes --interpretPlan--------------------> the kernels' meaning
//        |                 | codegen --run---------------> the machine code
//
//   CompiledGraph graph(text, "avx512");
//   Step step; step.symbols["T"] = 3; step.inputs["x"] = ...;
//   Result<StepResult> actual = graph.runHost(step, /*seed=*/1);
//   Result<StepResult> expected = graph.interpret(step, Precision::Exact);
//
// Stored tensors get random blocks by name. Threading: one call at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/PlanInterpreter.h"
#include "passes/fusion/FusionControl.h"
#include "test/unit/codegen/KernelHarness.h"

#include "mlir/IR/MLIRContext.h"

#include <map>
#include <optional>

namespace fusec::differential {

inline constexpr int64_t pageTokens = 64;
/// Symbols in the order that compiled kernels get them.
inline constexpr const char *symbolOrder[] = {"T", "S", "B", "R", "C", "N", "W"};

/// "avx512", or "sm_80_in_bf16": the plan for GPUs, whose products round their operands ("f32": they do not), or
/// "sm_80_in_bf16_with_library": all of them are a library's from 64 tokens on; then only the interpreter runs it.
struct LevelChoice {
  explicit LevelChoice(std::string_view level);
  std::string name;
  bool isGpuPlan = false;
  std::string operands; ///< "f16", "bf16" or empty.
  bool streamsWeights = false;
  bool hasLibrary = false;
};

/// One step's sizes and tensors.
struct Step {
  llvm::StringMap<int64_t> symbols;          ///< Every symbol of the graph but B.
  llvm::StringMap<reference::Tensor> inputs; ///< By fuse.name; not caches, not the block table.
  llvm::StringMap<reference::Tensor> caches; ///< [S, C, heads, head] before the step.
  std::vector<int64_t> lengths;              ///< Per sequence: cached and new positions.
  std::optional<double> stale;               ///< What fills positions that no sequence has; none: large garbage.
};

struct StepResult {
  reference::Tensor output;
  std::map<std::string, reference::Tensor> caches; ///< After the step, where `lengths` reaches; 0 beyond.
};

/// Where the pages of a step's sequences lie: shuffled; page 0 belongs to nobody.
struct PageTable {
  PageTable(const Step &step, uint32_t seed);
  int64_t sequences = 0, columns = 0, pages = 1;
  std::vector<int32_t> entries; ///< [sequences, columns]; 0 beyond a sequence's length.
};

class CompiledGraph {
public:
  /// Compiles for a level; on failure `error()` says what failed.
  CompiledGraph(const std::string &text, std::string_view level, const FusionOptions &fusion = {});
  CompiledGraph(const CompiledGraph &) = delete;
  CompiledGraph &operator=(const CompiledGraph &) = delete;
  const std::string &error() const { return message; }

  /// Runs the machine code in guarded memory. `seed` draws the pages and how the programs
  /// of each launch are split and ordered. Internal when something wrote behind a buffer.
  Result<StepResult> runHost(const Step &step, uint32_t seed) const;
  Result<StepResult> interpret(const Step &step, reference::Precision precision) const;
  Result<StepResult> interpretAsPlan(const Step &step, reference::Precision precision,
                                     const reference::PlanOptions &options = {}, uint32_t seed = 1) const;

  /// The lowered module: tile kernels and one plan.
  mlir::ModuleOp plan() const { return *lowered; }
  plan::ProgramOp program() const;
  /// The list that kernels over query tiles read, [W, 2]; none when the plan has no such kernel.
  std::optional<reference::Tensor> queryTiles(const Step &step) const;
  int64_t launches() const;
  /// The values of a stored tensor, row-major.
  const std::vector<float> &weight(const std::string &name) const { return weights.at(name).values; }

private:
  friend class HostRun;
  Status compile(const std::string &text, std::string_view level, const FusionOptions &fusion);
  Status lower(std::string_view level, const FusionOptions &fusion);
  void makeWeights();
  reference::Environment environment(const Step &step) const;

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> graph, lowered;
  std::map<std::string, codegen::TestWeights> weights;
  std::map<std::string, reference::Shape> weightShapes;
  std::unique_ptr<codegen::RunnableKernels> kernels;
  std::string message;
};

} // namespace fusec::differential
