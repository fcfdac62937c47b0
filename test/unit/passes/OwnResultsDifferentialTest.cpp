//===- OwnResultsDifferentialTest.cpp - what a kernel may read of its own results ---===//
//
// Programs run in any order and on any thread, so a kernel recomputes what it
// needs at another place or leaves it to another launch; and it stores nothing
// beyond its own elements.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/GraphText.h"

namespace fusec::differential {
namespace {

using namespace reference;

const std::string add = "    %r = arith.addf %a, %b : f32\n";

std::string rows(int64_t width) { return "ragged(T), " + std::to_string(width); }

class OwnResults : public ::testing::TestWithParam<std::string> {
protected:
  static Step stepWithRows(int64_t tokens, int64_t width) {
    Step step = rowsStep(tokens, width, 101);
    std::vector<int64_t> picks;
    for (int64_t t = 0; t < tokens; ++t)
      picks.push_back((t * 7 + 3) % tokens);
    step.inputs["rows"] = integerTensor(picks);
    return step;
  }
};

/// Programs run in any order: rows that others compute come from memory, through another launch.
TEST_P(OwnResults, AGatherTakesRowsOfAnotherLaunch) {
  GraphText g;
  Node x = g.argument("x", rows(65)), picks = g.argument("rows", "ragged(T)", "i32");
  Node y = g.map({x, x}, {identityMap(2), "(t, c) -> (t, -c + 64)"}, rows(65), add);
  Node z = g.gather(g.gather(y, picks, rows(65)), picks, rows(65)); // rows of rows
  CompiledGraph graph(g.finish(g.map({z, y}, {identityMap(2), identityMap(2)}, rows(65), add)), GetParam());
  for (int64_t t : {1, 13})
    check(graph, stepWithRows(t, 65), Against::GraphBits);
}

TEST_P(OwnResults, AnEpilogueReadsOtherElementsFromMemory) {
  GraphText g;
  Node x = g.argument("x", rows(32));
  Node y = g.linear(x, g.weight("w", "80, 32", "q8_0"), rows(80));
  CompiledGraph graph(g.finish(g.map({y, y}, {identityMap(2), "(t, c) -> (t, -c + 79)"}, rows(80), add)), GetParam());
  for (int64_t t : {1, 5, 13})
    check(graph, rowsStep(t, 32, 103), Against::GraphBits);
}

TEST_P(OwnResults, AReductionOfAnotherHeadComesFromMemory) {
  GraphText g;
  Node x = g.argument("x", rows(36));
  Node heads = g.view(x, "(t, h, d) -> (t, h * 12 + d)", "ragged(T), 3, 12");
  Node most = g.reduce(heads, 3, "arith.maximumf", "0xFF800000", "ragged(T), 3");
  Node y = g.map({heads, most}, {identityMap(3), "(t, h, d) -> (t, 2 - h)"}, "ragged(T), 3, 12", add);
  Node z = g.map({y, most}, {identityMap(3), "(t, h, d) -> (t, h)"}, "ragged(T), 3, 12", add);
  CompiledGraph graph(g.finish(z), GetParam());
  check(graph, rowsStep(5, 36, 107), Against::GraphBits);
}

/// Heads stored side by side have no gap between them: no lane may run over a head's end.
TEST_P(OwnResults, MergedHeadsOfAnySizeDoNotOverlap) {
  for (int64_t size : {1, 3, 11, 12, 20, 24, 65}) {
    SCOPED_TRACE(size);
    const std::string s = std::to_string(size), heads = "ragged(T), 3, " + s;
    GraphText g;
    Node x = g.argument("x", rows(3 * size));
    Node y = g.map({g.view(x, "(t, h, d) -> (t, (2 - h) * " + s + " + d)", heads)}, {identityMap(3)}, heads,
                   "    %r = arith.negf %a : f32\n");
    Node flat = g.reshape(y, rows(3 * size));
    CompiledGraph graph(g.finish(g.map({flat, x}, {identityMap(2), identityMap(2)}, rows(3 * size), add)), GetParam());
    check(graph, rowsStep(6, 3 * size, 109), Against::GraphBits);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, OwnResults, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
