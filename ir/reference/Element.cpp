//===- Element.cpp - rounding and wrapping of scalars -----------------------===//
#include "ir/reference/Element.h"

#include "runtime/base/Float16.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace fusec::reference {

Result<Element> elementOf(Type type) {
  Type scalar = getElementTypeOrSelf(type);
  std::string name;
  llvm::raw_string_ostream(name) << scalar;
  for (const ElementInfo &row : elements)
    if (name == row.name)
      return row.element;
  return unsupported("the reference interpreter has no element type '" + name + "'");
}

Element elementOf(StorageType storage) {
  assert(info(storage).blockElements == 1 && "blocks have no element type");
  switch (storage) {
  case StorageType::F16:
    return Element::F16;
  case StorageType::BF16:
    return Element::BF16;
  case StorageType::E4M3:
    return Element::E4M3;
  default:
    return Element::F32;
  }
}

namespace {
/// Rounds a double to `precision` significant bits, and to multiples of the
/// smallest subnormal 2^minExponent; beyond `largest` becomes infinity.
double roundNarrow(double value, int precision, int minExponent, double largest) {
  if (value == 0 || !std::isfinite(value))
    return value;
  const int quantum = std::max(std::ilogb(value) - precision + 1, minExponent);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  return std::abs(rounded) > largest ? std::copysign(INFINITY, value) : std::copysign(rounded, value);
}
} // namespace

double roundTo(Element element, double value) {
  switch (element) {
  case Element::F32:
    return static_cast<float>(value);
  case Element::F16: // not through f32, which would round twice
    return roundNarrow(value, 11, -24, 65504.0);
  case Element::BF16:
    return roundNarrow(value, 8, -133, 0x1.fep127);
  case Element::E4M3:
    return roundNarrow(std::isnan(value) ? value : std::clamp(value, -448.0, 448.0), 4, -9, 448.0);
  default:
    return value;
  }
}

void roundLanes(Element element, double *values, int64_t n) {
  if (!isFloat(element) || element == Element::F64)
    return;
  for (int64_t i = 0; i < n; ++i)
    values[i] = roundTo(element, values[i]);
}

double wrapTo(Element element, int64_t value) {
  const int bits = info(element).bits;
  if (element == Element::I1)
    return static_cast<double>(value & 1);
  if (bits == 64)
    return static_cast<double>(value);
  const int drop = 64 - bits;
  return static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(value) << drop) >> drop);
}

int64_t asSigned(Element element, double value) {
  // 2^63 and beyond cannot be converted; saturate instead of undefined behaviour.
  if (value >= 0x1p63)
    return INT64_MAX;
  if (value < -0x1p63)
    return INT64_MIN;
  const int64_t integer = static_cast<int64_t>(value);
  return element == Element::I1 ? -integer : integer;
}

uint64_t asUnsigned(Element element, double value) {
  const uint64_t integer = static_cast<uint64_t>(asSigned(element, value));
  const int bits = info(element).bits;
  return bits == 64 ? integer : integer & ((uint64_t{1} << bits) - 1);
}

} // namespace fusec::reference
