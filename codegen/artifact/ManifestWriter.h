//===- ManifestWriter.h - manifest.json from a plan ---------------------------------===//
#pragma once

#include "codegen/artifact/ArtifactWriter.h"
#include "codegen/artifact/WeightWriter.h"

#include "llvm/ADT/DenseMap.h"

#include <nlohmann/json.hpp>

namespace fusec::codegen {

/// The order in which kernels get the sizes of a step.
std::vector<std::string> symbolOrder();

/// Bytes from a page of a cache to its next in a plan's module: the pages of all caches lie side by side, and together
/// fill a multiple of `alignment`. 0 without caches.
int64_t pageStride(mlir::ModuleOp module, int64_t alignment);
/// Positions of a page of a plan's caches.
int64_t pageTokens(mlir::ModuleOp module);

/// The manifest of a plan; `weights` has a range for every weight and constant.
nlohmann::ordered_json manifestOf(const models::ModelConfig &config, int64_t modelBytes,
                                  llvm::ArrayRef<TargetPlan> targets,
                                  const llvm::DenseMap<mlir::Operation *, WeightRange> &weights,
                                  const ArtifactOptions &options);

} // namespace fusec::codegen
