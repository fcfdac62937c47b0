//===- LibraryProducts.h - which products a library computes ---------------===//
//
// The words of `--library-products`, read in one place for every verb:
//
//   off         generated kernels compute every product
//   auto        large products are cuBLASLt's where the target's rates say that it is faster
//   FILE.json   the same with rates that were measured (docs/cuda/library-products.md)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaTarget.h"
#include "passes/lowering/ProductRates.h"
#include "runtime/base/Status.h"

#include <string>

namespace fusec {

/// The rates that a choice stands for; all zero for "off". Errors: a file that cannot be read, or whose rates are not
/// positive numbers.
Result<ProductRates> productRates(const std::string &choice, const codegen::CudaTarget &target);

} // namespace fusec
