//===- SeededBugTest.cpp - bugs in kernels that the host front end has to find ----===//
//
// A row changes one place of an emitted text or of the device library. Clang has
// to refuse it, or the launch has to end with a fault of the row's kind, or, for
// the last kind, the results have to differ. The table by kind is printed.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/FixtureRun.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

namespace fusec::hostcuda {
namespace {

/// How a bug shows; `sign` is in the message.
struct Kind {
  const char *name, *sign;
};
constexpr Kind warning{"compiler warning", "[-Werror"}, shift{"shift out of range", "shift out of range"},
    overflow{"signed overflow", "signed overflow"}, division{"division", "division"},
    misaligned{"misaligned access", "misaligned access"},
    array{"index past a local array", "array index out of bounds"},
    outOfBounds{"outside shared or device memory", "access out of bounds"},
    uninitialised{"uninitialised shared memory", "uninitialised read"}, lanes{"lanes or threads missing", "deadlock"},
    divergent{"lanes or threads missing", "divergent warp instruction"},
    inFlight{"copy nobody waited for", "uninitialised read"},
    productInFlight{"wgmma nobody waited for", "exit with products in flight"},
    values{"uninitialised register (by its value)", ""};

struct Bug {
  const char *name, *fixture;
  const char *header; ///< Of the library; null: the kernel's text.
  const char *from, *to;
  Kind kind;
  bool usual = true; ///< Not only with FUSEC_FULL.
};

const Bug bugs[] = {
    // What the compiler says.
    {"UnsignedBound", "norm.cu", nullptr, "if (program >= T)", "if (blockIdx.x >= T)", warning},
    {"UnusedResult", "norm.cu", nullptr, "return sum + inputTile * inputTile;",
     "sum + inputTile * inputTile; return sum;", warning},
    {"NotAlwaysWritten", "append.cu", nullptr, "const int token = program / 3;",
     "int token; if (T > 9) token = program / 3;", warning},
    {"NoReturn", "append.cu", "scalar.cuh", "{ return index >= 0 && index < extent; }",
     "{ if (index < extent) return index >= 0; }", warning},
    {"ConstantIndex", "gemv.cu", "scalar.cuh", "return value;\n}\n\n// a * b",
     "T more[1] = {value}; return more[1];\n}\n\n// a * b", warning, false},
    // Undefined behaviour.
    {"ShiftByTwice", "gemv.cu", "panel.cuh", ".value() * width;", ".value() * 2 * width;", shift},
    {"ShiftByNegative", "append.cu", nullptr, "const int part = program % 3;",
     "const int part = program % 3 >> (token - 2);", shift},
    {"RowsPast2G", "norm.cu", nullptr, "input[token * 576 + i + col]", "input[(token + 4000000) * 576 + i + col]",
     overflow},
    {"SumPast2G", "append.cu", nullptr, "inside(id2, C)", "inside(id2 + 2147483600, C)", overflow},
    {"DivideByNone", "append.cu", nullptr, "program / 3", "program / (T - 4)", division},
    {"FloatsOffByOne", "product.cu", nullptr, "T - 1) * 512 + k)", "T - 1) * 512 + k + 1)", misaligned},
    {"CopyOffByOne", "attention_tile.sm_80.cu", nullptr, "&keysPage[(head * 64 + row) * 64 + col]",
     "&keysPage[(head * 64 + row) * 64 + col + 1]", misaligned, false},
    {"LanesTooFew", "norm.cu", "reduce.cuh", "Carrier lanes[left / 32];", "Carrier lanes[left / 32 - 1];", array},
    {"OneRegisterMore", "append.cu", "tile.cuh", "for (int i = 0; i < tile.count; ++i)",
     "for (int i = 0; i <= tile.count; ++i)", array},
    {"OneResultMore", "norm.cu", "tile.cuh", "for (int i = 0; i < result.count; ++i)\n    result.r[i] = f(element",
     "for (int i = 0; i <= result.count; ++i)\n    result.r[i] = f(element", array},
    // Memory.
    {"LastLoadPast", "norm.cu", nullptr, "i < 576; i += 64", "i <= 576; i += 64", outOfBounds},
    {"NoGuard", "append.cu", nullptr, "if (inside(id, S) && inside(id2, C)) {", "if (inside(id2, C)) {", outOfBounds},
    {"GridPast", "norm.cu", nullptr, "if (program >= T)", "if (program > T)", outOfBounds},
    {"SharedPast", "norm.cu", nullptr, "exchange(shared)", "exchange(shared + 256)", outOfBounds},
    {"WholeAreaTwice", "norm.cu", "layout.cuh", "memory + half * (bytes / 2)", "memory + half * bytes", outOfBounds},
    {"RowPastPanel", "gemv.cu", nullptr, "weights.value<16>(column + col, k, step)",
     "weights.value<16>(column + col + 16, k, step)", outOfBounds, false},
    {"NoBarrierInFold", "norm.cu", "reduce.cuh", "    barrier<L>();\n", "", uninitialised},
    {"NoBarrierForRows", "product.cu", nullptr, "scaleRows[row] = value; });\n  barrier<L>();",
     "scaleRows[row] = value; });", uninitialised},
    {"StoresHalf", "norm.cu", "reduce.cuh", "threadIdx.x) < left)", "threadIdx.x) < left / 2)", uninitialised},
    // Threads.
    {"OneLaneLeaves", "norm.cu", "reduce.cuh", "      const bool isUpper = threadIdx.x & n;",
     "      if (threadIdx.x == 5)\n        return;\n      const bool isUpper = threadIdx.x & n;", lanes},
    {"FoldInABranch", "norm.cu", "reduce.cuh", "      const bool isUpper = threadIdx.x & n;",
     "      const bool isUpper = threadIdx.x & n;\n      if (isUpper && n == 4)\n        __syncwarp();", divergent},
    {"NoWait", "attention_tile.sm_80.cu", "shared_tile.cuh", "    waitAsync<Stages - 1>();", "", inFlight},
    {"WaitForTooFew", "attention_tile.sm_80.cu", "shared_tile.cuh", "    waitAsync<Stages - 1>();",
     "    waitAsync<Stages>();", inFlight, false},
    // wgmma and its operands.
    {"NoWaitForProducts", "attention_tile.sm_90a.cu", "mma_rows_warpgroup.cuh", "  wgmmaWait<pending>();", "",
     productInFlight},
    {"NextSlabTooFar", "attention_tile.sm_90a.cu", "mma_rows_warpgroup.cuh", "slabBytes, 1024, true",
     "slabBytes, 2048, true", uninitialised, false},
    // Registers that nobody wrote hold NaN.
    {"NeverWritten", "norm.cu", nullptr, "const float scale = 1.0f / sqrtf(total / 576.0f + 1e-05f);",
     "float scale; if (total < 0) scale = 1.0f / sqrtf(total / 576.0f + 1e-05f);", values},
    {"TileNotFilled", "norm.cu", nullptr, "auto sum = splat<float, 1, 64, L>(0.0f);", "Tile<float, 1, 64, L> sum;",
     values},
};

std::string changed(std::string text, const Bug &bug) {
  const size_t at = text.find(bug.from);
  EXPECT_NE(at, std::string::npos) << bug.name << ": there is no '" << bug.from << "'";
  return at == std::string::npos ? text : text.replace(at, std::string(bug.from).size(), bug.to);
}

/// The fixture with the bug.
Status launch(FixtureRun &run, const Bug &bug) {
  const std::string text = textOf(fixtureOf(bug.fixture));
  if (!bug.header)
    return run.launch(changed(text, bug), codegen::deviceLibrary());
  std::vector<codegen::CudaHeader> headers(codegen::deviceLibrary().begin(), codegen::deviceLibrary().end());
  std::string changedHeader;
  for (codegen::CudaHeader &header : headers)
    if (header.name == bug.header)
      header.text = changedHeader = changed(std::string(header.text), bug);
  return run.launch(text, headers);
}

class SeededBugs : public testing::Test {
protected:
  void SetUp() override {
    if (std::string why = whyNoHostCuda(); !why.empty())
      GTEST_SKIP() << why;
  }
};

/// The texts as they are: no warning, no fault, whichever way threads take turns, and the same bits.
TEST_F(SeededBugs, NoneInTheTexts) {
  for (const char *file :
       {"norm.cu", "gemv.cu", "append.cu", "product.cu", "attention_tile.sm_80.cu", "attention_tile.sm_90a.cu"}) {
    SCOPED_TRACE(file);
    const Fixture &fixture = fixtureOf(file);
    FixtureRun upwards(fixture), downwards(fixture);
    Status status = upwards.launch(textOf(fixture), codegen::deviceLibrary());
    EXPECT_TRUE(status.ok()) << status.message();
    status = downwards.launch(textOf(fixture), codegen::deviceLibrary(), 1);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(upwards.memory(), downwards.memory());
  }
}

/// What mma and wgmma have in common: products of one step are added one after the other, in both.
TEST_F(SeededBugs, BothTargetsGiveTheSameBits) {
  FixtureRun mma(fixtureOf("attention_tile.sm_80.cu")), wgmma(fixtureOf("attention_tile.sm_90a.cu"));
  ASSERT_TRUE(mma.launch(textOf(fixtureOf("attention_tile.sm_80.cu")), codegen::deviceLibrary()).ok());
  ASSERT_TRUE(wgmma.launch(textOf(fixtureOf("attention_tile.sm_90a.cu")), codegen::deviceLibrary()).ok());
  EXPECT_EQ(mma.memory(), wgmma.memory());
}

TEST_F(SeededBugs, AreFound) {
  struct Score {
    int caught = 0, total = 0;
  };
  std::map<std::string, Score> scores;
  for (const Bug &bug : bugs) {
    if (!bug.usual && !std::getenv("FUSEC_FULL"))
      continue;
    const Fixture &fixture = fixtureOf(bug.fixture);
    FixtureRun run(fixture);
    const Status status = launch(run, bug);
    bool isCaught = !status.ok() && status.message().find(bug.kind.sign) != std::string::npos;
    if (!*bug.kind.sign) {
      FixtureRun right(fixture);
      isCaught =
          status.ok() && right.launch(textOf(fixture), codegen::deviceLibrary()).ok() && right.memory() != run.memory();
    }
    EXPECT_TRUE(isCaught) << bug.name << ": " << (status.ok() ? "nothing was reported" : status.message());
    Score &score = scores[bug.kind.name];
    score.caught += isCaught;
    ++score.total;
    if (std::getenv("FUSEC_VERBOSE"))
      std::printf("%s: %s\n", bug.name, status.message().c_str());
  }
  Score all;
  for (auto &[kind, score] : scores) {
    std::printf("%-40s %2d of %2d caught\n", kind.c_str(), score.caught, score.total);
    all.caught += score.caught;
    all.total += score.total;
  }
  std::printf("%-40s %2d of %2d caught\n", "all", all.caught, all.total);
}

} // namespace
} // namespace fusec::hostcuda
