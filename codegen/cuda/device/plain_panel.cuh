//===- plain_panel.cuh - panels of plain floats as mma's A operand --------------===//
//
// A panel of f32, f16 or bf16 is [K][16 rows]: what lies side by side in memory
// are rows, what A wants side by side are k. A lane therefore reads two rows at
// one k, and movmatrix exchanges the lanes' pairs:
//
//   before: lane (g, q) has rows 2q, 2q+1 of the k that stands for slot g
//   after:  lane (g, q) has row g at the k of slots 2q, 2q+1
//
// Slots and k are named as in weight_fragment.cuh. A warp reads 8 runs of 16
// bytes per load (32 for f32), whose other halves the next load takes.
//
//   PanelWeight<Bfloat, Bfloat, 4096> w{base, rows};
//
//===----------------------------------------------------------------------===//
#pragma once

#include "weight_fragment.cuh"

namespace fusec {

/// Two neighbours of a stored type, and as operands.
template <class Storage, class Operand> struct StoredPair {
  using Raw = unsigned;
  static __device__ __forceinline__ Raw load(const unsigned char *p) { return weightAt<unsigned>(p); }
  static __device__ __forceinline__ unsigned decode(Raw raw) {
    return packPair<Operand>(lowOf<Storage>(raw), highOf<Storage>(raw));
  }
};
template <class Operand> struct StoredPair<Operand, Operand> {
  using Raw = unsigned;
  static __device__ __forceinline__ Raw load(const unsigned char *p) { return weightAt<unsigned>(p); }
  static __device__ __forceinline__ unsigned decode(Raw raw) { return raw; }
};
template <class Operand> struct StoredPair<float, Operand> {
  using Raw = float2;
  static __device__ __forceinline__ Raw load(const unsigned char *p) { return weightAt<float2>(p); }
  static __device__ __forceinline__ unsigned decode(Raw raw) { return packPair<Operand>(raw.x, raw.y); }
};

template <class Storage, class Operand, int Columns> struct PlainPanelWeight {
  static_assert(Columns % 32 == 0, "panels are walked in chunks of 32");
  using OperandType = Operand;
  using Stored = StoredPair<Storage, Operand>;
  static constexpr int columns = Columns;
  static constexpr int pairBytes = sizeof(typename Stored::Raw), rowBytes = 8 * pairBytes;

  const void *base;
  int rows; ///< N; panels past the last read the last.

  struct Raw {
    typename Stored::Raw pair[2][4]; ///< Per step: A's four registers, before the exchange.
  };

  __device__ __forceinline__ Raw load(int block, int chunk) const {
    const MmaLane lane = mmaLane();
    const long long panel = min(block, (rows - 1) / 16);
    const unsigned char *at = static_cast<const unsigned char *>(base) + (panel * Columns + 32 * chunk) * rowBytes +
                              (8 * (lane.g / 2) + lane.g % 2) * rowBytes + lane.q * pairBytes;
    Raw raw;
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int i = 0; i < 4; ++i) // upper half of the rows: i odd; upper half of the slots: i >= 2
        raw.pair[s][i] = Stored::load(at + (4 * s + 2 * (i / 2)) * rowBytes + i % 2 * (rowBytes / 2));
    return raw;
  }
  static __device__ __forceinline__ WeightFragment decode(const Raw &raw) {
    WeightFragment w;
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        w.step[s].r[i] = ptx::transposed(Stored::decode(raw.pair[s][i]));
    return w;
  }
};

template <class Operand, int Columns>
struct PanelWeight<float, Operand, Columns> : PlainPanelWeight<float, Operand, Columns> {};
template <class Operand, int Columns>
struct PanelWeight<Half, Operand, Columns> : PlainPanelWeight<Half, Operand, Columns> {};
template <class Operand, int Columns>
struct PanelWeight<Bfloat, Operand, Columns> : PlainPanelWeight<Bfloat, Operand, Columns> {};

} // namespace fusec
