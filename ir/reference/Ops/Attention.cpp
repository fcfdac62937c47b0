//===- Attention.cpp - fuse.attention ------------------------------------------===//
//
// The definition, one query head at a time: scores of the visible keys, their
// softmax, the weighted sum of their values. Positions the mask hides are never
// read.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/Ops/Dot.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

namespace {

struct Attention {
  Tensor q, k, v;
  double scale;
  std::optional<int64_t> window;
  Precision precision;
  DotRounding rounding;

  double round(double value) const { return precision == Precision::Exact ? roundTo(q.element(), value) : value; }
  int64_t firstKey(int64_t position) const { return window ? std::max<int64_t>(0, position - *window + 1) : 0; }
  std::vector<double> weights(int64_t token, int64_t head, int64_t sequence, int64_t position) const;
  void attend(int64_t token, int64_t head, int64_t sequence, int64_t position, MutableArrayRef<double> out) const;
  int64_t cacheHead(int64_t head) const { return head / (q.dim(1) / k.dim(2)); }
};

/// Softmax over the visible keys, divided at the end by the caller: exp(s - max) followed by their
/// sum.
std::vector<double> Attention::weights(int64_t token, int64_t head, int64_t sequence, int64_t position) const {
  const int64_t first = firstKey(position), visible = position - first + 1;
  std::vector<double> query;
  for (int64_t d = 0; d < q.dim(2); ++d)
    query.push_back(q.get({token, head, d}));
  std::vector<double> scores(visible, 0.0);
  const int64_t base = k.offset({sequence, first, cacheHead(head), 0});
  accumulateDots(rounding, query, DotMatrix::of(k, base, k.strides()[1], k.strides()[3]), scores);
  double largest = -INFINITY;
  for (double &s : scores)
    largest = std::max(largest, s = round(round(s) * scale));
  double sum = 0;
  for (double &s : scores)
    sum = round(sum + (s = largest == -INFINITY ? 0.0 : round(std::exp(round(s - largest)))));
  scores.push_back(sum);
  return scores;
}

void Attention::attend(int64_t token, int64_t head, int64_t sequence, int64_t position,
                       MutableArrayRef<double> out) const {
  std::vector<double> scores = weights(token, head, sequence, position);
  const double sum = scores.back();
  scores.pop_back();
  const int64_t base = v.offset({sequence, firstKey(position), cacheHead(head), 0});
  accumulateDots(rounding, scores, DotMatrix::of(v, base, v.strides()[3], v.strides()[1]), out);
  for (double &o : out)
    o = sum == 0 ? 0.0 : round(round(o) / sum);
}

} // namespace

Status runAttention(GraphFrame &frame, Operation *op) {
  auto attention = cast<fuse::AttentionOp>(op);
  const Tensor q = frame.get(attention.getQ()), k = frame.get(attention.getK()), v = frame.get(attention.getV());
  if (k.isGathered() || v.isGathered())
    return unsupported("a gathered cache");
  FUSEC_ASSIGN_OR_RETURN(std::vector<int64_t> sequences,
                         indexValues(frame.get(attention.getSequences()), k.dim(0), "sequence of token"));
  FUSEC_ASSIGN_OR_RETURN(Tensor result, frame.make(attention.getResult()));
  std::optional<int64_t> window;
  if (attention.getWindow())
    window = static_cast<int64_t>(*attention.getWindow());
  Attention a{q,
              k,
              v,
              attention.getScale().convertToDouble(),
              window,
              frame.precision,
              DotRounding::of(frame.precision, Element::F32, q.element(), k.element())};
  a.scale = a.round(a.scale);
  const int64_t heads = q.dim(1), width = v.dim(3);
  const Tensor &positions = frame.get(attention.getPositions());
  for (int64_t t = 0; t < q.dim(0); ++t) {
    // Keys beyond the cache do not exist; a negative position sees none.
    const int64_t position = std::min(static_cast<int64_t>(positions.get({t})), k.dim(1) - 1);
    for (int64_t h = 0; h < heads && position >= 0; ++h)
      a.attend(t, h, sequences[t], position,
               MutableArrayRef<double>(result.doubles() + (t * heads + h) * width, width));
  }
  frame.set(attention.getResult(), std::move(result));
  return {};
}

} // namespace fusec::reference
