//===- MachineLimits.cpp - read bandwidth and multiply-add peak of this CPU -===//
#include "test/unit/codegen/MachineLimits.h"

#include <immintrin.h>

namespace fusec::codegen {

__attribute__((target("avx512f"))) static float readWide(const char *p, int64_t part, int streams) {
  __m512i a = _mm512_setzero_si512(), c = a, d = a, e = a;
  for (int64_t i = 0; i + 256 <= part; i += 256)
    for (int s = 0; s < streams; ++s) {
      const char *q = p + s * part + i;
      a = _mm512_xor_si512(a, _mm512_loadu_si512(q));
      c = _mm512_xor_si512(c, _mm512_loadu_si512(q + 64));
      d = _mm512_xor_si512(d, _mm512_loadu_si512(q + 128));
      e = _mm512_xor_si512(e, _mm512_loadu_si512(q + 192));
    }
  a = _mm512_xor_si512(_mm512_xor_si512(a, c), _mm512_xor_si512(d, e));
  return static_cast<float>(_mm512_reduce_add_epi32(a));
}

__attribute__((target("avx2"))) static float readNarrow(const char *p, int64_t part, int streams) {
  __m256i a = _mm256_setzero_si256(), c = a;
  for (int64_t i = 0; i + 64 <= part; i += 64)
    for (int s = 0; s < streams; ++s) {
      const char *q = p + s * part + i;
      a = _mm256_xor_si256(a, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(q)));
      c = _mm256_xor_si256(c, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(q + 32)));
    }
  return static_cast<float>(_mm256_extract_epi32(_mm256_xor_si256(a, c), 0));
}

float readAll(const void *data, int64_t bytes, int streams, bool wide) {
  const char *p = static_cast<const char *>(data);
  return wide ? readWide(p, bytes / streams, streams) : readNarrow(p, bytes / streams, streams);
}

__attribute__((target("avx512f"))) static double addWide(int64_t steps) {
  __m512 acc[24], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
  for (__m512 &a : acc)
    a = y;
  for (int64_t i = 0; i < steps; ++i) {
#pragma clang loop unroll(full)
    for (int j = 0; j < 24; ++j)
      acc[j] = _mm512_fmadd_ps(acc[j], x, y);
    asm volatile("" : "+v"(x));
  }
  __m512 sum = acc[0];
  for (int j = 1; j < 24; ++j)
    sum = _mm512_add_ps(sum, acc[j]);
  volatile float sink = _mm512_reduce_add_ps(sum);
  (void)sink;
  return static_cast<double>(steps) * 24 * 32;
}

__attribute__((target("avx2,fma"))) static double addNarrow(int64_t steps) {
  __m256 acc[12], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f);
  for (__m256 &a : acc)
    a = y;
  for (int64_t i = 0; i < steps; ++i) {
#pragma clang loop unroll(full)
    for (int j = 0; j < 12; ++j)
      acc[j] = _mm256_fmadd_ps(acc[j], x, y);
    asm volatile("" : "+x"(x));
  }
  __m256 sum = acc[0];
  for (int j = 1; j < 12; ++j)
    sum = _mm256_add_ps(sum, acc[j]);
  volatile float sink = _mm256_cvtss_f32(sum);
  (void)sink;
  return static_cast<double>(steps) * 12 * 16;
}

double multiplyAdd(int64_t steps, bool wide) { return wide ? addWide(steps) : addNarrow(steps); }

} // namespace fusec::codegen
