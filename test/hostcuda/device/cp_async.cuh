//===- cp_async.cuh - what codegen/cuda/device/cp_async.cuh does, in C++ --------===//
#pragma once

namespace fusec {

inline unsigned sharedAddress(const void *p) { return hostcuda::sharedAddress(p); }
inline void copyAsync(unsigned shared, const void *global) { hostcuda::copyAsync(shared, global); }
inline void commitAsync() { hostcuda::commitAsync(); }
template <int pending> void waitAsync() { hostcuda::waitAsync(pending); }
#if __CUDA_ARCH__ >= 900
inline void fenceAsyncProxy() {}
#endif

} // namespace fusec
