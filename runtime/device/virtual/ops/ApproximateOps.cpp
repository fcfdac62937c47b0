//===- ApproximateOps.cpp - the special function unit ------------------------===//
//
// The device's results are approximations with stated errors; these are at
// least as accurate, so tolerances must not be derived from them.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

/// 2^x to about 1 ulp, without branches so that lanes vectorise: 2^n * 2^f with
/// |f| <= 1/2, 2^f by its Taylor series to the order where terms drop below 2^-28.
float exp2Fast(float x) {
  float clamped = x < -160.0f ? -160.0f : x > 160.0f ? 160.0f : x;
  float n = std::rint(clamped);
  float f = (clamped - n) * 0.69314718056f;
  float p = 1.0f / 5040;
  p = p * f + 1.0f / 720;
  p = p * f + 1.0f / 120;
  p = p * f + 1.0f / 24;
  p = p * f + 1.0f / 6;
  p = p * f + 0.5f;
  p = p * f + 1.0f;
  p = p * f + 1.0f;
  int32_t e = static_cast<int32_t>(n);
  int32_t half = e / 2; // Two factors: each is a normal number.
  float one = std::bit_cast<float>((half + 127) << 23), two = std::bit_cast<float>((e - half + 127) << 23);
  return x != x ? x : p * one * two;
}

template <auto F> void addUnary(OpcodeTable &table, const std::string &root) {
  table.lanewise<[](float a) -> float { return F(a); }>(root + ".approx.f32");
  table.lanewise<[](float a) -> float { return flush(F(flush(a))); }>(root + ".approx.ftz.f32");
}

} // namespace

void addApproximateOps(OpcodeTable &table) {
  addUnary<[](float a) { return exp2Fast(a); }>(table, "ex2");
  addUnary<[](float a) { return std::log2(a); }>(table, "lg2");
  addUnary<[](float a) { return std::sin(a); }>(table, "sin");
  addUnary<[](float a) { return std::cos(a); }>(table, "cos");
  addUnary<[](float a) { return 1.0f / a; }>(table, "rcp");
  addUnary<[](float a) { return std::sqrt(a); }>(table, "sqrt");
  addUnary<[](float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }>(table, "rsqrt");
  table.lanewise<[](float a) -> float { return std::tanh(a); }>("tanh.approx.f32");
  table.lanewise<[](Half a) -> Half { return toHalf(std::tanh(toFloat(a))); }>("tanh.approx.f16");
  table.lanewise<[](Half a) -> Half { return toHalf(exp2Fast(toFloat(a))); }>("ex2.approx.f16");
  table.lanewise<[](Half2 a) -> Half2 {
    return Half2::pack(toHalf(std::tanh(toFloat(a.low()))), toHalf(std::tanh(toFloat(a.high()))));
  }>("tanh.approx.f16x2");
  table.lanewise<[](Half2 a) -> Half2 {
    return Half2::pack(toHalf(exp2Fast(toFloat(a.low()))), toHalf(exp2Fast(toFloat(a.high()))));
  }>("ex2.approx.f16x2");
  table.lanewise<[](Brain a) -> Brain { return toBrain(std::tanh(toFloat(a))); }>("tanh.approx.bf16");
  table.lanewise<[](Brain2 a) -> Brain2 {
    return Brain2::pack(toBrain(std::tanh(toFloat(a.low()))), toBrain(std::tanh(toFloat(a.high()))));
  }>("tanh.approx.bf16x2");
  for (const char *form : {"ex2.approx.ftz.bf16"})
    table.lanewise<[](Brain a) -> Brain { return toBrain(exp2Fast(flush(toFloat(a)))); }>(form);
  table.lanewise<[](Brain2 a) -> Brain2 {
    return Brain2::pack(toBrain(exp2Fast(flush(toFloat(a.low())))), toBrain(exp2Fast(flush(toFloat(a.high())))));
  }>("ex2.approx.ftz.bf16x2");
}

} // namespace fusec::virtualgpu
