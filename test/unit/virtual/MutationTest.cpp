//===- MutationTest.cpp - seeded bugs must be found --------------------------===//
//
// Small realistic kernels (kernels/*.cu) run clean under several schedules; each
// mutant has one bug, written as a replacement in the text, and must be reported
// as the kind of fault it is (or give wrong values, where the bug is in values).
// Prints how many of each kind were caught. Needs NVRTC; skips without it.
//
//===----------------------------------------------------------------------===//

#include "VirtualRun.h"

#include "codegen/cuda/Nvrtc.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace fusec::virtualgpu {
namespace {

using Kinds = std::set<FaultKind>;
constexpr FaultKind race = FaultKind::RaceInBlock, blocks = FaultKind::RaceBetweenBlocks,
                    bounds = FaultKind::OutOfBounds, unwritten = FaultKind::Uninitialised,
                    hazard = FaultKind::AsyncHazard, unfinished = FaultKind::UnfinishedCopies,
                    misaligned = FaultKind::Misaligned, divergence = FaultKind::Divergence,
                    misuse = FaultKind::BarrierMisuse, deadlock = FaultKind::Deadlock, budget = FaultKind::Budget;

struct Mutant {
  std::string name, from, to;
  Kinds kinds; ///< Any of these, by schedule; empty: the values must be wrong.
};

struct MutatedKernel {
  friend void PrintTo(const MutatedKernel &kernel, std::ostream *out) { *out << kernel.file; }
  std::string file;
  /// Makes the inputs, launches `entry`, and says whether the values are right.
  std::function<std::pair<Status, bool>(VirtualRun &run, const std::string &entry)> launch;
  std::vector<Mutant> mutants;
};

// --- the kernels' launches ----------------------------------------------------------------

float wholeNumber(size_t i, int range) {
  return static_cast<float>(static_cast<int>(i * 2654435761u >> 7) % range - range / 2);
}
uint16_t bfloat(float f) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(f) >> 16); }

/// 2 x 2 blocks of which the lower two are partly outside; whole numbers, so that sums are exact.
std::pair<Status, bool> launchGemm(VirtualRun &run, const std::string &entry) {
  constexpr size_t M = 100, N = 128, K = 160;
  std::vector<uint16_t> a(M * K), b(K * N);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = bfloat(wholeNumber(i, 15));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = bfloat(wholeNumber(i + 77, 13));
  uint64_t at = run.upload(a, "A"), bt = run.upload(b, "B"), ct = run.reserve(M * N * 4, "C"),
           sizes = run.upload<int64_t>({M, N, K}, "sizes");
  Status status = run.launch(entry, {.grid = {4}, .block = {128}, .parameters = {at, bt, ct, sizes}});
  if (!status.ok())
    return {status, false};
  std::vector<float> c = run.download<float>(ct, M * N);
  for (size_t m = 0; m < M; ++m)
    for (size_t n = 0; n < N; ++n) {
      float sum = 0;
      for (size_t k = 0; k < K; ++k)
        sum += wholeNumber(m * K + k, 15) * wholeNumber(k * N + n + 77, 13);
      if (c[m * N + n] != sum)
        return {status, false};
    }
  return {status, true};
}

/// 5 rows of 300 on 6 blocks.
std::pair<Status, bool> launchRowNorm(VirtualRun &run, const std::string &entry) {
  constexpr size_t rows = 5, width = 300;
  std::vector<float> x(rows * width), w(width);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = wholeNumber(i, 21);
  for (size_t i = 0; i < width; ++i)
    w[i] = 1 + wholeNumber(i, 5) / 8;
  uint64_t xt = run.upload(x, "x"), wt = run.upload(w, "w"), yt = run.reserve(rows * width * 4, "y"),
           sizes = run.upload<int64_t>({rows, width}, "sizes");
  Status status = run.launch(entry, {.grid = {6}, .block = {256}, .parameters = {xt, wt, yt, sizes}});
  if (!status.ok())
    return {status, false};
  std::vector<float> y = run.download<float>(yt, rows * width);
  bool right = true;
  for (size_t r = 0; r < rows; ++r) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < width; ++i)
      sum += x[r * width + i];
    for (size_t i = 0; i < width; ++i)
      squares += std::pow(x[r * width + i] - sum / width, 2);
    for (size_t i = 0; i < width; ++i) {
      double want = (x[r * width + i] - sum / width) / std::sqrt(squares / width + 1e-5) * w[i];
      // A handful of float roundings of numbers below 4.
      right &= std::fabs(y[r * width + i] - want) < 4 * 8 * std::ldexp(1.0, -24);
    }
  }
  return {status, right};
}

/// 41 tokens in 3 of 5 pages; rows past the last token and unused pages are not written.
std::pair<Status, bool> launchGather(VirtualRun &run, const std::string &entry) {
  constexpr size_t tokens = 41, words = 32, pageWords = 16 * words;
  const std::vector<int> table = {4, 1, 2};
  uint64_t pages = run.reserve(5 * pageWords * 4, "pages"), tableAt = run.upload(table, "table"),
           out = run.reserve(tokens * words * 4, "out"), sizes = run.upload<int64_t>({tokens}, "sizes");
  std::vector<uint32_t> row(words);
  for (size_t t = 0; t < tokens; ++t) {
    for (size_t i = 0; i < words; ++i)
      row[i] = static_cast<uint32_t>(t * 100 + i);
    uint64_t to = pages + (static_cast<size_t>(table[t / 16]) * pageWords + t % 16 * words) * 4;
    EXPECT_TRUE(run.work().copyToDevice(to, row.data(), words * 4).ok());
  }
  Status status = run.launch(entry, {.grid = {11}, .block = {128}, .parameters = {pages, tableAt, out, sizes}});
  if (!status.ok())
    return {status, false};
  std::vector<uint32_t> got = run.download<uint32_t>(out, tokens * words);
  bool right = true;
  for (size_t i = 0; i < got.size(); ++i)
    right &= got[i] == i / words * 100 + i % words;
  return {status, right};
}

std::pair<Status, bool> launchSplit(VirtualRun &run, const std::string &entry) {
  constexpr size_t n = 3000;
  std::vector<float> x(n);
  float sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += x[i] = wholeNumber(i, 9);
  uint64_t xt = run.upload(x, "x"), partial = run.reserve(7 * 4, "partial"),
           counter = run.upload<uint32_t>({0}, "counter"), total = run.reserve(4, "total"),
           sizes = run.upload<int64_t>({n}, "sizes");
  Status status = run.launch(entry, {.grid = {7}, .block = {128}, .parameters = {xt, partial, counter, total, sizes}});
  return {status, status.ok() && run.download<float>(total, 1)[0] == sum};
}

// --- the bugs ------------------------------------------------------------------------------

const MutatedKernel mutatedKernels[] = {
    {"gemm.cu",
     launchGemm,
     {{"WaitsForTooFew", "waitFor<1>", "waitFor<2>", {hazard}},
      {"LastStageNotWaitedFor", "waitFor<0>", "waitFor<1>", {hazard}},
      {"CommitForgotten", "    commit();\n", "", {hazard, unfinished}},
      {"NoBarrierAfterWait", "__syncthreads(); // Everybody's copies are there.", "", {race, hazard, unwritten}},
      {"NoBarrierBeforeReuse", "__syncthreads(); // The stage is free.", "", {race, hazard}},
      {"OneStage", "fetch(stage ^ 1,", "fetch(stage,", {hazard}},
      {"BarrierOfTwoWarps",
       "__syncthreads(); // The stage is free.",
       "if (thread < 64) __syncthreads();",
       {race, hazard, deadlock}},
      {"RowsUnguardedInCopy", "row0 + r < M ? 16 : 0", "16", {bounds}},
      {"RowsUnguardedInStore", "if (r + 8 < M)", "if (r + 8 < M + 8)", {bounds}},
      {"TileTooNarrow", "tileA[2][64][40]", "tileA[2][64][36]", {misaligned}},
      {"TileTooShort", "tileB[2][32][72]", "tileB[2][31][72]", {race, hazard, bounds}},
      {"RowOffByOne", "warp * 16 + lane % 16]", "warp * 16 + lane % 16 + 1]", {race, hazard, unwritten}},
      {"WarpLeavesEarly", "float sums[8][4] = {};", "float sums[8][4] = {}; if (warp == 3) return;", {unwritten}},
      {"LaneLeavesEarly",
       "float sums[8][4] = {};",
       "float sums[8][4] = {}; if (thread == 77) return;",
       {divergence, unwritten}},
      {"KOffByOne", "k + 1 < K / 32", "k < K / 32", {bounds, hazard, unfinished}},
      {"FragmentSwapped", "\"r\"(a[1]), \"r\"(a[2])", "\"r\"(a[2]), \"r\"(a[1])", {}},
      {"NotTransposed", "x2.trans.", "x2.", {}},
      {"WrongColumns", "n * 8 + lane % 4 * 2", "n * 8 + lane % 4", {race, misaligned}},
      {"BlocksOverlap", "/ (N / 64) * 64, column0", "/ (N / 64) * 48, column0", {blocks}}}},
    {"row_norm.cu",
     launchRowNorm,
     {{"NoBarrierAfterParts", "__syncthreads(); // All parts are there.", "", {race, unwritten}},
      {"NoBarrierBeforeReuse", "__syncthreads(); // The previous sum was read.", "", {race}},
      {"OnlyTheWarpSynchronised", "__syncthreads(); // All parts are there.", "__syncwarp();", {race, unwritten}},
      {"HalfMask", "__shfl_xor_sync(0xffffffffu, v, o)", "__shfl_xor_sync(0x0000ffffu, v, o)", {divergence}},
      {"ShuffleInABranch",
       "v += __shfl_xor_sync(0xffffffffu, v, o);",
       "if (lane < 16) v += __shfl_xor_sync(0xffffffffu, v, o);",
       {divergence}},
      {"PartsTooFew", "parts[8]", "parts[7]", {bounds}},
      {"AllLanesStore", "if (lane == 0)\n", "", {race}},
      {"SumTooShort", "int o = 16;", "int o = 8;", {}},
      {"OnePast", "i < width; i += 256)\n    sum +=", "i <= width; i += 256)\n    sum +=", {bounds}},
      {"RowsUnguarded", "row >= rows", "row > rows", {bounds}},
      {"WeightsOffByOne", "w[i]", "w[i + 1]", {bounds}},
      {"RowsOverlap", "    y[row * width + i]", "    y[row * (width - 4) + i]", {blocks}},
      {"InPlaceBeforeUse", "    y[row * width + i]", "    ((float *)x)[(row * width + i) ^ 1]", {race}},
      {"BarrierInABranch",
       "__syncthreads(); // All parts are there.",
       "if (lane < 9) __syncthreads();",
       {misuse, divergence, unwritten}},
      {"WrongWarpCount",
       "__syncthreads(); // All parts are there.",
       "asm volatile(\"bar.sync 1, 288;\" ::: \"memory\");",
       {deadlock}},
      {"BarrierCountOfLanes",
       "__syncthreads(); // All parts are there.",
       "asm volatile(\"bar.sync 1, 250;\" ::: \"memory\");",
       {misuse}}}},
    {"paged_gather.cu",
     launchGather,
     {{"TokensUnguarded", "token >= tokens", "token > tokens + 2", {bounds, unwritten}},
      {"TableUnguarded", "token / pageRows]", "token / pageRows + 1]", {bounds, unwritten}},
      {"WrongPageSize", "token / pageRows]", "token / (pageRows / 2)]", {bounds}},
      {"UnwrittenSlot", "+ token % pageRows)", "+ (token + 9) % pageRows)", {unwritten}},
      {"OddOffset", "row + 2 * lane", "row + 1 + 2 * lane", {misaligned}},
      {"TokensShareARow", "out + token * words", "out + token / 2 * words", {race, blocks}},
      {"BlocksShareARow", "out + token * words", "out + (token & ~4) * words", {blocks}},
      {"AllLanes", "lane < 16", "lane < 32", {race, unwritten, bounds}},
      {"PointerOfTheHost",
       "const unsigned *row = pages +",
       "const unsigned *row = (const unsigned *)0x7f0012345600 +",
       {FaultKind::WildAccess}},
      {"IndexNotLoaded",
       "const int page = table[token / pageRows]",
       "const int page = token / pageRows",
       {unwritten}}}},
    {"split_reduction.cu",
     launchSplit,
     {{"NoFence", "__threadfence(); // The partial sum before the count.", "", {blocks}},
      {"FenceTooLate",
       "    __threadfence(); // The partial sum before the count.\n    last = atomicAdd(counter, 1u) == gridDim.x - 1;",
       "    last = atomicAdd(counter, 1u) == gridDim.x - 1; __threadfence();",
       {blocks}},
      {"OneBlockTooEarly", "gridDim.x - 1;", "gridDim.x - 2;", {blocks, unwritten}},
      {"CounterNotAtomic", "atomicAdd(counter, 1u)", "(*counter)++", {blocks}},
      {"CounterReadPlainly",
       "atomicAdd(counter, 1u) == gridDim.x - 1",
       "(atomicAdd(counter, 1u), *counter == gridDim.x)",
       {race, blocks}},
      {"NoBarrierAfterLast", "__syncthreads(); // Everybody knows who is last.", "", {race, unwritten}},
      {"NoBarrierAfterParts", "__syncthreads(); // All parts are there.", "", {race, unwritten}},
      {"NoBarrierAfterTotal", "__syncthreads(); // All parts of the total are there.", "", {race}},
      {"OneSlot", "partial[blockIdx.x] =", "partial[0] =", {blocks}},
      {"AllStoreTheTotal", "if (!last)\n    return;", "", {blocks, unwritten}},
      {"WaitsForBlocks",
       "    last = atomicAdd(counter, 1u) == gridDim.x - 1;",
       "    atomicAdd(counter, 1u); while (atomicAdd(counter, 0u) < gridDim.x) ; last = blockIdx.x == 0;",
       {budget}},
      {"SliceOverrun", "i < n;", "i < n + 128;", {bounds}}}},
};

// --- running them ------------------------------------------------------------------------------

std::string readText(const std::string &file) {
  std::ifstream in(std::string(FUSEC_SOURCE_DIR) + "/test/unit/virtual/kernels/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the kernel has no '" << from << "'";
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The original as entry "original" and each mutant under its name, in one text.
std::string allVariants(const MutatedKernel &kernel) {
  const std::string text = readText(kernel.file);
  auto variant = [](const std::string &body, const std::string &entry) {
    return "namespace v_" + entry + " {\n" + replaced(body, "KERNEL", entry) + "}\n";
  };
  std::string all = variant(text, "original");
  for (const Mutant &mutant : kernel.mutants)
    all += variant(replaced(text, mutant.from, mutant.to), mutant.name);
  return all;
}

struct Score {
  int caught = 0, total = 0;
};

class MutationTest : public testing::TestWithParam<MutatedKernel> {
protected:
  void SetUp() override {
    Result<codegen::Nvrtc> nvrtc = codegen::Nvrtc::load({});
    if (!nvrtc)
      GTEST_SKIP() << "needs NVRTC: " << nvrtc.status().message();
    ptx = cache()[GetParam().file];
    if (!ptx.empty())
      return;
    std::string log, text = allVariants(GetParam());
    Result<const codegen::CudaTarget *> target = codegen::cudaTargetByName("sm_80");
    ASSERT_TRUE(target);
    Result<codegen::NvrtcOutput> made =
        nvrtc->compile({.name = GetParam().file, .text = text, .target = *target, .ptxOnly = true}, &log);
    ASSERT_TRUE(made) << made.status().message() << log;
    ptx = cache()[GetParam().file] = made->ptx;
  }

  /// PTX of the kernels compiled so far.
  static std::map<std::string, std::string> &cache() {
    static std::map<std::string, std::string> texts;
    return texts;
  }

  static std::map<std::string, Score> &scores() {
    static std::map<std::string, Score> all;
    return all;
  }
  static void TearDownTestSuite() {
    Score sum;
    for (const auto &[group, score] : scores()) {
      std::printf("%-28s %3d of %3d caught\n", group.c_str(), score.caught, score.total);
      sum.caught += score.caught;
      sum.total += score.total;
    }
    std::printf("%-28s %3d of %3d caught\n", "all", sum.caught, sum.total);
  }

  /// Empty when the mutant was caught as it should be, else what happened.
  std::string miss(const Mutant &mutant, uint64_t seed) {
    VirtualRun run({.seed = seed, .asyncPolicy = AsyncPolicy::Random, .instructionBudget = 2000000});
    if (Status loaded = run.load(ptx); !loaded.ok())
      return loaded.message();
    auto [status, right] = GetParam().launch(run, mutant.name);
    if (mutant.kinds.empty())
      return !status.ok() ? status.message() : right ? "the values are right" : "";
    if (status.ok())
      return right ? "nothing was reported" : "only the values are wrong";
    std::optional<Fault> fault = run.gpu().lastFault();
    return fault && mutant.kinds.count(fault->kind) ? "" : status.message();
  }

  std::string ptx;
};

TEST_P(MutationTest, TheOriginalIsClean) {
  for (AsyncPolicy policy : {AsyncPolicy::Late, AsyncPolicy::AtIssue, AsyncPolicy::Random})
    for (uint64_t seed : {0, 1, 2, 3, 4}) {
      VirtualRun run({.seed = seed, .asyncPolicy = policy});
      ASSERT_TRUE(run.load(ptx).ok());
      auto [status, right] = GetParam().launch(run, "original");
      EXPECT_TRUE(status.ok()) << status.message() << ", seed " << seed;
      EXPECT_TRUE(right) << "seed " << seed;
    }
}

TEST_P(MutationTest, EveryBugIsFoundUnderEverySeed) {
  for (const Mutant &mutant : GetParam().mutants) {
    std::string group = mutant.kinds.empty() ? "wrong values" : std::string(faultKindName(*mutant.kinds.begin()));
    for (uint64_t seed : {0, 1, 2}) {
      std::string missed = miss(mutant, seed);
      EXPECT_EQ(missed, "") << mutant.name << ", seed " << seed;
      ++scores()[group].total;
      scores()[group].caught += missed.empty();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, MutationTest, testing::ValuesIn(mutatedKernels),
                         [](const auto &info) { return info.param.file.substr(0, info.param.file.find('.')); });

} // namespace
} // namespace fusec::virtualgpu
