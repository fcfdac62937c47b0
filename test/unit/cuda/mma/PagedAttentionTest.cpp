//===- PagedAttentionTest.cpp - causal attention over pages on tensor cores ------===//
#include "test/unit/cuda/mma/PagedAttentionCase.h"

#include <cstring>

using namespace fusec;
using namespace fusec::test;

namespace {

void expectAttention(const codegen::Nvrtc &nvrtc, const std::string &target, const AttentionType &type) {
  SCOPED_TRACE(type.cache + " head " + std::to_string(type.head) + " warps " + std::to_string(type.warps));
  PagedAttentionCase attention(nvrtc, target, type);
  if (testing::Test::HasFailure())
    return;
  attention.expectNear(attention.run());
}

TEST(PagedAttention, HeadsPagesAndCachesOfEveryKind) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const AttentionType cases[] = {
      {OperandType::Bfloat, "Bfloat", 64, 64, 3, 4},
      {OperandType::Half, "Half", 128, 64, 4, 1},
      {OperandType::Half, "float", 64, 32, 1, 2},
      {OperandType::Bfloat, "Bfloat", 96, 16, 3, 1},
  };
  for (const AttentionType &c : std::span(cases).first(runsAll() ? 4 : 3))
    expectAttention(*nvrtc, "sm_80", c);
}

TEST(PagedAttention, ByWarpgroups) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const AttentionType cases[] = {
      {OperandType::Bfloat, "Bfloat", 64, 64, 3, 4, true},
      {OperandType::Half, "Half", 128, 64, 4, 8, true},
      {OperandType::Half, "float", 64, 128, 2, 4, true},
  };
  for (const AttentionType &c : std::span(cases).first(runsAll() ? 3 : 1))
    expectAttention(*nvrtc, "sm_90a", c);
}

TEST(PagedAttention, SpecialistsGiveTheSameBits) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const AttentionType cases[] = {
      {OperandType::Bfloat, "Bfloat", 64, 64, 3, 4, true, true},
      {OperandType::Half, "float", 128, 64, 4, 8, true, true},
      {OperandType::Half, "Half", 128, 64, 1, 8, true, true},
  };
  for (const AttentionType &c : std::span(cases).first(runsAll() ? 3 : 1)) {
    SCOPED_TRACE(c.cache + " head " + std::to_string(c.head));
    AttentionType plain = c;
    plain.specialists = false;
    PagedAttentionCase attention(*nvrtc, "sm_90a", c), reference(*nvrtc, "sm_90a", plain);
    if (HasFailure())
      return;
    const std::vector<float> expected = reference.run();
    for (uint64_t seed : {0, 1, 2}) {
      attention.device().setSeed(seed);
      const std::vector<float> found = attention.run();
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * 4), 0) << "seed " << seed;
    }
    reference.expectNear(expected);
  }
}

} // namespace
