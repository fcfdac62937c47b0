//===- GgufValue.cpp - typed access to GGUF metadata -----------------------===//

#include "models/import/ByteReader.h"
#include "models/import/Gguf.h"
#include "models/import/Quote.h"

#include <iterator>
#include <limits>

namespace fusec::models {
namespace {

constexpr std::string_view typeNames[] = {
    "uint8", "int8",   "uint16", "int16",  "uint32", "int32",   "float32",
    "bool",  "string", "array",  "uint64", "int64",  "float64",
};
static_assert(std::size(typeNames) == static_cast<size_t>(GgufType::Float64) + 1);

constexpr bool isFloat(GgufType type) { return type == GgufType::Float32 || type == GgufType::Float64; }
constexpr bool isInteger(GgufType type) {
  return !isFloat(type) && type != GgufType::Bool && type != GgufType::String && type != GgufType::Array;
}

Status mismatch(std::string_view expected, const GgufValue &value) {
  return invalidArgument("expected " + std::string(expected) + ", found " + value.typeName());
}

/// Reads `count` packed values of type T, converting each.
template <typename T, typename Out> std::vector<Out> unpack(const GgufArray &array) {
  std::vector<Out> out(static_cast<size_t>(array.count));
  ByteReader reader(array.raw);
  for (Out &value : out) {
    T stored{};
    reader.read(stored); // cannot fail: the parser sized `raw`
    value = static_cast<Out>(stored);
  }
  return out;
}

} // namespace

std::string_view name(GgufType type) { return typeNames[static_cast<size_t>(type)]; }

Result<int64_t> GgufValue::asInt() const {
  if (!isInteger(valueType))
    return mismatch("an integer", *this);
  if (valueType == GgufType::UInt64 && bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return invalidArgument("expected an integer below 2^63, found " + std::to_string(bits));
  return static_cast<int64_t>(bits);
}

Result<double> GgufValue::asFloat() const {
  if (!isFloat(valueType))
    return mismatch("a floating-point number", *this);
  return std::bit_cast<double>(bits);
}

Result<bool> GgufValue::asBool() const {
  if (valueType != GgufType::Bool)
    return mismatch("a bool", *this);
  return bits != 0;
}

Result<std::string_view> GgufValue::asString() const {
  if (valueType != GgufType::String)
    return mismatch("a string", *this);
  return text;
}

Result<std::vector<int64_t>> GgufValue::asInts() const {
  if (valueType == GgufType::Array) {
    switch (array.elementType) {
    case GgufType::UInt8:
      return unpack<uint8_t, int64_t>(array);
    case GgufType::Int8:
      return unpack<int8_t, int64_t>(array);
    case GgufType::UInt16:
      return unpack<uint16_t, int64_t>(array);
    case GgufType::Int16:
      return unpack<int16_t, int64_t>(array);
    case GgufType::UInt32:
      return unpack<uint32_t, int64_t>(array);
    case GgufType::Int32:
      return unpack<int32_t, int64_t>(array);
    case GgufType::Int64:
      return unpack<int64_t, int64_t>(array);
    case GgufType::UInt64: // no writer uses it; refusing keeps the range simple
    case GgufType::Float32:
    case GgufType::Float64:
    case GgufType::Bool:
    case GgufType::String:
    case GgufType::Array:
      break;
    }
  }
  return mismatch("an array of integers", *this);
}

Result<std::vector<float>> GgufValue::asFloats() const {
  if (valueType == GgufType::Array && array.elementType == GgufType::Float32)
    return unpack<float, float>(array);
  if (valueType == GgufType::Array && array.elementType == GgufType::Float64)
    return unpack<double, float>(array);
  return mismatch("an array of floating-point numbers", *this);
}

Result<std::span<const std::string_view>> GgufValue::asStrings() const {
  if (valueType != GgufType::Array || array.elementType != GgufType::String)
    return mismatch("an array of strings", *this);
  return std::span<const std::string_view>(array.strings);
}

std::string GgufValue::typeName() const {
  std::string out(name(valueType));
  return valueType == GgufType::Array ? out + " of " + std::string(name(array.elementType)) : out;
}

std::string GgufValue::preview(size_t maxChars) const {
  if (valueType == GgufType::String)
    return quote(text, maxChars);
  if (valueType == GgufType::Array)
    return std::to_string(array.count) + " x " + std::string(name(array.elementType));
  if (valueType == GgufType::Bool)
    return bits ? "true" : "false";
  if (valueType == GgufType::UInt64)
    return std::to_string(bits);
  if (isInteger(valueType))
    return std::to_string(static_cast<int64_t>(bits));
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", std::bit_cast<double>(bits));
  return buffer;
}

} // namespace fusec::models
