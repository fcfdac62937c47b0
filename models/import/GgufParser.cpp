//===- GgufParser.cpp - one GGUF image to a Gguf ---------------------------===//
//
// File layout: "GGUF", u32 version, u64 tensor count, u64 entry count, the
// entries (key, type, value), the tensor infos (name, dims, type, offset),
// padding to general.alignment, then the data that offsets count from.
//
// The parser never allocates for a count before the file is known to be long
// enough to hold that many records.
//
//===----------------------------------------------------------------------===//

#include "models/import/ByteReader.h"
#include "models/import/Gguf.h"
#include "models/import/Quote.h"

#include <algorithm>
#include <optional>

namespace fusec::models {
namespace {

constexpr uint32_t maxDims = 4;
constexpr int64_t defaultAlignment = 32;
// Smallest records: a one-byte name, a one-byte value, one dimension.
constexpr uint64_t minEntryBytes = 8 + 1 + 4 + 1;
constexpr uint64_t minTensorInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;

/// Bytes of one element in an array, 0 for types that have no fixed size.
constexpr uint64_t elementBytes(GgufType type) {
  switch (type) {
  case GgufType::UInt8:
  case GgufType::Int8:
  case GgufType::Bool:
    return 1;
  case GgufType::UInt16:
  case GgufType::Int16:
    return 2;
  case GgufType::UInt32:
  case GgufType::Int32:
  case GgufType::Float32:
    return 4;
  case GgufType::UInt64:
  case GgufType::Int64:
  case GgufType::Float64:
    return 8;
  case GgufType::String:
  case GgufType::Array:
    return 0;
  }
  return 0;
}

/// Reads a scalar as the 64 bits that GgufValue keeps.
template <typename T> bool readBits(ByteReader &reader, uint64_t &bits) {
  T value;
  if (!reader.read(value))
    return false;
  if constexpr (std::is_floating_point_v<T>)
    bits = std::bit_cast<uint64_t>(static_cast<double>(value));
  else
    bits = static_cast<uint64_t>(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
  return true;
}

bool readScalar(ByteReader &reader, GgufType type, uint64_t &bits) {
  switch (type) {
  case GgufType::UInt8:
  case GgufType::Bool:
    return readBits<uint8_t>(reader, bits);
  case GgufType::Int8:
    return readBits<int8_t>(reader, bits);
  case GgufType::UInt16:
    return readBits<uint16_t>(reader, bits);
  case GgufType::Int16:
    return readBits<int16_t>(reader, bits);
  case GgufType::UInt32:
    return readBits<uint32_t>(reader, bits);
  case GgufType::Int32:
    return readBits<int32_t>(reader, bits);
  case GgufType::Float32:
    return readBits<float>(reader, bits);
  case GgufType::UInt64:
    return readBits<uint64_t>(reader, bits);
  case GgufType::Int64:
    return readBits<int64_t>(reader, bits);
  case GgufType::Float64:
    return readBits<double>(reader, bits);
  case GgufType::String:
  case GgufType::Array:
    return false;
  }
  return false;
}

Status truncated(const std::string &what) { return corruptData(what + ": the file ends inside it"); }

/// True and the product when `a * b` fits int64.
bool multiply(int64_t a, int64_t b, int64_t &out) { return !__builtin_mul_overflow(a, b, &out); }

} // namespace

class GgufParser {
public:
  explicit GgufParser(std::span<const std::byte> bytes) : bytes(bytes), reader(bytes) {}

  Result<Gguf> run() {
    uint64_t numTensors = 0, numEntries = 0;
    FUSEC_RETURN_IF_ERROR(parseHeader(numTensors, numEntries));
    file.entries.reserve(numEntries);
    for (uint64_t i = 0; i < numEntries; ++i)
      FUSEC_RETURN_IF_ERROR(parseEntry(i));
    FUSEC_RETURN_IF_ERROR(readAlignment());
    if (numTensors > reader.remaining() / minTensorInfoBytes)
      return truncated("table of " + std::to_string(numTensors) + " tensors");
    file.tensorList.reserve(numTensors);
    offsets.reserve(numTensors);
    for (uint64_t i = 0; i < numTensors; ++i)
      FUSEC_RETURN_IF_ERROR(parseTensorInfo(i));
    FUSEC_RETURN_IF_ERROR(placeTensors());
    FUSEC_RETURN_IF_ERROR(checkOverlaps());
    return std::move(file);
  }

private:
  Status parseHeader(uint64_t &numTensors, uint64_t &numEntries) {
    std::span<const std::byte> magic;
    if (!reader.take(4, magic) || std::memcmp(magic.data(), "GGUF", 4) != 0)
      return corruptData("not a GGUF file: expected the magic bytes 'GGUF' at its start");
    uint32_t &version = file.fileVersion;
    if (!reader.read(version))
      return truncated("GGUF header");
    if (version != 0 && (version & 0xffffu) == 0)
      return unsupported("big-endian GGUF file (version field read as " + std::to_string(version) +
                         "); only little-endian files are supported");
    if (version != 2 && version != 3)
      return unsupported("GGUF version " + std::to_string(version) + ": expected 2 or 3");
    if (!reader.read(numTensors) || !reader.read(numEntries))
      return truncated("GGUF header");
    if (numEntries > reader.remaining() / minEntryBytes)
      return truncated("table of " + std::to_string(numEntries) + " metadata entries");
    return {};
  }

  Status parseEntry(uint64_t number) {
    const std::string where = "metadata entry " + std::to_string(number);
    GgufEntry entry;
    if (!reader.readString(entry.key))
      return truncated(where);
    if (entry.key.empty())
      return corruptData(where + ": empty key");
    if (Status status = parseValue(entry.value); !status.ok())
      return status.withContext("key " + quote(entry.key));
    if (!file.entryIndex.emplace(entry.key, file.entries.size()).second)
      return corruptData("key " + quote(entry.key) + " occurs twice");
    file.entries.push_back(std::move(entry));
    return {};
  }

  Status parseValue(GgufValue &value) {
    FUSEC_RETURN_IF_ERROR(parseType(value.valueType));
    if (value.valueType == GgufType::Array)
      return parseArray(value.array);
    if (value.valueType == GgufType::String)
      return reader.readString(value.text) ? Status() : truncated("string value");
    if (!readScalar(reader, value.valueType, value.bits))
      return truncated(std::string(name(value.valueType)) + " value");
    if (value.valueType == GgufType::Bool && value.bits > 1)
      return corruptData("expected a bool of 0 or 1, found " + std::to_string(value.bits));
    return {};
  }

  Status parseType(GgufType &type) {
    uint32_t id = 0;
    if (!reader.read(id))
      return truncated("value type");
    if (id > static_cast<uint32_t>(GgufType::Float64))
      return corruptData("unknown value type id " + std::to_string(id));
    type = static_cast<GgufType>(id);
    return {};
  }

  Status parseArray(GgufArray &array) {
    FUSEC_RETURN_IF_ERROR(parseType(array.elementType));
    uint64_t count = 0;
    if (!reader.read(count))
      return truncated("array");
    if (array.elementType == GgufType::Array)
      return unsupported("array of arrays");
    // A string takes at least its 8-byte length.
    const uint64_t least = array.elementType == GgufType::String ? 8 : elementBytes(array.elementType);
    if (count > reader.remaining() / least)
      return truncated("array of " + std::to_string(count) + " " + std::string(name(array.elementType)));
    array.count = static_cast<int64_t>(count);
    if (array.elementType != GgufType::String)
      return reader.take(count * least, array.raw) ? Status() : truncated("array");
    array.strings.resize(count);
    for (std::string_view &text : array.strings)
      if (!reader.readString(text))
        return truncated("array of string");
    return {};
  }

  Status readAlignment() {
    if (!file.has("general.alignment"))
      return {};
    FUSEC_ASSIGN_OR_RETURN(alignment, file.getInt("general.alignment"));
    if (alignment < 1 || alignment > (int64_t{1} << 30) || (alignment & (alignment - 1)) != 0)
      return corruptData("key 'general.alignment': expected a power of two up to 2^30, found " +
                         std::to_string(alignment));
    return {};
  }

  Status parseTensorInfo(uint64_t number) {
    const std::string where = "tensor info " + std::to_string(number);
    std::string_view tensorName;
    if (!reader.readString(tensorName))
      return truncated(where);
    if (tensorName.empty())
      return corruptData(where + ": empty name");
    const std::string label = "tensor " + quote(tensorName);
    TensorInfo tensor;
    tensor.name = tensorName;
    FUSEC_RETURN_IF_ERROR(parseShape(tensor, label));
    FUSEC_RETURN_IF_ERROR(parseStorage(tensor, label));
    uint64_t offset = 0;
    if (!reader.read(offset))
      return truncated(label);
    if (offset % static_cast<uint64_t>(alignment) != 0)
      return corruptData(label + ": offset " + std::to_string(offset) + " is no multiple of the alignment " +
                         std::to_string(alignment));
    if (!file.tensorIndex.emplace(tensor.name, file.tensorList.size()).second)
      return corruptData(label + " occurs twice");
    file.tensorList.push_back(std::move(tensor));
    offsets.push_back(offset);
    return {};
  }

  Status parseShape(TensorInfo &tensor, const std::string &label) {
    uint32_t dims = 0;
    if (!reader.read(dims))
      return truncated(label);
    if (dims < 1 || dims > maxDims)
      return corruptData(label + ": expected 1 to 4 dimensions, found " + std::to_string(dims));
    tensor.shape.resize(dims);
    int64_t elements = 1;
    for (uint32_t i = 0; i < dims; ++i) {
      int64_t &extent = tensor.shape[dims - 1 - i];
      if (!reader.read(extent))
        return truncated(label);
      if (extent < 1 || !multiply(elements, extent, elements))
        return corruptData(label + ": extent " + std::to_string(static_cast<uint64_t>(extent)) + " of dimension " +
                           std::to_string(i) + " is zero or makes the tensor too large");
    }
    return {};
  }

  Status parseStorage(TensorInfo &tensor, const std::string &label) {
    uint32_t id = 0;
    if (!reader.read(id))
      return truncated(label);
    std::optional<StorageType> type = storageTypeByGgufId(id);
    if (!type)
      return unsupported(label + ": storage type id " + std::to_string(id) + " is not supported");
    tensor.type = *type;
    const StorageTypeInfo &row = info(*type);
    if (tensor.shape.back() % row.blockElements != 0)
      return corruptData(label + ": " + std::string(row.name) + " needs a row length that is a multiple of " +
                         std::to_string(row.blockElements) + ", found " + std::to_string(tensor.shape.back()));
    int64_t blocks = 1;
    for (int64_t extent : tensor.shape)
      blocks *= extent; // checked in parseShape
    if (!multiply(blocks / row.blockElements, row.blockBytes, tensor.bytes))
      return corruptData(label + ": shape " + shapeText(tensor.shape) + " is too large");
    return {};
  }

  /// Turns offsets into pointers; the infos are complete at this point.
  Status placeTensors() {
    const uint64_t unit = static_cast<uint64_t>(alignment);
    dataStart = (reader.position() + unit - 1) / unit * unit;
    const uint64_t available = dataStart < bytes.size() ? bytes.size() - dataStart : 0;
    for (size_t i = 0; i < offsets.size(); ++i) {
      TensorInfo &tensor = file.tensorList[i];
      const uint64_t size = static_cast<uint64_t>(tensor.bytes);
      if (offsets[i] > available || size > available - offsets[i])
        return corruptData("tensor " + quote(tensor.name) + ": offset " + std::to_string(offsets[i]) + " plus " +
                           std::to_string(size) + " bytes lies outside the data part of " + std::to_string(available) +
                           " bytes");
      tensor.data = bytes.data() + dataStart + offsets[i];
    }
    return {};
  }

  Status checkOverlaps() const {
    std::vector<const TensorInfo *> sorted;
    for (const TensorInfo &tensor : file.tensorList)
      sorted.push_back(&tensor);
    std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->data < b->data; });
    for (size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i - 1]->data + sorted[i - 1]->bytes > sorted[i]->data)
        return corruptData("tensors " + quote(sorted[i - 1]->name) + " and " + quote(sorted[i]->name) +
                           " overlap in the file");
    return {};
  }

  std::span<const std::byte> bytes;
  ByteReader reader;
  Gguf file;
  int64_t alignment = defaultAlignment;
  uint64_t dataStart = 0;
  std::vector<uint64_t> offsets; ///< Parallel to tensorList.
};

Result<Gguf> Gguf::parse(std::span<const std::byte> bytes) { return GgufParser(bytes).run(); }

} // namespace fusec::models
