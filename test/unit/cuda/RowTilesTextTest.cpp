//===- RowTilesTextTest.cpp - the text of attention on tensor cores -------------===//
//
// texts/attention_tile.mlir is the kernel of SmolLM2's prompts. Printed for a
// target it is texts/attention_tile.<target>.cu, and docs/cuda/reading-attention.md
// quotes that. FUSEC_UPDATE_TEXTS=1 writes the texts anew; the quotations are then
// to be brought up to date by hand, where a reader sees what they say.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/EmitKernel.h"
#include "ir/InitAllDialects.h"
#include "test/unit/cuda/CudaTestSupport.h"

#include "mlir/Parser/Parser.h"

#include <sstream>

using namespace fusec;
using namespace fusec::codegen;
using ::fusec::test::readFixture;

namespace {

Result<CudaKernelText> emitFor(std::string_view targetName, int64_t sharedBytes = 0,
                               const std::string &text = readFixture("texts/attention_tile.mlir"),
                               KvLayout kvLayout = KvLayout::Paged) {
  FUSEC_ASSIGN_OR_RETURN(const CudaTarget *target, cudaTargetByName(targetName));
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return invalidArgument("the kernel text does not parse");
  CudaEmitOptions options;
  options.symbols = {"T", "S", "B", "R", "C", "W"};
  options.pageStride = 1474560;
  options.kvLayout = kvLayout;
  options.hasWarpgroupProducts = target->has(CudaFeature::Wgmma);
  options.sharedBytesPerBlock = sharedBytes ? sharedBytes : target->sharedPerBlock;
  options.bufferNames = {"query_tiles", "positions", "", "", "", "sequences", "", "block_table", "", "", ""};
  options.implements = {"blk.0.attention", "blk.1.attention"};
  return emitCudaKernel(*module->getOps<tile::KernelOp>().begin(), options);
}

std::string fileOf(const std::string &target) { return "texts/attention_tile." + target + ".cu"; }

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

/// The fenced blocks of C++ in a document.
std::vector<std::vector<std::string>> quotationsIn(const std::string &document) {
  std::vector<std::vector<std::string>> blocks;
  bool isInside = false;
  for (const std::string &line : linesOf(document)) {
    if (line.starts_with("```")) {
      isInside = !isInside && line == "```cpp";
      if (isInside)
        blocks.emplace_back();
    } else if (isInside) {
      blocks.back().push_back(line);
    }
  }
  return blocks;
}

} // namespace

class RowTilesText : public testing::TestWithParam<const char *> {};

TEST_P(RowTilesText, IsThatOfTheFile) {
  const std::string target = GetParam();
  Result<CudaKernelText> kernel = emitFor(target);
  ASSERT_TRUE(kernel) << kernel.status().message();
  if (std::getenv("FUSEC_UPDATE_TEXTS"))
    std::ofstream(std::string(FUSEC_SOURCE_DIR) + "/test/unit/cuda/" + fileOf(target)) << kernel->text;
  EXPECT_EQ(kernel->text, readFixture(fileOf(target)));
  EXPECT_EQ(kernel->threads, 128);
  // Stages of keys and values, sums of all splits, what folds bounds.
  EXPECT_EQ(kernel->sharedBytes, 2 * 2 * 64 * 64 * 2 + 64 * 64 * 4 + 2 * 64 * 4);
  EXPECT_EQ(kernel->family, "attention");
}
INSTANTIATE_TEST_SUITE_P(Targets, RowTilesText, testing::Values("sm_80", "sm_90a"),
                         [](const auto &param) { return std::string(param.param); });

/// Every line of a quotation stands in the text, in its order; "..." stands for what is left out.
TEST(RowTilesGuide, TheGuideQuotesIt) {
  const std::vector<std::string> text = linesOf(readFixture(fileOf("sm_80")));
  const auto quotations = quotationsIn(readFixture("../../../docs/cuda/reading-attention.md"));
  EXPECT_GE(quotations.size(), 4u);
  for (const std::vector<std::string> &quotation : quotations) {
    size_t at = 0;
    for (const std::string &line : quotation) {
      if (line.empty() || line.find("...") != line.npos)
        continue;
      while (at < text.size() && text[at] != line)
        ++at;
      ASSERT_LT(at, text.size()) << "the emitter does not write, here: " << line;
    }
  }
}

/// Targets differ in the product alone: the guide quotes one of them.
TEST(RowTilesGuide, TargetsDifferInTheProduct) {
  const std::vector<std::string> a = linesOf(readFixture(fileOf("sm_80"))), b = linesOf(readFixture(fileOf("sm_90a")));
  ASSERT_EQ(a.size(), b.size());
  int different = 0;
  for (size_t i = 0; i < a.size(); ++i)
    different += a[i] != b[i];
  EXPECT_EQ(different, 3); // the header's name and two products
}

/// In the contiguous layout the first entry of a row is all that is read of the table; pages are counted from there.
TEST(RowTilesGuide, ContiguousPagesAreCounted) {
  const std::string fixture = readFixture("texts/attention_tile.mlir");
  Result<CudaKernelText> kernel = emitFor("sm_80", 0, fixture, KvLayout::Contiguous);
  ASSERT_TRUE(kernel) << kernel.status().message();
  const std::string lookup = "const int firstPage = block_table[clamped(sequence, S - 1) * B];\n";
  const size_t at = kernel->text.find(lookup);
  ASSERT_NE(at, kernel->text.npos) << kernel->text;
  EXPECT_EQ(kernel->text.find("block_table[", at + lookup.size()), kernel->text.npos);
  for (const char *page : {"page(keys, firstPage + smaller(", "page(values, firstPage + smaller("})
    EXPECT_NE(kernel->text.find(page), kernel->text.npos) << page;
}

/// Stages give way to what a target has; what does not fit at all is said with both numbers.
TEST(RowTilesGuide, SharedMemoryDecidesTheStages) {
  for (bool isParked : {true, false}) {
    Result<CudaKernelText> one = emitFor("sm_80", (isParked ? 36 : 20) << 10);
    ASSERT_TRUE(one) << one.status().message();
    EXPECT_NE(one->text.find("pipelined<1, Rows>"), std::string::npos);
    EXPECT_EQ(one->text.find("Parked<") != std::string::npos, isParked);
    EXPECT_EQ(one->sharedBytes, 2 * 64 * 64 * 2 + isParked * 64 * 64 * 4 + 2 * 64 * 4);
  }
  EXPECT_EQ(emitFor("sm_80", 10 << 10).status().message(),
            "kernel 'attention_tile' needs 16896 bytes of shared memory, a block of the target has 10240");
}

/// Values that are computed go through the same function as loads; rows that are zero are so before the computation.
TEST(RowTilesGuide, ComputedOperandsAreFilledElementByElement) {
  std::string text = readFixture("texts/attention_tile.mlir");
  const std::string product = "tile.dot %85, %92,", types = " : vector<64x64xf32>\n      ";
  const size_t at = text.find("%93 = " + product);
  ASSERT_NE(at, text.npos);
  text.replace(at, 6 + product.size(),
               "%ones = arith.constant dense<1.0>" + types + "%more = arith.addf %92, %ones" + types +
                   "%93 = tile.dot %85, %more,");
  Result<CudaKernelText> kernel = emitFor("sm_80", 0, text);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_NE(kernel->text.find("fillEach<Bfloat, 128>(valuesOf(stage), [=](int row, int col) {\n"), std::string::npos);
  EXPECT_NE(kernel->text.find("= row < filled ? valuesPage[(head * 64 + row) * 64 + col] : 0.0f;\n"), std::string::npos)
      << kernel->text;
  EXPECT_NE(kernel->text.find("return valuesValue + 1.0f;"), std::string::npos) << kernel->text;
}
