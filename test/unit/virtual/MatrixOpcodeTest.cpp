//===- MatrixOpcodeTest.cpp - fragments of ldmatrix, stmatrix and mma --------===//
//
// Each layout below is typed from the PTX ISA's description of the fragment
// ("groupID = %laneid >> 2, threadID_in_group = %laneid % 4, row = ..."), element
// by element and per shape; the interpreter has one formula for all of them.
//
//===----------------------------------------------------------------------===//

#include "VirtualRun.h"

#include <cmath>
#include <functional>

namespace fusec::virtualgpu {
namespace {

struct At {
  int row, column;
};

// --- the ISA's tables: element i of a lane's fragment ---------------------------------

At a16816(int g, int t, int i) { // m16n8k16, .f16/.bf16: a0..a7
  return {(i < 2 || (i >= 4 && i < 6)) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
At b16816(int g, int t, int i) { return {t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g}; }
At a1688(int g, int t, int i) { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; }
At b1688(int g, int t, int i) { return {t * 2 + i, g}; }
At a1688tf32(int g, int t, int i) { return {(i == 0 || i == 2) ? g : g + 8, i < 2 ? t : t + 4}; }
At b1688tf32(int g, int t, int i) { return {i == 0 ? t : t + 4, g}; }
At a16832s8(int g, int t, int i) {
  return {(i < 4 || (i >= 8 && i < 12)) ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}
At b16832s8(int g, int t, int i) { return {t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g}; }
At accumulator(int g, int t, int i) { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; }

struct MmaCase {
  friend void PrintTo(const MmaCase &c, std::ostream *out) { *out << c.opcode; }
  std::string opcode;
  int k, aElements, bElements, elementBits;
  std::function<At(int, int, int)> a, b;
  std::function<uint32_t(int)> encode; ///< A small whole number as an element.
  bool isFloat, halfAccumulators;
};

uint32_t halfBits(int v) { // Whole numbers up to 2048.
  if (v == 0)
    return 0;
  int e = 0;
  double m = std::frexp(std::abs(v), &e);
  return static_cast<uint32_t>((v < 0 ? 0x8000 : 0) | (e - 1 + 15) << 10 | static_cast<int>((2 * m - 1) * 1024));
}
uint32_t floatBits(int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }
uint32_t brainBits(int v) { return floatBits(v) >> 16; }
/// e4m3 numbers up to 8 are exact: 1.0 is 38.
uint32_t e4m3Bits(int v) {
  if (v == 0)
    return 0;
  int e = 0;
  double m = std::frexp(std::abs(v), &e);
  return static_cast<uint32_t>((v < 0 ? 0x80 : 0) | (e - 1 + 7) << 3 | static_cast<int>((2 * m - 1) * 8));
}
uint32_t byteBits(int v) { return static_cast<uint8_t>(v); }

const MmaCase mmaCases[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 4, 16, a16816, b16816, halfBits, true, false},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 4, 16, a16816, b16816, brainBits, true, false},
    {"m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 4, 16, a16816, b16816, halfBits, true, true},
    {"m16n8k8.row.col.f32.f16.f16.f32", 8, 4, 2, 16, a1688, b1688, halfBits, true, false},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 8, 4, 2, 16, a1688, b1688, brainBits, true, false},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, 4, 2, 32, a1688tf32, b1688tf32, floatBits, true, false},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 16, 8, 8, a16832s8, b16832s8, e4m3Bits, true, false},
    {"m16n8k32.row.col.s32.s8.s8.s32", 32, 16, 8, 8, a16832s8, b16832s8, byteBits, false, false},
};

/// Small whole numbers, different enough that a swapped element changes the product.
int valueA(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
int valueB(int k, int column) { return (k * 5 + column * 13) % 9 - 4; }
int valueC(int row, int column) { return row - 2 * column; }

std::vector<uint32_t> packLane(int lane, int elements, int bits, const std::function<At(int, int, int)> &layout,
                               const std::function<int(int, int)> &value, const std::function<uint32_t(int)> &encode) {
  std::vector<uint32_t> registers(static_cast<size_t>(elements * bits / 32), 0);
  for (int i = 0; i < elements; ++i) {
    At at = layout(lane / 4, lane % 4, i);
    registers[static_cast<size_t>(i * bits / 32)] |= encode(value(at.row, at.column)) << (i * bits % 32);
  }
  return registers;
}

std::string registers(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? ", %r" : "%r") + std::to_string(first + i);
  return text + "}";
}

class MmaTest : public testing::TestWithParam<MmaCase> {};

TEST_P(MmaTest, ElementsSitWhereTheIsaSays) {
  const MmaCase &c = GetParam();
  const int cElements = 4, cBits = c.halfAccumulators ? 16 : 32;
  auto encodeC = [&](int v) {
    return c.halfAccumulators ? halfBits(v) : c.isFloat ? floatBits(v) : static_cast<uint32_t>(v);
  };
  const int aCount = c.aElements * c.elementBits / 32, bCount = c.bElements * c.elementBits / 32,
            cCount = cElements * cBits / 32, all = aCount + bCount + cCount;
  std::vector<uint32_t> in, want;
  auto product = [&](int row, int column) {
    int sum = valueC(row, column);
    for (int k = 0; k < c.k; ++k)
      sum += valueA(row, k) * valueB(k, column);
    return sum;
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (const auto &part : {packLane(lane, c.aElements, c.elementBits, c.a, valueA, c.encode),
                             packLane(lane, c.bElements, c.elementBits, c.b, valueB, c.encode),
                             packLane(lane, cElements, cBits, accumulator, valueC, encodeC)})
      in.insert(in.end(), part.begin(), part.end());
    std::vector<uint32_t> result = packLane(lane, cElements, cBits, accumulator, product, encodeC);
    want.insert(want.end(), result.begin(), result.end());
  }
  VirtualRun run;
  uint64_t from = run.upload(in, "in"), to = run.reserve(static_cast<int64_t>(want.size() * 4), "out");
  std::string body =
      "mov.u32 %r90, %tid.x; mul.wide.u32 %rd0, %r90, " + std::to_string(4 * all) + "; add.s64 %rd0, %rd0, %rd90;\n";
  for (int i = 0; i < all; ++i)
    body += "ld.global.u32 %r" + std::to_string(i) + ", [%rd0+" + std::to_string(4 * i) + "];\n";
  // Registers of a .f32 accumulator are .f32 in NVRTC's text; here both are 32-bit registers.
  body += "mma.sync.aligned." + c.opcode + " " + registers(40, cCount) + ", " + registers(0, aCount) + ", " +
          registers(aCount, bCount) + ", " + registers(aCount + bCount, cCount) + ";\n";
  body += "mul.wide.u32 %rd1, %r90, " + std::to_string(4 * cCount) + "; add.s64 %rd1, %rd1, %rd91;\n";
  for (int i = 0; i < cCount; ++i)
    body += "st.global.u32 [%rd1+" + std::to_string(4 * i) + "], %r" + std::to_string(40 + i) + ";\n";
  Status loaded = run.load(kernelText(2, body));
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  Status status = run.launch("k", {.parameters = {from, to}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(run.download<uint32_t>(to, want.size()), want);
  EXPECT_EQ(run.gpu().counters("k").total.mma, 1u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MmaTest, testing::ValuesIn(mmaCases), [](const auto &info) {
  std::string name = info.param.opcode;
  for (char &letter : name)
    letter = letter == '.' ? '_' : letter;
  return name;
});

// --- ldmatrix and stmatrix --------------------------------------------------------------

/// 32 rows of 8 numbers in shared memory (row r, column c holds 8 r + c): four matrices.
std::string fillShared() {
  return R"(.shared .align 16 .b8 tile[512];
    mov.u32 %r80, %tid.x; mov.u32 %r81, tile; shl.b32 %r82, %r80, 4; add.s32 %r81, %r81, %r82;
    shl.b32 %r83, %r80, 3; cvt.u16.u32 %h0, %r83;
    add.s16 %h1, %h0, 1; add.s16 %h2, %h0, 2; add.s16 %h3, %h0, 3; add.s16 %h4, %h0, 4;
    add.s16 %h5, %h0, 5; add.s16 %h6, %h0, 6; add.s16 %h7, %h0, 7;
    st.shared.v4.u16 [%r81], {%h0, %h1, %h2, %h3}; st.shared.v4.u16 [%r81+8], {%h4, %h5, %h6, %h7};
    bar.sync 0;
)";
}
std::string storeFour() {
  return R"(shl.b32 %r84, %r80, 4; cvt.u64.u32 %rd1, %r84; add.s64 %rd1, %rd1, %rd90;
    st.global.v4.u32 [%rd1], {%r0, %r1, %r2, %r3};)";
}

TEST(LdmatrixTest, LaneHoldsTwoNeighboursOfItsRow) {
  for (bool transposed : {false, true}) {
    VirtualRun run;
    uint64_t out = run.reserve(512, "out");
    Status loaded =
        run.load(kernelText(1, fillShared() + "ldmatrix.sync.aligned.m8n8.x4" + (transposed ? ".trans" : "") +
                                   ".shared.b16 {%r0, %r1, %r2, %r3}, [%r81];" + storeFour()));
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    Status status = run.launch("k", {.parameters = {out}});
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<uint32_t> got = run.download<uint32_t>(out, 128);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t matrix = 0; matrix < 4; ++matrix) {
        uint32_t row = lane / 4, column = lane % 4 * 2;
        uint32_t low = transposed ? 64 * matrix + 8 * column + row : 64 * matrix + 8 * row + column;
        uint32_t high = transposed ? low + 8 : low + 1;
        EXPECT_EQ(got[4 * lane + matrix], low | high << 16) << "lane " << lane << " matrix " << matrix;
      }
  }
}

TEST(LdmatrixTest, FewerMatricesUseTheFirstLanesAddresses) {
  VirtualRun run;
  uint64_t out = run.reserve(512, "out");
  // Lanes 16-31 hold addresses far outside: they must not be looked at.
  ASSERT_TRUE(run.load(kernelText(1, fillShared() + R"(
    setp.gt.u32 %p0, %r80, 15; selp.b32 %r85, 99999984, %r81, %p0; mov.u32 %r2, 0; mov.u32 %r3, 0;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r85];)" +
                                         storeFour()))
                  .ok());
  Status status = run.launch("k", {.parameters = {out}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(run.download<uint32_t>(out, 128)[4 * 31 + 1], (64u + 62) | (64u + 63) << 16);
}

TEST(StmatrixTest, IsTheInverseOfLdmatrix) {
  VirtualRun run;
  uint64_t out = run.reserve(512, "out");
  ASSERT_TRUE(run.load(kernelText(1, fillShared() + R"(.shared .align 16 .b8 copy[512];
    mov.u32 %r86, copy; add.s32 %r86, %r86, %r82;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r81];
    stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r86], {%r0, %r1, %r2, %r3};
    bar.sync 0; ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r86];)" +
                                         storeFour()))
                  .ok());
  Status status = run.launch("k", {.parameters = {out}});
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<uint16_t> got = run.download<uint16_t>(out, 256);
  for (uint16_t i = 0; i < 256; ++i)
    EXPECT_EQ(got[i], i);
}

} // namespace
} // namespace fusec::virtualgpu
