//===- CompilerTargets.h - the last phase, once per target -----------------===//
//
// A target's kind decides the plan's tiles and the compiler of its kernels; all
// targets of an artifact share buffers and launches.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/fusec/Compilation.h"

namespace fusec {

/// What the plan's passes are told for the first target of these options. Errors: an unknown target or math.
Result<PipelineOptions> firstPipeline(const Compilation &compilation, const CompileOptions &options);

/// Plans and compiles the kernels for every target into `options.output`/kernels; `modules` keeps the plans that the
/// result refers to.
Result<std::vector<codegen::TargetPlan>> compileTargets(Compilation &compilation, const CompileOptions &options,
                                                        std::vector<mlir::OwningOpRef<mlir::ModuleOp>> &modules);

} // namespace fusec
