//===- FloatOps.cpp - f32 and f64 arithmetic ---------------------------------===//

#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

/// One f32 operation with every .ftz and .sat.
template <auto Op, int Sources> void addModified(OpcodeTable &table, const std::string &root, bool saturates = true) {
  if constexpr (Sources == 2) {
    table.lanewise<[](float a, float b) -> float { return Op(a, b); }>(root + ".f32");
    table.lanewise<[](float a, float b) -> float { return flush(Op(flush(a), flush(b))); }>(root + ".ftz.f32");
    if (!saturates)
      return;
    table.lanewise<[](float a, float b) -> float { return saturateUnit(Op(a, b)); }>(root + ".sat.f32");
    table.lanewise<[](float a, float b) -> float { return saturateUnit(flush(Op(flush(a), flush(b)))); }>(
        root + ".ftz.sat.f32");
  } else {
    table.lanewise<[](float a, float b, float c) -> float { return Op(a, b, c); }>(root + ".f32");
    table.lanewise<[](float a, float b, float c) -> float { return flush(Op(flush(a), flush(b), flush(c))); }>(
        root + ".ftz.f32");
    table.lanewise<[](float a, float b, float c) -> float { return saturateUnit(Op(a, b, c)); }>(root + ".sat.f32");
    table.lanewise<[](float a, float b, float c) -> float {
      return saturateUnit(flush(Op(flush(a), flush(b), flush(c))));
    }>(root + ".ftz.sat.f32");
  }
}

void addNearest(OpcodeTable &table) {
  for (std::string rn : {"", ".rn"}) {
    addModified<[](float a, float b) { return a + b; }, 2>(table, "add" + rn);
    addModified<[](float a, float b) { return a - b; }, 2>(table, "sub" + rn);
    addModified<[](float a, float b) { return a * b; }, 2>(table, "mul" + rn);
    table.lanewise<[](double a, double b) -> double { return a + b; }>("add" + rn + ".f64");
    table.lanewise<[](double a, double b) -> double { return a - b; }>("sub" + rn + ".f64");
    table.lanewise<[](double a, double b) -> double { return a * b; }>("mul" + rn + ".f64");
  }
  for (std::string root : {"fma.rn", "mad.rn"}) {
    addModified<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }, 3>(table, root);
    table.lanewise<[](double a, double b, double c) -> double { return __builtin_fma(a, b, c); }>(root + ".f64");
  }
}

/// .rz, .rm, .rp through a double rounded to odd.
template <Rounding R> void addDirected(OpcodeTable &table, const std::string &mode) {
  addModified<[](float a, float b) { return roundToFloat<R>(addOdd(a, b)); }, 2>(table, "add" + mode);
  addModified<[](float a, float b) { return roundToFloat<R>(addOdd(a, -b)); }, 2>(table, "sub" + mode);
  addModified<[](float a, float b) { return roundToFloat<R>(double(a) * double(b)); }, 2>(table, "mul" + mode);
  addModified<[](float a, float b, float c) { return roundToFloat<R>(fmaOdd(a, b, c)); }, 3>(table, "fma" + mode);
}

/// The number when the other is NaN; -0 < +0.
template <typename T> T smaller(T a, T b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <typename T> T larger(T a, T b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
template <typename T> T orNan(T a, T b, T r) { return a != a ? a : b != b ? b : r; }

void addExtremes(OpcodeTable &table) {
  addModified<[](float a, float b) { return smaller(a, b); }, 2>(table, "min", false);
  addModified<[](float a, float b) { return larger(a, b); }, 2>(table, "max", false);
  table.lanewise<[](float a, float b) -> float { return orNan(a, b, smaller(a, b)); }>("min.NaN.f32");
  table.lanewise<[](float a, float b) -> float { return orNan(a, b, larger(a, b)); }>("max.NaN.f32");
  table.lanewise<[](float a, float b) -> float { return flush(orNan(a, b, smaller(flush(a), flush(b)))); }>(
      "min.ftz.NaN.f32");
  table.lanewise<[](float a, float b) -> float { return flush(orNan(a, b, larger(flush(a), flush(b)))); }>(
      "max.ftz.NaN.f32");
  table.lanewise<[](double a, double b) -> double { return smaller(a, b); }>("min.f64");
  table.lanewise<[](double a, double b) -> double { return larger(a, b); }>("max.f64");
}

void addSigns(OpcodeTable &table) {
  table.lanewise<[](float a) -> float { return -a; }>("neg.f32");
  table.lanewise<[](float a) -> float { return -flush(a); }>("neg.ftz.f32");
  table.lanewise<[](double a) -> double { return -a; }>("neg.f64");
  table.lanewise<[](float a) -> float { return std::fabs(a); }>("abs.f32");
  table.lanewise<[](float a) -> float { return std::fabs(flush(a)); }>("abs.ftz.f32");
  table.lanewise<[](double a) -> double { return std::fabs(a); }>("abs.f64");
  // copysign.f32 d, a, b: the sign of a, the magnitude of b.
  table.lanewise<[](float a, float b) -> float { return std::copysign(b, a); }>("copysign.f32");
  table.lanewise<[](double a, double b) -> double { return std::copysign(b, a); }>("copysign.f64");
}

template <typename T> void addClasses(OpcodeTable &table, const std::string &type) {
  table.lanewise<[](T a) -> bool { return std::isfinite(a); }>("testp.finite." + type);
  table.lanewise<[](T a) -> bool { return std::isinf(a); }>("testp.infinite." + type);
  table.lanewise<[](T a) -> bool { return !std::isnan(a); }>("testp.number." + type);
  table.lanewise<[](T a) -> bool { return std::isnan(a); }>("testp.notanumber." + type);
  table.lanewise<[](T a) -> bool { return std::isnormal(a); }>("testp.normal." + type);
  table.lanewise<[](T a) -> bool { return std::fpclassify(a) == FP_SUBNORMAL; }>("testp.subnormal." + type);
}

void addDivisionsAndRoots(OpcodeTable &table) {
  for (const char *form : {"div.rn.f32", "div.full.f32", "div.approx.f32"})
    table.lanewise<[](float a, float b) -> float { return a / b; }>(form);
  for (const char *form : {"div.rn.ftz.f32", "div.full.ftz.f32", "div.approx.ftz.f32"})
    table.lanewise<[](float a, float b) -> float { return flush(flush(a) / flush(b)); }>(form);
  table.lanewise<[](double a, double b) -> double { return a / b; }>("div.rn.f64");
  table.lanewise<[](float a) -> float { return 1.0f / a; }>("rcp.rn.f32");
  table.lanewise<[](float a) -> float { return flush(1.0f / flush(a)); }>("rcp.rn.ftz.f32");
  table.lanewise<[](double a) -> double { return 1.0 / a; }>("rcp.rn.f64");
  table.lanewise<[](double a) -> double { return 1.0 / a; }>("rcp.approx.ftz.f64");
  table.lanewise<[](float a) -> float { return std::sqrt(a); }>("sqrt.rn.f32");
  table.lanewise<[](float a) -> float { return flush(std::sqrt(flush(a))); }>("sqrt.rn.ftz.f32");
  table.lanewise<[](double a) -> double { return std::sqrt(a); }>("sqrt.rn.f64");
  table.lanewise<[](double a) -> double { return 1.0 / std::sqrt(a); }>("rsqrt.approx.f64");
}

} // namespace

void addFloatOps(OpcodeTable &table) {
  addNearest(table);
  addDirected<Rounding::Zero>(table, ".rz");
  addDirected<Rounding::Down>(table, ".rm");
  addDirected<Rounding::Up>(table, ".rp");
  addExtremes(table);
  addSigns(table);
  addClasses<float>(table, "f32");
  addClasses<double>(table, "f64");
  addDivisionsAndRoots(table);
}

} // namespace fusec::virtualgpu
