//===- ArtifactWriter.h - a compiled plan as a directory ------------------------===//
//
//   <dir>/manifest.json         the plan: buffers, launches, kernels per CPU level
//   <dir>/weights.bin           stored matrices packed for kernels, vectors as f32
//   <dir>/tokenizer.json        fusec's one tokenizer format
//   <dir>/chat_template.jinja   when the model has one
//   <dir>/kernels/<level>.so    written before, by the target's compiler
//   <dir>/kernels/sm_80/*       likewise: cubin, PTX and CUDA C++ of each kernel
//
// The format is read by runtime/exec/Manifest.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/CompiledKernel.h"
#include "codegen/SamplingPlan.h"
#include "models/import/Model.h"
#include "runtime/schema/KvLayout.h"
#include "runtime/schema/Pooling.h"
#include "runtime/schema/TargetKind.h"

#include "mlir/IR/BuiltinOps.h"

#include <filesystem>
#include <functional>
#include <optional>

namespace fusec::codegen {

/// A plan compiled for one target. Plans of several targets differ in their kernels' tiles only.
struct TargetPlan {
  std::string level;                   ///< "avx512", "sm_80".
  mlir::ModuleOp module;               ///< Plan level.
  std::vector<CompiledKernel> kernels; ///< In module order.
  TargetKind kind = TargetKind::Host;
  std::string math;                          ///< CUDA: what products are computed in, e.g. "bf16".
  std::optional<SamplingPlan> sampling = {}; ///< CUDA.
};

/// Something of the user's that took part in the compilation.
struct UsedExtension {
  std::string kind;    ///< "rules" or "plugin".
  std::string name;    ///< The rule file's, or what the plugin calls itself.
  std::string version; ///< The plugin's; empty for rules.
  std::string digest;  ///< Of the file's content.
};

struct ArtifactOptions {
  std::string version;                 ///< fusec's version, for the manifest.
  std::string digest;                  ///< Identifies the model's content.
  KvLayout kvLayout = KvLayout::Paged; ///< What the kernels were compiled for.
  Pooling pooling = Pooling::Last;     ///< Of plans that give hidden states.
  std::vector<UsedExtension> extensions;
  std::function<void(double)> progress; ///< 0 to 1, on the calling thread; may be empty.
};

/// Writes tokenizer.json and the chat template into `directory`, which exists. Touches nothing that compiling does:
/// another thread may do it meanwhile.
Status writeModelText(const std::filesystem::path &directory, const models::Model &model);

/// Writes weights.bin and the manifest into `directory`, which exists. Errors name the file or tensor.
Status writeArtifact(const std::filesystem::path &directory, const models::Model &model,
                     llvm::ArrayRef<TargetPlan> targets, const ArtifactOptions &options);

} // namespace fusec::codegen
