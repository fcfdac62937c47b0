//===- WeightDecoder.cpp - stored tensors as reference tensors --------------===//
#include "ir/reference/WeightDecoder.h"

#include "models/import/Dequantize.h"

namespace fusec::reference {

Result<Tensor> decodeTensor(StorageType type, llvm::ArrayRef<int64_t> shape, std::span<const std::byte> bytes) {
  const int64_t columns = shape.empty() ? 1 : shape.back();
  const int64_t rows = shape.empty() ? 1 : numElements(shape.drop_back());
  const int64_t perRow = models::rowBytes(type, columns);
  if (columns % info(type).blockElements != 0 || static_cast<int64_t>(bytes.size()) != rows * perRow)
    return invalidArgument("a " + std::string(info(type).name) + " tensor of shape " + toString(shape) + " has " +
                           std::to_string(bytes.size()) + " bytes, expected " + std::to_string(rows * perRow));
  Tensor::Floats values(rows * columns);
  for (int64_t r = 0; r < rows; ++r)
    models::dequantizeRow(type, bytes.data() + r * perRow, values.data() + r * columns, columns);
  return Tensor::fromFloats(shape, std::move(values));
}

std::function<Result<Tensor>(llvm::StringRef)> weightsOf(const models::Model &model) {
  return [&model](llvm::StringRef name) -> Result<Tensor> {
    const models::Weight *weight = model.find(std::string_view(name.data(), name.size()));
    if (!weight)
      return notFound("the model has no tensor '" + name.str() + "'");
    return decodeTensor(weight->type, weight->shape, weight->data);
  };
}

} // namespace fusec::reference
