//===- CheckTest.cpp - every kind of fault, and its near miss ----------------===//
//
// Each row is a kernel that does one thing wrong, what must be reported, and
// words the message must hold. Rows without a kind are the same thing done right.
//
//===----------------------------------------------------------------------===//

#include "VirtualRun.h"

#include <gmock/gmock.h>
#include <optional>

namespace fusec::virtualgpu {
namespace {

using testing::HasSubstr;

struct CheckCase {
  friend void PrintTo(const CheckCase &c, std::ostream *out) { *out << c.name; }
  std::string name;
  std::string body; ///< %rd90: 1024 bytes of zeros "x"; %rd91: 1024 unwritten bytes "y"; %rd92: host address.
  std::optional<FaultKind> kind;
  std::string words = "";
  uint32_t threads = 64, blocks = 1;
};

/// t = thread, at = its word of x (%rd1), of y (%rd2), of shared memory (%r2).
const std::string prologue = R"(.shared .align 16 .b8 sh[2048];
    mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 4; add.s64 %rd1, %rd90, %rd0; add.s64 %rd2, %rd91, %rd0;
    mov.u32 %r1, sh; shl.b32 %r3, %r0, 2; add.s32 %r2, %r1, %r3; mov.u32 %r4, 7;
    setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 32; setp.lt.u32 %p3, %r0, 32;
)";

/// Two words per thread are written, so that what follows is not about uninitialised bytes.
const std::string written = "st.shared.u32 [%r2], %r4; st.shared.u32 [%r2+256], %r4; bar.sync 0;\n";

/// 16 bytes per thread, of which the first 12 are written; their address is in %r5.
const std::string threeOfFourWords = "shl.b32 %r5, %r3, 2; add.s32 %r5, %r5, %r1; st.shared.u32 [%r5], %r4;"
                                     "st.shared.u32 [%r5+4], %r4; st.shared.u32 [%r5+8], %r4;";

const CheckCase cases[] = {
    // Addresses.
    {"HostPointer", "ld.global.u32 %r5, [%rd92];", FaultKind::WildAccess, "outside the device's memory"},
    {"HostPointerGeneric", "ld.u32 %r5, [%rd92];", FaultKind::WildAccess},
    {"NullPointer", "mov.u64 %rd5, 0; st.global.u32 [%rd5], %r4;", FaultKind::WildAccess},
    {"PastTheEnd", "ld.global.u32 %r5, [%rd1+800];", FaultKind::OutOfBounds, "1024 bytes into 'x' of 1024 bytes"},
    {"BeforeTheStart", "st.global.u32 [%rd90+-4], %r4;", FaultKind::OutOfBounds},
    {"LastWord", "ld.global.u32 %r5, [%rd1+768];", {}},
    {"SharedPastTheEnd", "st.shared.u32 [%r2+1800], %r4;", FaultKind::OutOfBounds, "2048 bytes of shared memory"},
    {"Misaligned", "ld.global.u32 %r5, [%rd1+2];", FaultKind::Misaligned},
    {"MisalignedVector", "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1];", FaultKind::Misaligned},
    {"MisalignedShared", "st.shared.u64 [%r1+4], %rd0;", FaultKind::Misaligned},
    {"StraddlesTheEnd", "@%p1 ld.global.v2.u32 {%r5, %r6}, [%rd90+1024];", FaultKind::OutOfBounds},
    {"LocalPastTheEnd", ".local .align 4 .b8 l[16]; mov.u64 %rd5, l; st.local.u32 [%rd5+16], %r4;",
     FaultKind::OutOfBounds, "16 bytes of local memory"},
    // Initialisation.
    {"UnwrittenGlobal", "ld.global.u32 %r5, [%rd2];", FaultKind::Uninitialised, "'y' of 1024 bytes"},
    {"WrittenGlobal", "st.global.u32 [%rd2], %r4; ld.global.u32 %r5, [%rd2];", {}},
    {"HalfWritten", "st.global.u8 [%rd2], %r4; ld.global.u16 %h5, [%rd2];", FaultKind::Uninitialised, "byte 1"},
    {"UnwrittenShared", "ld.shared.u32 %r5, [%r2];", FaultKind::Uninitialised, "into 'sh' of 2048 bytes"},
    {"UnwrittenLocal", ".local .align 4 .b8 l[16]; mov.u64 %rd5, l; ld.local.u32 %r5, [%rd5];",
     FaultKind::Uninitialised},
    {"AtomicOnUnwritten", "red.global.add.u32 [%rd2], 1;", FaultKind::Uninitialised},
    {"VectorWithUnwrittenWord", threeOfFourWords + "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];",
     FaultKind::Uninitialised, "byte 12"},
    {"WordThatTheCompilerDoesNotUse",
     threeOfFourWords + ".pragma \"used_bytes_mask 4095\"; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];",
     {}},
    {"WordThatTheCompilerUses",
     threeOfFourWords + ".pragma \"used_bytes_mask 65535\"; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];",
     FaultKind::Uninitialised, "byte 12"},
    {"OneLoadPerPragma",
     threeOfFourWords + ".pragma \"used_bytes_mask 4095\"; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];"
                        "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];",
     FaultKind::Uninitialised, "byte 12"},
    // Races inside a block.
    {"SharedWithoutBarrier",
     written + "st.shared.u32 [%r2], %r4; xor.b32 %r5, %r3, 128; add.s32 %r5, %r5, %r1; ld.shared.u32 %r6, [%r5];",
     FaultKind::RaceInBlock, "no barrier"},
    {"SharedWithBarrier",
     "st.shared.u32 [%r2], %r4; bar.sync 0; xor.b32 %r5, %r3, 128; add.s32 %r5, %r5, %r1; ld.shared.u32 %r6, [%r5];",
     {}},
    {"NeighbourLane", "st.shared.u32 [%r2], %r4; xor.b32 %r5, %r3, 4; add.s32 %r5, %r5, %r1; ld.shared.u32 %r6, [%r5];",
     FaultKind::RaceInBlock},
    {"NeighbourLaneSyncwarp",
     "st.shared.u32 [%r2], %r4; bar.warp.sync -1; xor.b32 %r5, %r3, 4; add.s32 %r5, %r5, %r1; ld.shared.u32 %r6, "
     "[%r5];",
     {}},
    {"ShuffleDoesNotOrder",
     "st.shared.u32 [%r2], %r4; shfl.sync.bfly.b32 %r9, %r0, 1, 31, -1; xor.b32 %r5, %r3, 4; add.s32 %r5, %r5, %r1; "
     "ld.shared.u32 %r6, [%r5];",
     FaultKind::RaceInBlock},
    {"SyncwarpDoesNotOrderWarps",
     written + "st.shared.u32 [%r2], %r4; bar.warp.sync -1; xor.b32 %r5, %r3, 128; add.s32 %r5, %r5, %r1; "
               "ld.shared.u32 %r6, [%r5];",
     FaultKind::RaceInBlock},
    {"WriteAfterRead", "st.shared.u32 [%r2], %r4; bar.sync 0; ld.shared.u32 %r6, [%r1]; @%p2 st.shared.u32 [%r1], %r4;",
     FaultKind::RaceInBlock, "read"},
    {"TwoWriters", "st.shared.u32 [%r1], %r0;", FaultKind::RaceInBlock, "wrote"},
    {"DisjointHalves",
     "shl.b32 %r5, %r0, 1; add.s32 %r5, %r5, %r1; cvt.u16.u32 %h0, %r0; st.shared.u16 [%r5], %h0; bar.sync 0; "
     "ld.shared.u32 %r6, [%r1];",
     {}},
    {"DisjointBytes", "add.s32 %r5, %r0, %r1; st.shared.u8 [%r5], %r0; bar.sync 0; ld.shared.u32 %r6, [%r1];", {}},
    {"BytesReadTooEarly",
     written + "add.s32 %r5, %r0, %r1; st.shared.u8 [%r5], %r0; bar.warp.sync -1; ld.shared.u32 %r6, [%r1+32];",
     FaultKind::RaceInBlock},
    {"HalvesUpdatedInPlace",
     "shl.b32 %r5, %r0, 1; cvt.u64.u32 %rd5, %r5; add.s64 %rd5, %rd5, %rd90; ld.global.u16 %h0, [%rd5]; st.global.u16 "
     "[%rd5], %h0;",
     {}},
    {"GlobalRaceInBlock",
     "st.global.u32 [%rd1], %r4; xor.b32 %r5, %r3, 128; cvt.u64.u32 %rd5, %r5; add.s64 %rd5, %rd5, %rd90; "
     "ld.global.u32 %r6, [%rd5];",
     FaultKind::RaceInBlock},
    {"NamedBarrierOrders",
     written + "@%p3 bra ONE; st.shared.u32 [%r2], %r4; bar.arrive 3, 64; bra END; ONE: bar.sync 3, 64; ld.shared.u32 "
               "%r6, [%r2+128]; END:",
     {}},
    {"NamedBarrierOneWay",
     written + "@%p3 bra ONE; st.shared.u32 [%r2], %r4; bar.arrive 3, 64; ld.shared.u32 %r6, [%r2+-128]; bra END; ONE: "
               "st.shared.u32 [%r2], %r4; bar.sync 3, 64; END:",
     FaultKind::RaceInBlock},
    {"AtomicsDoNotRace", "@%p1 st.shared.u32 [%r1], 0; bar.sync 0; atom.shared.add.u32 %r5, [%r1], 1;", {}},
    {"PlainReadOfACounter",
     "@%p1 st.shared.u32 [%r1], 0; bar.sync 0; atom.shared.add.u32 %r5, [%r1], 1; ld.shared.u32 %r6, [%r1];",
     FaultKind::RaceInBlock},
    // Races between blocks.
    {"BlocksWriteOneWord", "@%p1 st.global.u32 [%rd90], %r4;", FaultKind::RaceBetweenBlocks, "block number 0", 64, 2},
    {"BlockReadsAnothers",
     "mov.u32 %r5, %ctaid.x; setp.eq.u32 %p4, %r5, 0; setp.eq.and.u32 %p5, %r5, 1, %p1; and.pred %p4, %p4, %p1; @%p4 "
     "st.global.u32 [%rd90], %r4; @%p5 ld.global.u32 %r6, [%rd90];",
     FaultKind::RaceBetweenBlocks, "wrote", 64, 2},
    {"BlockWritesWhatAnotherRead",
     "mov.u32 %r5, %ctaid.x; setp.eq.u32 %p4, %r5, 1; and.pred %p4, %p4, %p1; ld.global.u32 %r6, [%rd90]; @%p4 "
     "st.global.u32 [%rd90], %r4;",
     FaultKind::RaceBetweenBlocks, "read", 64, 2},
    {"BlocksShareByAtomics", "red.global.add.u32 [%rd90], 1;", {}, "", 64, 4},
    // Last block done: partial results, fence, counter (x[64]), then the last block reads all.
    {"LastBlockReads",
     "mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd5, %r5, 4; add.s64 %rd5, %rd5, %rd90; @!%p1 bra END; st.global.u32 "
     "[%rd5], %r4; membar.gl; atom.global.add.u32 %r6, [%rd90+256], 1; setp.ne.u32 %p4, %r6, 3; @%p4 bra END; "
     "ld.global.u32 %r7, [%rd90]; ld.global.u32 %r8, [%rd90+4]; END:",
     {},
     "",
     64,
     4},
    {"LastBlockReadsWithoutFence",
     "mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd5, %r5, 4; add.s64 %rd5, %rd5, %rd90; @!%p1 bra END; st.global.u32 "
     "[%rd5], %r4; atom.global.add.u32 %r6, [%rd90+256], 1; setp.ne.u32 %p4, %r6, 3; @%p4 bra END; ld.global.u32 %r7, "
     "[%rd90]; ld.global.u32 %r8, [%rd90+4]; END:",
     FaultKind::RaceBetweenBlocks, "", 64, 4},
    {"AllThreadsWriteThenOneSignals",
     "mov.u32 %r5, %ctaid.x; shl.b32 %r5, %r5, 8; cvt.u64.u32 %rd5, %r5; add.s64 %rd5, %rd5, %rd1; st.global.u32 "
     "[%rd5], %r4; membar.gl; bar.sync 0; @!%p1 bra END; atom.global.add.u32 %r6, [%rd90+768], 1; setp.ne.u32 %p4, "
     "%r6, 2; @%p4 bra END; ld.global.u32 %r7, [%rd90+128]; END:",
     {},
     "",
     64,
     3},
    // Copies in flight.
    {"ReadBeforeWait",
     "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group; ld.shared.u32 %r5, [%r2]; cp.async.wait_group "
     "0;",
     FaultKind::AsyncHazard, "issued by thread"},
    {"WaitedFor",
     "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r5, "
     "[%r2];",
     {}},
    {"WaitLeavesOneGroup",
     "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group; cp.async.ca.shared.global [%r2+256], [%rd1], "
     "4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r5, [%r2]; cp.async.wait_all;",
     {}},
    {"WaitLeavesTwoGroups",
     "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group; cp.async.ca.shared.global [%r2+256], [%rd1], "
     "4; cp.async.commit_group; cp.async.wait_group 2; ld.shared.u32 %r5, [%r2]; cp.async.wait_all;",
     FaultKind::AsyncHazard},
    {"WaitWithoutBarrier",
     written + "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.wait_all; bar.warp.sync -1; xor.b32 %r5, %r3, "
               "128; add.s32 %r5, %r5, %r1; ld.shared.u32 %r6, [%r5];",
     FaultKind::RaceInBlock},
    {"WriteUnderACopy", "cp.async.ca.shared.global [%r2], [%rd1], 4; st.shared.u32 [%r2], %r4; cp.async.wait_all;",
     FaultKind::AsyncHazard},
    {"NeverWaited", "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group;", FaultKind::UnfinishedCopies,
     "1 cp.async"},
    {"CopyReadsOutOfBounds", "cp.async.ca.shared.global [%r2], [%rd1+1000], 4; cp.async.wait_all;",
     FaultKind::OutOfBounds},
    {"ZeroFillReadsNothing",
     "mov.u32 %r5, 0; cp.async.ca.shared.global [%r2], [%rd1+1000], 4, %r5; cp.async.wait_all; ld.shared.u32 %r6, "
     "[%r2];",
     {}},
    {"CopyMisaligned", "cp.async.cg.shared.global [%r2], [%rd1], 16; cp.async.wait_all;", FaultKind::Misaligned},
    // Barriers and warps.
    {"DivergentBarrier", "setp.lt.u32 %p4, %r0, 7; @%p4 bra ONE; bar.sync 0; bra END; ONE: bar.sync 0; END:",
     FaultKind::Divergence, "lanes 0x"},
    {"PredicatedBarrier", "setp.lt.u32 %p4, %r0, 7; @%p4 bar.sync 0;", FaultKind::BarrierMisuse, "aligned barrier"},
    {"OneWarpMissesTheBarrier", "@%p3 bra WAIT; bar.sync 1, 64; bra END; WAIT: bar.sync 0; END:", FaultKind::Deadlock,
     "barrier 0: 32 of 64 threads"},
    {"CountsDisagree", "@%p3 bra ONE; bar.sync 1, 64; bra END; ONE: bar.sync 1, 96; END:", FaultKind::BarrierMisuse,
     "count"},
    {"CountNotOfWarps", "bar.sync 1, 40;", FaultKind::BarrierMisuse, "multiple of 32"},
    {"NoSuchBarrier", "bar.sync 16;", FaultKind::BadOperand, "16"},
    {"EarlyExitThenBarrier", "@%p3 ret; bar.sync 0;", {}},
    {"ShuffleMissesLanes",
     "setp.lt.u32 %p4, %r0, 7; @%p4 bra END; shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1; END: bar.warp.sync -1;",
     FaultKind::Divergence},
    {"SyncwarpInBothBranches",
     written + "and.b32 %r7, %r0, 1; setp.eq.u32 %p4, %r7, 0; st.shared.u32 [%r2], %r4; @%p4 bra A; bar.warp.sync -1; "
               "bra END; A: bar.warp.sync -1; END: xor.b32 %r5, %r2, 4; ld.shared.u32 %r6, [%r5];",
     {}},
    {"SyncwarpInOneBranch", "setp.lt.u32 %p4, %r0, 7; @%p4 bra END; bar.warp.sync -1; END: bar.sync 0;",
     FaultKind::Divergence},
    {"SyncwarpOfHalves",
     written + "setp.lt.u32 %p4, %r0, 16; st.shared.u32 [%r2], %r4; @%p4 bra A; bar.warp.sync 0xffff0000; bra END; A: "
               "bar.warp.sync 0x0000ffff; END: xor.b32 %r5, %r2, 4; ld.shared.u32 %r6, [%r5];",
     {},
     "",
     32},
    {"SyncwarpOfHalvesOrdersNoMore",
     written + "setp.lt.u32 %p4, %r0, 16; st.shared.u32 [%r2], %r4; @%p4 bra A; bar.warp.sync 0xffff0000; bra END; A: "
               "bar.warp.sync 0x0000ffff; END: xor.b32 %r5, %r2, 64; ld.shared.u32 %r6, [%r5];",
     FaultKind::RaceInBlock, "", 32},
    {"SyncwarpNamesOthers", "bar.warp.sync 0xff;", FaultKind::Divergence},
    {"ExitReleasesSyncwarp", "setp.lt.u32 %p4, %r0, 7; @!%p4 bra A; mov.u32 %r5, 1; ret; A: bar.warp.sync -1;", {}},
    {"ShuffleGuardedOff", "setp.lt.u32 %p4, %r0, 7; @%p4 shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1;",
     FaultKind::Divergence},
    {"ShuffleReadsIdleLane", "setp.lt.u32 %p4, %r0, 7; @%p4 shfl.sync.idx.b32 %r5, %r0, 20, 31, 0x7f;",
     FaultKind::Divergence, "", 32},
    {"MmaNeedsTheWarp", "setp.eq.u32 %p4, %r0, 3; @%p4 ret; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r1];",
     FaultKind::Divergence, "32 lanes", 32},
    {"BranchIndex", "T: .branchtargets A, B; brx.idx %r0, T; A: B:", FaultKind::BadOperand, "table of 2"},
    {"Trap", "@%p2 trap;", FaultKind::Trap},
};

class CheckTest : public testing::TestWithParam<CheckCase> {};

TEST_P(CheckTest, ReportsTheFault) {
  const CheckCase &c = GetParam();
  for (uint64_t seed : {0, 1, 2}) {
    for (AsyncPolicy policy : {AsyncPolicy::Late, AsyncPolicy::AtIssue}) {
      VirtualRun run({.seed = seed, .asyncPolicy = policy});
      static const uint64_t hostWord = 0;
      uint64_t x = run.upload(std::vector<uint32_t>(256, 0), "x"), y = run.reserve(1024, "y");
      Status loaded = run.load(kernelText(3, prologue + c.body));
      ASSERT_TRUE(loaded.ok()) << loaded.message();
      Status status = run.launch(
          "k", {.grid = {c.blocks}, .block = {c.threads}, .parameters = {x, y, reinterpret_cast<uint64_t>(&hostWord)}});
      if (!c.kind) {
        EXPECT_TRUE(status.ok()) << status.message() << ", seed " << seed;
        continue;
      }
      ASSERT_FALSE(status.ok()) << "seed " << seed;
      ASSERT_TRUE(run.gpu().lastFault().has_value()) << status.message();
      EXPECT_EQ(faultKindName(run.gpu().lastFault()->kind), faultKindName(*c.kind)) << status.message();
      EXPECT_THAT(status.message(), HasSubstr(c.words));
      EXPECT_THAT(status.message(), HasSubstr("kernel 'k'"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CheckTest, testing::ValuesIn(cases), [](const auto &info) { return info.param.name; });

TEST(CheckOptionTest, UncheckedRunsThroughAndUninitialisedCanBeAllowed) {
  const std::string body = prologue + "ld.shared.u32 %r5, [%r2]; st.shared.u32 [%r1], %r0;";
  VirtualRun unchecked({.checked = false});
  ASSERT_TRUE(unchecked.load(kernelText(1, body)).ok());
  EXPECT_TRUE(unchecked.launch("k", {.block = {64}, .parameters = {0}}).ok());
  VirtualRun padded({.allowUninitialised = true});
  ASSERT_TRUE(padded.load(kernelText(1, prologue + "ld.shared.u32 %r5, [%r2];")).ok());
  EXPECT_TRUE(padded.launch("k", {.block = {64}, .parameters = {0}}).ok());
}

TEST(CheckOptionTest, TheBudgetEndsAnEndlessLoop) {
  VirtualRun run({.instructionBudget = 100000});
  ASSERT_TRUE(run.load(kernelText(1, "L: bra L;")).ok());
  Status status = run.launch("k", {.parameters = {0}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(run.gpu().lastFault()->kind, FaultKind::Budget);
}

TEST(CheckOptionTest, PoisonIsVisibleInValuesToo) {
  // Unchecked, with late copies: a read before the wait sees NaN bits instead of the old or the new value.
  VirtualRun run({.checked = false});
  uint64_t x = run.upload(std::vector<uint32_t>(32, 5), "x"), y = run.reserve(128, "y");
  ASSERT_TRUE(
      run
          .load(kernelText(
              3,
              prologue +
                  "cp.async.ca.shared.global [%r2], [%rd1], 4; ld.shared.u32 %r5, [%r2]; st.global.u32 [%rd2], %r5;"))
          .ok());
  ASSERT_TRUE(run.launch("k", {.parameters = {x, y, 0}}).ok());
  EXPECT_EQ(run.download<uint32_t>(y, 1)[0], 0xffffffffu);
}

TEST(FaultTest, NamesSourceLineBlockAndThread) {
  VirtualRun run;
  ASSERT_TRUE(run.load(kernelText(1, R"(.loc 1 42 7
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mul.lo.s32 %r2, %r0, %r1; setp.eq.u32 %p0, %r2, 10;
    .loc 1 43 7
    @%p0 st.global.u32 [%rd90], %r0;)",
                                  "", ".file 1 \"norm.cu\""))
                  .ok());
  Status status = run.launch("k", {.grid = {4, 1, 1}, .block = {16, 1, 1}, .parameters = {16}});
  EXPECT_THAT(status.message(), HasSubstr("norm.cu:43, block 1,0,0, thread 10,0,0: write of 4 bytes"));
  EXPECT_THAT(run.work().synchronize().message(), HasSubstr("norm.cu:43")) << "the device stays unusable";
}

} // namespace
} // namespace fusec::virtualgpu
