//===- RandomGraphDifferentialTest.cpp - graphs nobody thought of ------------------===//
//
// Chains with branches of maps, views, products of every storage type, norms,
// reductions and gathers: groupings, slots and tile shapes that no hand-written
// test has. FUSEC_GRAPH_SEEDS=first,count draws others.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/RandomGraph.h"

#include <cstdio>
#include <cstdlib>

namespace fusec::differential {
namespace {

using namespace reference;

constexpr int64_t tokenCounts[] = {0, 1, 2, 5, 8, 9, 12, 13, 25};

class RandomGraphs : public ::testing::TestWithParam<std::string> {};

/// Two steps of one artifact, of different numbers of tokens.
void checkSeed(uint32_t seed, const std::string &level) {
  RandomGraph random(seed);
  const std::string text = random.text();
  CompiledGraph graph(text, level);
  ASSERT_EQ(graph.error(), "") << text;
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t tokens = tokenCounts[(seed * 2 + i * 5) % std::size(tokenCounts)];
    SCOPED_TRACE("T = " + std::to_string(tokens));
    Step step = rowsStep(tokens, random.width(), seed);
    std::vector<int64_t> rows;
    for (int64_t t = 0; t < tokens; ++t)
      rows.push_back((t * 7 + seed) % tokens);
    step.inputs["rows"] = integerTensor(rows);
    check(graph, step, random.hasSums() ? Against::KernelBits : Against::GraphBits);
    if (::testing::Test::HasFailure())
      FAIL() << text;
  }
}

TEST_P(RandomGraphs, MeanTheSameEverywhere) {
  unsigned first = 0, count = 100;
  if (const char *seeds = std::getenv("FUSEC_GRAPH_SEEDS"))
    std::sscanf(seeds, "%u,%u", &first, &count);
  for (uint32_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    checkSeed(seed, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, RandomGraphs, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
