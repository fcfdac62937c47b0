//===- CpuLevel.cpp - detection by cpuid and xgetbv --------------------------===//

#include "runtime/device/host/CpuLevel.h"

#include <algorithm>
#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fusec::runtime {

namespace {

/// What cpuid reports (leaf 1 ECX, leaf 7 EBX) and which registers the OS saves (XCR0).
struct CpuFeatures {
  uint32_t leaf1Ecx = 0;
  uint32_t leaf7Ebx = 0;
  uint64_t savedState = 0;
};

struct LevelRow {
  std::string_view name;
  CpuFeatures needs;
};

constexpr uint32_t fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
constexpr uint32_t avx2 = 1u << 5, avx512f = 1u << 16, avx512dq = 1u << 17, avx512bw = 1u << 30, avx512vl = 1u << 31;
constexpr uint64_t ymmState = 0x6, zmmState = 0xe6; // SSE + AVX; and opmask + both ZMM halves.

constexpr LevelRow levels[] = {
    {"avx512", {fma | osxsave | avx | f16c, avx2 | avx512f | avx512dq | avx512bw | avx512vl, zmmState}},
    {"avx2", {fma | osxsave | avx | f16c, avx2, ymmState}},
};

constexpr auto levelNames = [] {
  std::array<std::string_view, std::size(levels)> names;
  for (size_t i = 0; i < names.size(); ++i)
    names[i] = levels[i].name;
  return names;
}();

CpuFeatures detect() {
  CpuFeatures found;
#if defined(__x86_64__)
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
    return found;
  found.leaf1Ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
    found.leaf7Ebx = ebx;
  if (found.leaf1Ecx & osxsave) { // Without it xgetbv itself is an illegal instruction.
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    found.savedState = (uint64_t{high} << 32) | low;
  }
#endif
  return found;
}

bool covers(const CpuFeatures &has, const CpuFeatures &needs) {
  return (has.leaf1Ecx & needs.leaf1Ecx) == needs.leaf1Ecx && (has.leaf7Ebx & needs.leaf7Ebx) == needs.leaf7Ebx &&
         (has.savedState & needs.savedState) == needs.savedState;
}

template <typename Names> std::string join(const Names &names) {
  std::string text;
  for (const auto &name : names)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "none" : text;
}

std::string supportedNames() {
  std::string text;
  for (std::string_view name : levelNames)
    if (cpuSupports(name))
      text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "none" : text;
}

} // namespace

std::span<const std::string_view> cpuLevels() { return levelNames; }

bool cpuSupports(std::string_view level) {
  const LevelRow *row =
      std::find_if(std::begin(levels), std::end(levels), [&](const LevelRow &r) { return r.name == level; });
  return row != std::end(levels) && covers(detect(), row->needs);
}

Result<std::string> chooseCpuLevel(std::span<const std::string> available, std::string_view forced) {
  auto has = [&](std::string_view name) {
    return std::find(available.begin(), available.end(), name) != available.end();
  };
  std::string facts = " (the artifact has: " + join(available) + "; this CPU runs: " + supportedNames() + ")";
  if (!forced.empty()) {
    if (std::find(levelNames.begin(), levelNames.end(), forced) == levelNames.end())
      return invalidArgument("unknown CPU level '" + std::string(forced) + "', expected one of: " + join(levelNames));
    if (!has(forced))
      return notFound("no kernels for the CPU level '" + std::string(forced) + "'" + facts);
    if (!cpuSupports(forced))
      return unsupported("this CPU does not run the level '" + std::string(forced) + "'" + facts);
    return std::string(forced);
  }
  for (std::string_view name : levelNames)
    if (has(name) && cpuSupports(name))
      return std::string(name);
  return unsupported("no kernels that this CPU runs" + facts);
}

} // namespace fusec::runtime
