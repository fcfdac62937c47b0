//===- WeightProductTest.cpp - products of every format on tensor cores ---------===//
#include "test/unit/cuda/mma/WeightProductCase.h"

#include <bit>

using namespace fusec;
using namespace fusec::test;

namespace {

void expectEqual(const std::vector<float> &found, const std::vector<float> &expected, const char *what) {
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << what << ": token " << i / WeightProductCase::rows << " row " << i % WeightProductCase::rows << ", "
        << found[i] << " for " << expected[i];
}

/// Every form and number of tokens gives the bits of the first.
void expectAllForms(const codegen::Nvrtc &nvrtc, const std::string &target, const WeightType &c,
                    std::span<const WeightForm *const> forms) {
  SCOPED_TRACE(c.weight + " as " + name(c.operand));
  WeightProductCase product(nvrtc, target, c);
  if (testing::Test::HasFailure())
    return;
  const std::vector<float> reference = product.run(spreadForm, WeightProductCase::tokens);
  product.expectNear(reference, WeightProductCase::tokens);
  for (int64_t count : {1, 7, 8, 9})
    expectEqual(product.run(spreadForm, count), reference, "spread");
  for (const WeightForm *form : forms)
    for (int64_t count : {int64_t(9), WeightProductCase::tokens})
      expectEqual(product.run(*form, count), reference, form->kernel);
}

constexpr const WeightForm *sm80Forms[] = {&tiledForm, &tiledPairForm};

TEST(WeightProduct, EveryPackedFormatInEveryForm) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType cases[] = {
      {"PanelWeight<Q5_0", StorageType::Q5_0, OperandType::Bfloat, 96, 64},
      {"PanelWeight<Q8_0", StorageType::Q8_0, OperandType::Half, 96, 64},
      {"PanelWeight<Q4_K", StorageType::Q4_K, OperandType::Bfloat, 512, 192},
      {"PanelWeight<Q6_K", StorageType::Q6_K, OperandType::Bfloat, 256, 64},
      // Combinations of the above; Q4_1 is in the tests below, too.
      {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Half, 544, 128},
      {"PanelWeight<Q4_0", StorageType::Q4_0, OperandType::Bfloat, 544, 128},
      {"PanelWeight<Q5_1", StorageType::Q5_1, OperandType::Bfloat, 96, 32},
      {"PanelWeight<Q5_K", StorageType::Q5_K, OperandType::Half, 256, 64},
  };
  for (const WeightType &c : std::span(cases).first(runsAll() ? 8 : 4))
    expectAllForms(*nvrtc, "sm_80", c, sm80Forms);
}

TEST(WeightProduct, PanelsOfPlainTypes) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType cases[] = {
      {"PanelWeight<Bfloat", StorageType::BF16, OperandType::Bfloat, 160, 64},
      {"PanelWeight<float", StorageType::F32, OperandType::Half, 160, 64},
      {"PanelWeight<Half", StorageType::F16, OperandType::Bfloat, 160, 64},
  };
  for (const WeightType &c : std::span(cases).first(runsAll() ? 3 : 1))
    expectAllForms(*nvrtc, "sm_80", c, sm80Forms);
}

TEST(WeightProduct, RowsOfPlainTypes) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType cases[] = {
      {"RowWeight<float", StorageType::F32, OperandType::Half, 160, 64},
      {"RowWeight<Bfloat", StorageType::BF16, OperandType::Bfloat, 160, 64},
      {"RowWeight<Half", StorageType::F16, OperandType::Bfloat, 160, 64},
  };
  for (const WeightType &c : std::span(cases).first(runsAll() ? 3 : 1))
    expectAllForms(*nvrtc, "sm_80", c, sm80Forms);
}

TEST(WeightProduct, StreamedWeightsGiveTheSameBits) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType cases[] = {
      {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Half, 544, 64, true},
      {"PanelWeight<Q4_K", StorageType::Q4_K, OperandType::Bfloat, 768, 512, true},
      {"PanelWeight<Q6_K", StorageType::Q6_K, OperandType::Bfloat, 512, 256, true},
  };
  const char *const targets[] = {"sm_90a", "sm_80"};
  for (const char *target : std::span(targets).first(runsAll() ? 2 : 1))
    for (const WeightType &c : std::span(cases).first(runsAll() ? 3 : 1)) {
      const WeightForm form = streamedForm(c.type);
      const WeightForm *const forms[] = {&form};
      expectAllForms(*nvrtc, target, c, forms);
    }
}

TEST(WeightProduct, WarpgroupsGiveTheSameBits) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightForm *const forms[] = {&tiledForm, &warpgroupForm, &warpgroupPairForm};
  const WeightType cases[] = {
      {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Bfloat, 544, 128},
      {"RowWeight<Bfloat", StorageType::BF16, OperandType::Bfloat, 576, 96},
      {"RowWeight<Half", StorageType::F16, OperandType::Half, 160, 64},
      {"RowWeight<Bfloat", StorageType::BF16, OperandType::Bfloat, 128, 128},
  };
  for (const WeightType &c : std::span(cases).first(runsAll() ? 4 : 2))
    expectAllForms(*nvrtc, "sm_90a", c, forms);
}

} // namespace
