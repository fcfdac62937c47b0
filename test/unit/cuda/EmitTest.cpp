//===- EmitTest.cpp - the text of kernels --------------------------------------===//
//
// texts/<name>.mlir printed is texts/<name>.cu, byte for byte: read those files to
// see what the emitter writes. FUSEC_UPDATE_TEXTS=1 writes them anew.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/EmitKernel.h"
#include "ir/InitAllDialects.h"
#include "runtime/schema/PanelLayout.h"
#include "test/unit/codegen/KernelTexts.h"
#include "test/unit/cuda/CudaTestSupport.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

#include <cctype>

using namespace fusec;
using namespace fusec::codegen;
using ::fusec::test::readFixture;

namespace {

CudaEmitOptions options() {
  CudaEmitOptions options;
  options.symbols = {"T", "S", "B", "R", "C"};
  return options;
}

/// Prints the one kernel of `text`.
Result<CudaKernelText> emit(const std::string &text, const CudaEmitOptions &options = ::options()) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return invalidArgument("the kernel text does not parse");
  return emitCudaKernel(*module->getOps<tile::KernelOp>().begin(), options);
}

/// A kernel that maps 16 lanes of x to y by `body`.
std::string mapText(const std::string &body, const std::string &schedule = "") {
  return "tile.kernel @map16 grid [#tile.axis<[64] by 16>] " + schedule +
         "{\n^bb0(%in: !tile.buffer<[64], f32>, %out: !tile.buffer<[64], f32>):\n  %i = tile.origin 0\n"
         "  %x = tile.load %in[%i] map affine_map<(i) -> (i)> : !tile.buffer<[64], f32> -> vector<16xf32>\n" +
         body +
         "\n  tile.store %y, %out[%i] map affine_map<(i) -> (i)> : vector<16xf32>, !tile.buffer<[64], f32>\n"
         "  tile.return\n}\n";
}

std::string emitted(const std::string &text) {
  Result<CudaKernelText> kernel = emit(text);
  EXPECT_TRUE(kernel) << kernel.status().message();
  return kernel ? kernel->text : "";
}

} // namespace

class EmitText : public testing::TestWithParam<const char *> {};

TEST_P(EmitText, IsThatOfTheFile) {
  const std::string name = GetParam();
  Result<CudaKernelText> kernel = emit(readFixture("texts/" + name + ".mlir"));
  ASSERT_TRUE(kernel) << kernel.status().message();
  if (std::getenv("FUSEC_UPDATE_TEXTS"))
    std::ofstream(std::string(FUSEC_SOURCE_DIR) + "/test/unit/cuda/texts/" + name + ".cu") << kernel->text;
  EXPECT_EQ(kernel->text, readFixture("texts/" + name + ".cu"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, EmitText, testing::Values("norm", "gemv", "append", "attention", "product"),
                         [](const auto &param) { return std::string(param.param); });

// The same product, for steps that want the best id of each row: texts/product_best.cu.
TEST(EmitBest, FoldsWhatWouldBeStored) {
  CudaEmitOptions best = options();
  best.scores = 4;
  Result<CudaKernelText> kernel = emit(readFixture("texts/product.mlir"), best);
  ASSERT_TRUE(kernel) << kernel.status().message();
  if (std::getenv("FUSEC_UPDATE_TEXTS"))
    std::ofstream(std::string(FUSEC_SOURCE_DIR) + "/test/unit/cuda/texts/product_best.cu") << kernel->text;
  EXPECT_EQ(kernel->text, readFixture("texts/product_best.cu"));
  EXPECT_EQ(kernel->entry, "gate_up_best");
}

TEST(EmitBest, IsForProductsOfFewTokens) {
  auto message = [](const char *name, unsigned scores) {
    CudaEmitOptions best = options();
    best.scores = scores;
    Result<CudaKernelText> kernel = emit(readFixture(std::string("texts/") + name + ".mlir"), best);
    return kernel ? std::string("emitted") : kernel.status().message();
  };
  EXPECT_THAT(message("norm", 2), testing::HasSubstr("behind a product of few tokens only"));
  EXPECT_THAT(message("product", 0), testing::HasSubstr("scores are stored, and only stored"));
}

TEST(Emit, SaysWhatALaunchNeeds) {
  Result<CudaKernelText> norm = emit(readFixture("texts/norm.mlir"));
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->entry, "norm_rows");
  EXPECT_EQ(norm->threads, 64);
  EXPECT_EQ(norm->sharedBytes, 2 * 64 * 4); // one float of each thread, twice
  EXPECT_EQ(norm->family, "norm");
  Result<CudaKernelText> attention = emit(readFixture("texts/attention.mlir"));
  ASSERT_TRUE(attention);
  EXPECT_EQ(attention->sharedBytes, 3 * 64 * 4 + 2 * (3 * 64 * 4)); // scratch, and a float of each lane and row, twice
  EXPECT_EQ(attention->family, "attention");
  EXPECT_EQ(emit(gemvText(StorageType::Q8_0, 64, 64, 64, 16))->family, "gemv");
  EXPECT_EQ(emit(gemmText(StorageType::Q8_0, 64, 64, 12, 32, 8))->family, "gemm");
}

TEST(Emit, TheScheduleChoosesTheThreads) {
  const std::string body = "%y = arith.addf %x, %x : vector<16xf32>";
  EXPECT_EQ(emit(mapText(body))->threads, 32);
  EXPECT_EQ(emit(mapText(body, "attributes {schedule = {threads = 128 : i64}} "))->threads, 128);
}

TEST(Emit, ChainsAreOneExpression) {
  std::string text = emitted(mapText(R"(
  %one = arith.constant dense<1.0> : vector<16xf32>
  %n = arith.negf %x : vector<16xf32>
  %e = math.exp %n : vector<16xf32>
  %d = arith.addf %e, %one : vector<16xf32>
  %y = arith.divf %x, %d : vector<16xf32>)"));
  EXPECT_NE(text.find("return vectorTile / (expf(-vectorTile) + 1.0f);"), std::string::npos) << text;
}

TEST(Emit, ParenthesesKeepTheOrderOfRoundings) {
  std::string text = emitted(mapText(R"(
  %a = arith.subf %x, %x : vector<16xf32>
  %b = arith.addf %x, %a : vector<16xf32>
  %c = arith.mulf %x, %b : vector<16xf32>
  %y = arith.divf %x, %c : vector<16xf32>)"));
  EXPECT_NE(text.find("vectorTile / (vectorTile * (vectorTile + (vectorTile - vectorTile)))"), std::string::npos)
      << text;
}

TEST(Emit, ConstantsReadBackExactly) {
  std::string text = emitted(mapText(R"(
  %a = arith.constant dense<0x3DCCCCCD> : vector<16xf32>
  %b = arith.constant dense<0xFF800000> : vector<16xf32>
  %c = arith.constant dense<1.17549435E-38> : vector<16xf32>
  %p = arith.addf %x, %a : vector<16xf32>
  %q = arith.maximumf %p, %b : vector<16xf32>
  %y = arith.mulf %q, %c : vector<16xf32>)"));
  EXPECT_NE(text.find("maximum(vectorTile + 0.1f, -infinity<float>()) * 1.1754944e-38f"), std::string::npos) << text;
}

TEST(Emit, WaitsBetweenAWriteAndARead) {
  const std::string text = R"(
tile.kernel @turn grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4, 16], f32>, %y: !tile.buffer<[4, 16], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %s = tile.scratch : !tile.buffer<[1, 16], f32>
  scf.for %i = %c0 to %c3 step %c1 {
    %v = tile.load %x[%t, %c0] map affine_map<(t, i) -> (t, i)> : !tile.buffer<[4, 16], f32> -> vector<1x16xf32>
    tile.store %v, %s[%c0, %c0] map affine_map<(t, i) -> (t, i)> : vector<1x16xf32>, !tile.buffer<[1, 16], f32>
    %w = tile.load %s[%c0, %c0] map affine_map<(t, i) -> (t, 15 - i)> : !tile.buffer<[1, 16], f32> -> vector<1x16xf32>
    tile.store %w, %y[%t, %c0] map affine_map<(t, i) -> (t, i)> : vector<1x16xf32>, !tile.buffer<[4, 16], f32>
  }
  tile.return
})";
  // Before the read of what was just written, and before the next iteration writes what others still read.
  std::string printed = emitted(text);
  size_t write = printed.find("scratch[col] = value"), read = printed.find("return scratch["),
         first = printed.find("barrier");
  ASSERT_NE(first, std::string::npos);
  EXPECT_LT(first, write);
  size_t second = printed.find("barrier", first + 1);
  EXPECT_LT(write, second);
  EXPECT_LT(second, read);
  EXPECT_EQ(printed.find("barrier", second + 1), std::string::npos) << printed;
}

/// Stores that lie apart in the last dimension need not wait for each other; those that touch do.
TEST(Emit, StoresApartDoNotWait) {
  auto storeAt = [](const std::string &second) {
    return R"(
tile.kernel @parts grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4, 16], f32>, %y: !tile.buffer<[4, 32], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant )" +
           second + R"( : index
  %v = tile.load %x[%t, %c0] map affine_map<(t, i) -> (t, i)> : !tile.buffer<[4, 16], f32> -> vector<16xf32>
  tile.store %v, %y[%t, %c0] map affine_map<(t, i) -> (t, i)> : vector<16xf32>, !tile.buffer<[4, 32], f32>
  tile.store %v, %y[%t, %c1] map affine_map<(t, i) -> (t, i)> : vector<16xf32>, !tile.buffer<[4, 32], f32>
  tile.return
})";
  };
  EXPECT_EQ(emitted(storeAt("16")).find("barrier"), std::string::npos);
  EXPECT_NE(emitted(storeAt("15")).find("barrier"), std::string::npos);
}

TEST(Emit, DifferencesOfNegatives) {
  const std::string negatives =
      "%n = arith.negf %x : vector<16xf32>\n  %c = arith.constant dense<2.0> : vector<16xf32>\n"
      "  %m = arith.mulf %x, %c : vector<16xf32>\n  %k = arith.negf %m : vector<16xf32>\n  ";
  const std::string text = emitted(mapText(negatives + "%y = arith.subf %n, %k : vector<16xf32>"));
  EXPECT_NE(text.find("(vectorTile * 2.0f) - vectorTile"), std::string::npos) << text;
}

TEST(Emit, ErrorsNameKernelAndReason) {
  EXPECT_EQ(emit(mapText("%y = math.cbrt %x : vector<16xf32>")).status().message(),
            "kernel 'map16', math.cbrt: has no CUDA lowering");
  CudaEmitOptions without = options();
  without.symbols = {"S"};
  EXPECT_EQ(emit(readFixture("texts/norm.mlir"), without).status().message(),
            "kernel 'norm_rows', tile.kernel: unknown size symbol 'T'");
  Result<CudaKernelText> large = emit(gemmText(StorageType::F32, 64, 2048, 4, 32, 8));
  EXPECT_EQ(large.status().code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(large.status().message(),
            "kernel 'gemm' needs 262144 bytes of shared memory, a block of the target has 166912");
}

// The device library has its own table of formats: kernels include nothing of fusec's.
TEST(Emit, FormatsAreThoseOfThePacker) {
  std::string_view header;
  for (const CudaHeader &file : deviceLibrary())
    if (file.name == "panel.cuh")
      header = file.text;
  auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
  for (const PanelFormat &f : panelFormats) {
    if (f.bits == 0)
      continue;
    std::string name(info(f.type).name);
    for (char &c : name)
      c = static_cast<char>(std::toupper(c));
    std::string row = "using " + name + " = BlockFormat<" + std::to_string(f.bits) + ", " + flag(f.isSigned) + ", " +
                      std::to_string(f.offset) + ", " + flag(f.hasMinimum) + ", " + flag(f.hasSubscales) + ", " +
                      std::to_string(f.group) + ", " + std::to_string(f.superElements) + ">;";
    EXPECT_NE(header.find(row), std::string_view::npos) << row;
  }
}

// Every format for the oldest target, one for each target (all with FUSEC_FULL), and no warning.
TEST(Emit, ProductsOfEveryFormatCompile) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  for (const CudaTarget &target : cudaTargets())
    for (const StorageTypeInfo &type : weightTypes) {
      bool isSample = &target == cudaTargets().data() || type.type == StorageType::Q5_K;
      if (!nvrtc->supports(target) || (!isSample && !std::getenv("FUSEC_FULL")))
        continue;
      CudaKernelText kernel = *emit(gemvText(type.type, 64, 512, 64, 16));
      Result<NvrtcOutput> output = nvrtc->compile(
          {.name = "gemv.cu", .text = kernel.text, .target = &target, .headers = deviceLibrary(), .ptxOnly = true});
      ASSERT_TRUE(output) << output.status().message();
      EXPECT_EQ(output->log.find("warning"), std::string::npos) << output->log;
    }
}
