//===- MutantTest.cpp - waits and barriers that are missing are noticed ----------===//
//
// Each row takes one line out of the device library. Under some schedule the
// device has to report it, or the result has to differ.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cuda/mma/PagedAttentionCase.h"
#include "test/unit/cuda/mma/WeightProductCase.h"

#include <cstring>

using namespace fusec;
using namespace fusec::test;

namespace {

/// `run` on the whole and on the changed library, under several schedules.
template <class Case, class Type, class Run>
void expectNoticed(const codegen::Nvrtc &nvrtc, const std::string &target, const Type &type,
                   std::span<const Mutation> mutants, Run run) {
  std::vector<float> whole;
  {
    Case original(nvrtc, target, type);
    ASSERT_TRUE(run(original, whole).ok());
  }
  for (const Mutation &mutant : mutants) {
    SCOPED_TRACE(mutant.header + ": " + mutant.from);
    Case changed(nvrtc, target, type, {&mutant, 1});
    bool noticed = false;
    for (uint64_t seed = 0; seed < 4 && !noticed; ++seed) {
      changed.device().setSeed(seed);
      std::vector<float> found;
      noticed = !run(changed, found).ok() || std::memcmp(found.data(), whole.data(), whole.size() * 4) != 0;
    }
    EXPECT_TRUE(noticed);
  }
}

constexpr const char *product = "weight_product.cuh", *warpgroup = "weight_product_warpgroup.cuh",
                     *shared = "shared_tile.cuh", *stream = "weight_stream.cuh", *ring = "page_ring.cuh",
                     *rows90 = "mma_rows_warpgroup.cuh";

TEST(Mutants, OfWeightProducts) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType type = {"PanelWeight<Q4_0", StorageType::Q4_0, OperandType::Bfloat, 544, 32};
  const Mutation spread[] = {{product, "    __syncthreads();\n    addParts", "    addParts"},
                             {product, "    if (round + Warps < slices)\n      __syncthreads();", ""}};
  if (runsAll())
    expectNoticed<WeightProductCase>(*nvrtc, "sm_80", type, spread,
                                     [](WeightProductCase &c, auto &y) { return c.tryRun(spreadForm, 9, y); });
  const Mutation tiled[] = {{product, "    __syncthreads(); // the stage", "    // the stage"}};
  expectNoticed<WeightProductCase>(*nvrtc, "sm_80", type, tiled,
                                   [](WeightProductCase &c, auto &y) { return c.tryRun(tiledForm, 65, y); });
}

TEST(Mutants, OfStreamedWeights) {
  if (!runsAll())
    GTEST_SKIP() << "runs under FUSEC_FULL";
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType type = {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Bfloat, 1088, 1088, true};
  const auto run = [](WeightProductCase &c, auto &y) { return c.tryRun(streamedForm(StorageType::Q4_1), 9, y); };
  const Mutation mutants[] = {
      {stream, "waitAsync<stages - 1>()", "waitAsync<stages>()"},
      {stream, "  __device__ __forceinline__ void skip() { commitAsync(); }",
       "  __device__ __forceinline__ void skip() {}"},
  };
  expectNoticed<WeightProductCase>(*nvrtc, "sm_80", type, mutants, run);
  const Mutation mutants90[] = {
      {stream, "    barrier(read).wait(read / stages & 1);", ""},
      {stream, "read / stages & 1", "0"},
      {stream, "arriveExpecting(runs * bytes)", "arriveExpecting(bytes)"},
  };
  expectNoticed<WeightProductCase>(*nvrtc, "sm_90a", type, mutants90, run);
}

TEST(Mutants, OfWeightProductsByWarpgroups) {
  if (!runsAll())
    GTEST_SKIP() << "runs under FUSEC_FULL";
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType type = {"PanelWeight<Q4_0", StorageType::Q4_0, OperandType::Bfloat, 544, 64};
  const Mutation mutants[] = {
      {warpgroup, "      ring.barriers().full(at.stage).wait(at.parity);", ""},
      {warpgroup, "    ring.barriers().empty(at.stage).wait(at.parity ^ 1);", ""},
      {warpgroup, "empty(at.stage).wait(at.parity ^ 1)", "empty(at.stage).wait(at.parity)"},
      {warpgroup, "      ring.barriers().empty(at.stage).arrive();", ""},
      {warpgroup, "    wgmmaWait<0>();", ""},
      {warpgroup, "    fenceAsyncProxy();", ""},
      {warpgroup, "barriers().init(128, 256)", "barriers().init(128, 128)"},
  };
  expectNoticed<WeightProductCase>(*nvrtc, "sm_90a", type, mutants,
                                   [](WeightProductCase &c, auto &y) { return c.tryRun(warpgroupForm, 9, y); });
}

TEST(Mutants, OfAttention) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const AttentionType type = {OperandType::Bfloat, "Bfloat", 64, 64, 3, 4};
  const Mutation mutants[] = {
      {shared, "    waitAsync<Stages - 1>();", ""},
      {shared, "    waitAsync<Stages - 1>();", "    waitAsync<Stages>();"},
      {shared, "    barrier<L>(); // step", "    // step"},
      {shared, "    barrier<L>(); // and", "    // and"},
      {shared, "(inSlab ^ swizzle(row))", "(inSlab ^ swizzle(row ^ inSlab))"},
  };
  const auto run = [](PagedAttentionCase &c, auto &out) { return c.tryRun(out); };
  expectNoticed<PagedAttentionCase>(*nvrtc, "sm_80", type, std::span(mutants).first(runsAll() ? 5 : 1), run);
  if (!runsAll())
    return;
  const AttentionType byWgmma = {OperandType::Bfloat, "Bfloat", 64, 64, 3, 4, true};
  const Mutation mutants90[] = {{rows90, "  wgmmaWait<pending>();", ""},
                                {shared, "    fenceAsyncProxy(); // wgmma", "    // wgmma"},
                                {rows90, "slabBytes, 1024, true", "slabBytes, 2048, true"}};
  expectNoticed<PagedAttentionCase>(*nvrtc, "sm_90a", byWgmma, mutants90, run);
  const AttentionType bySpecialists = {OperandType::Bfloat, "Bfloat", 64, 64, 3, 4, true, true};
  const Mutation ofRing[] = {{ring, "      barriers.empty(at.stage).wait(at.parity ^ 1);", ""},
                             {ring, "        handOver<1>(", "        handOver<2>("},
                             {ring, "    handOver<0>(", "    handOver<1>("},
                             {ring, "    fenceAsyncProxy();", ""},
                             {ring, "    barriers.full(position.stage).wait(position.parity);", ""},
                             {rows90, "  wgmmaWait<pending>();", "  wgmmaWait<pending + 1>();"}};
  expectNoticed<PagedAttentionCase>(*nvrtc, "sm_90a", bySpecialists, ofRing, run);
}

} // namespace
