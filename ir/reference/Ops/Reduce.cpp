//===- Reduce.cpp - fuse.reduce ---------------------------------------------------===//
//
// One chain per result element, in ascending order of the reduced dimensions
// (the last fastest): the order `sequential` demands and `lanes` and `any`
// permit. Several result elements run side by side as lanes.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/LaneProgram.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

namespace {

/// The carriers of up to maxLanes result elements.
class Fold {
public:
  Fold(LaneProgram &combine, ArrayRef<const Tensor *> inputs, ArrayRef<double> identities)
      : combine(combine), inputs(inputs), identities(identities), merged(LaneProgram::maxLanes * inputs.size()) {}

  void start(int64_t n) {
    for (size_t c = 0; c < inputs.size(); ++c)
      std::fill_n(combine.argument(c), n, identities[c]);
  }

  /// Merges the elements at `bases[lane] + delta` of each input.
  void step(ArrayRef<Shape> bases, ArrayRef<int64_t> deltas) {
    const int64_t n = static_cast<int64_t>(bases.size());
    for (size_t c = 0; c < inputs.size(); ++c)
      for (int64_t i = 0; i < n; ++i)
        combine.argument(inputs.size() + c)[i] = inputs[c]->load(bases[i][c] + deltas[c]);
    combine.run(n);
    // All results first, then the arguments: a result may be another argument.
    for (size_t c = 0; c < inputs.size(); ++c)
      std::copy(combine.result(c), combine.result(c) + n, merged.data() + c * LaneProgram::maxLanes);
    for (size_t c = 0; c < inputs.size(); ++c)
      std::copy_n(merged.data() + c * LaneProgram::maxLanes, n, combine.argument(c));
  }

  bool isIdentity(int64_t lane) {
    for (size_t c = 0; c < inputs.size(); ++c)
      if (combine.argument(c)[lane] != identities[c])
        return false;
    return true;
  }
  double carrier(size_t c, int64_t lane) { return combine.argument(c)[lane]; }

private:
  LaneProgram &combine;
  ArrayRef<const Tensor *> inputs;
  ArrayRef<double> identities;
  std::vector<double> merged;
};

struct Split {
  Shape kept, reduced;         ///< Extents.
  Shape keptDims, reducedDims; ///< Their positions.
};

Split splitDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  Split split;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    const bool reduced = llvm::is_contained(dims, d);
    (reduced ? split.reduced : split.kept).push_back(shape[d]);
    (reduced ? split.reducedDims : split.keptDims).push_back(d);
  }
  return split;
}

/// Position of the element of `tensor` whose index along `dims` is `index` and 0 elsewhere.
int64_t positionOf(const Tensor &tensor, ArrayRef<int64_t> dims, ArrayRef<int64_t> index) {
  Shape full(tensor.rank(), 0);
  for (auto [d, i] : llvm::zip(dims, index))
    full[d] = i;
  return tensor.offset(full);
}

/// Storage offsets of one reduced element relative to the origin, per input.
std::vector<Shape> reducedDeltas(const Split &split, ArrayRef<const Tensor *> inputs) {
  std::vector<Shape> deltas;
  (void)forEachIndex(split.reduced, [&](ArrayRef<int64_t> index) {
    Shape row;
    for (const Tensor *input : inputs) {
      int64_t delta = 0;
      for (auto [d, i] : llvm::zip(split.reducedDims, index))
        delta += i * input->strides()[d];
      row.push_back(delta);
    }
    deltas.push_back(row);
    return Status();
  });
  return deltas;
}

Result<LaneProgram> compileCombine(fuse::ReduceOp reduce, Precision precision) {
  FUSEC_ASSIGN_OR_RETURN(Element accumulate, elementOf(reduce.getNumerics().getAccumulate()));
  std::optional<Element> widened;
  if (isFloat(accumulate))
    widened = accumulate;
  return LaneProgram::compile(reduce.getCombine().front(), precision, widened);
}

/// What a reduction reads, and what it writes.
struct Reduction {
  std::vector<Tensor> inputs, results;
  std::vector<double> identities;
  bool zeroWhenEmpty;
  Precision precision;

  static Result<Reduction> create(GraphFrame &frame, fuse::ReduceOp op);
  /// Writes a lane's carrier as result element `at`.
  void write(int64_t at, Fold &fold, int64_t lane);
};

Result<Reduction> Reduction::create(GraphFrame &frame, fuse::ReduceOp op) {
  Reduction r{{}, {}, {}, op.getNumerics().getEmpty() == fuse::EmptyPolicy::Zero, frame.precision};
  for (auto [c, input] : llvm::enumerate(op.getInputs())) {
    // A gathered input has no strides along dimension 0.
    r.inputs.push_back(frame.get(input).isGathered() ? frame.get(input).clone() : frame.get(input));
    FUSEC_ASSIGN_OR_RETURN(std::vector<double> identity, constantValues(op.getInit()[c], 1));
    r.identities.push_back(identity[0]);
    FUSEC_ASSIGN_OR_RETURN(Tensor result, frame.make(op.getResult(c)));
    r.results.push_back(std::move(result));
  }
  return r;
}

void Reduction::write(int64_t at, Fold &fold, int64_t lane) {
  const bool zero = zeroWhenEmpty && fold.isIdentity(lane);
  for (size_t c = 0; c < results.size(); ++c) {
    const double value = zero ? 0.0 : fold.carrier(c, lane);
    results[c].doubles()[at] = precision == Precision::Exact ? roundTo(results[c].element(), value) : value;
  }
}

} // namespace

Status runReduce(GraphFrame &frame, Operation *op) {
  auto reduce = cast<fuse::ReduceOp>(op);
  FUSEC_ASSIGN_OR_RETURN(LaneProgram combine, compileCombine(reduce, frame.precision));
  FUSEC_ASSIGN_OR_RETURN(Reduction reduction, Reduction::create(frame, reduce));
  std::vector<const Tensor *> inputs;
  for (const Tensor &input : reduction.inputs)
    inputs.push_back(&input);
  const Split split = splitDims(inputs[0]->shape(), reduce.getDims());
  const std::vector<Shape> deltas = reducedDeltas(split, inputs);
  Fold fold(combine, inputs, reduction.identities);
  std::vector<Shape> bases; // one per lane: positions of its first elements
  int64_t written = 0;
  auto flush = [&] {
    fold.start(static_cast<int64_t>(bases.size()));
    for (const Shape &delta : deltas)
      fold.step(bases, delta);
    for (int64_t lane = 0; lane < static_cast<int64_t>(bases.size()); ++lane)
      reduction.write(written++, fold, lane);
    bases.clear();
  };
  FUSEC_RETURN_IF_ERROR(forEachIndex(split.kept, [&](ArrayRef<int64_t> index) {
    Shape base;
    for (const Tensor *input : inputs)
      base.push_back(positionOf(*input, split.keptDims, index));
    bases.push_back(std::move(base));
    if (bases.size() == LaneProgram::maxLanes)
      flush();
    return Status();
  }));
  flush();
  for (size_t c = 0; c < reduction.results.size(); ++c)
    frame.set(reduce.getResult(c), std::move(reduction.results[c]));
  return {};
}

} // namespace fusec::reference
