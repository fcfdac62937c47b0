//===- ProbeTable.cpp -------------------------------------------------------------===//
#include "tools/gpu_acceptance/ProbeTable.h"

#include <bit>
#include <cmath>
#include <cstdio>

namespace fusec::acceptance {

namespace {

uint64_t mix(uint64_t x) { // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint32_t floatWord(float x) { return std::bit_cast<uint32_t>(x); }
uint32_t brain(float x) { return floatWord(x) >> 16; } // Truncated: the values here are exact.
/// Whole numbers of at most 2048 and fractions of 2^-8 below 4: all exact in f16.
uint32_t half(float x) {
  if (x == 0)
    return 0;
  const uint32_t bits = floatWord(x), exponent = (bits >> 23 & 0xff) - 112;
  return (bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff);
}
/// Exact for whole numbers up to 8.
uint32_t e4m3(float x) {
  if (x == 0)
    return 0;
  const uint32_t bits = floatWord(x), exponent = (bits >> 23 & 0xff) - 120;
  return (bits >> 24 & 0x80) | exponent << 3 | (bits >> 20 & 7);
}

float whole(uint64_t random) { return static_cast<float>(static_cast<int>(random % 11) - 5); }
/// 8 significant bits, so that bf16 holds it, of either sign, in (-1, 1).
float fraction(uint64_t random) { return static_cast<float>(static_cast<int>(random % 255) - 127) / 128.0f; }

template <uint32_t (*encode)(float), float (*value)(uint64_t)> uint32_t pairs(size_t, uint64_t random) {
  return encode(value(random & 0xffff)) | encode(value(random >> 16 & 0xffff)) << 16;
}
/// Words of an mma probe: 6 of operands, then 4 floats.
template <uint32_t (*encode)(float), float (*value)(uint64_t)> uint32_t mmaWords(size_t index, uint64_t random) {
  return index % 10 < 6 ? pairs<encode, value>(index, random) : floatWord(value(random & 0xffff));
}
uint32_t e4m3MmaWords(size_t index, uint64_t random) {
  if (index % 10 >= 6)
    return floatWord(whole(random & 0xffff));
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word |= e4m3(whole(random >> (16 * i) & 0xffff)) << (8 * i);
  return word;
}

uint32_t anyBits(size_t, uint64_t random) { return static_cast<uint32_t>(random); }
/// Any bits, with what conversions treat apart: zeros, infinities, NaN, subnormals, ties, limits of f16 and int.
uint32_t specialFloats(size_t index, uint64_t random) {
  constexpr uint32_t special[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff,
                                  0x3f801000, 0x3f803000, 0x3f808000, 0x3f818000, 0x477fe000, 0x477ff000, 0x33000000,
                                  0x33000001, 0x4f000000, 0xcf000000, 0x4f800000, 0x40200000, 0x7f7fffff, 0x38800000};
  return index % 3 ? static_cast<uint32_t>(random) : special[index / 3 % std::size(special)];
}
/// Of every size, none of them NaN or infinite.
uint32_t finiteFloats(size_t, uint64_t random) {
  const uint32_t bits = static_cast<uint32_t>(random);
  return (bits & 0x7f800000) == 0x7f800000 ? bits ^ 0x40000000 : bits;
}
/// In [1/16, 16).
uint32_t mediumFloats(size_t, uint64_t random) {
  return static_cast<uint32_t>(123 + random % 8) << 23 | static_cast<uint32_t>(random >> 40 & 0x7fffff);
}
uint32_t smallWholes(size_t, uint64_t random) { return static_cast<uint32_t>(random % 100); }

// The ISA's bounds of the approximations are 2^-22 or better (tanh 2^-11), the virtual device is within 2^-23.
constexpr double close = 0x1p-21, tanhClose = 0x1p-10;
// 16 products and the accumulator, each below 1: hardware may drop bits below 2^-23 of the largest partial sum (17) in
// each of 17 additions, the virtual device rounds.
constexpr double sumClose = 17 * 17 * 0x1p-23;

const Probe table[] = {
    {"mma_bf16", "whole numbers", "sm_80", 80, 999, 32, 320, 128, mmaWords<brain, whole>},
    {"mma_f16", "whole numbers", "sm_80", 80, 999, 32, 320, 128, mmaWords<half, whole>},
    {"mma_bf16", "fractions", "sm_80", 80, 999, 32, 320, 128, mmaWords<brain, fraction>, {sumClose}, true},
    {"mma_f16", "fractions", "sm_80", 80, 999, 32, 320, 128, mmaWords<half, fraction>, {sumClose}, true},
    {"ldmatrix_x4", "any bits", "sm_80", 80, 999, 32, 128, 256, anyBits},
    {"cp_async", "any bits", "sm_80", 80, 999, 32, 256, 256, anyBits},
    {"warp_exchange", "small whole numbers", "sm_80", 80, 999, 32, 32, 320, smallWholes},
    {"convert", "any bits and special values", "sm_80", 80, 999, 32, 64, 320, specialFloats},
    {"arithmetic", "finite numbers", "sm_80", 80, 999, 32, 96, 256, finiteFloats},
    {"integer", "any bits", "sm_80", 80, 999, 32, 96, 320, anyBits},
    {"approximate",
     "numbers in [1/16, 16)",
     "sm_80",
     80,
     999,
     32,
     32,
     192,
     mediumFloats,
     {close, close, close, close, close, tanhClose}},
    {"atomics", "any bits", "sm_80", 80, 999, 128, 128, 3, anyBits},
    {"named_barriers", "any bits", "sm_80", 80, 999, 128, 128, 128, anyBits},
    {"convert_e4m3", "finite numbers", "sm_89", 89, 999, 32, 128, 32, mediumFloats},
    {"convert_e4m3", "any bits and special values", "sm_89", 89, 999, 32, 128, 32, specialFloats},
    {"mma_e4m3", "whole numbers", "sm_89", 89, 999, 32, 320, 128, e4m3MmaWords},
    {"mbarrier", "any bits", "sm_90a", 90, 91, 64, 96, 96, anyBits},
    {"bulk_copy", "any bits", "sm_90a", 90, 91, 32, 256, 256, anyBits},
    {"wgmma_bf16_k", "whole numbers", "sm_90a", 90, 91, 128, 1024, 2048, pairs<brain, whole>},
    {"wgmma_bf16_n", "whole numbers", "sm_90a", 90, 91, 128, 1024, 2048, pairs<brain, whole>},
    {"wgmma_f16_k", "whole numbers", "sm_90a", 90, 91, 128, 1024, 2048, pairs<half, whole>},
    {"wgmma_f16_n", "whole numbers", "sm_90a", 90, 91, 128, 1024, 2048, pairs<half, whole>},
    {"wgmma_bf16_k", "fractions", "sm_90a", 90, 91, 128, 1024, 2048, pairs<brain, fraction>, {2 * sumClose}, true},
};

std::string hex(uint32_t word) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", word);
  return text;
}

/// How far apart, in the unit of the row's tolerance.
double distance(const Probe &probe, uint32_t found, uint32_t expected) {
  if (found == expected)
    return 0;
  const double x = std::bit_cast<float>(found), y = std::bit_cast<float>(expected);
  const double apart = std::abs(x - y) / (probe.isAbsolute ? 1 : std::abs(y));
  return probe.tolerance.empty() || std::isnan(apart) ? HUGE_VAL : apart;
}

} // namespace

std::span<const Probe> probes() { return table; }

std::vector<uint32_t> probeInput(const Probe &probe) {
  std::vector<uint32_t> words;
  for (size_t i = 0; i < probe.inWords; ++i)
    words.push_back(probe.make(i, mix(i)));
  return words;
}

std::string compareProbe(const Probe &probe, std::span<const uint32_t> found, std::span<const uint32_t> expected,
                         std::string &summary) {
  const size_t columns = std::max<size_t>(1, probe.tolerance.size());
  std::string failure;
  size_t failures = 0;
  std::vector<double> worst(columns);
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t column = i % columns;
    const double apart = distance(probe, found[i], expected[i]);
    worst[column] = std::max(worst[column], apart);
    if (apart <= (probe.tolerance.empty() ? 0 : probe.tolerance[column]))
      continue;
    if (failures++ == 0)
      failure = "word " + std::to_string(i) + ": expected " + hex(expected[i]) + ", found " + hex(found[i]);
  }
  for (size_t c = 0; !probe.tolerance.empty() && c < columns; ++c) {
    char text[64];
    std::snprintf(text, sizeof text, "%s%.3g of %.3g", c ? ", " : "largest difference ", worst[c], probe.tolerance[c]);
    summary += text;
  }
  return failures ? failure + " (" + std::to_string(failures) + " of " + std::to_string(expected.size()) + " words)"
                  : "";
}

} // namespace fusec::acceptance
