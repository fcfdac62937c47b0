//===- paged.cuh - caches in pages -----------------------------------------===//
//
// A cache is an arena of pages of equal size; a block table [sequences, blocks]
// says which page holds which positions of a sequence. A page of keys is
// [heads][head][positions], one of values [heads][positions][head].
//
//===----------------------------------------------------------------------===//
#pragma once

#include "scalar.cuh"

namespace fusec {

/// The first element of page `number`; pages are `stride` bytes apart.
template <class T> __device__ T *page(T *cache, int number, long long stride) {
  using Byte = unsigned char;
  return reinterpret_cast<T *>(reinterpret_cast<Byte *>(cache) + number * stride);
}
template <class T> __device__ const T *page(const T *cache, int number, long long stride) {
  using Byte = const unsigned char;
  return reinterpret_cast<const T *>(reinterpret_cast<Byte *>(cache) + number * stride);
}

} // namespace fusec
