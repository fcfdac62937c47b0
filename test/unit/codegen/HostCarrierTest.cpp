//===- HostCarrierTest.cpp - carriers, row values and scratch on the host ----===//
//
// What kernels of dependent reductions are made of, each against the
// interpreter, bit by bit.
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

Tensor noisy(const Shape &shape, uint64_t seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < reference::numElements(shape); ++i)
    values.push_back(noise(seed * 10007 + static_cast<uint64_t>(i)));
  return Tensor::fromValues(Element::F32, shape, std::move(values));
}

Tensor zeros(Element element, const Shape &shape) { return Tensor::filled(element, shape, 0); }

/// All buffers equal the interpreter's at every level.
ComparedRun expectSame(const std::string &text, const std::vector<Tensor> &buffers,
                       const std::map<std::string, int64_t> &symbols = {}) {
  ComparedRun run = runKernelEverywhere(text, buffers, symbols);
  EXPECT_EQ(run.error, "");
  for (const HostOutcome &outcome : run.outcomes)
    for (size_t i = 0; i < buffers.size(); ++i)
      EXPECT_EQ(differences(outcome.buffers[i], run.expected[i]), 0) << outcome.level << ", buffer " << i;
  return run;
}

/// Per row of [T * rows, lanes] the largest value and its column, the first one of equals.
std::string argmaxText(int64_t rows, int64_t lanes) {
  std::string x = "!tile.buffer<[ragged(T), " + str(rows) + ", " + str(lanes) + "], f32>",
              y = "!tile.buffer<[ragged(T), " + str(rows) + "], f32>",
              z = "!tile.buffer<[ragged(T), " + str(rows) + "], i32>";
  std::string v = "vector<" + str(rows) + "x" + str(lanes), r = "vector<" + str(rows) + "x1";
  return "tile.kernel @argmax grid [#tile.axis<[ragged(T)] by 1>] {\n^bb0(%x: " + x + ", %y: " + y + ", %z: " + z +
         "):\n  %t = tile.origin 0\n  %c0 = arith.constant 0 : index\n"
         "  %v = tile.load %x[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g, i)> : " +
         x + " -> " + v + "xf32>\n  %i = tile.index %c0 dim 1 : " + v +
         "xi32>\n"
         "  %best, %at = tile.reduce %v, %i : " +
         v + "xf32>, " + v + "xi32> -> " + r + "xf32>, " + r +
         R"(xi32> combine {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %g = arith.cmpf ogt, %a, %b : f32
    %same = arith.cmpf oeq, %a, %b : f32
    %first = arith.cmpi slt, %ai, %bi : i32
    %tie = arith.andi %same, %first : i1
    %left = arith.ori %g, %tie : i1
    %m = arith.select %left, %a, %b : f32
    %mi = arith.select %left, %ai, %bi : i32
    tile.yield %m, %mi : f32, i32
  }
  tile.store %best, %y[%t, %c0, %c0] map affine_map<(t, g, one) -> (t, g)> : )" +
         r + "xf32>, " + y + "\n  tile.store %at, %z[%t, %c0, %c0] map affine_map<(t, g, one) -> (t, g)> : " + r +
         "xi32>, " + z + "\n  tile.return\n}\n";
}

} // namespace

TEST(HostCarrier, ArgmaxPerRow) {
  for (int64_t rows : {1, 3, 5})
    for (int64_t lanes : {1, 4, 8, 16, 64, 128}) {
      int64_t T = 4;
      Tensor x = noisy({T, rows, lanes}, rows * 100 + lanes);
      for (int64_t t = 0; t < T; ++t) // ties
        if (lanes > 2) {
          x.set({t, 0, lanes - 1}, 5);
          x.set({t, 0, 1}, 5);
        }
      ComparedRun run = expectSame(argmaxText(rows, lanes),
                                   {x, zeros(Element::F32, {T, rows}), zeros(Element::I32, {T, rows})}, {{"T", T}});
      ASSERT_EQ(run.error, "");
      for (int64_t t = 0; t < T; ++t)
        for (int64_t r = 0; r < rows; ++r) {
          int64_t best = 0;
          for (int64_t i = 1; i < lanes; ++i)
            best = x.get({t, r, i}) > x.get({t, r, best}) ? i : best;
          EXPECT_EQ(run.expected[2].get({t, r}), static_cast<double>(best)) << rows << "x" << lanes;
          EXPECT_EQ(run.expected[1].get({t, r}), x.get({t, r, best}));
        }
    }
}

// Row values through every broadcast, elementwise ops, and a loop that carries tiles and row values together.
TEST(HostCarrier, RowValuesBroadcastAndAreCarried) {
  const char *text = R"(
tile.kernel @rows grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 3, 64], f32>, %r: !tile.buffer<[ragged(T), 3], f32>, %n: !tile.buffer<[ragged(T)], i32>, %w: !tile.buffer<[64], f32>, %y: !tile.buffer<[ragged(T), 3, 64], f32>, %z: !tile.buffer<[ragged(T), 3], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1.0> : vector<3x1xf32>
  %steps = arith.constant dense<[[0.5], [0.25], [0.125]]> : vector<3x1xf32>
  %v = tile.load %x[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g, i)> : !tile.buffer<[ragged(T), 3, 64], f32> -> vector<3x64xf32>
  %m0 = tile.load %r[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g)> : !tile.buffer<[ragged(T), 3], f32> -> vector<3x1xf32>
  %lane = tile.load %w[%c0, %c0] map affine_map<(g, i) -> (i)> : !tile.buffer<[64], f32> -> vector<1x64xf32>
  %s = tile.load %r[%t, %c1] map affine_map<(t, g) -> (t, g)> : !tile.buffer<[ragged(T), 3], f32> -> f32
  %n32 = tile.load %n[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %count = arith.index_cast %n32 : i32 to index
  %ml, %ol = scf.for %i = %c0 to %count step %c1 iter_args(%m = %m0, %o = %v) -> (vector<3x1xf32>, vector<3x64xf32>) {
    %d = arith.subf %m, %one : vector<3x1xf32>
    %scaled = arith.mulf %d, %steps : vector<3x1xf32>
    %above = arith.cmpf ogt, %scaled, %steps : vector<3x1xf32>
    %next = arith.select %above, %steps, %scaled : vector<3x1xi1>, vector<3x1xf32>
    %wide = vector.broadcast %next : vector<3x1xf32> to vector<3x64xf32>
    %p = arith.mulf %o, %wide : vector<3x64xf32>
    scf.yield %next, %p : vector<3x1xf32>, vector<3x64xf32>
  }
  %lanes = vector.broadcast %lane : vector<1x64xf32> to vector<3x64xf32>
  %all = vector.broadcast %s : f32 to vector<3x64xf32>
  %alls = vector.broadcast %s : f32 to vector<3x1xf32>
  %a = arith.addf %ol, %lanes : vector<3x64xf32>
  %b = arith.addf %a, %all : vector<3x64xf32>
  %e = arith.addf %ml, %alls : vector<3x1xf32>
  tile.store %b, %y[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g, i)> : vector<3x64xf32>, !tile.buffer<[ragged(T), 3, 64], f32>
  tile.store %e, %z[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g)> : vector<3x1xf32>, !tile.buffer<[ragged(T), 3], f32>
  tile.return
})";
  Tensor counts = Tensor::fromValues(Element::I32, {4}, {0, 1, 5, -2});
  ComparedRun run = expectSame(text,
                               {noisy({4, 3, 64}, 1), noisy({4, 3}, 2), counts, noisy({64}, 3),
                                zeros(Element::F32, {4, 3, 64}), zeros(Element::F32, {4, 3})},
                               {{"T", 4}});
  // No turns for counts 0 and -2: y = x + w + r[1].
  for (int64_t t : {0, 3})
    EXPECT_EQ(run.expected[4].get({t, 2, 9}),
              static_cast<double>(static_cast<float>(static_cast<float>(noisy({4, 3, 64}, 1).get({t, 2, 9})) +
                                                     static_cast<float>(noisy({64}, 3).get({9}))) +
                                  static_cast<float>(noisy({4, 3}, 2).get({t, 1}))));
}

// exp on row values: within two units in the last place, like on wide vectors.
TEST(HostCarrier, ExpOfRowValues) {
  const char *text = R"(
tile.kernel @exp grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%r: !tile.buffer<[ragged(T), 3], f32>, %z: !tile.buffer<[ragged(T), 3], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %m = tile.load %r[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g)> : !tile.buffer<[ragged(T), 3], f32> -> vector<3x1xf32>
  %e = math.exp %m : vector<3x1xf32>
  tile.store %e, %z[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g)> : vector<3x1xf32>, !tile.buffer<[ragged(T), 3], f32>
  tile.return
})";
  Tensor x = noisy({9, 3}, 4);
  x.set({1, 1}, -INFINITY);
  x.set({2, 0}, 0);
  ComparedRun run = runKernelEverywhere(text, {x, zeros(Element::F32, {9, 3})}, {{"T", 9}});
  ASSERT_EQ(run.error, "");
  for (const HostOutcome &outcome : run.outcomes)
    for (int64_t t = 0; t < 9; ++t)
      for (int64_t g = 0; g < 3; ++g) {
        double want = std::exp(x.get({t, g}));
        EXPECT_NEAR(outcome.buffers[1].get({t, g}), want, 2 * want * 0x1p-23) << outcome.level;
      }
}

// Two scratch buffers, written and read twice within a program, whose slots the next program uses again; stores under
// scf.if.
TEST(HostCarrier, ScratchIsReadBackAsWritten) {
  const char *text = R"(
tile.kernel @scratch grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 3, 64], f32>, %n: !tile.buffer<[ragged(T)], i32>, %y: !tile.buffer<[ragged(T), 64, 3], f32>, %z: !tile.buffer<[ragged(T), 3], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %p = tile.scratch : !tile.buffer<[3, 64], f32>
  %q = tile.scratch : !tile.buffer<[3, 64], f32>
  %n32 = tile.load %n[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %v = tile.load %x[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g, i)> : !tile.buffer<[ragged(T), 3, 64], f32> -> vector<3x64xf32>
  %twice = arith.addf %v, %v : vector<3x64xf32>
  tile.store %twice, %q[%c0, %c0] map affine_map<(g, i) -> (g, i)> : vector<3x64xf32>, !tile.buffer<[3, 64], f32>
  scf.for %turn = %c0 to %c2 step %c1 {
    tile.store %v, %p[%c0, %c0] map affine_map<(g, i) -> (g, i)> : vector<3x64xf32>, !tile.buffer<[3, 64], f32>
    %before = tile.load %p[%c0, %c0] map affine_map<(g, i) -> (g, i)> : !tile.buffer<[3, 64], f32> -> vector<3x64xf32>
    %other = tile.load %q[%c0, %c0] map affine_map<(g, i) -> (g, i)> : !tile.buffer<[3, 64], f32> -> vector<3x64xf32>
    %sum = arith.addf %before, %other : vector<3x64xf32>
    tile.store %sum, %p[%c0, %c0] map affine_map<(g, i) -> (g, i)> : vector<3x64xf32>, !tile.buffer<[3, 64], f32>
    scf.for %i = %c0 to %c64 step %c1 {
      %row = tile.load %p[%c0, %i] map affine_map<(g, i) -> (g, i)> : !tile.buffer<[3, 64], f32> -> vector<3x1xf32>
      tile.store %row, %y[%t, %c0, %i] map affine_map<(t, g, i) -> (t, i, g)> : vector<3x1xf32>, !tile.buffer<[ragged(T), 64, 3], f32>
    }
  }
  %some = arith.cmpi sgt, %n32, %zero : i32
  scf.if %some {
    %last = tile.load %p[%c0, %c2] map affine_map<(g, i) -> (g, i)> : !tile.buffer<[3, 64], f32> -> vector<3x1xf32>
    tile.store %last, %z[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g + i)> : vector<3x1xf32>, !tile.buffer<[ragged(T), 3], f32>
  }
  tile.return
})";
  Tensor counts = Tensor::fromValues(Element::I32, {5}, {1, 0, 2, -1, 7});
  Tensor x = noisy({5, 3, 64}, 8);
  ComparedRun run =
      expectSame(text, {x, counts, zeros(Element::F32, {5, 64, 3}), zeros(Element::F32, {5, 3})}, {{"T", 5}});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.expected[2].get({4, 63, 2}), static_cast<double>(3 * static_cast<float>(x.get({4, 2, 63}))));
  EXPECT_EQ(run.expected[3].get({1, 0}), 0);
  EXPECT_NE(run.expected[3].get({4, 0}), 0);
}

// Every op on index values that come from loaded numbers of either sign, as loop bounds too.
TEST(HostCarrier, IndexArithmeticOnLoadedNumbers) {
  const char *text = R"(
tile.kernel @index grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%n: !tile.buffer<[ragged(T)], i32>, %y: !tile.buffer<[ragged(T), 12], i32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %cm = arith.constant -20 : index
  %T = tile.extent "T"
  %n32 = tile.load %n[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %x = arith.index_cast %n32 : i32 to index
  %low = arith.maxsi %x, %c0 : index
  %high = arith.minsi %x, %c64 : index
  %both = arith.minsi %low, %c64 : index
  %block = arith.divui %low, %c64 : index
  %start = arith.muli %block, %c64 : index
  %rest = arith.subi %low, %start : index
  %ds = arith.divsi %x, %c16 : index
  %rs = arith.remsi %x, %c16 : index
  %ru = arith.remui %low, %c3 : index
  %neg = arith.cmpi slt, %x, %c0 : index
  %sel = arith.select %neg, %cm, %both : index
  %seld = arith.divsi %sel, %c3 : index
  %sum = scf.for %i = %ds to %high step %c16 iter_args(%a = %c0) -> (index) {
    %w = arith.addi %a, %i : index
    %wr = arith.remsi %w, %c64 : index
    scf.yield %wr : index
  }
  %count = scf.for %i = %start to %low step %c3 iter_args(%a = %c0) -> (index) {
    %left = arith.subi %low, %i : index
    %m = arith.minsi %left, %c3 : index
    %w = arith.addi %a, %m : index
    scf.yield %w : index
  }
  %i0 = arith.index_cast %low : index to i32
  %i1 = arith.index_cast %high : index to i32
  %i2 = arith.index_cast %both : index to i32
  %i3 = arith.index_cast %start : index to i32
  %i4 = arith.index_cast %rest : index to i32
  %i5 = arith.index_cast %ds : index to i32
  %i6 = arith.index_cast %rs : index to i32
  %i7 = arith.index_cast %ru : index to i32
  %i8 = arith.index_cast %sel : index to i32
  %i9 = arith.index_cast %seld : index to i32
  %i10 = arith.index_cast %sum : index to i32
  %i11 = arith.index_cast %count : index to i32
  %k5 = arith.constant 5 : index
  %k6 = arith.constant 6 : index
  %k7 = arith.constant 7 : index
  %k8 = arith.constant 8 : index
  %k9 = arith.constant 9 : index
  %k10 = arith.constant 10 : index
  %k11 = arith.constant 11 : index
  %k2 = arith.constant 2 : index
)";
  std::string stores;
  const char *column[] = {"%c0", "%c1", "%k2", "%c3", "%c4", "%k5", "%k6", "%k7", "%k8", "%k9", "%k10", "%k11"};
  for (int i = 0; i < 12; ++i)
    stores += "  tile.store %i" + str(i) + ", %y[%t, " + column[i] +
              "] map affine_map<(t, i) -> (t, i)> : i32, !tile.buffer<[ragged(T), 12], i32>\n";
  std::vector<double> numbers;
  for (int64_t v = -70; v <= 200; v += 3)
    numbers.push_back(static_cast<double>(v));
  int64_t T = static_cast<int64_t>(numbers.size());
  Tensor n = Tensor::fromValues(Element::I32, {T}, std::move(numbers));
  ComparedRun run = expectSame(text + stores + "  tile.return\n}\n", {n, zeros(Element::I32, {T, 12})}, {{"T", T}});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.expected[1].get({0, 5}), -70 / 16);
  EXPECT_EQ(run.expected[1].get({T - 1, 3}), 192);
  EXPECT_EQ(run.expected[1].get({T - 1, 11}), 8); // 200 - 192
}
