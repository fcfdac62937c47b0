//===- Rows.cpp - linear, rms_norm, rope, softmax, swiglu ------------------------===//
//
// Straight from the definitions in FuseSugar.td. In Precision::Exact every
// step written here rounds to the element type.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/Ops/Dot.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

namespace {

/// Rounds to an element type in Exact, not at all in F64.
struct Rounder {
  Precision precision;
  Element element;
  double operator()(double value) const { return precision == Precision::Exact ? roundTo(element, value) : value; }
};

/// Calls `compute(input row, output row)` for each row along the last dimension.
template <typename Compute> Status forEachRow(GraphFrame &frame, Value source, Value target, Compute compute) {
  const Tensor x = frame.get(source);
  FUSEC_ASSIGN_OR_RETURN(Tensor result, frame.make(target));
  const Tensor::Doubles in = x.values();
  const int64_t inWidth = x.shape().back(), outWidth = result.shape().back();
  const int64_t rows = numElements(x.shape().drop_back());
  for (int64_t r = 0; r < rows; ++r)
    compute(ArrayRef<double>(in.data() + r * inWidth, inWidth),
            MutableArrayRef<double>(result.doubles() + r * outWidth, outWidth));
  frame.set(target, std::move(result));
  return {};
}

} // namespace

Status runLinear(GraphFrame &frame, Operation *op) {
  auto linear = cast<fuse::LinearOp>(op);
  const Tensor w = frame.get(linear.getW()).isGathered() ? frame.get(linear.getW()).clone() : frame.get(linear.getW());
  const Tensor &x = frame.get(linear.getX());
  FUSEC_ASSIGN_OR_RETURN(Element out, elementOf(linear.getType().getElementType()));
  const Rounder round{frame.precision, out};
  const DotRounding rounding = DotRounding::of(frame.precision, Element::F32, x.element(), w.element());
  const Tensor::Doubles bias = linear.getBias() ? frame.get(linear.getBias()).values() : Tensor::Doubles();
  return forEachRow(frame, linear.getX(), linear.getResult(), [&](ArrayRef<double> in, MutableArrayRef<double> y) {
    accumulateDots(rounding, in, DotMatrix::of(w, w.base(), w.strides()[0], w.strides()[1]), y);
    for (size_t n = 0; n < y.size(); ++n)
      y[n] = bias.empty() ? round(y[n]) : round(round(y[n]) + bias[n]);
  });
}

Status runRMSNorm(GraphFrame &frame, Operation *op) {
  auto norm = cast<fuse::RMSNormOp>(op);
  const Tensor::Doubles w = frame.get(norm.getW()).values();
  const Rounder round{frame.precision, frame.get(norm.getX()).element()};
  const double epsilon = round(norm.getEpsilon().convertToDouble());
  return forEachRow(frame, norm.getX(), norm.getResult(), [&](ArrayRef<double> x, MutableArrayRef<double> y) {
    double sum = 0;
    for (double v : x)
      sum = round(sum + round(v * v));
    const double mean = round(sum / static_cast<double>(x.size()));
    const double scale = round(1.0 / round(std::sqrt(round(mean + epsilon))));
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = round(round(x[i] * scale) * w[i]);
  });
}

Status runRope(GraphFrame &frame, Operation *op) {
  auto rope = cast<fuse::RopeOp>(op);
  const Tensor x = frame.get(rope.getX());
  const Tensor::Doubles positions = frame.get(rope.getPositions()).values();
  const Tensor::Doubles frequencies = frame.get(rope.getFrequencies()).values();
  const int64_t pairs = static_cast<int64_t>(frequencies.size());
  const bool half = rope.getPairing() == fuse::Pairing::Half;
  const Rounder round{frame.precision, x.element()};
  Tensor result = x.clone();
  for (int64_t t = 0; t < x.dim(0); ++t)
    for (int64_t h = 0; h < x.dim(1); ++h)
      for (int64_t i = 0; i < pairs; ++i) {
        const int64_t first = half ? i : 2 * i, second = half ? i + pairs : 2 * i + 1;
        const double angle = positions[t] * frequencies[i];
        const double c = round(std::cos(angle)), s = round(std::sin(angle));
        const double a = x.get({t, h, first}), b = x.get({t, h, second});
        result.set({t, h, first}, round(round(a * c) - round(b * s)));
        result.set({t, h, second}, round(round(a * s) + round(b * c)));
      }
  frame.set(rope.getResult(), std::move(result));
  return {};
}

Status runSoftmax(GraphFrame &frame, Operation *op) {
  auto softmax = cast<fuse::SoftmaxOp>(op);
  const Rounder round{frame.precision, frame.get(softmax.getX()).element()};
  return forEachRow(frame, softmax.getX(), softmax.getResult(), [&](ArrayRef<double> x, MutableArrayRef<double> y) {
    double largest = -INFINITY;
    for (double v : x)
      largest = std::isnan(v) ? v : std::max(largest, v);
    if (largest == -INFINITY)
      return; // nothing visible: zeros
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum = round(sum + (y[i] = round(std::exp(round(x[i] - largest)))));
    for (double &v : y)
      v = round(v / sum);
  });
}

Status runSwiglu(GraphFrame &frame, Operation *op) {
  auto swiglu = cast<fuse::SwigluOp>(op);
  const Tensor gate = frame.get(swiglu.getGate()), up = frame.get(swiglu.getUp());
  const Rounder round{frame.precision, gate.element()};
  Tensor::Doubles g = gate.values();
  const Tensor::Doubles u = up.values();
  for (size_t i = 0; i < g.size(); ++i)
    g[i] = round(round(g[i] / round(1.0 + round(std::exp(-g[i])))) * u[i]);
  frame.set(swiglu.getResult(), Tensor::fromValues(gate.element(), gate.shape(), std::move(g)));
  return {};
}

} // namespace fusec::reference
