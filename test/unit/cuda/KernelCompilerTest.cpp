//===- KernelCompilerTest.cpp - ladders, budgets, cache, threads -----------===//
#include "codegen/cuda/KernelCompiler.h"

#include "runtime/base/AtomicFile.h"
#include "test/unit/cuda/CudaTestSupport.h"
#include "test/unit/tools/TemporaryDirectory.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::codegen;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

const CudaTarget &sm80 = **cudaTargetByName("sm_80");

/// A text that the fake compiler says uses so much.
CudaKernelText fake(const std::string &entry, int registers, int spill, const std::string &family = "gemv") {
  const std::string used = std::to_string(registers) + " " + std::to_string(spill);
  return {.text = "//entry " + entry + "\n//used " + used + "\n",
          .entry = entry,
          .threads = 128,
          .sharedBytes = 1024,
          .family = family};
}

KernelCompiler fakeCompiler(KernelCompilerOptions options = {}) {
  options.nvrtc.library = FUSEC_FAKE_NVRTC;
  Result<KernelCompiler> compiler = KernelCompiler::create(std::move(options));
  EXPECT_TRUE(compiler) << compiler.status().message();
  return *std::move(compiler);
}

/// How often the fake was asked to compile.
int compilations() {
  static auto count = reinterpret_cast<int (*)()>(dlsym(dlopen(FUSEC_FAKE_NVRTC, RTLD_NOW), "fakeNvrtcCompilations"));
  return count();
}

TEST(KernelCompiler, TakesTheFirstRungWithinItsBudget) {
  const KernelCompiler compiler = fakeCompiler();
  auto kernel = compiler.compileOne(sm80, {fake("k", 200, 0), fake("k", 128, 8), fake("k", 120, 0), fake("k", 8, 0)});
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->rung, 2u);
  EXPECT_EQ(kernel->resources.registers, 120);
  EXPECT_EQ(kernel->occupancy.blocks, 4); // 128 threads of 120 registers: 4 warps per partition.
  EXPECT_EQ(kernel->occupancy.limit, "registers");
}

TEST(KernelCompiler, ATextThatSpillsIsTriedWithFewerBlocksFirst) {
  // Spills as it is and with at least 5 blocks; with 3 it does not.
  CudaKernelText text = fake("k", 80, 8);
  text.text = "void __launch_bounds__(128) k\n" + text.text + "//used(128, 2) 40 0\n//used(128, 3) 80 0\n";
  const KernelCompiler compiler = fakeCompiler();
  auto kernel = compiler.compileOne(sm80, {text, fake("k", 8, 0)});
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->rung, 0u);
  EXPECT_EQ(kernel->resources.spillStores, 0);
  EXPECT_THAT(kernel->source.text, HasSubstr("__launch_bounds__(128, 3)"));
}

TEST(KernelCompiler, ATextWithTooManyRegistersIsTriedWithMoreBlocks) {
  // 4 blocks of 128 threads have 128 registers each.
  CudaKernelText text = fake("k", 144, 0);
  text.text = "void __launch_bounds__(128) k\n" + text.text + "//used(128, 4) 126 0\n";
  const KernelCompiler compiler = fakeCompiler();
  auto kernel = compiler.compileOne(sm80, {text, fake("k", 8, 0)});
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->rung, 0u);
  EXPECT_EQ(kernel->resources.registers, 126);
}

TEST(KernelCompiler, ALastRungThatDoesNotFitIsAnError) {
  const KernelCompiler compiler = fakeCompiler();
  auto kernel = compiler.compileOne(sm80, {fake("k7_v1", 200, 0), fake("k7_v1", 140, 24)});
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.status().code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(kernel.status().message(),
            "kernel 'k7_v1' (gemv) for sm_80 exceeds its budget: registers 140 (allowed 128), spill bytes 24 "
            "(allowed 0); it is the last of 2 tiles");
}

TEST(KernelCompiler, ATextThatDoesNotCompileIsNoRungToSkip) {
  const KernelCompiler compiler = fakeCompiler();
  CudaKernelText broken = fake("k", 8, 0);
  broken.text = "//fail no such function\n";
  auto kernel = compiler.compileOne(sm80, {broken, fake("k", 8, 0)});
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.status().message(), HasSubstr("no such function"));
}

TEST(KernelCompiler, KeepsTheOrderAndReportsTheFirstError) {
  std::vector<size_t> seen;
  const KernelCompiler compiler = fakeCompiler({.threads = 4, .progress = [&](size_t done, size_t all) {
                                                  EXPECT_EQ(all, 40u);
                                                  seen.push_back(done);
                                                }});
  std::vector<KernelLadder> ladders;
  for (int i = 0; i < 40; ++i)
    ladders.push_back({fake("k" + std::to_string(i), i + 1, 0)});
  auto kernels = compiler.compile(sm80, ladders);
  ASSERT_TRUE(kernels) << kernels.status().message();
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ((*kernels)[i].resources.registers, i + 1);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 40u);

  ladders[11] = {fake("k11", 250, 0)};
  ladders[30] = {fake("k30", 251, 0)};
  for (int repeat = 0; repeat < 20; ++repeat)
    EXPECT_THAT(compiler.compile(sm80, ladders).status().message(), StartsWith("kernel 'k11'"));
  EXPECT_TRUE(compiler.compile(sm80, {})->empty());
}

TEST(KernelCompiler, TheCacheSavesCompilationsUntilSomethingDiffers) {
  test::TemporaryDirectory directory;
  const std::vector<KernelLadder> ladders = {{fake("a", 8, 0)}, {fake("b", 200, 0), fake("b", 16, 0)}};
  auto compilationsOf = [&](KernelCompilerOptions options) {
    options.cache = directory.path();
    const KernelCompiler compiler = fakeCompiler(std::move(options));
    const int before = compilations();
    auto kernels = compiler.compile(sm80, ladders);
    EXPECT_TRUE(kernels) << kernels.status().message();
    EXPECT_EQ((*kernels)[1].rung, 1u);
    return compilations() - before;
  };
  EXPECT_EQ(compilationsOf({}), 3);
  EXPECT_EQ(compilationsOf({}), 0); // Rungs passed over are cached, too.
  EXPECT_EQ(compilationsOf({.options = {"-DX=1"}}), 3);
  static constexpr CudaHeader other[] = {{"tile.cuh", "// changed"}};
  EXPECT_EQ(compilationsOf({.headers = other}), 3);
  EXPECT_EQ(compilationsOf({}), 0);
}

TEST(KernelCompiler, ACacheThatCannotBeWrittenCostsOnlyTime) {
  test::TemporaryDirectory directory;
  const KernelCompiler compiler = fakeCompiler({.cache = directory.write("file", "") / "below"});
  EXPECT_TRUE(compiler.compileOne(sm80, {fake("k", 8, 0)}));
}

TEST(KernelCompiler, WritesTextPtxAndLogAlsoOfFailures) {
  test::TemporaryDirectory directory;
  const KernelCompiler compiler = fakeCompiler({.dumpTo = directory.path()});
  ASSERT_TRUE(compiler.compileOne(sm80, {fake("good", 8, 0)}));
  CudaKernelText broken = fake("bad", 8, 0);
  broken.text = "//fail oops\n";
  ASSERT_FALSE(compiler.compileOne(sm80, {broken}));
  EXPECT_THAT(*readWholeFile(directory.path() / "good.sm_80.cu"), HasSubstr("//entry good"));
  EXPECT_THAT(*readWholeFile(directory.path() / "good.sm_80.log"), HasSubstr("Used 8 registers"));
  EXPECT_TRUE(readWholeFile(directory.path() / "good.sm_80.ptx"));
  EXPECT_THAT(*readWholeFile(directory.path() / "bad.sm_80.log"), HasSubstr("oops"));
}

/// A product of `depth` values per thread, all alive at once.
CudaKernelText registerHungry(int depth) {
  const std::string n = std::to_string(depth);
  return {.text = "extern \"C\" __global__ void __launch_bounds__(1024) hungry(float *x, const long long *sizes) {\n"
                  "  float a[" +
                  n +
                  "];\n"
                  "  #pragma unroll\n"
                  "  for (int i = 0; i < " +
                  n +
                  "; ++i) a[i] = x[i * 1024 + threadIdx.x];\n"
                  "  for (long long j = 0; j < sizes[0]; ++j)\n"
                  "    #pragma unroll\n"
                  "    for (int i = 0; i < " +
                  n + "; ++i) a[i] = a[i] * a[(i * 7 + 1) % " + n + "] + a[(i + 5) % " + n +
                  "];\n"
                  "  #pragma unroll\n"
                  "  for (int i = 0; i < " +
                  n + "; ++i) x[i * 1024 + threadIdx.x] = a[i];\n}\n",
          .entry = "hungry",
          .threads = 1024,
          .sharedBytes = 0,
          .family = "test"};
}

TEST(KernelCompiler, ARealCompilerSpillsAndTheNextTileIsTaken) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  auto compiler = KernelCompiler::create({.nvrtc = test::nvrtcSearch()});
  ASSERT_TRUE(compiler);
  // 1024 threads leave 64 registers each: 96 values spill, 24 do not.
  auto kernel = compiler->compileOne(sm80, {registerHungry(96), registerHungry(24)});
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->rung, 1u);
  EXPECT_LE(kernel->resources.registers, 64);
  EXPECT_EQ(kernel->occupancy.blocks, kernel->resources.registers <= 32 ? 2 : 1);
  EXPECT_THAT(compiler->compileOne(sm80, {registerHungry(96)}).status().message(),
              HasSubstr("exceeds its budget: spill bytes"));
}

} // namespace
