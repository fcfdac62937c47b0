//===- TargetChoice.h - what kernels are compiled for ----------------------===//
//
// The words of `--target`, `--math` and `--library-products`, read in one place for every verb.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaTarget.h"
#include "runtime/schema/TargetKind.h"

#include <string>
#include <vector>

namespace fusec {

/// `--target`: an artifact's kernels are of one kind.
struct TargetChoice {
  TargetKind kind = TargetKind::Host;
  std::vector<const codegen::CudaTarget *> cuda; ///< For TargetKind::Cuda: not empty, in the order given.
};

/// Reads "host", "cuda" or "cuda:sm_80,sm_90a". "cuda" alone is sm_80, whose PTX every later GPU runs.
/// InvalidArgument says what there is.
Result<TargetChoice> parseTargetChoice(const std::string &text);

/// `--math`: what matrix products on tensor cores round their operands to. "auto" is bf16, and f32 (no
/// rounding) for a model all of whose matrices are stored in f32.
inline constexpr const char *mathNames[] = {"auto", "f32", "bf16", "f16"};

/// `--library-products`: LibraryProducts.h says what the words mean.
inline constexpr const char *libraryProductsHelp =
    "CUDA: who computes large matrix products: off (generated kernels), auto (cuBLASLt, where it is expected to be "
    "faster), or a file of measured rates. Not off: results depend on how many tokens a step has";

} // namespace fusec
