//===- WarpOpcodeTest.cpp - shuffles, votes, atomics, divergence -------------===//

#include "VirtualRun.h"

#include <numeric>

namespace fusec::virtualgpu {
namespace {

/// Runs a body that leaves one 32-bit number per lane in %r50; %r0 = lane.
std::vector<uint32_t> perLane(const std::string &body, uint32_t threads = 32) {
  VirtualRun run;
  uint64_t out = run.reserve(4 * threads, "out");
  Status loaded = run.load(kernelText(1, "mov.u32 %r0, %tid.x;\n" + body + R"(
    mul.wide.u32 %rd0, %r0, 4; add.s64 %rd0, %rd0, %rd90; st.global.u32 [%rd0], %r50;)"));
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  if (!loaded.ok())
    return {};
  Status status = run.launch("k", {.block = {threads, 1, 1}, .parameters = {out}});
  EXPECT_TRUE(status.ok()) << status.message();
  return run.download<uint32_t>(out, threads);
}

TEST(ShuffleTest, ButterflyUpDownAndIndex) {
  std::vector<uint32_t> got = perLane("shfl.sync.bfly.b32 %r50, %r0, 5, 31, -1;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i ^ 5);
  got = perLane("shfl.sync.up.b32 %r50|%p0, %r0, 3, 0, -1; @!%p0 mov.u32 %r50, 99;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i < 3 ? 99 : i - 3);
  got = perLane("shfl.sync.down.b32 %r50|%p0, %r0, 3, 31, -1; @!%p0 mov.u32 %r50, 99;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i > 28 ? 99 : i + 3);
  // c = segment mask << 8 | clamp: width 8.
  got = perLane("shfl.sync.idx.b32 %r50, %r0, 2, 0x181f, -1;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i / 8 * 8 + 2);
}

TEST(ShuffleTest, HalvesOfAWarpUseTheirOwnMasks) {
  std::vector<uint32_t> got = perLane(R"(
    setp.lt.u32 %p0, %r0, 16; selp.b32 %r1, 0xffff, 0xffff0000, %p0;
    shfl.sync.bfly.b32 %r50, %r0, 1, 31, %r1;)");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i ^ 1);
}

TEST(VoteTest, BallotAnyAllUniform) {
  EXPECT_EQ(perLane("setp.gt.u32 %p0, %r0, 29; vote.sync.ballot.b32 %r50, %p0, -1;")[7], 0xc0000000u);
  EXPECT_EQ(perLane("setp.gt.u32 %p0, %r0, 29; vote.sync.any.pred %p1, %p0, -1; selp.b32 %r50, 1, 0, %p1;")[7], 1u);
  EXPECT_EQ(perLane("setp.gt.u32 %p0, %r0, 29; vote.sync.all.pred %p1, %p0, -1; selp.b32 %r50, 1, 0, %p1;")[31], 0u);
  EXPECT_EQ(perLane("setp.gt.u32 %p0, %r0, 40; vote.sync.uni.pred %p1, %p0, -1; selp.b32 %r50, 1, 0, %p1;")[31], 1u);
}

TEST(MatchTest, AnyAndAll) {
  std::vector<uint32_t> got = perLane("and.b32 %r1, %r0, 1; match.any.sync.b32 %r50, %r1, -1;");
  EXPECT_EQ(got[0], 0x55555555u);
  EXPECT_EQ(got[1], 0xaaaaaaaau);
  EXPECT_EQ(perLane("mov.u32 %r1, 7; match.all.sync.b32 %r50|%p0, %r1, -1;")[3], 0xffffffffu);
  EXPECT_EQ(perLane("match.all.sync.b32 %r50|%p0, %r0, -1;")[3], 0u);
}

TEST(ReduxTest, AddMinMaxAnd) {
  EXPECT_EQ(perLane("redux.sync.add.s32 %r50, %r0, -1;")[9], 496u);
  EXPECT_EQ(perLane("sub.s32 %r1, %r0, 5; redux.sync.min.s32 %r50, %r1, -1;")[9], static_cast<uint32_t>(-5));
  EXPECT_EQ(perLane("sub.s32 %r1, %r0, 5; redux.sync.max.u32 %r50, %r1, -1;")[9], 0xffffffffu);
  EXPECT_EQ(perLane("or.b32 %r1, %r0, 8; redux.sync.and.b32 %r50, %r1, -1;")[9], 8u);
}

TEST(ElectTest, TheLowestLaneLeads) {
  std::vector<uint32_t> got = perLane("elect.sync _|%p0, -1; selp.b32 %r50, 1, 0, %p0;");
  EXPECT_EQ(got[0], 1u);
  EXPECT_EQ(std::accumulate(got.begin(), got.end(), 0u), 1u);
}

// --- divergence -----------------------------------------------------------------------

TEST(DivergenceTest, DataDependentLoopsJoinBeforeAShuffle) {
  // Lane i loops i times; the full-mask shuffle comes after.
  std::vector<uint32_t> got = perLane(R"(
    mov.u32 %r1, 0; mov.u32 %r2, 0;
    LOOP: setp.ge.u32 %p0, %r1, %r0; @%p0 bra DONE;
    add.s32 %r2, %r2, %r1; add.s32 %r1, %r1, 1; bra LOOP;
    DONE: shfl.sync.bfly.b32 %r50, %r2, 1, 31, -1;)");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], (i ^ 1) * ((i ^ 1) - 1) / 2 * ((i ^ 1) > 0));
}

TEST(DivergenceTest, BreakOutOfANestedIf) {
  std::vector<uint32_t> got = perLane(R"(
    mov.u32 %r1, 0;
    LOOP: setp.eq.u32 %p0, %r1, %r0; @%p0 bra OUT;
    and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra EVEN;
    add.s32 %r1, %r1, 1; bra NEXT;
    EVEN: add.s32 %r1, %r1, 1;
    NEXT: setp.lt.u32 %p2, %r1, 20; @%p2 bra LOOP;
    OUT: vote.sync.ballot.b32 %r50, %p0, -1;)");
  EXPECT_EQ(got[31], 0x000fffffu); // Lanes 0 to 19 left by the break.
}

TEST(DivergenceTest, ALockInsideAWarpMakesProgress) {
  // Each lane takes a spin lock in turn; the loser's branch is the lower pc.
  std::vector<uint32_t> got = perLane(R"(.shared .align 4 .b32 lock; .shared .align 4 .b32 count;
    mov.u32 %r10, lock; mov.u32 %r11, count;
    setp.eq.u32 %p3, %r0, 0; @%p3 st.shared.u32 [%r10], 0; @%p3 st.shared.u32 [%r11], 0; bar.warp.sync -1;
    SPIN: atom.shared.acq_rel.cta.cas.b32 %r1, [%r10], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra SPIN;
    ld.shared.u32 %r50, [%r11]; add.s32 %r2, %r50, 1; st.shared.u32 [%r11], %r2;
    atom.shared.release.cta.exch.b32 %r3, [%r10], 0;)");
  std::sort(got.begin(), got.end());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i);
}

TEST(DivergenceTest, IndexedBranchTakesEachLanesLabel) {
  std::vector<uint32_t> got = perLane(R"(
    TABLE: .branchtargets A, B, C;
    rem.u32 %r1, %r0, 3; brx.idx %r1, TABLE;
    A: mov.u32 %r50, 100; bra END;
    B: mov.u32 %r50, 200; bra END;
    C: mov.u32 %r50, 300;
    END: add.s32 %r50, %r50, 1;)");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], 101 + 100 * (i % 3));
}

TEST(CallTest, DeviceFunctionsReturnPerLane) {
  VirtualRun run;
  uint64_t out = run.reserve(128, "out");
  Status loaded = run.load(kernelText(1, R"(mov.u32 %r0, %tid.x;
    { .param .b32 a; .param .b32 result; st.param.b32 [a+0], %r0;
      call.uni (result), clampTo10, (a); ld.param.b32 %r50, [result+0]; }
    mul.wide.u32 %rd0, %r0, 4; add.s64 %rd0, %rd0, %rd90; st.global.u32 [%rd0], %r50;)",
                                      "", R"(
    .func (.param .b32 back) clampTo10(.param .b32 x) {
      .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.u32 %r1, [x]; setp.lt.u32 %p1, %r1, 10; @%p1 bra SMALL;
      mov.u32 %r2, 10; st.param.b32 [back+0], %r2; ret;
      SMALL: st.param.b32 [back+0], %r1; ret; })"));
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  Status status = run.launch("k", {.parameters = {out}});
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<uint32_t> got = run.download<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], std::min(i, 10u));
}

// --- spaces -----------------------------------------------------------------------------

TEST(SpaceTest, EachThreadHasItsLocalMemory) {
  // One address in all lanes, addresses side by side, and a generic pointer.
  std::vector<uint32_t> got = perLane(R"(.local .align 16 .b8 mine[256]; .reg .b64 %l, %g, %o;
    mov.u64 %l, mine; st.local.u32 [%l], %r0; mul.wide.u32 %o, %r0, 4; add.s64 %o, %o, %l; mul.lo.u32 %r1, %r0, 100;
    st.local.u32 [%o+128], %r1; cvta.local.u64 %g, %l;
    ld.local.u32 %r2, [%l]; ld.local.u32 %r3, [%o+128]; ld.u32 %r4, [%g];
    add.s32 %r50, %r2, %r3; add.s32 %r50, %r50, %r4;)");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], 102 * i);
}

TEST(SpaceTest, GenericPointersReachSharedAndDeviceMemory) {
  std::vector<uint32_t> got = perLane(R"(.shared .align 4 .b8 s[128]; .reg .b64 %s, %o, %g; .reg .pred %q;
    mov.u64 %s, s; cvta.shared.u64 %g, %s; mul.wide.u32 %o, %r0, 4; add.s64 %g, %g, %o; add.s32 %r1, %r0, 7;
    st.u32 [%g], %r1; isspacep.shared %q, %g; add.s64 %o, %o, %rd90; setp.lt.u32 %p0, %r0, 16;
    st.u32 [%o], %r0; @%p0 mov.u64 %g, %o; ld.u32 %r50, [%g]; @!%q mov.u32 %r50, 99;)");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i < 16 ? i : i + 7);
}

// --- atomics ----------------------------------------------------------------------------

TEST(AtomicTest, BlocksCountTogetherOnSeveralHostThreads) {
  VirtualRun run({.checked = false, .threads = 3});
  uint64_t count = run.upload<uint32_t>({0}, "count");
  ASSERT_TRUE(run.load(kernelText(1, "red.global.add.u32 [%rd90], 1;")).ok());
  ASSERT_TRUE(run.launch("k", {.grid = {50, 2, 1}, .block = {64, 1, 1}, .parameters = {count}}).ok());
  EXPECT_EQ(run.download<uint32_t>(count, 1)[0], 6400u);
}

TEST(AtomicTest, OperationsGiveTheOldValue) {
  VirtualRun run;
  uint64_t x = run.upload<uint32_t>({5, 5, 5, 5, std::bit_cast<uint32_t>(1.5f)}, "x"), old = run.reserve(20, "old");
  ASSERT_TRUE(run.load(kernelText(2, R"(
    atom.global.max.s32 %r0, [%rd90], -3; atom.global.cas.b32 %r1, [%rd90+4], 5, 9;
    atom.global.inc.u32 %r2, [%rd90+8], 5; atom.global.exch.b32 %r3, [%rd90+12], 77;
    atom.global.add.f32 %f0, [%rd90+16], 0f3F000000; mov.b32 %r4, %f0;
    st.global.v4.u32 [%rd91], {%r0, %r1, %r2, %r3}; st.global.u32 [%rd91+16], %r4;)"))
                  .ok());
  Status status = run.launch("k", {.block = {1, 1, 1}, .parameters = {x, old}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(run.download<uint32_t>(x, 5), (std::vector<uint32_t>{5, 9, 0, 77, std::bit_cast<uint32_t>(2.0f)}));
  EXPECT_EQ(run.download<uint32_t>(old, 5), (std::vector<uint32_t>{5, 5, 5, 5, std::bit_cast<uint32_t>(1.5f)}));
}

} // namespace
} // namespace fusec::virtualgpu
