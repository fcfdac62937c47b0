//===- fp8.cu - one product in 8-bit floats --------------------------------------===//
//
//   c[16 x 8] = a[16 x 32] b[32 x 8], both rounded to e4m3; one warp
//
//===----------------------------------------------------------------------===//
#include "fp8.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(32) product(const float *a, const float *b, float *c) {
  const MmaLane lane = mmaLane();
  FragmentA left;
  for (int i = 0; i < 4; ++i) {
    const float *row = a + (lane.g + 8 * (i & 1)) * 32 + 16 * (i >> 1) + 4 * lane.q;
    left.r[i] = packE4m3(row[0], row[1], row[2], row[3]);
  }
  FragmentB right;
  for (int i = 0; i < 2; ++i) {
    const float *column = b + (16 * i + 4 * lane.q) * 8 + lane.g;
    right.r[i] = packE4m3(column[0], column[8], column[16], column[24]);
  }
  float sum[4] = {};
  mmaE4m3(sum, left, right);
  for (int i = 0; i < 4; ++i)
    c[(lane.g + 8 * (i >> 1)) * 8 + 2 * lane.q + (i & 1)] = sum[i];
}
