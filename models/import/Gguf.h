//===- Gguf.h - reader for GGUF model files --------------------------------===//
//
// GGUF version 2 and 3, little endian: typed metadata and a table of tensors
// over a read-only mapping. Every count, length, offset and type id is checked
// against the file before it is used or allocated for, so a Gguf that exists
// can be read without further bounds checks.
//
//   FUSEC_ASSIGN_OR_RETURN(Gguf file, Gguf::open("model.gguf"));
//   FUSEC_ASSIGN_OR_RETURN(int64_t layers, file.getInt("llama.block_count"));
//   const TensorInfo *embedding = file.findTensor("token_embd.weight");
//
// Ownership: `open` owns the mapping(s); `parse` borrows the caller's bytes,
// which must outlive the Gguf. All views (strings, arrays, tensor data) point
// into those bytes and stay valid when the Gguf is moved.
// Threading: immutable after construction; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/MappedFile.h"
#include "runtime/base/Status.h"
#include "runtime/schema/StorageType.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::models {

/// Value types of GGUF metadata, numbered as in the file.
enum class GgufType : uint32_t {
  UInt8,
  Int8,
  UInt16,
  Int16,
  UInt32,
  Int32,
  Float32,
  Bool,
  String,
  Array,
  UInt64,
  Int64,
  Float64,
};

/// Name of a metadata type for messages and listings ("uint32", "string", ...).
std::string_view name(GgufType type);

/// A homogeneous array; `strings` is filled for string elements, `raw` (packed,
/// unaligned, little endian) for all others. Arrays of arrays do not occur.
struct GgufArray {
  GgufType elementType = GgufType::UInt8;
  int64_t count = 0;
  std::span<const std::byte> raw;
  std::vector<std::string_view> strings;
};

/// One metadata value. The getters return InvalidArgument "expected X, found Y"
/// when the stored type does not fit; they never convert silently.
class GgufValue {
public:
  GgufType type() const { return valueType; }
  /// Any integer type whose value fits int64.
  Result<int64_t> asInt() const;
  /// float32 or float64.
  Result<double> asFloat() const;
  Result<bool> asBool() const;
  Result<std::string_view> asString() const;
  /// Null unless the value is an array.
  const GgufArray *asArray() const { return valueType == GgufType::Array ? &array : nullptr; }
  /// Elements of an array of any integer type.
  Result<std::vector<int64_t>> asInts() const;
  /// Elements of an array of float32 or float64.
  Result<std::vector<float>> asFloats() const;
  Result<std::span<const std::string_view>> asStrings() const;
  /// "uint32", "array of string", ...
  std::string typeName() const;
  /// Short human-readable form; long strings and arrays are cut.
  std::string preview(size_t maxChars = 80) const;

private:
  friend class GgufParser;
  GgufType valueType = GgufType::UInt8;
  uint64_t bits = 0; ///< Scalars: sign-extended integer, bool, or the double's bits.
  std::string_view text;
  GgufArray array;
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

/// A tensor of the file. `shape` is outermost first (GGUF's `ne` reversed): a
/// matrix is [rows, columns] and rows are contiguous.
struct TensorInfo {
  std::string name;
  StorageType type;
  std::vector<int64_t> shape;
  const std::byte *data; ///< No alignment beyond the file's own (GGUF: usually 32).
  int64_t bytes;
};

class Gguf {
public:
  /// Maps and parses `path`. The first file of a split model
  /// (`<name>-00001-of-0000N.gguf`) brings in its siblings; their tensors are
  /// appended and the metadata is that of the first file. Errors carry the
  /// file's path; CorruptData, Unsupported or NotFound.
  static Result<Gguf> open(const std::filesystem::path &path);
  /// Parses one file image in memory (a part of a split model is taken alone).
  static Result<Gguf> parse(std::span<const std::byte> bytes);

  uint32_t version() const { return fileVersion; }
  /// Metadata in file order.
  const std::vector<GgufEntry> &metadata() const { return entries; }
  /// Null when the key is absent.
  const GgufValue *find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// Typed lookups. NotFound "key 'k': missing, expected integer" or
  /// InvalidArgument "key 'k': expected integer, found string".
  Result<int64_t> getInt(std::string_view key) const;
  Result<double> getFloat(std::string_view key) const;
  Result<bool> getBool(std::string_view key) const;
  Result<std::string_view> getString(std::string_view key) const;
  Result<std::vector<int64_t>> getInts(std::string_view key) const;
  Result<std::vector<float>> getFloats(std::string_view key) const;
  Result<std::span<const std::string_view>> getStrings(std::string_view key) const;

  /// Tensors in file order (split parts one after the other).
  const std::vector<TensorInfo> &tensors() const { return tensorList; }
  /// Null when absent.
  const TensorInfo *findTensor(std::string_view name) const;

private:
  friend class GgufParser;
  Status appendSplits(const std::filesystem::path &first);
  Status appendPart(const std::filesystem::path &path, int64_t number, int64_t count);

  uint32_t fileVersion = 0;
  std::vector<GgufEntry> entries;
  std::map<std::string_view, size_t> entryIndex;
  std::vector<TensorInfo> tensorList;
  std::map<std::string, size_t, std::less<>> tensorIndex;
  std::vector<MappedFile> files; ///< Empty after `parse`.
};

} // namespace fusec::models
