//===- FloatOpcodeTest.cpp - floats and conversions --------------------------===//
//
// f16: 1.0 = 3c00, 2.0 = 4000, 0.5 = 3800, 65504 = 7bff, smallest = 0001.
// bf16: the upper half of an f32.
//
//===----------------------------------------------------------------------===//

#include "OpcodeCase.h"

#include <cmath>

namespace fusec::virtualgpu {
namespace {

const float ulp = std::ldexp(1.0f, -23); // Of 1.
const float tiny = std::ldexp(1.0f, -140);

const OpcodeCase arithmetic[] = {
    {"add.f32 d, a, b", "fff", {{{f32(1), f32(ulp / 2)}, f32(1)}, {{f32(1 + ulp), f32(ulp / 2)}, f32(1 + 2 * ulp)}}},
    {"add.rz.f32 d, a, b", "fff", {{{f32(1 + ulp), f32(ulp / 2)}, f32(1 + ulp)}, {{f32(-1), f32(-ulp / 2)}, f32(-1)}}},
    {"add.rm.f32 d, a, b", "fff", {{{f32(-1), f32(-ulp / 4)}, f32(-1 - ulp)}, {{f32(1), f32(ulp / 4)}, f32(1)}}},
    {"add.rp.f32 d, a, b",
     "fff",
     {{{f32(1), f32(ulp / 4)}, f32(1 + ulp)}, {{f32(1), f32(std::ldexp(1.0f, -90))}, f32(1 + ulp)}}},
    {"sub.f32 d, a, b", "fff", {{{f32(3), f32(5)}, f32(-2)}}},
    {"mul.f32 d, a, b", "fff", {{{f32(1.5f), f32(-4)}, f32(-6)}}},
    {"mul.ftz.f32 d, a, b", "fff", {{{f32(tiny), f32(4)}, 0}, {{f32(-tiny), f32(4)}, 0x80000000}}},
    {"mul.rz.f32 d, a, b", "fff", {{{f32(1 + ulp), f32(1 + ulp)}, f32(1 + 2 * ulp)}}},
    {"mul.sat.f32 d, a, b", "fff", {{{f32(3), f32(4)}, f32(1)}, {{f32(-3), f32(4)}, 0}, {{f32(NAN), f32(4)}, 0}}},
    {"fma.rn.f32 d, a, b, c", "ffff", {{{f32(1 + ulp), f32(1 + ulp), f32(-1 - 2 * ulp)}, f32(ulp * ulp)}}},
    {"fma.rz.f32 d, a, b, c",
     "ffff",
     {{{f32(1), f32(1), f32(ulp / 2)}, f32(1)}, {{f32(1), f32(1), f32(-ulp / 8)}, f32(1 - ulp / 2)}}},
    {"fma.rm.f32 d, a, b, c", "ffff", {{{f32(-1), f32(1), f32(-ulp / 2)}, f32(-1 - ulp)}}},
    {"fma.rn.f64 d, a, b, c", "gggg", {{{f64(3), f64(4), f64(5)}, f64(17)}}},
    {"min.f32 d, a, b",
     "fff",
     {{{f32(NAN), f32(2)}, f32(2)}, {{f32(0.0f), f32(-0.0f)}, f32(-0.0f)}, {{f32(1), f32(2)}, f32(1)}}},
    {"max.f32 d, a, b", "fff", {{{f32(3), f32(NAN)}, f32(3)}, {{f32(-0.0f), f32(0.0f)}, 0}}},
    {"max.NaN.f32 d, a, b", "fff", {{{f32(3), 0x7fc00000}, 0x7fc00000}, {{f32(3), f32(4)}, f32(4)}}},
    {"neg.f32 d, a", "ff", {{{f32(2)}, f32(-2)}}},
    {"abs.f32 d, a", "ff", {{{f32(-2)}, f32(2)}}},
    {"copysign.f32 d, a, b", "fff", {{{f32(-1), f32(5)}, f32(-5)}}},
    {"testp.infinite.f32 d, a", "pf", {{{f32(INFINITY)}, 1}, {{f32(1)}, 0}}},
    {"testp.subnormal.f32 d, a", "pf", {{{f32(tiny)}, 1}, {{0}, 0}}},
    {"div.rn.f32 d, a, b", "fff", {{{f32(1), f32(3)}, f32(1.0f / 3)}, {{f32(1), f32(0)}, f32(INFINITY)}}},
    {"sqrt.rn.f32 d, a", "ff", {{{f32(2)}, f32(std::sqrt(2.0f))}}},
    {"rcp.approx.ftz.f32 d, a", "ff", {{{f32(4)}, f32(0.25f)}, {{f32(tiny)}, f32(INFINITY)}}},
    {"rsqrt.approx.f32 d, a", "ff", {{{f32(4)}, f32(0.5f)}, {{0}, f32(INFINITY)}}},
    {"ex2.approx.ftz.f32 d, a",
     "ff",
     {{{f32(3)}, f32(8)}, {{f32(-200)}, 0}, {{f32(200)}, f32(INFINITY)}, {{f32(-1)}, f32(0.5f)}}},
    {"lg2.approx.f32 d, a", "ff", {{{f32(8)}, f32(3)}, {{0}, f32(-INFINITY)}}},
    {"add.f16 d, a, b", "hhh", {{{0x3c00, 0x3c00}, 0x4000}, {{0x7bff, 0x7bff}, 0x7c00}}},
    {"mul.f16x2 d, a, b", "rrr", {{{0x40003c00, 0x40003800}, 0x44003800}}},
    {"fma.rn.f16x2 d, a, b, c", "rrrr", {{{0x3c004000, 0x3c004000, 0x3c003c00}, 0x40004500}}},
    // (1 + 2^-10) * 1.5 is halfway between two numbers; a float would lose the -2^-24 and tie to even.
    {"fma.rn.f16 d, a, b, c", "hhhh", {{{0x3c01, 0x3e00, 0x8001}, 0x3e01}, {{0x3c01, 0x3e00, 0x0001}, 0x3e02}}},
    {"add.bf16x2 d, a, b", "rrr", {{{0x3f804000, 0x3f804000}, 0x40004080}}},
    {"fma.rn.bf16x2 d, a, b, c", "rrrr", {{{0x40004000, 0x40404040, 0x3f803f80}, 0x40e040e0}}},
    {"fma.rn.relu.bf16x2 d, a, b, c", "rrrr", {{{0xc0004000, 0x40404040, 0x3f803f80}, 0x000040e0}}},
    {"max.f16x2 d, a, b", "rrr", {{{0x3c00c000, 0x4000bc00}, 0x4000bc00}}},
    {"max.bf16x2 d, a, b", "rrr", {{{0x7fc04000, 0x3f803f80}, 0x3f804000}}},
    {"min.NaN.f16 d, a, b", "hhh", {{{0x7e00, 0x3c00}, 0x7e00}}},
    {"neg.f16x2 d, a", "rr", {{{0x3c00bc00}, 0xbc003c00}}},
    {"abs.bf16 d, a", "hh", {{{0xbf80}, 0x3f80}}},
};

const OpcodeCase conversions[] = {
    {"cvt.u32.u64 d, a", "rd", {{{0x123456789ull}, 0x23456789}}},
    {"cvt.s64.s32 d, a", "dr", {{{u32(-5)}, static_cast<uint64_t>(-5)}}},
    {"cvt.u64.u32 d, a", "dr", {{{u32(-5)}, 0xfffffffbull}}},
    {"cvt.s32.s8 d, a", "rr", {{{0x12ff}, u32(-1)}}},
    {"cvt.u32.u8 d, a", "rr", {{{0x12ff}, 0xff}}},
    {"cvt.s16.s8 d, a", "hh", {{{0x1280}, 0xff80}}},
    {"cvt.u8.u32 d, a", "rr", {{{0x1234}, 0x34}}},
    {"cvt.sat.s8.s32 d, a", "rr", {{{1000}, 127}, {{u32(-1000)}, u32(-128)}}},
    {"cvt.sat.u8.s32 d, a", "rr", {{{1000}, 255}, {{u32(-1000)}, 0}}},
    {"cvt.rn.f32.s32 d, a", "fr", {{{u32(-3)}, f32(-3)}, {{0x01000001}, f32(16777216)}}},
    {"cvt.rz.f32.u32 d, a", "fr", {{{0x01000003}, f32(16777218)}}},
    {"cvt.rp.f32.u32 d, a", "fr", {{{0x01000001}, f32(16777218)}}},
    {"cvt.rn.f32.u64 d, a", "fd", {{{1ull << 40}, f32(std::ldexp(1.0f, 40))}}},
    {"cvt.rni.s32.f32 d, a", "rf", {{{f32(2.5f)}, 2}, {{f32(3.5f)}, 4}, {{f32(-2.5f)}, u32(-2)}}},
    {"cvt.rzi.s32.f32 d, a", "rf", {{{f32(-2.9f)}, u32(-2)}, {{f32(1e20f)}, 0x7fffffff}, {{f32(NAN)}, 0}}},
    {"cvt.rmi.s32.f32 d, a", "rf", {{{f32(-2.1f)}, u32(-3)}}},
    {"cvt.rpi.u32.f32 d, a", "rf", {{{f32(2.1f)}, 3}, {{f32(-5)}, 0}}},
    {"cvt.rzi.s64.f64 d, a", "dg", {{{f64(-1e10)}, static_cast<uint64_t>(-10000000000)}}},
    {"cvt.rzi.f32.f32 d, a", "ff", {{{f32(-2.7f)}, f32(-2)}}},
    {"cvt.rmi.f32.f32 d, a", "ff", {{{f32(-2.1f)}, f32(-3)}}},
    {"cvt.rni.f32.f32 d, a", "ff", {{{f32(2.5f)}, f32(2)}}},
    {"cvt.sat.f32.f32 d, a", "ff", {{{f32(2.5f)}, f32(1)}, {{f32(-1)}, 0}}},
    {"cvt.rn.f16.f32 d, a",
     "hf",
     {{{f32(1.5f)}, 0x3e00}, {{f32(65520)}, 0x7c00}, {{f32(2049)}, 0x6800}, {{f32(2051)}, 0x6802}}},
    {"cvt.rz.f16.f32 d, a", "hf", {{{f32(2051)}, 0x6801}, {{f32(-2051)}, 0xe801}}},
    {"cvt.f32.f16 d, a", "fh", {{{0x3e00}, f32(1.5f)}, {{0x0001}, f32(std::ldexp(1.0f, -24))}}},
    {"cvt.rn.bf16.f32 d, a", "hf", {{{0x3f808000}, 0x3f80}, {{0x3f818000}, 0x3f82}, {{0x3f808001}, 0x3f81}}},
    {"cvt.rz.bf16.f32 d, a", "hf", {{{0x3f80ffff}, 0x3f80}}},
    {"cvt.f32.bf16 d, a", "fh", {{{0x3fc0}, f32(1.5f)}}},
    // The first source is the upper half.
    {"cvt.rn.bf16x2.f32 d, a, b", "rff", {{{f32(1), f32(2)}, 0x3f804000}}},
    {"cvt.rn.f16x2.f32 d, a, b", "rff", {{{f32(1), f32(2)}, 0x3c004000}}},
    {"cvt.rn.relu.f16x2.f32 d, a, b", "rff", {{{f32(-1), f32(2)}, 0x00004000}}},
    {"cvt.rna.tf32.f32 d, a", "rf", {{{0x3f801000}, 0x3f802000}, {{0x3f800fff}, 0x3f800000}}},
    {"cvt.f64.f32 d, a", "gf", {{{f32(1.5f)}, f64(1.5)}}},
    {"cvt.rn.f32.f64 d, a", "fg", {{{f64(0.1)}, f32(0.1f)}}},
    {"cvt.rn.satfinite.e4m3x2.f32 d, a, b", "hff", {{{f32(1), f32(-2)}, 0x38c0}, {{f32(1e6f), f32(0.0625f)}, 0x7e18}}},
    {"cvt.rn.satfinite.e5m2x2.f32 d, a, b", "hff", {{{f32(1), f32(-2)}, 0x3cc0}, {{f32(1e9f), f32(0)}, 0x7b00}}},
    {"cvt.rn.f16x2.e4m3x2 d, a", "rh", {{{0x38c0}, 0x3c00c000}, {{0x7e01}, 0x5f001800}}},
    {"cvt.rn.f16x2.e5m2x2 d, a", "rh", {{{0x3cc0}, 0x3c00c000}}},
};

class FloatOpcodeTest : public testing::TestWithParam<OpcodeCase> {};
TEST_P(FloatOpcodeTest, GivesTheTablesValue) { expectOpcode(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Arithmetic, FloatOpcodeTest, testing::ValuesIn(arithmetic));
INSTANTIATE_TEST_SUITE_P(Conversions, FloatOpcodeTest, testing::ValuesIn(conversions));

/// The special functions: close to the true value over their range.
TEST(ApproximateOpcodeTest, Exp2IsWithinTwoUlps) {
  VirtualRun run;
  std::vector<float> in(32 * 64);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = -126.0f + 252.0f * static_cast<float>(i) / static_cast<float>(in.size());
  uint64_t x = run.upload(in, "x"), y = run.reserve(static_cast<int64_t>(in.size() * 4), "y");
  ASSERT_TRUE(run.load(kernelText(2, R"(
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.s32 %r0, %r1, 32, %r0;
    mul.wide.u32 %rd0, %r0, 4; add.s64 %rd1, %rd90, %rd0; add.s64 %rd2, %rd91, %rd0;
    ld.global.f32 %f0, [%rd1]; ex2.approx.f32 %f1, %f0; st.global.f32 [%rd2], %f1;)"))
                  .ok());
  ASSERT_TRUE(run.launch("k", {.grid = {64}, .parameters = {x, y}}).ok());
  std::vector<float> out = run.download<float>(y, in.size());
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_NEAR(out[i] / std::exp2(static_cast<double>(in[i])), 1.0, 2.5e-7) << in[i];
}

} // namespace
} // namespace fusec::virtualgpu
