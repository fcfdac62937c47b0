//===- Element.h - scalar types of the reference interpreter --------------===//
//
// Every value of the interpreter is a double; an Element says which IR type it
// stands for, and so how results round (floats) or wrap (integers). Integers
// are exact up to 2^53. i1 is 0 or 1, other integers are signed. A NaN where an
// integer stands is poison: it came from an unspecified value and spreads.
//
// Pure functions; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/schema/StorageType.h"

#include "mlir/IR/Types.h"

#include <cmath>
#include <cstdint>

namespace fusec::reference {

enum class Element : uint8_t { F64, F32, F16, BF16, E4M3, I64, I32, I16, I8, I1, Index };

struct ElementInfo {
  Element element;
  const char *name; ///< Spelling in IR.
  bool isFloat;
  int bits; ///< Width in memory.
};

inline constexpr ElementInfo elements[] = {
    {Element::F64, "f64", true, 64},   {Element::F32, "f32", true, 32},      {Element::F16, "f16", true, 16},
    {Element::BF16, "bf16", true, 16}, {Element::E4M3, "f8E4M3FN", true, 8}, {Element::I64, "i64", false, 64},
    {Element::I32, "i32", false, 32},  {Element::I16, "i16", false, 16},     {Element::I8, "i8", false, 8},
    {Element::I1, "i1", false, 1},     {Element::Index, "index", false, 64},
};

constexpr const ElementInfo &info(Element e) { return elements[static_cast<size_t>(e)]; }
constexpr bool isFloat(Element e) { return info(e).isFloat; }

/// The element of a scalar type, or of a vector's; Unsupported for any other.
Result<Element> elementOf(mlir::Type type);

/// The element that values of a plain float storage type are rounded to.
Element elementOf(StorageType storage);

/// `value` rounded to the float type, to nearest even. What is too large becomes infinity; in E4M3, which has none, the
/// largest number.
double roundTo(Element element, double value);

/// Rounds `n` values in place; nothing for f64 and integers.
void roundLanes(Element element, double *values, int64_t n);

/// The integer as the type keeps it: wrapped, sign extended (i1: 0 or 1).
double wrapTo(Element element, int64_t value);

/// Reads an integer value as signed (i1: 0 or -1) and as unsigned.
int64_t asSigned(Element element, double value);
uint64_t asUnsigned(Element element, double value);

} // namespace fusec::reference
