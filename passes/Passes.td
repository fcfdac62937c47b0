//===- Passes.td - every pass of fusec ---------------------------------------===//
//
// Alphabetical inside each banner. A pass states what holds after it.
//
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PASSES_TD
#define FUSEC_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Model: fuse to fuse
//===----------------------------------------------------------------------===//

def FuseDecomposePass : Pass<"fuse-decompose", "::mlir::ModuleOp"> {
  let summary = "Rewrites the named sugar of the fuse dialect into primitives";
  let description = [{
    Each named op (`linear`, `rms_norm`, `rope`, `swiglu`, `softmax`,
    `attention`) becomes `map`, `contract`, `reduce`, `gather` and views that
    compute the same function. Afterwards no named op is left.

    ```mlir
    %y = fuse.linear %x, %w : (x: [ragged(T), 64], w: [172, 64])
    // becomes
    %y = fuse.contract %x, %w maps [(t, n, k) -> (t, k), (t, n, k) -> (n, k), (t, n, k) -> (t, n)]
    ```
  }];
}

def FuseMergeContractionsPass : Pass<"fuse-merge-contractions", "::mlir::ModuleOp"> {
  let summary = "Stacks stored matrices that multiply the same rows";
  let description = [{
    Contractions of one activation with several stored matrices of the same
    storage type and width become one contraction with the stacked matrix, and
    their results become slices of its result (query, key and value
    projections). Matrices whose results meet again in one elementwise op of the
    same shape (gate and up) are left to the grouping, which computes them side
    by side. Every decision leaves one remark.
  }];
}

def FuseRoundOperandsPass : Pass<"fuse-round-operands", "::mlir::ModuleOp"> {
  let summary = "Lets contractions multiply in 16 bits, as tensor cores do";
  let description = [{
    Every `contract` that accumulates in f32 gets `operands = type` in its
    numerics contract: both operands are rounded to that type, to nearest even,
    before they are multiplied. Nothing else changes.
  }];
  let options = [Option<"type", "type", "std::string", "\"bf16\"", "f16 or bf16">];
}

//===----------------------------------------------------------------------===//
// Fusion: fuse to grouped fuse
//===----------------------------------------------------------------------===//

def FuseDerivePass : Pass<"fuse-derive", "::mlir::ModuleOp"> {
  let summary = "Finds reductions that can share one loop though one needs the other's result";
  let description = [{
    A reduction `B` whose elements use the result of a reduction `A` over the
    same dimension runs in the same loop when its partial result can be repaired
    as `A`'s changes. The algebra of the maps between them decides, never a name
    or a shape of the graph. Every pair looked at ends in one remark of the
    category `fusion`, which names the obligation that failed if one did.
  }];
}

def FuseFormGroupsPass : Pass<"fuse-form-groups", "::mlir::ModuleOp"> {
  let summary = "Decides which ops share a kernel, by cost";
  let description = [{
    Every op that computes gets a `group` number; ops of one number become one
    kernel. An op joins the kernel of a producer when that is legal (the shapes
    line up and no dependence leaves the kernel and comes back) and the cost
    model says that the launch and the bytes saved outweigh what is computed
    again. Every edge between two computing ops ends in one remark of the
    category `fusion`: passed, or missed with the reason.
  }];
  let options = [
    Option<"tokens", "tokens", "int64_t", "256", "tokens of the larger of the two steps that costs are weighed for (the other is 1)">,
    Option<"context", "context", "int64_t", "512", "cached positions that costs are weighed for">
  ];
}

//===----------------------------------------------------------------------===//
// Lowering: grouped fuse to tile and plan
//===----------------------------------------------------------------------===//

def FuseToPlanPass : Pass<"fuse-to-plan", "::mlir::ModuleOp"> {
  let summary = "Builds one tile kernel per group and the program that launches them";
  let description = [{
    Selects tiles for the target's vector lanes and registers, writes each group
    as `tile.kernel`s (one per range of rows), shares kernels that are equal but
    for their buffers, and replaces the graph by a `plan.program`. Every
    activation gets a slot of its own; see `--plan-memory`.

    With rates of a library of matrix products, large products also become calls
    of it, for steps with so many tokens that it is faster.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", "32", "vector registers of the target">,
    Option<"page", "page", "int64_t", "64", "cached positions per page">,
    Option<"gpu", "gpu", "bool", "false", "programs are blocks of threads">,
    Option<"rung", "rung", "int64_t", "0", "for a GPU: tiles with 2^rung fewer rows">,
    Option<"streamWeights", "stream-weights", "bool", "false",
           "for a GPU: packed matrices of few rows come through a ring in shared memory">,
    Option<"libraryFlops", "library-flops", "double", "0", "operations per second of a library's products; 0: no library">,
    Option<"kernelFlops", "kernel-flops", "double", "0", "operations per second of generated products of many rows">,
    Option<"bytesPerSecond", "bytes-per-second", "double", "0", "of device memory">,
    Option<"launchSeconds", "launch-seconds", "double", "0", "what a launch costs at least">
  ];
  let dependentDialects = ["::fusec::tile::TileDialect", "::fusec::plan::PlanDialect"];
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Lets activations that are never live together share a slot";
  let description = [{
    Walks the launches once, keeps the free slots by the shape of what they
    held, and gives each activation a free slot of its own shape, else a new
    one. Afterwards two buffers of one slot have disjoint lifetimes.
  }];
}

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

def PerturbRoundingPass : Pass<"perturb-rounding", "::mlir::ModuleOp"> {
  let summary = "Moves every value by about what rounding does to it";
  let description = [{
    A probe for `fusec verify`, never part of a compilation. Every f32 value
    that an op computes is multiplied by `1 + s * d`, where `s` is a fixed
    pseudo-random sign per element and `d` is the unit roundoff 2^-24 times the
    square root of the number of terms in the longest sum that reads it (at
    least 2^-23). How far the results move shows how far rounding alone can move them.

    ```mlir
    %y = fuse.map(%x, ...)
    // becomes, for every reader
    %p = fuse.map(%y) { (1 + s(i, j) * d) * y }
    ```
  }];
  let options = [
    Option<"context", "context", "int64_t", "1024", "terms of a sum over cached positions">
  ];
}

def VerifyFusePass : Pass<"verify-fuse", "::mlir::ModuleOp"> {
  let summary = "Checks that only primitives of fuse are left";
}

def VerifyPlanPass : Pass<"verify-plan", "::mlir::ModuleOp"> {
  let summary = "Checks that only tile kernels and one plan are left, and that the plan is sound";
  let description = [{
    Every launch names a kernel whose variants take its buffers; every activation
    is written before it is read; buffers that share a slot have disjoint lifetimes.
  }];
}

//===----------------------------------------------------------------------===//
// Extend: what users add
//===----------------------------------------------------------------------===//

def FuseApplyRulesPass : Pass<"fuse-apply-rules", "::mlir::ModuleOp"> {
  let summary = "Rewrites the graph by the rules of a file";
  let description = [{
    Applies the rules of each file, the one of the highest benefit first, until
    none matches. Rules with `at = "fusion"` are left to `fuse-place-hints`. A
    rule whose result does not verify, or that never ends, is an error that
    names it. See docs/extending/rules.md.
  }];
  let options = [ListOption<"files", "files", "std::string", "rule files (.pdl), applied in order">];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}

def FusePlaceHintsPass : Pass<"fuse-place-hints", "::mlir::ModuleOp"> {
  let summary = "Marks ops with what the rules of a file say about their fusion";
  let description = [{
    Removes all hints, then runs each rule with `at = "fusion"` once at every
    op. A hint is an attribute of the ops it speaks about and binds the passes
    that fuse: `keep_apart`, `force_group`, `force_inline`, `keep_stored`.
  }];
  let options = [ListOption<"files", "files", "std::string", "rule files (.pdl)">];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect"];
}

#endif
