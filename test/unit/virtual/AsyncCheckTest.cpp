//===- AsyncCheckTest.cpp - faults with mbarriers, bulk copies and wgmma -----===//

#include "VirtualRun.h"

#include <gmock/gmock.h>
#include <optional>

namespace fusec::virtualgpu {
namespace {

using testing::HasSubstr;

/// 128 threads; "data": 8 KB of shared memory; two mbarriers, "bar" for 1 arrival and "all" for 128.
const std::string prologue =
    R"(.shared .align 1024 .b8 data[8192]; .shared .align 8 .b8 bar[8]; .shared .align 8 .b8 all[8];
    mov.u32 %r0, %tid.x; mov.u32 %r1, data; shl.b32 %r2, %r0, 2; add.s32 %r2, %r2, %r1; mov.u32 %r3, bar; mov.u32 %r4, all;
    mov.u32 %r5, 7; setp.eq.u32 %p0, %r0, 0; setp.ge.u32 %p1, %r0, 32;
    @%p0 mbarrier.init.shared::cta.b64 [%r3], 1; @%p0 mbarrier.init.shared::cta.b64 [%r4], 128;
    fence.mbarrier_init.release.cluster;
)";
const std::string sync = "bar.sync 0;\n";
/// Thread 0 fetches 512 bytes of x.
const std::string fetch = R"(@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;
    @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd90], 512, [%r3];
)";
std::string waitFor(const std::string &barrier, int parity) {
  return "{ .reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [" + barrier + "], " +
         std::to_string(parity) + "; @!done bra AGAIN; }\n";
}
const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%r4];\n";
/// data as both operands of a product: A (64 x 16) from registers, B (16 x 8) without swizzle.
const std::string product = R"(wgmma.fence.sync.aligned;
    cvt.u64.u32 %rd5, %r1; shr.u64 %rd5, %rd5, 4; and.b64 %rd5, %rd5, 16383; or.b64 %rd5, %rd5, 0x0000000800080000;
    mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0; setp.eq.u32 %p5, 0, 1;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd5, %p5, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
)";
const std::string productWait = "wgmma.wait_group.sync.aligned 0;\n";
const std::string clear = "st.shared.u32 [%r2], 0; st.shared.u32 [%r2+512], 0;\n";

struct AsyncCase {
  std::string name, body;
  std::optional<FaultKind> kind;
  std::string words = "";
  friend void PrintTo(const AsyncCase &c, std::ostream *out) { *out << c.name; }
};

const AsyncCase cases[] = {
    {"CopyWaitedFor", sync + fetch + waitFor("%r3", 0) + "ld.shared.u32 %r6, [%r2];", {}},
    {"CopyNotWaitedFor", sync + fetch + "@%p1 ld.shared.u32 %r6, [%r2]; " + sync + waitFor("%r3", 0),
     FaultKind::AsyncHazard, "still writing"},
    {"OneThreadWaitsForAll",
     sync + fetch + "@%p1 bra SKIP;" + waitFor("%r3", 0) + "SKIP: bar.sync 0; ld.shared.u32 %r6, [%r2];",
     {}},
    {"NobodyWaits", sync + fetch, FaultKind::UnfinishedCopies, "1 bulk copies"},
    {"InitNotVisible", waitFor("%r3", 1), FaultKind::BarrierMisuse, "initialis"},
    {"PlainAccessToABarrier", sync + "ld.shared.u32 %r6, [%r3];", FaultKind::BarrierMisuse,
     "an mbarrier that is in use"},
    {"ArrivalsOrder",
     "st.shared.u32 [%r2], %r5;" + sync + "st.shared.u32 [%r2], %r5;" + arrive + waitFor("%r4", 0) +
         "xor.b32 %r6, %r2, 256; ld.shared.u32 %r7, [%r6];",
     {}},
    {"WaitForThePhaseBefore",
     "st.shared.u32 [%r2], %r5;" + sync + "st.shared.u32 [%r2], %r5;" + arrive + waitFor("%r4", 1) +
         "xor.b32 %r6, %r2, 256; ld.shared.u32 %r7, [%r6];",
     FaultKind::RaceInBlock},
    {"CopyOverWhatOthersRead",
     "st.shared.u32 [%r2], %r5;" + sync + "ld.shared.u32 %r6, [%r2];" + fetch + waitFor("%r3", 0),
     FaultKind::RaceInBlock, "read"},
    {"CopyAfterTheyArrived",
     "st.shared.u32 [%r2], %r5;" + sync + "ld.shared.u32 %r6, [%r2];" + arrive + waitFor("%r4", 0) + fetch +
         waitFor("%r3", 0),
     {}},
    {"CopyOfUnwritten",
     sync +
         "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512; @%p0 "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd91], 512, [%r3];" +
         waitFor("%r3", 0),
     FaultKind::Uninitialised, "'y'"},
    {"CopyOutOfBounds",
     sync +
         "add.s64 %rd6, %rd90, 768; @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512; @%p0 "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd6], 512, [%r3];" +
         waitFor("%r3", 0),
     FaultKind::OutOfBounds, "'x'"},
    {"ProductOfACopy", sync + fetch + waitFor("%r3", 0) + product + productWait, {}},
    {"ProductBeforeTheCopy", sync + fetch + product + productWait + waitFor("%r3", 0), FaultKind::AsyncHazard},
    {"ProductOfStores", clear + "fence.proxy.async.shared::cta;" + sync + product + productWait, {}},
    {"ProxyFenceMissing", clear + sync + product + productWait, FaultKind::AsyncHazard, "fence.proxy.async"},
    {"ProxyFenceOfTheReader", clear + sync + "fence.proxy.async.shared::cta;" + product + productWait, {}},
    {"ProductNotWaitedFor", clear + "fence.proxy.async.shared::cta;" + sync + product, FaultKind::UnfinishedCopies,
     "wgmma"},
    // The barrier says "free" while the product still reads.
    {"ArriveBeforeProductWait",
     sync + fetch + waitFor("%r3", 0) + product + arrive + waitFor("%r4", 0) + fetch + productWait + waitFor("%r3", 1),
     FaultKind::AsyncHazard},
    {"ArriveAfterProductWait",
     sync + fetch + waitFor("%r3", 0) + product + productWait + arrive + waitFor("%r4", 0) + fetch + waitFor("%r3", 1),
     {}},
};

class AsyncCheckTest : public testing::TestWithParam<AsyncCase> {};

TEST_P(AsyncCheckTest, ReportsTheFault) {
  const AsyncCase &c = GetParam();
  for (AsyncPolicy policy : {AsyncPolicy::Late, AsyncPolicy::AtIssue, AsyncPolicy::Random})
    for (uint64_t seed : {0, 1, 2}) {
      SCOPED_TRACE("policy " + std::to_string(static_cast<int>(policy)) + ", seed " + std::to_string(seed));
      VirtualRun run({.target = "sm_90a", .seed = seed, .asyncPolicy = policy, .instructionBudget = 1000000});
      uint64_t x = run.upload(std::vector<uint32_t>(256, 0), "x"), y = run.reserve(1024, "y");
      Status loaded = run.load(kernelText(2, prologue + c.body, "", "", "sm_90a"));
      ASSERT_TRUE(loaded.ok()) << loaded.message();
      Status status = run.launch("k", {.block = {128}, .parameters = {x, y}});
      if (!c.kind) {
        EXPECT_TRUE(status.ok()) << status.message();
        continue;
      }
      ASSERT_FALSE(status.ok());
      ASSERT_TRUE(run.gpu().lastFault().has_value()) << status.message();
      // Before the copy was asked for its place is unwritten; when it is done at issue, the missing wait is a race.
      FaultKind kind = run.gpu().lastFault()->kind;
      bool eager =
          *c.kind == FaultKind::AsyncHazard && (kind == FaultKind::RaceInBlock || kind == FaultKind::Uninitialised);
      EXPECT_TRUE(kind == *c.kind || eager) << status.message();
      if (!eager)
        EXPECT_THAT(status.message(), HasSubstr(c.words));
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, AsyncCheckTest, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace fusec::virtualgpu
