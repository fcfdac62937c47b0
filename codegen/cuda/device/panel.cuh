//===- panel.cuh - decoding packed weights ---------------------------------===//
//
// A stored matrix W[N, K] is packed in panels of 16 rows, which lie side by side:
// 16 threads that ask for 16 rows at one k read 64 consecutive bytes. A panel is
// its super-blocks along K one after the other; a super-block is
//
//   scale    16 x f16          d of each row
//   minimum  16 x f16          m or dmin of each row     (hasMinimum)
//   subscale G x 16 x 8 bit    per group of k            (hasSubscales)
//   submin   G x 16 x u8                                 (hasSubscales and hasMinimum)
//   then for every 32 k a code chunk of 32-bit words, 16 (a row each) side by side:
//     low    4 words of 8 nibbles, or 8 words of 4 bytes for 8-bit codes
//     high   the bits above: 1 word of 32 bits, or 2 words of 16 pairs of bits
//
// and a code q has the value (d * sub) * q + m, computed as one fused
// multiply-add of exact products: exactly what the format defines. Plain types
// are K x 16 elements.
//
// runtime/schema/PanelLayout.h defines the same for the packer.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "scalar.cuh"

namespace fusec {

constexpr int panelRows = 16;
constexpr int codeChunk = 32;

/// How a format's codes are stored; one type per row of PanelLayout.h's table.
template <int bitsOfCode, bool isSignedCode, int offsetOfCode, bool withMinimum, bool withSubscales, int kPerScale,
          int kPerSuper>
struct BlockFormat {
  static constexpr int bits = bitsOfCode, offset = offsetOfCode, group = kPerScale, superElements = kPerSuper;
  static constexpr bool isSigned = isSignedCode, hasMinimum = withMinimum, hasSubscales = withSubscales;
  static constexpr int lowBits = bits >= 8 ? 8 : 4, highBits = bits - lowBits;
  // Byte offsets in a super-block.
  static constexpr int subBytes = hasSubscales ? superElements / group * panelRows : 0;
  static constexpr int minimum = 2 * panelRows;
  static constexpr int subscale = minimum + (hasMinimum ? 2 * panelRows : 0);
  static constexpr int submin = subscale + subBytes;
  static constexpr int codes = submin + (hasMinimum ? subBytes : 0);
  static constexpr int lowBytes = panelRows * lowBits * codeChunk / 8;
  static constexpr int chunkBytes = lowBytes + panelRows * highBits * codeChunk / 8;
  static constexpr int superBytes = codes + superElements / codeChunk * chunkBytes;
};
//                             bits signed offset min    sub    group super
using Q4_0 = BlockFormat<4, false, 8, false, false, 32, 32>;
using Q4_1 = BlockFormat<4, false, 0, true, false, 32, 32>;
using Q5_0 = BlockFormat<5, false, 16, false, false, 32, 32>;
using Q5_1 = BlockFormat<5, false, 0, true, false, 32, 32>;
using Q8_0 = BlockFormat<8, true, 0, false, false, 32, 32>;
using Q4_K = BlockFormat<4, false, 0, true, true, 32, 256>;
using Q5_K = BlockFormat<5, false, 0, true, true, 32, 256>;
using Q6_K = BlockFormat<6, false, 32, false, true, 16, 256>;

/// The position k + i, where k is a multiple of A and 0 <= i < A (both powers of two). With i known, quotients and
/// remainders split into a part that a run of i shares and a constant: the run's words and scales are loaded once.
template <int A> struct RunPosition {
  int k, i;
  template <int m> __device__ int quotient() const { return A >= m ? k / m + i / m : k / m; }
  template <int m> __device__ RunPosition remainder() const {
    if constexpr (A >= m)
      return {0, i % m};
    else
      return {k % m, i};
  }
  __device__ int value() const { return k + i; }
};

// Weights are never written while kernels run: loads may go through the read-only path and be shared.
template <class T> __device__ T weightAt(const unsigned char *at) { return __ldg(reinterpret_cast<const T *>(at)); }
__device__ inline float halfAt(const unsigned char *at) { return fromBits<Half>(weightAt<unsigned short>(at)); }

/// One row of a super-block, `lane` rows into its panel.
template <class F> struct SuperBlock {
  const unsigned char *start;
  int lane;

  template <int A> __device__ float value(RunPosition<A> at) const {
    const float scale = scaleAt(at), q = static_cast<float>(code(at));
    if constexpr (F::hasMinimum)
      return fused(q, scale, minimumAt(at));
    else
      return q * scale;
  }

private:
  template <int A> __device__ int groupOf(RunPosition<A> at) const {
    return at.template quotient<F::group>() * panelRows + lane;
  }
  template <int A> __device__ float scaleAt(RunPosition<A> at) const {
    const float d = halfAt(start + 2 * lane);
    if constexpr (!F::hasSubscales)
      return d;
    const unsigned char *sub = start + F::subscale + groupOf(at);
    if constexpr (F::hasMinimum)
      return d * static_cast<float>(weightAt<unsigned char>(sub));
    else
      return d * static_cast<float>(weightAt<signed char>(sub));
  }
  template <int A> __device__ float minimumAt(RunPosition<A> at) const {
    const float m = halfAt(start + F::minimum + 2 * lane);
    if constexpr (!F::hasSubscales)
      return m;
    return -(m * static_cast<float>(weightAt<unsigned char>(start + F::submin + groupOf(at))));
  }
  /// `width` bits of the code at a position of a chunk, from the plane of words at `plane`.
  template <int width, int A> __device__ unsigned field(const unsigned char *plane, RunPosition<A> inChunk) const {
    constexpr int perWord = 32 / width;
    const int word = inChunk.template quotient<perWord>();
    const int shift = inChunk.template remainder<perWord>().value() * width;
    return weightAt<unsigned>(plane + (word * panelRows + lane) * 4) >> shift & ((1u << width) - 1);
  }
  template <int A> __device__ int code(RunPosition<A> at) const {
    const unsigned char *chunk = start + F::codes + at.template quotient<codeChunk>() * F::chunkBytes;
    const RunPosition<A> inChunk = at.template remainder<codeChunk>();
    unsigned q = field<F::lowBits>(chunk, inChunk);
    if constexpr (F::highBits > 0)
      q |= field<F::highBits>(chunk + F::lowBytes, inChunk) << F::lowBits;
    if constexpr (F::isSigned)
      return static_cast<signed char>(q);
    return static_cast<int>(q) - F::offset;
  }
};

/// W[n, k + i] of a packed matrix with K columns, where A divides k and 0 <= i < A.
template <class F, int K> struct Panel {
  const unsigned char *packed;
  __device__ explicit Panel(const void *packed) : packed(static_cast<const unsigned char *>(packed)) {}

  template <int A = 1> __device__ float value(int n, int k, int i = 0) const {
    constexpr long long perPanel = static_cast<long long>(K / F::superElements) * F::superBytes;
    const RunPosition<A> at{k, i};
    const unsigned char *panel = packed + n / panelRows * perPanel;
    const SuperBlock<F> block{panel + at.template quotient<F::superElements>() * F::superBytes, n % panelRows};
    return block.value(at.template remainder<F::superElements>());
  }
};

/// The same for elements stored as they are: float, Half or Bfloat.
template <class T, int K> struct PlainPanel {
  const unsigned char *packed;
  __device__ explicit PlainPanel(const void *packed) : packed(static_cast<const unsigned char *>(packed)) {}

  template <int A = 1> __device__ float value(int n, int k, int i = 0) const {
    const unsigned char *panel = packed + n / panelRows * (static_cast<long long>(K) * panelRows * sizeof(T));
    const unsigned char *at = panel + ((k + i) * panelRows + n % panelRows) * static_cast<int>(sizeof(T));
    if constexpr (sizeof(T) == 4)
      return weightAt<float>(at);
    else
      return fromBits<T>(weightAt<unsigned short>(at));
  }
};
template <int K> struct Panel<float, K> : PlainPanel<float, K> {
  using PlainPanel<float, K>::PlainPanel;
};
template <int K> struct Panel<Half, K> : PlainPanel<Half, K> {
  using PlainPanel<Half, K>::PlainPanel;
};
template <int K> struct Panel<Bfloat, K> : PlainPanel<Bfloat, K> {
  using PlainPanel<Bfloat, K>::PlainPanel;
};

} // namespace fusec
