//===- panel_format.cuh - the numbers of packed weight formats ---------------===//
//
// What runtime/schema/PanelLayout.h says, as types that kernels are instantiated
// with. Plain C++: a test on the host compares both.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec {

/// See PanelFormat and PanelOffsets in runtime/schema/PanelLayout.h: all sections as bytes from a super-block's start.
template <int Bits, bool IsSigned, int Offset, bool HasMinimum, bool HasSubscales, int Group, int SuperElements>
struct PanelFormatOf {
  static constexpr int bits = Bits, offset = Offset, group = Group, superElements = SuperElements;
  static constexpr bool isSigned = IsSigned, hasMinimum = HasMinimum, hasSubscales = HasSubscales;
  static constexpr int rows = 16, codeChunk = 32;
  static constexpr int subBytes = HasSubscales ? SuperElements / Group * rows : 0;
  static constexpr int scale = 0;
  static constexpr int minimum = scale + 2 * rows;
  static constexpr int subscale = minimum + (HasMinimum ? 2 * rows : 0);
  static constexpr int submin = subscale + subBytes;
  static constexpr int codes = submin + (HasMinimum ? subBytes : 0);
  static constexpr int lowBytes = rows * 4 * (Bits >= 8 ? 8 : 4);
  static constexpr int chunkBytes = lowBytes + rows * 4 * (Bits == 5 ? 1 : Bits == 6 ? 2 : 0);
  static constexpr int superBytes = codes + SuperElements / codeChunk * chunkBytes;
};

using Q4_0 = PanelFormatOf<4, false, 8, false, false, 32, 32>;
using Q4_1 = PanelFormatOf<4, false, 0, true, false, 32, 32>;
using Q5_0 = PanelFormatOf<5, false, 16, false, false, 32, 32>;
using Q5_1 = PanelFormatOf<5, false, 0, true, false, 32, 32>;
using Q8_0 = PanelFormatOf<8, true, 0, false, false, 32, 32>;
using Q4_K = PanelFormatOf<4, false, 0, true, true, 32, 256>;
using Q5_K = PanelFormatOf<5, false, 0, true, true, 32, 256>;
using Q6_K = PanelFormatOf<6, false, 32, false, true, 16, 256>;

} // namespace fusec
