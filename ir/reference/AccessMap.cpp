//===- AccessMap.cpp - affine maps to storage positions -----------------------===//
#include "ir/reference/AccessMap.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace fusec::reference {

namespace {

int64_t floorMod(int64_t a, int64_t b) { return a - llvm::divideFloorSigned(a, b) * b; }

int64_t combine(AffineExprKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return b == 0 ? 0 : llvm::divideFloorSigned(a, b);
  case AffineExprKind::CeilDiv:
    return b == 0 ? 0 : llvm::divideCeilSigned(a, b);
  default:
    return b == 0 ? 0 : floorMod(a, b);
  }
}

bool isQuotient(AffineExprKind kind) {
  return kind == AffineExprKind::FloorDiv || kind == AffineExprKind::CeilDiv || kind == AffineExprKind::Mod;
}

/// Smallest and largest value over a box; exact for linear expressions, an
/// enclosure otherwise.
struct Interval {
  int64_t low, high;
};

Interval boundsOf(AffineExpr expr, ArrayRef<int64_t> extents) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {0, extents[dim.getPosition()] - 1};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Interval a = boundsOf(binary.getLHS(), extents), b = boundsOf(binary.getRHS(), extents);
  if (binary.getKind() == AffineExprKind::Mod) {
    const bool unchanged = a.low >= 0 && a.high < b.low;
    return unchanged ? a : Interval{0, b.high - 1};
  }
  int64_t corners[] = {combine(binary.getKind(), a.low, b.low), combine(binary.getKind(), a.low, b.high),
                       combine(binary.getKind(), a.high, b.low), combine(binary.getKind(), a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

/// Adds `scale * expr` to the steps of the dimensions; marks those under a quotient.
void collectSteps(AffineExpr expr, int64_t scale, Shape &steps, SmallVectorImpl<bool> &linear) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    steps[dim.getPosition()] += scale;
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return;
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() == AffineExprKind::Add) {
    collectSteps(binary.getLHS(), scale, steps, linear);
    collectSteps(binary.getRHS(), scale, steps, linear);
  } else if (binary.getKind() == AffineExprKind::Mul && factor) {
    collectSteps(binary.getLHS(), scale * factor.getValue(), steps, linear);
  } else {
    for (size_t d = 0; d < linear.size(); ++d)
      if (expr.isFunctionOfDim(d))
        linear[d] = false;
  }
}

bool dividesByZero(AffineExpr expr) {
  bool found = false;
  expr.walk([&](AffineExpr e) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    if (!binary || !isQuotient(binary.getKind()))
      return;
    auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    found |= !divisor || divisor.getValue() <= 0;
  });
  return found;
}

std::string textOf(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

} // namespace

bool isLinearIn(AffineExpr expr, unsigned dim) {
  bool linear = true;
  expr.walk([&](AffineExpr e) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    linear &= !binary || !isQuotient(binary.getKind()) || !binary.isFunctionOfDim(dim);
  });
  return linear;
}

int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> point) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return combine(binary.getKind(), evaluate(binary.getLHS(), point), evaluate(binary.getRHS(), point));
}

Result<AccessMap> AccessMap::create(AffineMap map, const Tensor &tensor, ArrayRef<int64_t> extents,
                                    const std::string &what) {
  AccessMap access;
  access.map = map;
  access.extents.assign(tensor.shape().begin(), tensor.shape().end());
  access.strides.assign(tensor.strides().begin(), tensor.strides().end());
  access.gathered = tensor.isGathered();
  access.rows = tensor.rowTable().vec();
  access.base = tensor.base();
  access.what = what;
  access.linear.assign(extents.size(), true);
  access.steps.assign(extents.size(), 0);
  const bool empty = numElements(extents) == 0;
  for (auto [r, expr] : llvm::enumerate(map.getResults())) {
    if (dividesByZero(expr))
      return invalidArgument(what + " index " + textOf(expr) + " divides by something that is not a positive constant");
    const Interval bounds = empty ? Interval{0, -1} : boundsOf(expr, extents);
    const bool inRange = empty || (bounds.low >= 0 && bounds.high < tensor.dim(r));
    bool exact = true;
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      exact &= isLinearIn(expr, d);
    if (!inRange && exact)
      return invalidArgument(what + " index " + textOf(expr) + " runs from " + std::to_string(bounds.low) + " to " +
                             std::to_string(bounds.high) + ", outside dimension " + std::to_string(r) + " of " +
                             toString(tensor.shape()));
    access.proven &= inRange;
    const bool throughTable = access.gathered && r == 0;
    if (throughTable) {
      for (size_t d = 0; d < extents.size(); ++d)
        if (expr.isFunctionOfDim(d))
          access.linear[d] = false;
      continue;
    }
    collectSteps(expr, access.strides[r], access.steps, access.linear);
  }
  access.allLinear = access.proven && !access.gathered && llvm::all_of(access.linear, [](bool b) { return b; });
  if (access.allLinear) {
    const Shape origin(extents.size(), 0);
    access.constant = access.base;
    for (auto [r, expr] : llvm::enumerate(map.getResults()))
      access.constant += evaluate(expr, origin) * access.strides[r];
  }
  return access;
}

Result<int64_t> AccessMap::at(ArrayRef<int64_t> point) const {
  if (!allLinear)
    return atChecked(point);
  int64_t position = constant;
  for (size_t d = 0; d < point.size(); ++d)
    position += steps[d] * point[d];
  return position;
}

Result<int64_t> AccessMap::atChecked(ArrayRef<int64_t> point) const {
  int64_t position = base;
  for (auto [r, expr] : llvm::enumerate(map.getResults())) {
    const int64_t index = evaluate(expr, point);
    if (index < 0 || index >= extents[r])
      return invalidArgument(what + " index " + textOf(expr) + " is " + std::to_string(index) + " at " +
                             toString(point) + ", outside dimension " + std::to_string(r) + " of " + toString(extents));
    position += gathered && r == 0 ? rows[index] : index * strides[r];
  }
  return position;
}

} // namespace fusec::reference
