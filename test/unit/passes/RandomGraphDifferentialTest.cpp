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

constexpr int64_t staticRows = 6;

/// The graph over a fixed number of rows.
std::string withStaticRows(std::string text) {
  const std::string dynamic = "ragged(T)";
  for (size_t at; (at = text.find(dynamic)) != std::string::npos;)
    text.replace(at, dynamic.size(), std::to_string(staticRows));
  return text;
}

/// Two steps of one artifact, of different numbers of tokens; every fifth graph has a fixed number.
void checkSeed(uint32_t seed, const std::string &level) {
  RandomGraph random(seed);
  const bool isStatic = seed % 5 == 4;
  const std::string text = isStatic ? withStaticRows(random.text()) : random.text();
  CompiledGraph graph(text, level);
  ASSERT_EQ(graph.error(), "") << text;
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t tokens = isStatic ? staticRows : tokenCounts[(seed * 2 + i * 5) % std::size(tokenCounts)];
    SCOPED_TRACE("T = " + std::to_string(tokens));
    Step step = rowsStep(tokens, random.width(), seed);
    std::vector<int64_t> rows;
    for (int64_t t = 0; t < tokens; ++t)
      rows.push_back((t * 7 + seed) % tokens);
    step.inputs["rows"] = integerTensor(rows);
    check(graph, step,
          random.hasExp()    ? Against::KernelMeaning
          : random.hasSums() ? Against::KernelBits
                             : Against::GraphBits);
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
