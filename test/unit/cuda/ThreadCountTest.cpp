//===- ThreadCountTest.cpp - tiles on more or fewer threads than lanes ---------===//
//
// A schedule may ask for any number of warps. Loads, folds, broadcasts and stores
// have to mean the same for each: with fewer lanes than threads some threads
// hold copies, with more a thread holds several lanes, and neither need divide
// the other.
//
//===----------------------------------------------------------------------===//
#include "test/unit/codegen/KernelComparison.h"
#include "test/unit/codegen/KernelHarness.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::codegen;
using fusec::reference::Element;
using fusec::reference::Shape;
using fusec::reference::Tensor;

namespace {

std::string str(int64_t v) { return std::to_string(v); }

/// Per row the largest value less its neighbour's share, with the column it stands in: y = x - largest / 4.
std::string foldText(int64_t rows, int64_t lanes, int64_t threads) {
  std::string x = "!tile.buffer<[ragged(T), " + str(rows) + ", " + str(lanes) + "], f32>",
              z = "!tile.buffer<[ragged(T), " + str(rows) + "], i32>";
  std::string v = "vector<" + str(rows) + "x" + str(lanes), r = "vector<" + str(rows) + "x1";
  return "tile.kernel @fold grid [#tile.axis<[ragged(T)] by 1>] attributes {schedule = {threads = " + str(threads) +
         " : i64}} {\n^bb0(%x: " + x + ", %y: " + x + ", %z: " + z +
         "):\n  %t = tile.origin 0\n  %c0 = arith.constant 0 : index\n"
         "  %v = tile.load %x[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g, i)> : " +
         x + " -> " + v + "xf32>\n  %i = tile.index %c0 dim 1 : " + v +
         "xi32>\n"
         "  %best, %at = tile.reduce %v, %i : " +
         v + "xf32>, " + v + "xi32> -> " + r + "xf32>, " + r +
         R"(xi32> combine {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %left = arith.cmpf ogt, %a, %b : f32
    %m = arith.select %left, %a, %b : f32
    %mi = arith.select %left, %ai, %bi : i32
    tile.yield %m, %mi : f32, i32
  }
  %q = arith.constant dense<0.25> : )" +
         r + "xf32>\n  %s = arith.mulf %best, %q : " + r + "xf32>\n  %w = vector.broadcast %s : " + r + "xf32> to " +
         v + "xf32>\n  %o = arith.subf %v, %w : " + v +
         "xf32>\n  tile.store %o, %y[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g, i)> : " + v + "xf32>, " + x +
         "\n  tile.store %at, %z[%t, %c0, %c0] map affine_map<(t, g, one) -> (t, g)> : " + r + "xi32>, " + z +
         "\n  tile.return\n}\n";
}

/// Values with many ties, so that the order of the fold shows in the column.
Tensor coarse(const Shape &shape) {
  std::vector<double> values;
  for (int64_t i = 0; i < reference::numElements(shape); ++i)
    values.push_back(std::floor(noise(static_cast<uint64_t>(i)) * 4));
  return Tensor::fromValues(Element::F32, shape, std::move(values));
}

void expectSame(int64_t rows, int64_t lanes, int64_t threads) {
  SCOPED_TRACE(str(rows) + "x" + str(lanes) + " on " + str(threads) + " threads");
  const int64_t T = 2;
  ComparedRun run = runKernelEverywhere(foldText(rows, lanes, threads),
                                        {coarse({T, rows, lanes}), Tensor::filled(Element::F32, {T, rows, lanes}, 0),
                                         Tensor::filled(Element::I32, {T, rows}, 0)},
                                        {{"T", T}});
  ASSERT_EQ(run.error, "");
  for (const HostOutcome &outcome : run.outcomes)
    for (size_t i = 0; i < outcome.buffers.size(); ++i)
      EXPECT_EQ(differences(outcome.buffers[i], run.expected[i]), 0) << outcome.level << ", buffer " << i;
}

} // namespace

TEST(ThreadCount, FoldsOfAnyLanesOnAnyWarps) {
  for (auto [lanes, threads] : {std::pair(16, 96), {64, 96}, {64, 192}, {256, 96}, {256, 192}, {512, 128}, {4, 32}})
    expectSame(2, lanes, threads);
}

TEST(ThreadCountSweep, FoldsOfEveryLanesOnEveryWarps) {
  for (int64_t lanes = 1; lanes <= 1024; lanes *= 2)
    for (int64_t threads : {32, 64, 96, 128, 160, 192, 256})
      expectSame(3, lanes, threads);
}
