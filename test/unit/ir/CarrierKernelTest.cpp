//===- CarrierKernelTest.cpp - row-wise folds and loop-carried tiles ---------------===//
#include "test/unit/ir/KernelFixture.h"

namespace fusec::reference {
namespace {

using Values = std::vector<double>;

class CarrierKernelTest : public KernelFixture {};

// combine(a, b) = 10 a + b, and the count of lanes beside it: rows are folded one by one, by the tree of rank 1.
TEST_F(CarrierKernelTest, ReduceFoldsEveryRowOnItsOwn) {
  environment.symbols["N"] = 1;
  Tensor y = nans({3}), counts = integers({0, 0, 0});
  KernelRun run = runKernel(R"(
    tile.kernel @k grid [#tile.axis<[sym(N)] by 1>] {
    ^bb0(%x: !tile.buffer<[3, 4], f32>, %y: !tile.buffer<[3], f32>, %n: !tile.buffer<[3], i32>):
      %c0 = arith.constant 0 : index
      %v = tile.load %x[%c0, %c0] map affine_map<(g, i) -> (g, i)> : !tile.buffer<[3, 4], f32> -> vector<3x4xf32>
      %ones = arith.constant dense<1> : vector<3x4xi32>
      %s, %k = tile.reduce %v, %ones : vector<3x4xf32>, vector<3x4xi32> -> vector<3x1xf32>, vector<3x1xi32> combine {
      ^bb1(%a: f32, %ka: i32, %b: f32, %kb: i32):
        %ten = arith.constant 10.0 : f32
        %m = arith.mulf %a, %ten : f32
        %r = arith.addf %m, %b : f32
        %kr = arith.addi %ka, %kb : i32
        tile.yield %r, %kr : f32, i32
      }
      tile.store %s, %y[%c0, %c0] map affine_map<(g, i) -> (g + i)> : vector<3x1xf32>, !tile.buffer<[3], f32>
      tile.store %k, %n[%c0, %c0] map affine_map<(g, i) -> (g + i)> : vector<3x1xi32>, !tile.buffer<[3], i32>
      tile.return
    })",
                            {floats({3, 4}, {1, 2, 3, 4, 0, 0, 0, 1, 1, 0, 0, 0}), y, counts});
  EXPECT_EQ(y.values(), (Values{10 * (10 * 1 + 3) + (10 * 2 + 4), 1, 100}));
  EXPECT_EQ(counts.values(), (Values{4, 4, 4}));
  EXPECT_EQ(run.traffic[0].loadedElements, 12);
  EXPECT_EQ(run.traffic[1].storedElements, 3);
  EXPECT_EQ(run.traffic[2].storedBytes, 12);
}

// A loop from a loaded number, carrying a tile and row values; what it loads is counted turn by turn, and a branch
// not taken stores nothing.
TEST_F(CarrierKernelTest, CarriersAndBoundsFromMemory) {
  environment.symbols["N"] = 3;
  Tensor x = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), y = nans({3, 2});
  KernelRun run = runKernel(R"(
    tile.kernel @k grid [#tile.axis<[sym(N)] by 1>] {
    ^bb0(%n: !tile.buffer<[sym(N)], i32>, %x: !tile.buffer<[2, 4], f32>, %y: !tile.buffer<[sym(N), 2], f32>):
      %t = tile.origin 0
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant dense<0.0> : vector<2x1xf32>
      %zeros = arith.constant dense<0.0> : vector<2x4xf32>
      %n32 = tile.load %n[%t] map affine_map<(t) -> (t)> : !tile.buffer<[sym(N)], i32> -> i32
      %count = arith.index_cast %n32 : i32 to index
      %end = arith.minsi %count, %c4 : index
      %a, %b = scf.for %i = %c0 to %end step %c1 iter_args(%r = %zero, %w = %zeros) -> (vector<2x1xf32>, vector<2x4xf32>) {
        %v = tile.load %x[%c0, %i] map affine_map<(g, i) -> (g, i)> : !tile.buffer<[2, 4], f32> -> vector<2x1xf32>
        %s = arith.addf %r, %v : vector<2x1xf32>
        %wide = vector.broadcast %v : vector<2x1xf32> to vector<2x4xf32>
        %u = arith.addf %w, %wide : vector<2x4xf32>
        scf.yield %s, %u : vector<2x1xf32>, vector<2x4xf32>
      }
      %folded = tile.reduce %b : vector<2x4xf32> -> vector<2x1xf32> combine {
      ^bb1(%p: f32, %q: f32):
        %pq = arith.maximumf %p, %q : f32
        tile.yield %pq : f32
      }
      %sum = arith.addf %a, %folded : vector<2x1xf32>
      %some = arith.cmpi sgt, %count, %c0 : index
      scf.if %some {
        tile.store %sum, %y[%t, %c0, %c0] map affine_map<(t, g, i) -> (t, g + i)> : vector<2x1xf32>, !tile.buffer<[sym(N), 2], f32>
      }
      tile.return
    })",
                            {integers({2, -3, 9}), x, y});
  const Values got = y.values();
  EXPECT_EQ(Values(got.begin(), got.begin() + 2), (Values{2 * (1 + 2), 2 * (5 + 6)}));
  EXPECT_TRUE(std::isnan(got[2]) && std::isnan(got[3]));
  EXPECT_EQ(Values(got.begin() + 4, got.end()), (Values{2 * 10, 2 * 26}));
  EXPECT_EQ(run.traffic[1].loadedElements, 2 * (2 + 0 + 4));
  EXPECT_EQ(run.traffic[2].storedElements, 4);
}

} // namespace
} // namespace fusec::reference
