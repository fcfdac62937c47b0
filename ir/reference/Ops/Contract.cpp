//===- Contract.cpp - fuse.contract ------------------------------------------------===//
//
// For each point of the result but its last dimension: a row of sums over the
// summed dimensions, the last of them innermost. Where an operand moves
// linearly along those two dimensions the row is one call of accumulateDots.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/AccessMap.h"
#include "ir/reference/Ops/Dot.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

namespace {

class Contraction {
public:
  static Result<Contraction> create(GraphFrame &frame, fuse::ContractOp op);
  Status run(Tensor &result);

private:
  Contraction(DotRounding rounding, AccessMap left, AccessMap right)
      : rounding(rounding), leftMap(std::move(left)), rightMap(std::move(right)) {}

  void chooseRow();
  Status addRow(Shape &point, MutableArrayRef<double> acc);
  /// The elements of an operand at `point` along the inner dimension.
  Status readInner(const Tensor &tensor, const AccessMap &map, Shape &point, std::vector<double> &out) const;

  DotRounding rounding;
  Tensor left, right;
  AccessMap leftMap, rightMap;
  Shape extents;       ///< Of the iteration space.
  Shape resultDims;    ///< Iteration dimension of each result dimension.
  Shape outerSums;     ///< Summed dimensions but the innermost.
  int64_t inner = 0;   ///< The innermost summed dimension.
  int64_t rowDim = -1; ///< The result's last dimension when rows are computed whole, or -1.
  bool innerLinear = false;
  std::vector<double> x, y;
};

Result<Contraction> Contraction::create(GraphFrame &frame, fuse::ContractOp op) {
  const Tensor left = frame.get(op.getLhs()), right = frame.get(op.getRhs());
  FUSEC_ASSIGN_OR_RETURN(Shape extents, frame.environment.extents(op.getIterationExtents()));
  FUSEC_ASSIGN_OR_RETURN(AccessMap leftMap, AccessMap::create(op.getMap(0), left, extents, "lhs"));
  FUSEC_ASSIGN_OR_RETURN(AccessMap rightMap, AccessMap::create(op.getMap(1), right, extents, "rhs"));
  FUSEC_ASSIGN_OR_RETURN(Element accumulate, elementOf(op.getNumerics().getAccumulate()));
  DotRounding rounding = DotRounding::of(frame.precision, accumulate, left.element(), right.element());
  if (Type operands = op.getNumerics().getOperands()) {
    FUSEC_ASSIGN_OR_RETURN(rounding.operands, elementOf(operands));
  }
  Contraction c(rounding, std::move(leftMap), std::move(rightMap));
  c.left = left;
  c.right = right;
  c.extents = extents;
  for (AffineExpr expr : op.getMap(2).getResults())
    c.resultDims.push_back(cast<AffineDimExpr>(expr).getPosition());
  for (unsigned d : op.getSummedDims())
    c.outerSums.push_back(d);
  c.inner = c.outerSums.pop_back_val();
  c.chooseRow();
  return c;
}

/// Rows are computed whole when one operand stands still along the result's
/// last dimension and the other moves linearly; that other one becomes `right`.
void Contraction::chooseRow() {
  if (resultDims.empty())
    return;
  const int64_t d = resultDims.back();
  auto stands = [&](const AccessMap &m) { return m.isLinear(d) && m.step(d) == 0; };
  if (!stands(leftMap) && stands(rightMap)) {
    std::swap(left, right);
    std::swap(leftMap, rightMap);
  }
  innerLinear = rightMap.isLinear(inner);
  if (stands(leftMap) && rightMap.isLinear(d) && innerLinear)
    rowDim = d;
}

Status Contraction::readInner(const Tensor &tensor, const AccessMap &map, Shape &point,
                              std::vector<double> &out) const {
  const int64_t n = extents[inner];
  out.resize(n);
  if (n == 0)
    return {};
  if (map.isLinear(inner)) {
    FUSEC_ASSIGN_OR_RETURN(int64_t position, map.at(point));
    for (int64_t i = 0; i < n; ++i)
      out[i] = tensor.load(position + i * map.step(inner));
    return {};
  }
  for (point[inner] = 0; point[inner] < n; ++point[inner]) {
    FUSEC_ASSIGN_OR_RETURN(int64_t position, map.at(point));
    out[point[inner]] = tensor.load(position);
  }
  point[inner] = 0;
  return {};
}

Status Contraction::addRow(Shape &point, MutableArrayRef<double> acc) {
  FUSEC_RETURN_IF_ERROR(readInner(left, leftMap, point, x));
  if (x.empty())
    return {};
  if (rowDim >= 0) {
    FUSEC_ASSIGN_OR_RETURN(int64_t position, rightMap.at(point));
    accumulateDots(rounding, x, DotMatrix::of(right, position, rightMap.step(rowDim), rightMap.step(inner)), acc);
    return {};
  }
  FUSEC_RETURN_IF_ERROR(readInner(right, rightMap, point, y));
  accumulateDots(rounding, x, {nullptr, y.data(), 0, 1}, acc);
  return {};
}

Status Contraction::run(Tensor &result) {
  if (result.size() == 0)
    return {};
  const int64_t row = rowDim >= 0 ? result.shape().back() : 1;
  const ArrayRef<int64_t> outer = rowDim >= 0 ? result.shape().drop_back() : result.shape();
  Shape sums;
  for (int64_t d : outerSums)
    sums.push_back(extents[d]);
  double *out = result.doubles();
  Shape point(extents.size(), 0);
  return forEachIndex(outer, [&](ArrayRef<int64_t> index) -> Status {
    for (size_t i = 0; i < index.size(); ++i)
      point[resultDims[i]] = index[i];
    MutableArrayRef<double> acc(out, row); // zeroed by GraphFrame::make
    FUSEC_RETURN_IF_ERROR(forEachIndex(sums, [&](ArrayRef<int64_t> at) {
      for (size_t i = 0; i < at.size(); ++i)
        point[outerSums[i]] = at[i];
      return addRow(point, acc);
    }));
    if (rounding.precision == Precision::Exact)
      roundLanes(result.element(), out, row);
    out += row;
    return {};
  });
}

} // namespace

Status runContract(GraphFrame &frame, Operation *op) {
  auto contract = cast<fuse::ContractOp>(op);
  FUSEC_ASSIGN_OR_RETURN(Tensor result, frame.make(contract.getResult()));
  FUSEC_ASSIGN_OR_RETURN(Contraction contraction, Contraction::create(frame, contract));
  FUSEC_RETURN_IF_ERROR(contraction.run(result));
  frame.set(contract.getResult(), std::move(result));
  return {};
}

} // namespace fusec::reference
