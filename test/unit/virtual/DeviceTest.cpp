//===- DeviceTest.cpp - modules, launches, graphs and counters ---------------===//
//
// What the conformance suite of all devices (test/unit/gpu) does not ask.
//
//===----------------------------------------------------------------------===//

#include "VirtualRun.h"

#include <gmock/gmock.h>

namespace fusec::virtualgpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string loadError(const std::string &ptx, const std::string &target = "sm_80") {
  VirtualRun run({.target = target});
  Status status = run.load(ptx);
  return status.ok() ? "it loads" : status.message();
}

TEST(LoadTest, UnknownThingsAreNamedWithTheirLine) {
  const std::pair<std::string, std::vector<std::string>> rows[] = {
      {"frobnicate.f32 %f0, %f1;", {"'frobnicate.f32'", "PTX line ", "kernel 'k'", "module 'test'"}},
      {"add.f32.wiggle %f0, %f1, %f2;", {"'add.f32.wiggle'"}},
      {"ld.global.sideways.f32 %f0, [%rd0];", {".sideways", "'ld.global.sideways.f32'"}},
      {"cvt.rn.rn.f32.s32 %f0, %r0;", {".rn"}},
      {"mma.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
       "{%f0,%f1,%f2,%f3};",
       {"shape"}},
      {"add.s32 %r0, %r1;", {"expected 3 operands, found 2"}},
      {"add.s32 %r0, %r1, %rd2;", {"'%rd2' is a 64-bit register, expected a 32-bit register"}},
      {"add.s32 %r0, %r1, %r777;", {"'%r777'"}},
      {"bra NOWHERE;", {"label 'NOWHERE'"}},
      {"@%r1 bra L; L:", {"'%r1' is not a predicate"}},
      {"call.uni elsewhere, ();", {"'elsewhere'", "no body"}},
      {"st.global.v2.f32 [%rd0], %f1;", {"number of registers"}},
      {"add.s32 %r0, %r1 %r2;", {"expected ',' or ';'"}},
  };
  for (const auto &[body, words] : rows)
    for (const std::string &word : words)
      EXPECT_THAT(loadError(kernelText(0, body)), HasSubstr(word));
}

TEST(LoadTest, WrongImagesAreExplained) {
  EXPECT_THAT(loadError("\x7f"
                        "ELF rest"),
              HasSubstr("is a cubin; the virtual device reads PTX"));
  EXPECT_THAT(loadError(""), HasSubstr("no .version"));
  EXPECT_THAT(loadError(".version 9.0\n.target sm_80\n.visible .entry k( {"), HasSubstr("PTX line 3"));
  EXPECT_THAT(loadError(kernelText(0, "", "", "", "sm_90a")), HasSubstr("for sm_90a, the virtual device is sm_80"));
  EXPECT_EQ(loadError(kernelText(0, "", "", "", "sm_90a"), "sm_90a"), "it loads");
  EXPECT_EQ(loadError(kernelText(0, ""), "sm_90a"), "it loads");
  VirtualRun run;
  ASSERT_TRUE(run.load(kernelText(0, "")).ok());
  EXPECT_THAT(run.loaded().function("other").status().message(), AllOf(HasSubstr("'other'"), HasSubstr("(it has k)")));
  Result<std::unique_ptr<VirtualDevice>> none = VirtualDevice::create({.target = "sm_12"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.status().message(), AllOf(HasSubstr("'sm_12'"), HasSubstr("sm_90a")));
}

TEST(LoadTest, GarbageNeverCrashes) {
  // Every prefix of a kernel, and the kernel with each character lost.
  const std::string text =
      kernelText(1,
                 ".shared .align 4 .b8 s[16];\n@!%p1 ld.shared.v2.f32 {%f1, %f2}, [s+8];\n"
                 "L: mov.f32 %f3, 0f3F800000; { .reg .b32 t; mov.b32 t, -5; }\nbra L;",
                 ".maxntid 32, 1, 1", ".global .align 4 .f32 v[2] = {1.5, -2.0};\n.file 1 \"a.cu\"");
  EXPECT_EQ(loadError(text), "it loads");
  VirtualRun run;
  for (size_t i = 0; i < text.size(); ++i) {
    (void)run.load(std::string_view(text).substr(0, i));
    (void)run.load(text.substr(0, i) + text.substr(i + 1));
  }
}

TEST(LaunchTest, ImpossibleLaunchesAreRefused) {
  VirtualRun run;
  ASSERT_TRUE(run.load(kernelText(1, ".shared .align 16 .b8 s[1024]; mov.u32 %r0, s; st.shared.u32 [%r0], %r0;",
                                  ".maxntid 64, 1, 1"))
                  .ok());
  const std::pair<VirtualRun::Shape, const char *> rows[] = {
      {{.block = {96}, .parameters = {0}}, "96 threads, but .maxntid is 64"},
      {{.grid = {0}, .parameters = {0}}, "an empty grid or block"},
      {{.grid = {1, 70000}, .parameters = {0}}, "at most 2147483647 x 65535"},
      {{.sharedBytes = 170000, .parameters = {0}}, "171024 bytes of shared memory (1024 static)"},
      {{.parameters = {}}, "0 parameters, but the kernel has 1"},
  };
  for (const auto &[shape, words] : rows)
    EXPECT_THAT(run.launch("k", shape).message(), AllOf(HasSubstr("launch of 'k'"), HasSubstr(words)));
  EXPECT_TRUE(run.launch("k", {.block = {1}, .parameters = {0}}).ok()) << "the device is still usable";
}

TEST(LaunchTest, VariablesOfTheModuleKeepTheirValues) {
  VirtualRun run;
  uint64_t out = run.reserve(16, "out");
  ASSERT_TRUE(run.load(kernelText(1, R"(
    mov.u64 %rd0, table; ld.const.f32 %f0, [%rd0+4]; ld.global.u64 %rd1, [pointer]; ld.u32 %r0, [%rd1+4];
    ld.global.u32 %r1, [count]; add.s32 %r1, %r1, 1; st.global.u32 [count], %r1;
    st.global.f32 [%rd90], %f0; st.global.u32 [%rd90+4], %r0; st.global.u32 [%rd90+8], %r1;)",
                                  "", R"(
    .const .align 4 .f32 table[2] = {0f3F800000, 0f40000000};
    .global .align 4 .u32 data[3] = {7, 8, 9};
    .global .align 8 .u64 pointer = generic(data)+4;
    .global .align 4 .u32 count = 41;)"))
                  .ok());
  for (int i = 0; i < 2; ++i) {
    Status status = run.launch("k", {.block = {1}, .parameters = {out}});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(run.download<float>(out, 1)[0], 2.0f);
  EXPECT_EQ(run.download<uint32_t>(out, 3)[1], 9u);
  EXPECT_EQ(run.download<uint32_t>(out, 3)[2], 43u);
}

const std::string addOne = "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 4; add.s64 %rd0, %rd0, %rd90;"
                           "ld.global.u32 %r1, [%rd0]; add.s32 %r1, %r1, 1; st.global.u32 [%rd0], %r1;";

TEST(StreamTest, DeferredWorkWaitsForSynchronize) {
  VirtualRun run({.deferred = true});
  ASSERT_TRUE(run.load(kernelText(1, addOne)).ok());
  uint64_t x = run.upload(std::vector<uint32_t>(32, 5), "x");
  ASSERT_TRUE(run.work().synchronize().ok());
  std::vector<uint64_t> parameters = {x};
  runtime::GpuLaunch launch{.function = *run.loaded().function("k"),
                            .grid = {1},
                            .block = {32},
                            .cluster = {},
                            .sharedBytes = 0,
                            .parameters = parameters};
  std::vector<uint32_t> got(32, 0);
  ASSERT_TRUE(run.work().launch(launch).ok());
  ASSERT_TRUE(run.work().copyToHost(got.data(), x, 128).ok());
  parameters[0] = 1; // Parameters were copied.
  EXPECT_EQ(got[0], 0u);
  ASSERT_TRUE(run.work().synchronize().ok());
  EXPECT_EQ(got[0], 6u);
}

TEST(StreamTest, GraphsReplayAndTheirFaultsStay) {
  VirtualRun run;
  ASSERT_TRUE(run.load(kernelText(1, addOne)).ok());
  uint64_t x = run.upload(std::vector<uint32_t>(32, 5), "x");
  const uint64_t parameters[] = {x};
  ASSERT_TRUE(run.work().beginCapture().ok());
  ASSERT_TRUE(run.work().fill(x, 0, 64).ok());
  ASSERT_TRUE(run.work()
                  .launch({.function = *run.loaded().function("k"),
                           .grid = {1},
                           .block = {32},
                           .cluster = {},
                           .sharedBytes = 0,
                           .parameters = parameters})
                  .ok());
  Result<std::unique_ptr<runtime::GpuGraph>> graph = run.work().endCapture();
  ASSERT_TRUE(graph);
  EXPECT_EQ(run.download<uint32_t>(x, 1)[0], 5u);
  ASSERT_TRUE(run.work().launchGraph(**graph).ok());
  ASSERT_TRUE(run.work().launchGraph(**graph).ok());
  EXPECT_EQ(run.download<uint32_t>(x, 32)[0], 1u);
  EXPECT_EQ(run.download<uint32_t>(x, 32)[31], 7u);
  EXPECT_EQ((*graph)->launches()->size(), 1u);
  EXPECT_EQ((*graph)->launches()->front().parameters, std::vector<uint64_t>{x});

  const uint64_t wild[] = {64};
  EXPECT_FALSE(run.work()
                   .launch({.function = *run.loaded().function("k"),
                            .grid = {1},
                            .block = {32},
                            .cluster = {},
                            .sharedBytes = 0,
                            .parameters = wild})
                   .ok());
  EXPECT_THAT(run.work().launchGraph(**graph).message(), HasSubstr("wild access"));
  run.gpu().clearError();
  EXPECT_TRUE(run.work().launchGraph(**graph).ok());
}

TEST(StreamTest, CopiesOutsideABufferAreRefused) {
  VirtualRun run;
  uint64_t x = run.upload(std::vector<uint32_t>(4, 5), "x");
  uint32_t word = 0;
  EXPECT_THAT(run.work().copyToHost(&word, x + 14, 4).message(),
              AllOf(HasSubstr("'x' with 16 bytes"), HasSubstr("leaves its allocation")));
  EXPECT_FALSE(run.work().fill(12345, 0, 1).ok());
}

// --- counters ---------------------------------------------------------------------------

/// One warp reads and writes words `stride` apart in global and shared memory.
VirtualCounters countersForStride(const std::string &stride, const std::string &width = "u32",
                                  const std::string &reg = "%r5") {
  VirtualRun run({.allowUninitialised = true});
  uint64_t x = run.upload(std::vector<uint32_t>(32 * 64, 1), "x");
  Status loaded = run.load(
      kernelText(1, ".shared .align 16 .b8 s[8192]; mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, " + stride +
                        "; cvt.u64.u32 %rd1, %r1; add.s64 %rd1, %rd1, %rd90; mov.u32 %r2, s; add.s32 %r2, %r2, %r1;"
                        "ld.global." +
                        width + " " + reg + ", [%rd1]; ld.shared." + width + " " + reg + ", [%r2];"));
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  Status status = run.launch("k", {.parameters = {x}});
  EXPECT_TRUE(status.ok()) << status.message();
  return run.gpu().counters("k");
}

TEST(CounterTest, SectorsAndBankConflictsFollowTheStride) {
  struct Row {
    const char *stride, *width, *reg;
    uint64_t sectors, wavefronts, ideal;
  };
  const Row rows[] = {
      {"4", "u32", "%r5", 4, 1, 1},
      {"8", "u32", "%r5", 8, 2, 1},
      {"128", "u32", "%r5", 32, 32, 1},
      {"132", "u32", "%r5", 32, 1, 1},
      {"0", "u32", "%r5", 1, 1, 1},
      {"2", "u16", "%h5", 2, 1, 1},
      {"8", "u64", "%rd5", 8, 2, 2},
      {"16", "u64", "%rd5", 16, 4, 2},
      {"16", "v4.u32", "{%r5, %r6, %r7, %r8}", 16, 4, 4},
      {"128", "v4.u32", "{%r5, %r6, %r7, %r8}", 32, 32, 4},
      {"144", "v4.u32", "{%r5, %r6, %r7, %r8}", 32, 4, 4},
  };
  for (const Row &row : rows) {
    VirtualCounters counters = countersForStride(row.stride, row.width, row.reg);
    EXPECT_EQ(counters.total.requests, 1u);
    EXPECT_EQ(counters.total.sectors, row.sectors) << row.stride << " " << row.width;
    EXPECT_EQ(counters.total.sharedWavefronts, row.wavefronts) << row.stride << " " << row.width;
    EXPECT_EQ(counters.total.sharedIdeal, row.ideal) << row.stride << " " << row.width;
  }
  EXPECT_DOUBLE_EQ(countersForStride("8").bankConflictFactor(), 2.0);
}

/// Sectors that move of the body's accesses to %rd90 + 16 * thread, which are 16 sectors each.
uint64_t movedBy(const std::string &body, uint32_t blocks = 1) {
  VirtualRun run;
  const uint64_t x = run.upload<uint32_t>(std::vector<uint32_t>(16 * 1024), "x");
  const Status loaded = run.load(
      kernelText(1, ".shared .align 16 .b8 s[1024]; mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, 16; "
                    "cvt.u64.u32 %rd1, %r1; add.s64 %rd1, %rd1, %rd90; mov.u32 %r2, s; add.s32 %r2, %r2, %r1;\n" +
                        body));
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  const Status status = run.launch("k", {.grid = {blocks}, .parameters = {x}});
  EXPECT_TRUE(status.ok()) << status.message();
  return run.gpu().counters("k").total.movedSectors;
}

TEST(CounterTest, ABlockMovesSectorsOnceThatItsCacheHolds) {
  const std::string load = "ld.global.v2.u32 {%r5, %r6}, [%rd1];\n", rest = "ld.global.v2.u32 {%r5, %r6}, [%rd1+8];\n";
  EXPECT_EQ(movedBy(load + rest), 16u) << "two halves of the same sectors";
  EXPECT_EQ(movedBy(load + rest, 3), 48u) << "each block on its own";
  EXPECT_EQ(movedBy(load + "st.global.u32 [%rd1], %r5;\nst.global.u32 [%rd1+4], %r6;\n"), 32u) << "stores merge";
  EXPECT_EQ(movedBy("ld.volatile.global.u32 %r5, [%rd1];\nld.volatile.global.u32 %r5, [%rd1];\n"), 32u);
  const std::string copy = "cp.async.cg.shared.global [%r2], [%rd1], 16;\n", end = "cp.async.wait_all;\n";
  EXPECT_EQ(movedBy(load + copy + end), 32u) << "passes the cache by";
  // 64 KB later, a cache of 16 KB has forgotten the first lines.
  std::string walk = load;
  for (int i = 1; i < 128; ++i)
    walk += "ld.global.u32 %r5, [%rd1+" + std::to_string(512 * i) + "];\n";
  EXPECT_EQ(movedBy(walk + load), (128u + 1) * 16);
}

TEST(CounterTest, InstructionsAreCountedPerLine) {
  VirtualRun run;
  uint64_t x = run.upload<uint32_t>({0}, "x");
  ASSERT_TRUE(
      run.load(kernelText(1, "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 8;\n@%p0 red.global.add.u32 [%rd90], 1;\n"))
          .ok());
  ASSERT_TRUE(run.launch("k", {.grid = {3}, .block = {64}, .parameters = {x}}).ok());
  VirtualCounters counters = run.gpu().counters("k");
  EXPECT_EQ(counters.launches, 1u);
  EXPECT_EQ(counters.total.atomics, 24u);
  EXPECT_EQ(counters.total.threads, 3u * (4 * 64 + 8)) << "ld.param, mov, setp, red of 8, ret";
  for (const VirtualCounters::Line &line : counters.lines)
    if (line.opcode == "red.global.add.u32") {
      EXPECT_EQ(line.counters.warps, 3u);
      EXPECT_EQ(line.counters.threads, 24u);
      EXPECT_EQ(line.counters.bytes, 96u);
    }
  run.gpu().resetCounters();
  EXPECT_EQ(run.gpu().counters("k").total.threads, 0u);
}

} // namespace
} // namespace fusec::virtualgpu
