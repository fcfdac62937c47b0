//===- Dot.cpp - sums of products, the inner loop of contractions -------------===//
//
// The only place of the interpreter that is written for speed: a model of 135 M
// weights has to run at a few tokens per second. Exact chains of f32 run side
// by side for several n, which changes no bit of any of them; F64 sums have no
// stated order and use partial sums.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/Ops/Dot.h"

#include <vector>

#if defined(__x86_64__)
#define FUSEC_FMA_TARGET __attribute__((target("avx2,fma")))
#else
#define FUSEC_FMA_TARGET
#endif
#define FUSEC_ALWAYS_INLINE inline __attribute__((always_inline))

namespace fusec::reference {

namespace {

/// A problem of one call; W is the storage type of the matrix.
template <typename W> struct Problem {
  const W *matrix;
  int64_t nStep, kStep;
  llvm::ArrayRef<double> x;
  llvm::MutableArrayRef<double> acc;
};

template <typename W> FUSEC_ALWAYS_INLINE void sumDoubles(const Problem<W> &p) {
  const int64_t k = static_cast<int64_t>(p.x.size()), lanes = 16;
  for (size_t n = 0; n < p.acc.size(); ++n) {
    const W *row = p.matrix + static_cast<int64_t>(n) * p.nStep;
    double partial[lanes] = {};
    int64_t i = 0;
    if (p.kStep == 1)
      for (; i + lanes <= k; i += lanes)
        for (int64_t l = 0; l < lanes; ++l)
          partial[l] += p.x[i + l] * static_cast<double>(row[i + l]);
    double sum = p.acc[n];
    for (double part : partial)
      sum += part;
    for (; i < k; ++i)
      sum += p.x[i] * static_cast<double>(row[i * p.kStep]);
    p.acc[n] = sum;
  }
}

template <typename W> FUSEC_ALWAYS_INLINE void sumDoublesByColumn(const Problem<W> &p) {
  for (size_t i = 0; i < p.x.size(); ++i) {
    const W *column = p.matrix + static_cast<int64_t>(i) * p.kStep;
    const double x = p.x[i];
    for (size_t n = 0; n < p.acc.size(); ++n)
      p.acc[n] += x * static_cast<double>(column[n]);
  }
}

template <int64_t Rows, typename W> FUSEC_ALWAYS_INLINE void chainSingles(const Problem<W> &p, int64_t n) {
  float acc[Rows];
  for (int64_t r = 0; r < Rows; ++r)
    acc[r] = static_cast<float>(p.acc[n + r]);
  const W *rows = p.matrix + n * p.nStep;
  for (size_t i = 0; i < p.x.size(); ++i) {
    const float x = static_cast<float>(p.x[i]);
    for (int64_t r = 0; r < Rows; ++r)
      acc[r] = __builtin_fmaf(x, static_cast<float>(rows[r * p.nStep + static_cast<int64_t>(i) * p.kStep]), acc[r]);
  }
  for (int64_t r = 0; r < Rows; ++r)
    p.acc[n + r] = acc[r];
}

template <typename W> FUSEC_ALWAYS_INLINE void chainSingles(const Problem<W> &p) {
  const int64_t count = static_cast<int64_t>(p.acc.size());
  int64_t n = 0;
  for (; n + 8 <= count; n += 8)
    chainSingles<8>(p, n);
  for (; n < count; ++n)
    chainSingles<1>(p, n);
}

template <typename W> FUSEC_FMA_TARGET void sumWithFma(const Problem<W> &p) {
  return p.nStep == 1 && p.kStep != 1 ? sumDoublesByColumn(p) : sumDoubles(p);
}
template <typename W> FUSEC_FMA_TARGET void chainWithFma(const Problem<W> &p) { chainSingles(p); }

bool hasFma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
  return true;
#endif
}

/// Any other accumulate type: one fused multiply-add, one rounding per step.
template <typename W> void chainRounded(const Problem<W> &p, Element accumulate) {
  for (size_t n = 0; n < p.acc.size(); ++n)
    for (size_t i = 0; i < p.x.size(); ++i) {
      const W w = p.matrix[static_cast<int64_t>(n) * p.nStep + static_cast<int64_t>(i) * p.kStep];
      p.acc[n] = roundTo(accumulate, std::fma(p.x[i], static_cast<double>(w), p.acc[n]));
    }
}

template <typename W> void run(const DotRounding &rounding, const Problem<W> &p) {
  if (rounding.precision == Precision::F64)
    return hasFma() ? sumWithFma(p) : sumDoubles(p);
  if (rounding.accumulate != Element::F32 || !rounding.singleOperands)
    return chainRounded(p, rounding.accumulate);
  return hasFma() ? chainWithFma(p) : chainSingles(p);
}

bool fitsSingle(Element e) { return isFloat(e) && e != Element::F64; }

} // namespace

DotRounding DotRounding::of(Precision precision, Element accumulate, Element lhs, Element rhs) {
  return {precision, accumulate, fitsSingle(lhs) && fitsSingle(rhs), {}};
}

namespace {

/// Rounds copies of the operands, adds in f64 and rounds once.
void accumulateRoundedDots(DotRounding rounding, llvm::ArrayRef<double> x, const DotMatrix &matrix,
                           llvm::MutableArrayRef<double> acc) {
  const int64_t depth = static_cast<int64_t>(x.size()), count = static_cast<int64_t>(acc.size());
  const Element operands = *rounding.operands;
  const bool isExact = rounding.precision == Precision::Exact;
  rounding.operands.reset();
  rounding.precision = Precision::F64;
  std::vector<double> left(x.begin(), x.end()), right(depth * count);
  for (int64_t n = 0; n < count; ++n)
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t at = n * matrix.nStep + k * matrix.kStep;
      right[n * depth + k] = matrix.floats ? static_cast<double>(matrix.floats[at]) : matrix.doubles[at];
    }
  roundLanes(operands, left.data(), depth);
  roundLanes(operands, right.data(), depth * count);
  run(rounding, Problem<double>{right.data(), depth, 1, left, acc});
  if (isExact)
    roundLanes(rounding.accumulate, acc.data(), count);
}

} // namespace

void accumulateDots(const DotRounding &rounding, llvm::ArrayRef<double> x, const DotMatrix &matrix,
                    llvm::MutableArrayRef<double> acc) {
  if (rounding.operands)
    return accumulateRoundedDots(rounding, x, matrix, acc);
  if (matrix.floats)
    run(rounding, Problem<float>{matrix.floats, matrix.nStep, matrix.kStep, x, acc});
  else
    run(rounding, Problem<double>{matrix.doubles, matrix.nStep, matrix.kStep, x, acc});
}

} // namespace fusec::reference
