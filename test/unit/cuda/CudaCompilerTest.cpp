//===- CudaCompilerTest.cpp - plans to the files of a CUDA target ----------===//
#include "codegen/cuda/CudaCompiler.h"

#include "codegen/cuda/KernelTable.h"
#include "ir/plan/PlanDialect.h"
#include "runtime/base/AtomicFile.h"
#include "test/unit/tools/TemporaryDirectory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::codegen;
using testing::HasSubstr;

namespace {

/// A plan whose one kernel copies `width` floats per program through as much shared memory.
std::string copyPlan(int64_t width, const std::string &condition = "") {
  const std::string w = std::to_string(width);
  const std::string rows = "!tile.buffer<[ragged(T), 262144], f32>";
  return "tile.kernel @copy_all grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[262144] by " + w + R"(>] {
    ^bb0(%x: )" +
         rows + ", %y: " + rows + R"():
      %t = tile.origin 0
      %i = tile.origin 1
      %zero = arith.constant 0 : index
      %step = arith.constant 64 : index
      %width = arith.constant )" +
         w + R"( : index
      %s = tile.scratch : <[)" +
         w + R"(], f32>
      scf.for %k = %zero to %width step %step {
        %j = arith.addi %i, %k : index
        %v = tile.load %x[%t, %j] map affine_map<(d0, d1) -> (d0, d1)> : )" +
         rows + R"( -> vector<64xf32>
        tile.store %v, %s[%k] map affine_map<(d0) -> (d0)> : vector<64xf32>, <[)" +
         w + R"(], f32>
      }
      scf.for %k = %zero to %width step %step {
        %j = arith.addi %i, %k : index
        %v = tile.load %s[%k] map affine_map<(d0) -> (d0)> : <[)" +
         w + R"(], f32> -> vector<64xf32>
        tile.store %v, %y[%t, %j] map affine_map<(d0, d1) -> (d0, d1)> : vector<64xf32>, )" +
         rows + R"(
      }
      tile.return
    }
    plan.kernel @copy [#plan.variant<@copy_all)" +
         condition + R"(>]
    plan.program @step page 64 {
      %x = plan.buffer input "x" : )" +
         rows + R"(
      %y = plan.buffer output "y" slot 0 : )" +
         rows + R"(
      plan.launch @copy(%x, %y) "blk.0.copy" : )" +
         rows + ", " + rows + R"(
    })";
}

class CudaCompiler : public testing::Test {
protected:
  CudaCompiler() {
    context.loadDialect<plan::PlanDialect, tile::TileDialect, mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                        mlir::math::MathDialect, mlir::vector::VectorDialect>();
    options.emit.symbols = {"T"};
    options.compiler.nvrtc.library = FUSEC_FAKE_NVRTC;
  }

  mlir::ModuleOp plan(const std::string &text) {
    modules.push_back(mlir::parseSourceString<mlir::ModuleOp>(text, &context));
    EXPECT_TRUE(modules.back()) << text;
    return *modules.back();
  }

  static int64_t tileOf(mlir::ModuleOp module) {
    auto kernel = *module.getOps<tile::KernelOp>().begin();
    return mlir::cast<tile::AxisAttr>(kernel.getGrid()[1]).getTile();
  }

  Result<CudaKernels> compile(llvm::ArrayRef<mlir::ModuleOp> plans) {
    auto planOf = [&](size_t rung) -> Result<mlir::ModuleOp> {
      EXPECT_EQ(rung, asked++) << "each once, in order";
      return plans[rung];
    };
    asked = 0;
    return compileCuda({plans.size(), planOf}, **cudaTargetByName("sm_80"), folder.path(), options);
  }

  mlir::MLIRContext context;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  test::TemporaryDirectory folder;
  CudaOptions options;
  size_t asked = 0; ///< Rungs of the ladder.
};

/// sm_80 has 163 KiB of shared memory per block: 65536 floats are too many, 16384 are not.
constexpr int64_t tooWide = 65536, fits = 16384;

TEST_F(CudaCompiler, WritesTheFilesOfEachKernel) {
  auto compiled = compile({plan(copyPlan(fits))});
  ASSERT_TRUE(compiled) << compiled.status().message();
  ASSERT_EQ(compiled->kernels.size(), 1u);
  const CompiledKernel &kernel = compiled->kernels.front();
  EXPECT_EQ(kernel.entry, "copy_all");
  EXPECT_EQ(kernel.source, "kernels/sm_80/copy_all.cu");
  EXPECT_EQ(kernel.ptx, "kernels/sm_80/copy_all.ptx");
  EXPECT_EQ(kernel.image, "kernels/sm_80/copy_all.cubin");
  EXPECT_EQ(kernel.threads % 32, 0);
  EXPECT_GE(kernel.sharedBytes, fits * 4);
  EXPECT_THAT(*readWholeFile(folder.path() / "copy_all.cu"), HasSubstr("blk.*.copy"));
  EXPECT_TRUE(readWholeFile(folder.path() / "copy_all.cubin"));
  const KernelTable &table = compiled->table;
  EXPECT_EQ(table.target, "sm_80");
  EXPECT_EQ(table.rows.at(0).entry, "copy_all");
  EXPECT_EQ(table.rows.at(0).dynamicShared, kernel.sharedBytes);
  EXPECT_EQ(table.rows.at(0).rung, 0);
  EXPECT_EQ(asked, 1u);
}

TEST_F(CudaCompiler, TakesAKernelThatDoesNotFitFromTheNextPlan) {
  mlir::ModuleOp first = plan(copyPlan(tooWide));
  auto compiled = compile({first, plan(copyPlan(fits)), plan(copyPlan(fits / 2))});
  ASSERT_TRUE(compiled) << compiled.status().message();
  // The plan that the manifest is written from has the kernel, and with it the grid, of the second one.
  EXPECT_EQ(tileOf(first), fits);
  EXPECT_GE(compiled->kernels.front().sharedBytes, fits * 4);
  EXPECT_LT(compiled->kernels.front().sharedBytes, tooWide * 4);
  EXPECT_EQ(compiled->table.rows.at(0).rung, 1);
  EXPECT_EQ(asked, 2u) << "the third plan is not needed";
}

TEST_F(CudaCompiler, AKernelForOtherStepsIsNoSubstitute) {
  auto compiled = compile({plan(copyPlan(tooWide)), plan(copyPlan(fits, " when T upto 4"))});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.status().code(), ErrorCode::ResourceExhausted);
  EXPECT_THAT(compiled.status().message(), HasSubstr("'copy_all'"));
  EXPECT_THAT(compiled.status().message(), HasSubstr("166912"));
}

} // namespace
