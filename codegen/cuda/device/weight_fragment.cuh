//===- weight_fragment.cuh - stored matrices as mma's A operand ---------------===//
//
// W[N, K] is the A operand: 16 rows of W are mma's 16 rows. A chunk of 32 k is
// two mma steps, and lane (g, q) takes k 8q .. 8q+7 of rows g and g + 8:
//
//   step 0: columns 2q, 2q+1 <-> k 8q, 8q+1      columns 2q+8, 2q+9 <-> k 8q+2, 8q+3
//   step 1:                      k 8q+4, 8q+5                           k 8q+6, 8q+7
//
// so that one word of a packed format, or 16 bytes of a row, feed one lane, and
// the B operand of both steps is x[token g][8q .. 8q+7] (Operands8).
//
// A weight is a small struct with
//   Raw load(int block, int chunk) const     rows 16 block .. 16 block + 15, k 32 chunk .. 32 chunk + 31, undecoded
//   static WeightFragment decode(Raw)        rounded to the operand type
// Blocks past the last one read the last one. The two are apart so that loads
// can run ahead of the arithmetic.
//
//   PanelWeight<Q4_1, Bfloat, 4096> w{base, rows};        packed (PanelLayout.h)
//   RowWeight<Half, Bfloat, 4096> w{base, rows};           rows side by side
//
// A value is what the format defines, computed in f32 as one fused
// multiply-add of exact products, then rounded once to the operand type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"
#include "panel.cuh"

namespace fusec {

/// A's registers for the two steps of a chunk.
struct WeightFragment {
  FragmentA step[2];
};

/// acc[4] += the chunk of 16 weight rows times that of 8 tokens.
template <class Operand>
__device__ __forceinline__ void mmaChunk(float *acc, const WeightFragment &w, const Operands8 &x) {
  mma<Operand>(acc, w.step[0], FragmentB{{x.pair[0], x.pair[1]}});
  mma<Operand>(acc, w.step[1], FragmentB{{x.pair[2], x.pair[3]}});
}

/// Puts the 8 values of row g (upper = 0) or g + 8 (upper = 1) into place.
__device__ __forceinline__ void setRow(WeightFragment &w, int upper, const Operands8 &x) {
  w.step[0].r[upper] = x.pair[0];
  w.step[0].r[upper + 2] = x.pair[1];
  w.step[1].r[upper] = x.pair[2];
  w.step[1].r[upper + 2] = x.pair[3];
}

//===----------------------------------------------------------------------===//
// Packed formats
//===----------------------------------------------------------------------===//

/// Byte i of `codes` plus `bias`: 2^23 + code is the float with the code in its low bits.
__device__ __forceinline__ float byteToFloat(unsigned codes, int i, float bias) {
  return __uint_as_float(__byte_perm(codes, 0x4b000000u, 0x7650 + i)) - (8388608.0f - bias);
}

/// Bits 0, 2, 4, 6 of `bits` as bit 4 of bytes 0 to 3; the products of other bits fall beside them, without a carry.
__device__ __forceinline__ unsigned spreadBits(unsigned bits) { return (bits & 0x55u) * 0x00410410u & 0x10101010u; }

/// Fields 0, 2, 4, 6 of two bits as bits 4 and 5 of bytes 0 to 3.
__device__ __forceinline__ unsigned spreadFields(unsigned fields) {
  unsigned f = fields & 0x3333u;
  f = (f | f << 8) & 0x00ff00ffu;
  return ((f | f << 4) & 0x0f0f0f0fu) << 4;
}

template <class Format, class Operand, int Columns> struct PanelWeight {
  static_assert(Columns % Format::superElements == 0, "a packed row is a whole number of super-blocks");
  using OperandType = Operand;
  static constexpr int columns = Columns;
  static constexpr int lowWords = Format::bits >= 8 ? 2 : 1;
  static constexpr long long panelBytes = static_cast<long long>(Columns / Format::superElements) * Format::superBytes;

  const void *base;
  int rows; ///< N; panels past the last read the last.

  /// What one row of a chunk needs in this lane. Members a format has not are never read.
  struct RawRow {
    unsigned low[lowWords];        ///< Low bits of k 8q .. 8q + 7.
    unsigned high;                 ///< 5 bits: 8 bits of the 8 k; 6 bits: 8 fields of 2.
    unsigned short scale, minimum; ///< f16.
    unsigned char subscale, submin;
  };
  struct Raw {
    RawRow row[2]; ///< g and g + 8.
  };

  static constexpr int superChunks = Format::superElements / 32, superBytes = Format::superBytes;

  /// The super-block that holds a chunk.
  __device__ __forceinline__ const unsigned char *superBlock(int block, int chunk) const {
    return static_cast<const unsigned char *>(base) + min(block, (rows - 1) / 16) * panelBytes + static_cast<long long>(chunk / superChunks) * superBytes;
  }
  __device__ __forceinline__ Raw load(int block, int chunk) const {
    return loadFrom<Global>(superBlock(block, chunk), chunk % superChunks);
  }
  /// The same for a super-block that lies in shared memory.
  static __device__ __forceinline__ Raw loadShared(const unsigned char *super, int chunk) {
    return loadFrom<Shared>(super, chunk);
  }

  static __device__ __forceinline__ WeightFragment decode(const Raw &raw) {
    WeightFragment w;
    setRow(w, 0, decodeRow(raw.row[0]));
    setRow(w, 1, decodeRow(raw.row[1]));
    return w;
  }

private:
  struct Global {
    template <class T> static __device__ __forceinline__ T read(const unsigned char *p) { return weightAt<T>(p); }
  };
  struct Shared {
    template <class T> static __device__ __forceinline__ T read(const unsigned char *p) {
      return *reinterpret_cast<const T *>(p);
    }
  };
  template <class Memory> static __device__ __forceinline__ Raw loadFrom(const unsigned char *super, int chunk) {
    Raw raw;
    raw.row[0] = loadRow<Memory>(super, chunk, mmaLane().g);
    raw.row[1] = loadRow<Memory>(super, chunk, mmaLane().g + 8);
    return raw;
  }

  /// A warp reads 16 rows x 4 bytes side by side per word: whole sectors, one line.
  template <class Memory>
  static __device__ __forceinline__ RawRow loadRow(const unsigned char *super, int chunk, int row) {
    const unsigned char *codes = super + Format::codes + chunk * Format::chunkBytes + 4 * row;
    int q = mmaLane().q;
    RawRow r{};
#pragma unroll
    for (int i = 0; i < lowWords; ++i)
      r.low[i] = Memory::template read<unsigned>(codes + (lowWords * q + i) * 64);
    if constexpr (Format::bits == 5)
      r.high = Memory::template read<unsigned>(codes + Format::lowBytes) >> (8 * q);
    if constexpr (Format::bits == 6)
      r.high = Memory::template read<unsigned>(codes + Format::lowBytes + q / 2 * 64) >> (16 * (q & 1));
    r.scale = Memory::template read<unsigned short>(super + 2 * row);
    if constexpr (Format::hasMinimum)
      r.minimum = Memory::template read<unsigned short>(super + Format::minimum + 2 * row);
    if constexpr (Format::hasSubscales) {
      int group = Format::group == 32 ? chunk : 2 * chunk + q / 2;
      r.subscale = Memory::template read<unsigned char>(super + Format::subscale + 16 * group + row);
      if constexpr (Format::hasMinimum)
        r.submin = Memory::template read<unsigned char>(super + Format::submin + 16 * group + row);
    }
    return r;
  }

  /// The codes of 8 k as bytes: k 0, 2, 4, 6 and k 1, 3, 5, 7, or 0 to 3 and 4 to 7 for 8 bits.
  struct Codes {
    unsigned bytes[2];
    __device__ __forceinline__ float operator[](int i) const {
      constexpr float bias = Format::isSigned ? -128.0f : -static_cast<float>(Format::offset);
      return Format::bits >= 8 ? byteToFloat(bytes[i / 4], i % 4, bias) : byteToFloat(bytes[i % 2], i / 2, bias);
    }
  };

  static __device__ __forceinline__ Codes codesOf(const RawRow &r) {
    if constexpr (Format::bits >= 8) {
      constexpr unsigned flip = Format::isSigned ? 0x80808080u : 0; // two's complement: adds 128
      return {{r.low[0] ^ flip, r.low[lowWords - 1] ^ flip}};
    }
    Codes c{{r.low[0] & 0x0f0f0f0fu, r.low[0] >> 4 & 0x0f0f0f0fu}};
    if constexpr (Format::bits == 5) {
      c.bytes[0] |= spreadBits(r.high);
      c.bytes[1] |= spreadBits(r.high >> 1);
    }
    if constexpr (Format::bits == 6) {
      c.bytes[0] |= spreadFields(r.high);
      c.bytes[1] |= spreadFields(r.high >> 2);
    }
    return c;
  }

  static __device__ __forceinline__ float scaleOf(const RawRow &r) {
    float d = fromBits<Half>(r.scale);
    if constexpr (!Format::hasSubscales)
      return d;
    else if constexpr (Format::hasMinimum)
      return d * byteToFloat(r.subscale, 0, 0.0f);
    else // signed 8 bit
      return d * byteToFloat(r.subscale ^ 0x80u, 0, -128.0f);
  }

  static __device__ __forceinline__ float minimumOf(const RawRow &r) {
    float m = fromBits<Half>(r.minimum);
    return Format::hasSubscales ? -(m * byteToFloat(r.submin, 0, 0.0f)) : m;
  }

  static __device__ __forceinline__ Operands8 decodeRow(const RawRow &r) {
    float scale = scaleOf(r), minimum = 0.0f;
    if constexpr (Format::hasMinimum)
      minimum = minimumOf(r);
    const Codes code = codesOf(r);
    Floats8 x;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      x.v[i] = Format::hasMinimum ? fused(scale, code[i], minimum) : scale * code[i];
    return toOperands<Operand>(x);
  }
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// 8 stored values as operands; a copy where both types are one.
template <class Storage, class Operand> struct StoredRow {
  using Raw = Operands8;
  static __device__ __forceinline__ Raw load(const void *row, int k) {
    uint4 v = __ldg(reinterpret_cast<const uint4 *>(static_cast<const unsigned short *>(row) + k));
    return {{v.x, v.y, v.z, v.w}};
  }
  static __device__ __forceinline__ Operands8 decode(const Raw &raw) {
    return toOperands<Operand>(toFloats<Storage>(raw));
  }
};
template <class Operand> struct StoredRow<Operand, Operand> {
  using Raw = Operands8;
  static __device__ __forceinline__ Raw load(const void *row, int k) {
    uint4 v = __ldg(reinterpret_cast<const uint4 *>(static_cast<const unsigned short *>(row) + k));
    return {{v.x, v.y, v.z, v.w}};
  }
  static __device__ __forceinline__ Operands8 decode(const Raw &raw) { return raw; }
};
template <class Operand> struct StoredRow<float, Operand> {
  using Raw = Floats8;
  static __device__ __forceinline__ Raw load(const void *row, int k) {
    const float4 *p = reinterpret_cast<const float4 *>(static_cast<const float *>(row) + k);
    float4 a = __ldg(p), b = __ldg(p + 1);
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
  }
  static __device__ __forceinline__ Operands8 decode(const Raw &raw) { return toOperands<Operand>(raw); }
};

/// W[N, Columns] row after row, aligned to 16 bytes. A warp reads 64 (16 bit) or 128 bytes of 8 rows at a time.
template <class Storage, class Operand, int Columns> struct RowWeight {
  static_assert(Columns % 32 == 0, "rows are walked in chunks of 32");
  using OperandType = Operand;
  using Stored = StoredRow<Storage, Operand>;
  static constexpr int columns = Columns;
  static constexpr int elementBytes = sizeof(typename Stored::Raw) / 8;

  const void *base;
  int rows; ///< N; rows past the last read the last.

  struct Raw {
    typename Stored::Raw row[2];
  };

  __device__ __forceinline__ Raw load(int block, int chunk) const {
    int k = 32 * chunk + 8 * mmaLane().q;
    Raw raw;
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) {
      long long row = min(16 * block + 8 * upper + mmaLane().g, rows - 1);
      raw.row[upper] = Stored::load(static_cast<const char *>(base) + row * Columns * elementBytes, k);
    }
    return raw;
  }
  static __device__ __forceinline__ WeightFragment decode(const Raw &raw) {
    WeightFragment w;
    setRow(w, 0, Stored::decode(raw.row[0]));
    setRow(w, 1, Stored::decode(raw.row[1]));
    return w;
  }
};

} // namespace fusec
