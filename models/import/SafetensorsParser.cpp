//===- SafetensorsParser.cpp - one safetensors image -----------------------===//
//
// File layout: u64 header length, a JSON object {name: {dtype, shape,
// data_offsets}} (padded with spaces), then the data that offsets count from.
// Tensors must tile the data part exactly.
//
//===----------------------------------------------------------------------===//

#include "models/import/ByteReader.h"
#include "models/import/Quote.h"
#include "models/import/Safetensors.h"
#include "runtime/base/Json.h"

#include <algorithm>
#include <tuple>

namespace fusec::models {
namespace {

using nlohmann::json;

constexpr uint64_t maxHeaderBytes = 100'000'000;

struct DtypeRow {
  std::string_view name;
  int64_t bits;
  std::optional<StorageType> type; ///< Absent: listed but not usable as a weight.
};

constexpr DtypeRow dtypes[] = {
    {"F32", 32, StorageType::F32},
    {"F16", 16, StorageType::F16},
    {"BF16", 16, StorageType::BF16},
    {"F64", 64, {}},
    {"I64", 64, {}},
    {"U64", 64, {}},
    {"C64", 64, {}},
    {"I32", 32, {}},
    {"U32", 32, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"I8", 8, {}},
    {"U8", 8, {}},
    {"BOOL", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F4", 4, {}},
};

const DtypeRow *findDtype(std::string_view name) {
  for (const DtypeRow &row : dtypes)
    if (row.name == name)
      return &row;
  return nullptr;
}

/// A non-negative integer, or -1.
int64_t extentOf(const json &value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return -1;
  return value.get<int64_t>();
}

} // namespace

class SafetensorsParser {
public:
  explicit SafetensorsParser(std::span<const std::byte> bytes) : bytes(bytes) {}

  Result<Safetensors> run() {
    FUSEC_ASSIGN_OR_RETURN(json header, parseHeader());
    for (const auto &[name, value] : header.items()) {
      if (name == "__metadata__")
        FUSEC_RETURN_IF_ERROR(parseMetadata(value));
      else if (Status status = parseEntry(name, value); !status.ok())
        return status.withContext("tensor " + quote(name));
    }
    FUSEC_RETURN_IF_ERROR(checkTiling());
    for (size_t i = 0; i < file.list.size(); ++i)
      file.index.emplace(file.list[i].name, i);
    return std::move(file);
  }

private:
  Result<json> parseHeader() {
    ByteReader reader(bytes);
    uint64_t length = 0;
    if (!reader.read(length))
      return corruptData("not a safetensors file: shorter than its 8-byte header length");
    if (length > maxHeaderBytes)
      return corruptData("header length " + std::to_string(length) + " exceeds the limit of 100000000 bytes");
    std::span<const std::byte> header;
    if (!reader.take(length, header))
      return corruptData("header length " + std::to_string(length) + " exceeds the file's remaining " +
                         std::to_string(reader.remaining()) + " bytes");
    data = bytes.subspan(reader.position());
    std::string_view text(reinterpret_cast<const char *>(header.data()), header.size());
    if (!text.starts_with('{'))
      return corruptData("header: expected a JSON object starting with '{'");
    return parseJson(text, "header", {.rejectDuplicateKeys = true});
  }

  Status parseMetadata(const json &value) {
    if (!value.is_object())
      return corruptData("key '__metadata__': expected an object of strings, found " +
                         std::string(jsonTypeName(value)));
    for (const auto &[key, text] : value.items()) {
      if (!text.is_string())
        return corruptData("key '__metadata__': expected a string for " + quote(key) + ", found " +
                           std::string(jsonTypeName(text)));
      file.metadataMap.emplace(key, text.get<std::string>());
    }
    return {};
  }

  Status parseEntry(const std::string &name, const json &value) {
    SafetensorsEntry entry;
    entry.name = name;
    FUSEC_ASSIGN_OR_RETURN(entry.dtype, jsonString(value, "dtype"));
    const DtypeRow *row = findDtype(entry.dtype);
    if (!row)
      return unsupported("unknown dtype " + quote(entry.dtype));
    entry.type = row->type;
    FUSEC_ASSIGN_OR_RETURN(int64_t expected, parseShape(value, row->bits, entry.shape));
    return parseRange(value, expected, entry);
  }

  /// Fills `shape` and returns its size in bytes.
  Result<int64_t> parseShape(const json &value, int64_t bits, std::vector<int64_t> &shape) {
    FUSEC_ASSIGN_OR_RETURN(const json *extents, jsonArray(value, "shape"));
    int64_t total = bits;
    for (const json &element : *extents) {
      shape.push_back(extentOf(element));
      // A zero extent must not hide an overflow of the others.
      if (shape.back() < 0 || __builtin_mul_overflow(total, std::max<int64_t>(shape.back(), 1), &total))
        return corruptData("key 'shape': extent " + element.dump(-1, ' ', false, json::error_handler_t::replace) +
                           " is no size or makes the tensor too large");
    }
    if (std::find(shape.begin(), shape.end(), 0) != shape.end())
      return int64_t{0};
    if (total % 8 != 0)
      return corruptData("shape " + shapeText(shape) + " does not fill whole bytes");
    return total / 8;
  }

  Status parseRange(const json &value, int64_t expected, SafetensorsEntry &entry) {
    FUSEC_ASSIGN_OR_RETURN(const json *range, jsonArray(value, "data_offsets"));
    const int64_t begin = range->size() == 2 ? extentOf((*range)[0]) : -1;
    const int64_t end = range->size() == 2 ? extentOf((*range)[1]) : -1;
    if (begin < 0 || end < begin)
      return corruptData("key 'data_offsets': expected two offsets [begin, end] with begin <= end");
    if (static_cast<uint64_t>(end) > data.size())
      return corruptData("data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) +
                         "] lie outside the data part of " + std::to_string(data.size()) + " bytes");
    if (end - begin != expected)
      return corruptData("shape " + shapeText(entry.shape) + " of " + entry.dtype + " takes " +
                         std::to_string(expected) + " bytes, data_offsets give " + std::to_string(end - begin));
    entry.data = data.data() + begin;
    entry.bytes = expected;
    file.list.push_back(std::move(entry));
    return {};
  }

  /// Sorted by position, every tensor must start where the one before ended.
  Status checkTiling() {
    // Empty tensors come before the one that starts at the same place.
    std::sort(file.list.begin(), file.list.end(), [](const SafetensorsEntry &a, const SafetensorsEntry &b) {
      return std::tie(a.data, a.bytes, a.name) < std::tie(b.data, b.bytes, b.name);
    });
    const std::byte *next = data.data();
    for (const SafetensorsEntry &entry : file.list) {
      if (entry.data < next)
        return corruptData("tensor " + quote(entry.name) + " overlaps the one before it");
      if (entry.data > next)
        return corruptData("hole of " + std::to_string(entry.data - next) + " bytes before tensor " +
                           quote(entry.name));
      next = entry.data + entry.bytes;
    }
    const int64_t trailing = data.data() + data.size() - next;
    if (trailing != 0)
      return corruptData(std::to_string(trailing) + " trailing bytes after the last tensor");
    return {};
  }

  std::span<const std::byte> bytes;
  std::span<const std::byte> data;
  Safetensors file;
};

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes) { return SafetensorsParser(bytes).run(); }

} // namespace fusec::models
