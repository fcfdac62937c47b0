//===- BoundedLayer.cpp - a decoder layer, and how far rounding may move it -------===//
#include "test/e2e/BoundedLayer.h"

#include "models/import/Dequantize.h"

#include <algorithm>
#include <cmath>

namespace fusec::e2e {
namespace {

using Row = std::vector<Bounded>;
using runtime::TokenId;

constexpr double f32 = 0x1p-24;
constexpr double few = 8 * f32; ///< Of an elementary function, with the operations around it.

double square(double x) { return x * x; }
/// The deviation of a sum of independent terms.
template <class... T> double together(T... deviations) { return std::sqrt((square(deviations) + ...)); }

struct Matrix {
  int64_t rows, columns;
  std::vector<float> values;
  const float *row(int64_t i) const { return values.data() + i * columns; }
};

class Layer {
public:
  Layer(const models::Model &model, const Arithmetic &arithmetic)
      : model(model), config(model.config()), a(arithmetic) {}

  std::vector<Row> logits(const std::vector<TokenId> &ids) {
    std::vector<Row> x = embed(ids);
    attend(x);
    const Matrix gate = matrix("blk.0.ffn_gate.weight"), up = matrix("blk.0.ffn_up.weight"),
                 down = matrix("blk.0.ffn_down.weight"), head = matrix("token_embd.weight"),
                 ffnNorm = matrix("blk.0.ffn_norm.weight"), last = matrix("output_norm.weight");
    for (Row &row : x) {
      const Row normed = norm(row, ffnNorm);
      addTo(row, product(down, gated(product(gate, normed), product(up, normed))));
      row = product(head, norm(row, last));
    }
    return x;
  }

private:
  Matrix matrix(const std::string &name) const {
    const models::Weight &w = *model.find(name);
    Matrix m{w.shape.size() == 2 ? w.shape[0] : 1, w.shape.back(), {}};
    m.values.resize(static_cast<size_t>(m.rows * m.columns));
    models::dequantizeRow(w.type, w.data.data(), m.values.data(), m.rows * m.columns);
    return m;
  }

  std::vector<Row> embed(const std::vector<TokenId> &ids) const {
    const Matrix table = matrix("token_embd.weight");
    std::vector<Row> rows;
    for (TokenId id : ids) {
      Row &row = rows.emplace_back();
      for (int64_t i = 0; i < table.columns; ++i)
        row.push_back({table.row(id)[i], 0});
    }
    return rows;
  }

  /// The deviation of a product's sum, given those of its terms in squares.
  double ofSum(double terms, double magnitude, size_t count) const {
    return std::sqrt(terms + square(a.sum * magnitude) * static_cast<double>(count + 2));
  }
  /// Squared, relative: what rounding both operands does to their product.
  double ofOperands() const { return 2 * square(a.operand) / 3; }

  Bounded dot(const Row &x, const Row &y) const {
    double value = 0, magnitude = 0, terms = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double term = x[i].value * y[i].value;
      value += term;
      magnitude += std::fabs(term);
      terms += square(y[i].value * x[i].deviation) + square(x[i].value * y[i].deviation) + ofOperands() * square(term);
    }
    return {value, ofSum(terms, magnitude, x.size())};
  }

  Row product(const Matrix &w, const Row &x) const {
    std::vector<double> factors; // of a squared weight
    for (const Bounded &e : x)
      factors.push_back(square(e.deviation) + ofOperands() * square(e.value));
    Row result;
    for (int64_t n = 0; n < w.rows; ++n) {
      const float *row = w.row(n);
      double value = 0, magnitude = 0, terms = 0;
      for (size_t k = 0; k < x.size(); ++k) {
        value += row[k] * x[k].value;
        magnitude += std::fabs(row[k] * x[k].value);
        terms += square(row[k]) * factors[k];
      }
      result.push_back({value, ofSum(terms, magnitude, x.size())});
    }
    return result;
  }

  static void addTo(Row &x, const Row &y) {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i].value += y[i].value;
      x[i].deviation = together(x[i].deviation, y[i].deviation, f32 * x[i].value);
    }
  }

  Row norm(const Row &x, const Matrix &g) const {
    const auto n = static_cast<double>(x.size());
    double squares = n * config.normEps, mean = 0;
    for (const Bounded &e : x) {
      squares += square(e.value);
      mean += square(e.value * e.deviation);
    }
    const double r = 1 / std::sqrt(squares / n),
                 relative = together(std::sqrt(mean) / squares, std::sqrt(n) * f32, few);
    Row y;
    for (size_t i = 0; i < x.size(); ++i) {
      const double value = x[i].value * r * g.values[i];
      y.push_back({value, together(r * g.values[i] * x[i].deviation, value * relative)});
    }
    return y;
  }

  static Row gated(const Row &gate, const Row &up) {
    Row result;
    for (size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i].value, u = up[i].value, logistic = 1 / (1 + std::exp(-g));
      const double slope = logistic * (1 + g * (1 - logistic)), value = g * logistic * u;
      result.push_back({value, together(slope * u * gate[i].deviation, g * logistic * up[i].deviation, few * value)});
    }
    return result;
  }

  /// One head's row, neighbours turned by their angles.
  Row rotated(const Row &x, int64_t position) const {
    Row y(x.size());
    for (size_t i = 0; i < x.size(); i += 2) {
      const double angle = static_cast<double>(position) *
                           std::pow(config.rope.theta, -static_cast<double>(i) / static_cast<double>(x.size()));
      const double c = std::cos(angle), s = std::sin(angle);
      const double turn = few * (angle + 1) * std::hypot(x[i].value, x[i + 1].value);
      y[i] = {x[i].value * c - x[i + 1].value * s, together(c * x[i].deviation, s * x[i + 1].deviation, turn)};
      y[i + 1] = {x[i + 1].value * c + x[i].value * s, together(c * x[i + 1].deviation, s * x[i].deviation, turn)};
    }
    return y;
  }

  std::vector<Row> heads(const Row &row, int64_t position) const {
    const auto size = static_cast<size_t>(config.headDim);
    std::vector<Row> list;
    for (size_t at = 0; at < row.size(); at += size) {
      Row head(row.begin() + static_cast<ptrdiff_t>(at), row.begin() + static_cast<ptrdiff_t>(at + size));
      list.push_back(position < 0 ? head : rotated(head, position));
    }
    return list;
  }

  /// The weights of a head's scores.
  static Row softmax(Row scores) {
    double most = -INFINITY, sum = 0, all = 0;
    for (const Bounded &s : scores)
      most = std::max(most, s.value);
    for (Bounded &s : scores)
      sum += s.value = std::exp(s.value - most);
    for (Bounded &s : scores)
      all += square((s.value /= sum) * s.deviation);
    for (Bounded &s : scores)
      s.deviation = s.value * together(s.deviation, std::sqrt(all), few);
    return scores;
  }

  void attend(std::vector<Row> &x) const {
    const Matrix q = matrix("blk.0.attn_q.weight"), k = matrix("blk.0.attn_k.weight"),
                 v = matrix("blk.0.attn_v.weight"), o = matrix("blk.0.attn_output.weight"),
                 attnNorm = matrix("blk.0.attn_norm.weight");
    std::vector<std::vector<Row>> keys, values; // [position][head]
    for (size_t t = 0; t < x.size(); ++t) {
      const Row normed = norm(x[t], attnNorm);
      const auto position = static_cast<int64_t>(t);
      keys.push_back(heads(product(k, normed), position));
      values.push_back(heads(product(v, normed), -1));
      const std::vector<Row> queries = heads(product(q, normed), position);
      Row all;
      for (size_t h = 0; h < queries.size(); ++h)
        for (const Bounded &value : attendHead(queries[h], h / (queries.size() / keys[0].size()), keys, values))
          all.push_back(value);
      addTo(x[t], product(o, all));
    }
  }

  Row attendHead(const Row &query, size_t head, const std::vector<std::vector<Row>> &keys,
                 const std::vector<std::vector<Row>> &values) const {
    const double scale = 1 / std::sqrt(static_cast<double>(query.size()));
    Row scores;
    for (const std::vector<Row> &key : keys) {
      const Bounded score = dot(query, key[head]);
      scores.push_back({score.value * scale, together(score.deviation, few * score.value) * scale});
    }
    const Row weights = softmax(std::move(scores));
    Row result, column(values.size());
    for (size_t d = 0; d < query.size(); ++d) {
      for (size_t t = 0; t < values.size(); ++t)
        column[t] = values[t][head][d];
      result.push_back(dot(weights, column));
    }
    return result;
  }

  const models::Model &model;
  const models::ModelConfig &config;
  const Arithmetic a;
};

} // namespace

std::vector<std::vector<Bounded>> boundedLogits(const models::Model &model, const std::vector<TokenId> &ids,
                                                const Arithmetic &arithmetic) {
  return Layer(model, arithmetic).logits(ids);
}

} // namespace fusec::e2e
