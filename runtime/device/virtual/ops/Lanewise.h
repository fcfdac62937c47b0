//===- Lanewise.h - handlers that do the same on every lane ------------------===//
//
// A captureless lambda over plain values becomes a handler over 32 lanes; its
// C++ types say how wide the registers are and how immediates are read:
//
//   table.lanewise<[](uint32_t a, uint32_t b) { return a + b; }>("add.u32");
//
// bool stands for a predicate: 32 lanes are the bits of one word. The lambda
// also runs on lanes that are switched off, so it must be total.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/exec/Warp.h"

#include <type_traits>
#include <utility>

namespace fusec::virtualgpu {

/// How an operand is read: register bytes (0 = predicate), and whether immediates are floating.
struct ValueType {
  uint8_t bytes;
  bool isFloat;
};

template <typename T> constexpr ValueType valueTypeOf() {
  return {std::is_same_v<T, bool> ? uint8_t(0) : uint8_t(sizeof(T)),
          std::is_same_v<T, float> || std::is_same_v<T, double>};
}

/// Reads one operand lane by lane.
template <typename T> struct LaneReader {
  LaneReader(Warp &warp, const Instr &instr, int source) : at(warp.lanes<T>(instr.src[source])) {}
  T operator[](int lane) const { return at[lane]; }
  const T *at;
};
template <> struct LaneReader<bool> {
  LaneReader(Warp &warp, const Instr &instr, int source)
      : bits(warp.predicate(instr.src[source]) ^ (instr.inverted >> source & 1 ? fullMask : 0)) {}
  bool operator[](int lane) const { return bits >> lane & 1; }
  uint32_t bits;
};

/// Stores f(lane) for the lanes of the mask; every f(lane) is computed.
template <typename D, typename F> [[gnu::always_inline]] inline void writeLanes(Warp &warp, uint32_t slot, F f) {
  if constexpr (std::is_same_v<D, bool>) {
    uint32_t bits = 0;
#pragma clang loop vectorize(enable)
    for (int lane = 0; lane < warpLanes; ++lane)
      bits |= static_cast<uint32_t>(f(lane)) << lane;
    uint32_t &predicate = warp.predicate(slot);
    predicate = (predicate & ~warp.mask) | (bits & warp.mask);
  } else {
    D *to = warp.lanes<D>(slot);
    const uint32_t mask = warp.mask;
    if (mask == fullMask) {
      // Source and destination are the same register or apart, never shifted.
#pragma clang loop vectorize(assume_safety)
      for (int lane = 0; lane < warpLanes; ++lane)
        to[lane] = f(lane);
      return;
    }
    alignas(64) D made[warpLanes];
#pragma clang loop vectorize(assume_safety)
    for (int lane = 0; lane < warpLanes; ++lane)
      made[lane] = f(lane);
    for (uint32_t m = mask; m; m &= m - 1)
      to[std::countr_zero(m)] = made[std::countr_zero(m)];
  }
}

template <typename F> struct LambdaTraits;
template <typename L, typename D, typename... S> struct LambdaTraits<D (L::*)(S...) const> {
  using Result = D;
  static constexpr int sources = sizeof...(S);
  static constexpr ValueType result = valueTypeOf<D>();
  static constexpr ValueType types[] = {valueTypeOf<S>()..., {0, false}};

  template <auto Function> static void run(Warp &warp, const Instr &instr) {
    apply<Function>(warp, instr, std::make_integer_sequence<int, sources>());
  }
  template <auto Function, int... I>
  [[gnu::always_inline]] static void apply(Warp &warp, const Instr &instr, std::integer_sequence<int, I...>) {
    call<Function>(warp, instr.dst[0], LaneReader<S>(warp, instr, I)...);
  }
  template <auto Function> [[gnu::always_inline]] static void call(Warp &warp, uint32_t slot, LaneReader<S>... from) {
    writeLanes<D>(warp, slot, [=](int lane) __attribute__((always_inline)) { return Function(from[lane]...); });
  }
};

/// The traits of a captureless lambda.
template <auto Function> using TraitsOf = LambdaTraits<decltype(&decltype(Function)::operator())>;

} // namespace fusec::virtualgpu
