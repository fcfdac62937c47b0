//===- Pipelines.h - the phases of a compilation -----------------------------------===//
#pragma once

#include "passes/fusion/FusionControl.h"
#include "passes/lowering/ProductRates.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>

namespace fusec {

/// The phases in order. `--compile-to=PHASE` stops after one and writes its IR;
/// `--compile-from=PHASE` starts from IR that one left.
enum class Phase { Import, Primitives, Derived, Groups, Plan };

struct PhaseInfo {
  Phase phase;
  llvm::StringRef name; ///< On the command line and in dump file names.
  llvm::StringRef description;
};

/// One row per phase.
llvm::ArrayRef<PhaseInfo> phases();
std::optional<Phase> phaseByName(llvm::StringRef name);

struct PipelineOptions {
  int64_t registers = 32; ///< Vector registers of the target level.
  int64_t page = 64;      ///< Positions per cache page.
  /// Asked for every fusion; shared by the phases of one compilation. Null: the cost model decides alone.
  std::shared_ptr<FusionControl> fusion = nullptr;
  bool isGpu = false;         ///< Kernels for a GPU: programs are blocks of threads.
  int64_t rung = 0;           ///< GPU: tiles with 2^rung fewer rows.
  bool streamWeights = false; ///< GPU: packed matrices of few rows come through a ring in shared memory.
  std::string operands = {};  ///< "f16" or "bf16": contractions multiply in it; empty: in f32.
  ProductRates products = {}; ///< Large products are also calls of a library, where it has rates.
};

/// Appends the passes that lead from the phase before `phase` to `phase`.
void buildPhase(mlir::OpPassManager &pm, Phase phase, const PipelineOptions &options);

/// Registers every pass, and each phase as the pipeline `fusec-<phase>` with these options.
void registerPassesAndPipelines(const PipelineOptions &options = {});

} // namespace fusec
