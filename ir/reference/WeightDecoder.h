//===- WeightDecoder.h - stored tensors as reference tensors ----------------===//
#pragma once

#include "ir/reference/Tensor.h"

#include "models/import/Model.h"
#include "runtime/schema/StorageType.h"

#include <functional>
#include <span>

namespace fusec::reference {

/// Decodes a stored tensor, rows along the last dimension. InvalidArgument when
/// `bytes` is not exactly what the shape needs.
Result<Tensor> decodeTensor(StorageType type, llvm::ArrayRef<int64_t> shape, std::span<const std::byte> bytes);

/// A weight source for Environment over a model's canonical names; the model must outlive it.
std::function<Result<Tensor>(llvm::StringRef)> weightsOf(const models::Model &model);

} // namespace fusec::reference
