//===- ptx_matrix.cuh - what codegen/cuda/device/ptx_matrix.cuh does, in C++ ----===//
#pragma once

namespace fusec::ptx {

inline void multiplyBfloats(float *c, const unsigned (&a)[4], const unsigned (&b)[2]) {
  hostcuda::multiply(c, a, b, hostcuda::Operands::Bfloats);
}
inline void multiplyHalves(float *c, const unsigned (&a)[4], const unsigned (&b)[2]) {
  hostcuda::multiply(c, a, b, hostcuda::Operands::Halves);
}
inline unsigned transposed(unsigned pair) { return hostcuda::transposeMatrix(pair); }

} // namespace fusec::ptx
