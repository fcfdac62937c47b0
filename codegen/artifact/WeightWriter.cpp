//===- WeightWriter.cpp --------------------------------------------------------------===//
#include "codegen/artifact/WeightWriter.h"

#include "codegen/pack/PanelPack.h"
#include "models/import/Dequantize.h"

namespace fusec::codegen {

namespace {
constexpr int64_t alignment = 64;

Result<const models::Weight *> find(const models::Model &model, mlir::StringRef name) {
  if (const models::Weight *weight = model.find(name.str()))
    return weight;
  return notFound("the model has no tensor '" + name.str() + "'");
}

/// A vector in any storage type, as f32.
Result<std::vector<std::byte>> plainVector(const models::Weight &weight) {
  int64_t count = weight.shape.front();
  std::vector<std::byte> bytes(count * sizeof(float));
  models::dequantizeRow(weight.type, weight.data.data(), reinterpret_cast<float *>(bytes.data()), count);
  return bytes;
}
} // namespace

Result<WeightWriter> WeightWriter::create(const std::filesystem::path &file) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  if (!stream)
    return invalidArgument("cannot write '" + file.string() + "'");
  return WeightWriter(std::move(stream), file.string());
}

Result<WeightRange> WeightWriter::append(std::span<const std::byte> bytes) {
  static constexpr char zeros[alignment] = {};
  int64_t padding = (alignment - position % alignment) % alignment;
  stream.write(zeros, padding);
  position += padding;
  WeightRange range{position, static_cast<int64_t>(bytes.size())};
  stream.write(reinterpret_cast<const char *>(bytes.data()), range.bytes);
  position += range.bytes;
  if (!stream)
    return resourceExhausted("writing '" + name + "' failed after " + std::to_string(position) + " bytes: disk full?");
  return range;
}

static Result<std::vector<std::byte>> weightBytes(plan::BufferOp buffer, const models::Model &model) {
  auto type = mlir::cast<tile::BufferType>(buffer.getType());
  auto parts = buffer.getParts()->getAsRange<mlir::StringAttr>();
  if (type.getRank() == 1) {
    FUSEC_ASSIGN_OR_RETURN(const models::Weight *weight, find(model, (*parts.begin()).getValue()));
    return plainVector(*weight);
  }
  std::vector<StoredRows> rows;
  for (mlir::StringAttr part : parts) {
    FUSEC_ASSIGN_OR_RETURN(const models::Weight *weight, find(model, part.getValue()));
    rows.push_back({weight->data, weight->shape.front()});
  }
  int64_t columns = type.getDims()[1].size;
  std::vector<std::byte> packed(packedBytes(*type.getStorage(), type.getDims()[0].size, columns));
  if (Status status = packPanels(*type.getStorage(), rows, columns, packed); !status.ok())
    return status.withContext("packing '" + buffer.getName().str() + "'");
  return packed;
}

static Result<std::vector<std::byte>> constantBytes(plan::BufferOp buffer) {
  auto value = mlir::cast<mlir::DenseElementsAttr>(*buffer.getValue());
  std::vector<std::byte> bytes;
  auto add = [&](const auto &element) {
    auto raw = reinterpret_cast<const std::byte *>(&element);
    bytes.insert(bytes.end(), raw, raw + sizeof(element));
  };
  if (value.getElementType().isF64())
    for (double element : value.getValues<double>())
      add(element);
  else if (value.getElementType().isF32())
    for (float element : value.getValues<float>())
      add(element);
  else
    return unsupported("constant '" + buffer.getName().str() + "' has an element type other than f32 and f64");
  return bytes;
}

Result<std::vector<std::byte>> storedBytesOf(plan::BufferOp buffer, const models::Model &model) {
  return buffer.getKind() == plan::BufferKind::Weight ? weightBytes(buffer, model) : constantBytes(buffer);
}

Status WeightWriter::finish() {
  std::byte slack[alignment] = {};
  FUSEC_RETURN_IF_ERROR(append(slack).status());
  stream.close();
  return stream ? Status() : resourceExhausted("closing '" + name + "' failed: disk full?");
}

} // namespace fusec::codegen
