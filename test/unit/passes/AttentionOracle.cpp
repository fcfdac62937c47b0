//===- AttentionOracle.cpp - attention in double, with an error bound -----------===//
//
// u is the unit roundoff of f32. Let t_j be the exact logit of key j, m their
// maximum, p_j = exp(t_j - m) / l the probability, y = sum p_j v_j.
//
// 1. The logit. A dot of D products, one rounding per step in any order, errs
//    by (D + 1) u sum |q k|. Each later step passes on what it got (times the
//    largest slope of its function there) and adds its own rounding: `Logit`.
//
// 2. The exponential. Whatever maximum the machine subtracts, the same one
//    stands in numerator and denominator, so its error cancels. A weight may
//    be computed against an early maximum m_b and repaired later by factors
//    exp(m_b - m_b'), each of its own argument. The arguments' roundings add up to
//    u (|t_j - m_b| + |m_b - m_b'| + ...) = u |t_j - m|: maxima only rise. Each of the
//    R factors and the weight itself errs by expError. So a weight comes out as
//    e_j (1 + x_j), |x_j| <= w_j = expm1(d_j + u (m - t_j + ..) + (R + 1) expError), with d_j the
//    logit's error. R is at most the number of times that the running maximum
//    rises along the keys (in blocks: fewer), plus 2 for merging two halves.
//
// 3. The sums. n visible keys add n roundings to either sum, R repairs R more,
//    dividing first one more: c = (n + R + 2) u, relative to sums of magnitudes.
//    With x_j as above the quotient is exactly
//        y' - y = sum p_j x_j (v_j - y) / (1 + sum p_j x_j),
//    which stays small when one key holds all weight, however large d_j. Hence
//        |y' - y| <= (sum p_j w_j |v_j - y| + c (sum p_j (1 + w_j) (|v_j| + |y|))) / sum p_j / (1 + w_j) + 2 u |y|,
//    all of it times 1.01 for the second-order terms, plus what underflows: n
//    weights below 2^-126 may be lost whole.
//
// A sink is a key with v = 0.
//
// 4. Rounded operands. q, k and v are rounded before anything else, so that the
//    exact result is that of the rounded ones, and their products are exact. A
//    weight is rounded where it is multiplied, not in the sum of weights: relative to
//    it by at most r, the unit of the type, or by its smallest step where it
//    underflows. That adds sum p_j (1 + w_j) r |v_j| to the error of the numerator.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/AttentionGraph.h"
#include "test/unit/passes/Comparison.h"

#include <cmath>
#include <limits>

namespace fusec::differential {

using namespace reference;

namespace {

/// The C library's tanhf errs by at most 2 ulp.
constexpr double tanhError = 4 * unit;

/// A value and by how much f32 may miss it.
struct Logit {
  double value = 0, error = 0;

  void round() { error += unit * 1.01 * std::fabs(value); }
  void multiply(double factor) {
    value *= factor;
    error *= std::fabs(factor);
    round();
  }
  void add(double term, double itsError = 0) {
    value += term;
    error += itsError;
    if (std::isfinite(value))
      round();
  }
  /// cap * tanh(value / cap); the slope is largest where |value| is smallest.
  void cap(double limit) {
    value /= limit;
    error /= limit;
    round();
    const double nearest = std::max(std::fabs(value) - error, 0.0), cosine = std::cosh(nearest);
    value = std::tanh(value);
    error = error / (cosine * cosine) + tanhError * std::fabs(value);
    multiply(limit);
  }
};

/// One row of logits and the values behind them.
struct Row {
  std::vector<Logit> logits;
  std::vector<int64_t> keys; ///< Of each logit; -1: the sink.
};

class Attention {
public:
  Attention(const AttentionForm &form, const Step &step)
      : form(form), step(step), q(operand(input("q"))), positions(input("positions").values()),
        sequences(input("sequences").values()), limits(input("limit").values()), keys(operand(history("k"))),
        values(operand(history("v"))), bias(input("bias").values()), mask(input("mask").values()) {}

  AttentionOracle run() {
    const int64_t tokens = static_cast<int64_t>(positions.size());
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t h = 0; h < form.heads(); ++h)
        finish(rowOf(t, h), t, h / form.group);
    return std::move(oracle);
  }

private:
  Tensor input(const std::string &name) const { return step.inputs.find(name)->second; }

  Tensor operand(Tensor tensor) const {
    if (form.operands.empty())
      return tensor;
    tensor = tensor.clone();
    roundInPlace(tensor, form.operands);
    return tensor;
  }

  /// [sequence, key, head, element] with this step's rows in place.
  Tensor history(const std::string &name) const {
    if (form.memory == KeyMemory::Plain) {
      Tensor all = input(name + ".0");
      return all.reshaped({1, all.dim(0), all.dim(1), all.dim(2)});
    }
    if (form.memory == KeyMemory::Batched)
      return input(name + ".0");
    Tensor cache = step.caches.find(name + ".0")->second.clone();
    if (form.appends) {
      Tensor rows = input(name).clone();
      roundInPlace(rows, form.storage);
      for (int64_t t = 0; t < rows.dim(0); ++t)
        for (int64_t i = 0; i < rows.dim(1) * rows.dim(2); ++i)
          cache.set({sequence(t), static_cast<int64_t>(positions[t]), i / rows.dim(2), i % rows.dim(2)},
                    rows.get({t, i / rows.dim(2), i % rows.dim(2)}));
    }
    return cache;
  }

  int64_t sequence(int64_t t) const { return form.memory == KeyMemory::Plain ? 0 : static_cast<int64_t>(sequences[t]); }
  int64_t context() const { return keys.dim(1); }

  bool isVisible(int64_t t, int64_t j) const {
    if (form.mask != MaskTensor::None && mask[t * context() + j] == 0)
      return false;
    if (form.visibility == Visibility::All)
      return form.memory != KeyMemory::Paged || static_cast<double>(j) < limits[t];
    const double at = static_cast<double>(j), position = positions[t];
    return at <= position && (form.visibility == Visibility::Causal || at > position - form.window);
  }

  Row rowOf(int64_t t, int64_t h) const {
    Row row;
    for (int64_t j = 0; j < context(); ++j)
      if (isVisible(t, j))
        if (Logit logit = logitOf(t, h, j); std::isfinite(logit.value)) {
          row.logits.push_back(logit);
          row.keys.push_back(j);
        }
    if (form.sink) {
      row.logits.push_back({input("sink").get({h}), 0});
      row.keys.push_back(-1);
    }
    return row;
  }

  Logit logitOf(int64_t t, int64_t h, int64_t j) const {
    Logit logit;
    double magnitude = 0;
    const double *query = q.doubles() + (t * form.heads() + h) * form.head;
    const double *key = keys.doubles() + keys.offset({sequence(t), j, h / form.group, 0});
    for (int64_t d = 0; d < form.head; ++d) {
      logit.value += query[d] * key[d];
      magnitude += std::fabs(query[d] * key[d]);
    }
    logit.error = static_cast<double>(form.head + 1) * unit * 1.01 * magnitude;
    logit.multiply(form.scale());
    if (form.softcap != 0)
      logit.cap(form.softcap);
    if (form.alibi) {
      const double term = input("slopes").get({h}) * (static_cast<double>(j) - positions[t]);
      logit.add(term, unit * std::fabs(term));
    }
    if (form.bias)
      logit.add(bias[t * context() + j]);
    return logit;
  }

  /// Weights of a row: p_j and w_j.
  struct Weights {
    std::vector<double> p, w;
    double rounding = 0; ///< c
    double kept = 0;     ///< sum p_j / (1 + w_j)
  };

  static Weights weigh(const Row &row) {
    Weights out;
    double maximum = -std::numeric_limits<double>::infinity(), worst = 0, sum = 0;
    int64_t rises = 0;
    for (const Logit &logit : row.logits) {
      rises += logit.value > maximum;
      maximum = std::max(maximum, logit.value);
      worst = std::max(worst, logit.error);
    }
    const double repairs = static_cast<double>(rises + 2);
    for (const Logit &logit : row.logits) {
      const double distance = maximum - logit.value;
      out.p.push_back(std::exp(-distance));
      sum += out.p.back();
      out.w.push_back(
          std::expm1(logit.error + unit * 1.01 * (distance + logit.error + worst) + (repairs + 1) * expError));
    }
    for (size_t i = 0; i < out.p.size(); ++i) {
      out.p[i] /= sum;
      out.kept += out.p[i] / (1 + out.w[i]);
    }
    out.rounding = (static_cast<double>(row.logits.size()) + repairs + 2) * unit;
    return out;
  }

  void finish(const Row &row, int64_t t, int64_t kvHead) {
    const Weights weights = weigh(row);
    const size_t n = row.logits.size();
    for (int64_t c = 0; c < form.valueHead; ++c) {
      std::vector<double> v(n);
      double y = 0, spread = 0, sums = 0, largest = 0;
      for (size_t i = 0; i < n; ++i) {
        v[i] = row.keys[i] < 0 ? 0.0 : values.get({sequence(t), row.keys[i], kvHead, c});
        y += weights.p[i] * v[i];
        largest = std::max(largest, std::fabs(v[i]));
      }
      for (size_t i = 0; i < n; ++i) {
        spread += weights.p[i] * weights.w[i] * std::fabs(v[i] - y);
        sums += weights.p[i] * (1 + weights.w[i]) * (std::fabs(v[i]) + std::fabs(y));
      }
      oracle.value.push_back(y);
      const double rounded = rounding.relative * sums;
      const double relative =
          n == 0 ? 0 : (spread + weights.rounding * sums + rounded) / weights.kept + 2 * unit * std::fabs(y);
      oracle.bound.push_back(1.01 * relative + static_cast<double>(n) * rounding.absolute * largest);
    }
  }

  /// Of a weight that is multiplied: relative, and what may be lost below the smallest normal number.
  struct Rounding {
    double relative, absolute;
  };
  static Rounding roundingOf(const std::string &operands) {
    return operands == "f16"    ? Rounding{0x1p-11, 0x1p-25 + 0x1p-126}
           : operands == "bf16" ? Rounding{0x1p-8, 0x1p-126}
                                : Rounding{0, 0x1p-126};
  }

  const AttentionForm &form;
  const Step &step;
  const Rounding rounding = roundingOf(form.operands);
  const Tensor q;
  const std::vector<double> positions, sequences, limits;
  const Tensor keys, values;
  const std::vector<double> bias, mask;
  AttentionOracle oracle;
};

} // namespace

AttentionOracle attend(const AttentionForm &form, const Step &step) { return Attention(form, step).run(); }

} // namespace fusec::differential
