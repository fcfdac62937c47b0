//===- IntegerOpcodeTest.cpp - integers, bits, comparisons -------------------===//
//
// Expected values are worked out by hand from the PTX ISA.
//
//===----------------------------------------------------------------------===//

#include "OpcodeCase.h"

namespace fusec::virtualgpu {
namespace {

constexpr uint64_t minS64 = 0x8000000000000000ull, allOnes = ~0ull;

const OpcodeCase arithmetic[] = {
    {"add.s32 d, a, b", "rrr", {{{5, u32(-7)}, u32(-2)}, {{0x7fffffff, 1}, 0x80000000}}},
    {"sub.u16 d, a, b", "hhh", {{{3, 5}, 0xfffe}}},
    {"add.s64 d, a, b", "ddd", {{{allOnes, 1}, 0}}},
    {"mul.lo.s32 d, a, b", "rrr", {{{u32(-3), 7}, u32(-21)}, {{0x10000, 0x10001}, 0x10000}}},
    {"mul.hi.s32 d, a, b", "rrr", {{{u32(-1), 2}, u32(-1)}, {{0x40000000, 8}, 2}}},
    {"mul.hi.u32 d, a, b", "rrr", {{{0xffffffff, 2}, 1}}},
    {"mul.hi.u64 d, a, b", "ddd", {{{allOnes, allOnes}, allOnes - 1}}},
    {"mul.hi.s64 d, a, b", "ddd", {{{minS64, 2}, allOnes}}},
    {"mul.wide.s32 d, a, b", "drr", {{{u32(-2), 3}, static_cast<uint64_t>(-6)}}},
    {"mul.wide.u32 d, a, b", "drr", {{{0xffffffff, 0xffffffff}, 0xfffffffe00000001ull}}},
    {"mul.wide.s16 d, a, b", "rhh", {{{u16(-300), 200}, u32(-60000)}}},
    {"mad.lo.s32 d, a, b, c", "rrrr", {{{6, 7, u32(-2)}, 40}}},
    {"mad.hi.u32 d, a, b, c", "rrrr", {{{0x80000000, 4, 5}, 7}}},
    {"mad.wide.s32 d, a, b, c", "drrd", {{{u32(-4), 5, 21}, 1}}},
    {"div.s32 d, a, b", "rrr", {{{u32(-7), 2}, u32(-3)}, {{0x80000000, u32(-1)}, 0x80000000}}},
    {"rem.s32 d, a, b", "rrr", {{{u32(-7), 2}, u32(-1)}, {{0x80000000, u32(-1)}, 0}}},
    {"div.u32 d, a, b", "rrr", {{{u32(-7), 2}, 0x7ffffffc}}},
    {"rem.u64 d, a, b", "ddd", {{{100, 7}, 2}}},
    {"div.s64 d, a, b", "ddd", {{{static_cast<uint64_t>(-100), 7}, static_cast<uint64_t>(-14)}}},
    {"min.s32 d, a, b", "rrr", {{{u32(-1), 1}, u32(-1)}}},
    {"min.u32 d, a, b", "rrr", {{{u32(-1), 1}, 1}}},
    {"max.s16 d, a, b", "hhh", {{{u16(-5), 4}, 4}}},
    {"max.u64 d, a, b", "ddd", {{{allOnes, 4}, allOnes}}},
    {"abs.s32 d, a", "rr", {{{u32(-9)}, 9}, {{9}, 9}}},
    {"neg.s32 d, a", "rr", {{{9}, u32(-9)}}},
    {"sad.s32 d, a, b, c", "rrrr", {{{u32(-3), 4, 10}, 17}}},
    {"add.sat.s32 d, a, b", "rrr", {{{0x7fffffff, 5}, 0x7fffffff}, {{0x80000000, u32(-5)}, 0x80000000}}},
    {"mul24.lo.s32 d, a, b", "rrr", {{{u32(-3), 5}, u32(-15)}}},
    {"dp4a.s32.s32 d, a, b, c", "rrrr", {{{0x01ff0203, 0x02030405, 100}, u32(100 + 15 + 8 - 3 + 2)}}},
    {"dp4a.u32.u32 d, a, b, c", "rrrr", {{{0xff000000, 0xff000000, 1}, 65026}}},
    {"{ add.cc.u32 d, a, b; addc.u32 d, c, 0; }", "rrrr", {{{0xffffffff, 1, 10}, 11}, {{1, 1, 10}, 10}}},
    {"{ sub.cc.u32 d, a, b; subc.u32 d, c, 0; }", "rrrr", {{{0, 1, 10}, 9}, {{1, 1, 10}, 10}}},
    {"{ mad.lo.cc.u32 d, a, b, 1; madc.hi.u32 d, a, b, c; }", "rrrr", {{{0xffffffff, 0xffffffff, 7}, 5}}},
};

const OpcodeCase bits[] = {
    {"and.b32 d, a, b", "rrr", {{{0xff00ff00, 0x0ff00ff0}, 0x0f000f00}}},
    {"xor.b64 d, a, b", "ddd", {{{allOnes, 1}, allOnes - 1}}},
    {"not.b16 d, a", "hh", {{{0x00ff}, 0xff00}}},
    {"shl.b32 d, a, b", "rrr", {{{3, 31}, 0x80000000}, {{3, 32}, 0}, {{3, 200}, 0}}},
    {"shr.u32 d, a, b", "rrr", {{{0x80000000, 31}, 1}, {{0x80000000, 32}, 0}}},
    {"shr.s32 d, a, b", "rrr", {{{0x80000000, 31}, u32(-1)}, {{0x80000000, 99}, u32(-1)}, {{64, 3}, 8}}},
    {"shr.s64 d, a, b", "ddr", {{{minS64, 63}, allOnes}}},
    {"shl.b64 d, a, b", "ddr", {{{1, 63}, minS64}, {{1, 64}, 0}}},
    {"lop3.b32 d, a, b, c, 0xe8", "rrrr", {{{0b1100, 0b1010, 0b0110}, 0b1110}}}, // Majority.
    {"lop3.b32 d, a, b, c, 0x96", "rrrr", {{{0b1100, 0b1010, 0b0110}, 0b0000}}}, // Parity.
    {"prmt.b32 d, a, b, c",
     "rrrr",
     {{{0x33221100, 0x77665544, 0x7531}, 0x77553311}, {{0x33228100, 0, 0x9998}, 0xffffff00}}},
    {"bfe.u32 d, a, b, c", "rrrr", {{{0xabcd1234, 8, 12}, 0xd12}, {{0xabcd1234, 0, 0}, 0}, {{0x80000000, 31, 4}, 1}}},
    {"bfe.s32 d, a, b, c",
     "rrrr",
     {{{0x00000f00, 8, 4}, u32(-1)}, {{0x00000700, 8, 4}, 7}, {{0x80000000, 31, 4}, u32(-1)}}},
    {"bfe.u64 d, a, b, c", "ddrr", {{{0xabcd000000000000ull, 48, 8}, 0xcd}}},
    {"bfi.b32 d, a, b, 8, 12", "rrr", {{{0xfff, 0}, 0x000fff00}, {{0, 0xffffffff}, 0xfff000ff}}},
    {"bfi.b64 d, a, b, 32, 32", "ddd", {{{0x1234, 0x5678}, 0x0000123400005678ull}}},
    {"shf.l.wrap.b32 d, a, b, c", "rrrr", {{{0x80000001, 0x00000002, 1}, 5}, {{7, 9, 32}, 9}}},
    {"shf.l.clamp.b32 d, a, b, c", "rrrr", {{{7, 9, 32}, 7}, {{7, 9, 40}, 7}}},
    {"shf.r.wrap.b32 d, a, b, c", "rrrr", {{{0x80000001, 0x00000003, 1}, 0xc0000000}, {{7, 9, 32}, 7}}},
    {"shf.r.clamp.b32 d, a, b, c", "rrrr", {{{7, 9, 32}, 9}}},
    {"popc.b32 d, a", "rr", {{{0xf00f0001}, 9}}},
    {"popc.b64 d, a", "rd", {{{allOnes}, 64}}},
    {"clz.b32 d, a", "rr", {{{0}, 32}, {{1}, 31}}},
    {"clz.b64 d, a", "rd", {{{0}, 64}, {{1ull << 40}, 23}}},
    {"brev.b32 d, a", "rr", {{{1}, 0x80000000}, {{0x0000000a}, 0x50000000}}},
    {"bfind.u32 d, a", "rr", {{{0}, 0xffffffff}, {{0x00010000}, 16}}},
    {"bfind.s32 d, a", "rr", {{{u32(-1)}, 0xffffffff}, {{u32(-2)}, 0}, {{5}, 2}}},
    {"bfind.shiftamt.u32 d, a", "rr", {{{0x00010000}, 15}}},
    {"selp.b32 d, a, b, c", "rrrp", {{{1, 2, 1}, 1}, {{1, 2, 0}, 2}}},
    {"selp.b64 d, 5, b, c", "dddp", {{{0, 2, 1}, 5}}},
    {"slct.s32.s32 d, a, b, c", "rrrr", {{{1, 2, u32(-1)}, 2}, {{1, 2, 0}, 1}}},
    {"mov.b32 d, {a, b}", "rhh", {{{0x1111, 0x2222}, 0x22221111}}},
    {"mov.b64 d, {a, b}", "drr", {{{0x11111111, 0x22222222}, 0x2222222211111111ull}}},
    {"{ .reg .b16 x; mov.b32 {x, d}, a; }", "hr", {{{0x22221111}, 0x2222}}},
    {"{ .reg .b32 x; mov.b64 {d, x}, a; }", "rd", {{{0x2222222211111111ull}, 0x11111111}}},
};

const OpcodeCase comparisons[] = {
    {"setp.lt.s32 d, a, b", "prr", {{{u32(-1), 1}, 1}, {{1, u32(-1)}, 0}}},
    {"setp.lt.u32 d, a, b", "prr", {{{u32(-1), 1}, 0}}},
    {"setp.hi.u32 d, a, b", "prr", {{{u32(-1), 1}, 1}}},
    {"setp.eq.s64 d, a, b", "pdd", {{{7, 7}, 1}, {{7, 8}, 0}}},
    {"setp.ne.b16 d, a, b", "phh", {{{7, 8}, 1}}},
    {"setp.ge.and.s32 d, a, b, c", "prrp", {{{2, 1, 0}, 0}, {{2, 1, 1}, 1}}},
    {"setp.ge.and.s32 d, a, b, !c", "prrp", {{{2, 1, 0}, 1}, {{2, 1, 1}, 0}}},
    {"setp.ge.or.s32 d, a, b, c", "prrp", {{{1, 2, 1}, 1}, {{1, 2, 0}, 0}}},
    {"setp.ge.xor.s32 d, a, b, c", "prrp", {{{2, 1, 1}, 0}}},
    {"{ .reg .pred x; setp.lt.s32 x|d, a, b; }", "prr", {{{1, 2}, 0}, {{2, 1}, 1}}},
    {"set.lt.u32.s32 d, a, b", "rrr", {{{1, 2}, 0xffffffff}, {{2, 1}, 0}}},
    {"set.lt.f32.s32 d, a, b", "frr", {{{1, 2}, f32(1.0f)}, {{2, 1}, 0}}},
    {"setp.lt.f32 d, a, b", "pff", {{{f32(1), f32(2)}, 1}, {{f32(NAN), f32(2)}, 0}}},
    {"setp.ltu.f32 d, a, b", "pff", {{{f32(NAN), f32(2)}, 1}, {{f32(3), f32(2)}, 0}}},
    {"setp.ne.f32 d, a, b", "pff", {{{f32(NAN), f32(2)}, 0}, {{f32(1), f32(2)}, 1}}},
    {"setp.neu.f32 d, a, b", "pff", {{{f32(NAN), f32(2)}, 1}}},
    {"setp.eq.f32 d, a, b", "pff", {{{f32(0.0f), f32(-0.0f)}, 1}}},
    {"setp.nan.f32 d, a, b", "pff", {{{f32(NAN), f32(2)}, 1}, {{f32(1), f32(2)}, 0}}},
    {"setp.num.f32 d, a, b", "pff", {{{f32(NAN), f32(2)}, 0}, {{f32(1), f32(2)}, 1}}},
    {"setp.eq.ftz.f32 d, a, b", "pff", {{{1, 2}, 1}}}, // Both are subnormal.
    {"setp.gt.f64 d, a, b", "pgg", {{{f64(2), f64(1)}, 1}}},
    {"setp.gt.f16 d, a, b", "phh", {{{0x4000, 0x3c00}, 1}, {{0xc000, 0x3c00}, 0}}},
    {"setp.gt.bf16 d, a, b", "phh", {{{0x4000, 0x3f80}, 1}}},
    {"set.eq.f16.f16 d, a, b", "hhh", {{{0x4000, 0x4000}, 0x3c00}, {{0x4000, 0x3c00}, 0}}},
    {"set.gt.f16x2.f16x2 d, a, b", "rrr", {{{0x40003c00, 0x3c004000}, 0x3c000000}}},
    {"set.gtu.bf16x2.bf16x2 d, a, b", "rrr", {{{0x7fc03f80, 0x3f804000}, 0x3f800000}}},
    {"set.lt.u32.f16x2 d, a, b", "rrr", {{{0x40003c00, 0x3c004000}, 0x0000ffff}}},
    {"{ .reg .pred x; setp.lt.f16x2 x|d, a, b; }",
     "prr",
     {{{0x3c004000, 0x40003c00}, 1}, {{0x40003c00, 0x3c004000}, 0}}},
    {"{ .reg .pred x; setp.lt.f16x2 d|x, a, b; }",
     "prr",
     {{{0x3c004000, 0x40003c00}, 0}, {{0x40003c00, 0x3c004000}, 1}}},
    {"and.pred d, a, b", "ppp", {{{1, 0}, 0}, {{1, 1}, 1}}},
    {"not.pred d, a", "pp", {{{1}, 0}, {{0}, 1}}},
};

class OpcodeTest : public testing::TestWithParam<OpcodeCase> {};
TEST_P(OpcodeTest, GivesTheTablesValue) { expectOpcode(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Arithmetic, OpcodeTest, testing::ValuesIn(arithmetic));
INSTANTIATE_TEST_SUITE_P(Bits, OpcodeTest, testing::ValuesIn(bits));
INSTANTIATE_TEST_SUITE_P(Comparisons, OpcodeTest, testing::ValuesIn(comparisons));

} // namespace
} // namespace fusec::virtualgpu
