//===- CascadeShape.cpp --------------------------------------------------------------===//
#include "passes/lowering/CascadeShape.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

constexpr int64_t pagedSplit = 256;   ///< Positions: work for some 10 us, small against a long context.
constexpr int64_t staticSplit = 2048; ///< Elements of a static dimension, such as a vocabulary.
/// Summed elements per iteration of a product. Longer bodies read the cache through so many load
/// instructions that the machine sees no stream: on Zen 5, 2 was 1.2 (f32) to 1.9 (f16) times as fast as 16.
constexpr int64_t productStep = 2;
constexpr int64_t mostTensorRows = 64; ///< Rows of a group of heads that share keys and values.
constexpr int64_t fewRows = 16;        ///< Up to this many tokens programs are too few without splits.

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

/// How many neighbours along `dim`, from an aligned start, see the same element: all (0), a group, or 1.
int64_t sharing(AffineExpr expr, unsigned dim) {
  if (!expr.isFunctionOfDim(dim))
    return 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 1;
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() == AffineExprKind::FloorDiv && divisor && isa<AffineDimExpr>(binary.getLHS()))
    return divisor.getValue();
  return std::gcd(sharing(binary.getLHS(), dim), sharing(binary.getRHS(), dim));
}

int64_t sharing(AffineMap map, unsigned dim) {
  int64_t shared = 0;
  for (AffineExpr expr : map.getResults())
    shared = std::gcd(shared, sharing(expr, dim));
  return shared;
}

/// Rows of the last row dimension that read the same elements of every lane operand; 0: all.
int64_t sharedRows(const Cascade &cascade) {
  int64_t shared = 0;
  unsigned last = cascade.rows.size() - 1;
  auto look = [&](ContractOp op, unsigned side) {
    auto row = dyn_cast<AffineDimExpr>(op.getMap(2).getResult(last));
    shared = std::gcd(shared, sharing(op.getMap(side), row.getPosition()));
  };
  for (const CascadeMember &member : cascade.members)
    if (auto op = dyn_cast<ContractOp>(member.reduction.op))
      look(op, 1 - member.reduction.operand);
  for (Operation *op : cascade.prologue)
    if (auto contract = dyn_cast<ContractOp>(op)) {
      unsigned folded = cast<AffineDimExpr>(contract.getMap(2).getResults().back()).getPosition();
      look(contract, contract.getMap(1).isFunctionOfDim(folded) ? 1 : 0);
    }
  return shared;
}

/// The largest number of rows up to `most` that divides what must be divided.
int64_t rowsFor(const Cascade &cascade, int64_t most) {
  int64_t shared = sharedRows(cascade);
  const Dim &extent = cascade.rows.back();
  if (extent.isStatic())
    shared = std::gcd(shared, extent.size); // gcd(0, n) = n
  else if (shared == 0)
    return std::max<int64_t>(most, 1);
  int64_t rows = std::clamp<int64_t>(most, 1, std::max<int64_t>(shared, 1));
  while (shared % rows != 0)
    --rows;
  return rows;
}

/// Groups of lanes that, with `rows` rows each, fit the registers beside one operand row.
SmallVector<int64_t> groupsOf(int64_t lanes, int64_t rows, const TileTarget &target) {
  int64_t vectors = std::max<int64_t>((target.pieces - 2) / (rows + 1), 1);
  int64_t most = vectors * 16;
  SmallVector<int64_t> groups;
  for (; lanes > 0; lanes -= groups.back())
    groups.push_back(std::min(lanes, most));
  return groups;
}

int64_t blockFor(const Dim &folded, int64_t page) {
  if (!folded.isStatic() || folded.size >= 64)
    return folded.kind == DimKind::Paged ? std::min<int64_t>(page, 64) : 64;
  int64_t block = 1;
  while (block < folded.size)
    block *= 2;
  return block;
}

/// Bounds hold for all when every member is masked itself, or follows a masked one by a scaling.
IndexBounds commonBounds(const CascadeShape &shape) {
  IndexBounds common;
  bool first = true;
  for (unsigned i = 0; i < shape.cascade.members.size(); ++i) {
    const CascadeMember &member = shape.cascade.members[i];
    if (member.dependency && shape.scales(i))
      continue; // exp of the identity of its root is 0
    auto reduce = dyn_cast<ReduceOp>(member.reduction.op);
    if (!reduce || reduce.getInputs().size() != 1 || !first)
      return {};
    common = boundsOf(member.reduction, cast<TypedAttr>(reduce.getInit()[0]));
    first = false;
  }
  return common;
}

void chooseSplit(CascadeShape &shape) {
  ArrayRef<Dim> rows = shape.cascade.rows;
  const Dim &folded = shape.cascade.folded;
  bool plainRows = llvm::all_of(rows.drop_front(), [](const Dim &d) { return d.isStatic(); });
  bool floats = llvm::all_of(shape.cascade.members, [](const CascadeMember &member) {
    return llvm::all_of(member.reduction.op->getResultTypes(),
                        [](Type t) { return cast<GraphTensorType>(t).getElementType().isF32(); });
  });
  if (folded.kind == DimKind::Paged)
    shape.split = pagedSplit;
  else if (folded.isStatic() && folded.size >= 2 * staticSplit)
    shape.split = staticSplit;
  if (rows.front().kind == DimKind::Ragged && plainRows && floats && shape.split)
    shape.splitRows = fewRows;
}

/// The products of a cascade, nested ones included.
SmallVector<ContractOp> productsOf(const Cascade &cascade) {
  SmallVector<ContractOp> products;
  for (const CascadeMember &member : cascade.members)
    if (auto op = dyn_cast<ContractOp>(member.reduction.op))
      products.push_back(op);
  for (Operation *op : cascade.prologue)
    if (auto contract = dyn_cast<ContractOp>(op))
      products.push_back(contract);
  return products;
}

/// Whether every product multiplies in 16 bits and has a depth that tensor cores take.
bool fitsTensorCores(const Cascade &cascade) {
  constexpr int64_t depth = 16;
  SmallVector<ContractOp> products = productsOf(cascade);
  return !products.empty() && llvm::all_of(products, [&](ContractOp op) {
    const Dim summed = op.getIterationExtents()[op.getSummedDims().front()];
    return op.getNumerics().getOperands() &&
           (summed.kind == DimKind::Paged || (summed.isStatic() && summed.size % depth == 0));
  });
}

/// Whether an element depends on a gathered row that differs from token to token of a sequence.
bool gathersByRow(const Cascade &cascade) {
  for (Operation *op : cascade.prologue)
    if (auto map = dyn_cast<MapOp>(op))
      for (Value input : map.getInputs()) {
        while (auto view = input.getDefiningOp<ViewOp>())
          input = view.getSource();
        if (input.getDefiningOp<GatherOp>())
          return true;
      }
  return false;
}

/// Several tokens of a sequence read its keys and values once: 64 rows, or 16 tokens when they have more. Sums of wide
/// heads fill the registers and shared memory with 64 rows.
int64_t tokensFor(const CascadeShape &shape) {
  constexpr int64_t wantedRows = 64, wideHead = 160;
  const bool isWide = llvm::any_of(shape.lanes, [](ArrayRef<int64_t> lanes) {
    return llvm::any_of(lanes, [](int64_t n) { return n >= wideHead; });
  });
  const int64_t fewest = isWide ? 1 : 16;
  const Dim &tokens = shape.cascade.rows.front();
  bool walksPages = shape.cascade.folded.kind == DimKind::Paged && tokens.kind == DimKind::Ragged;
  if (!shape.onTensorCores || !walksPages || gathersByRow(shape.cascade))
    return 0;
  return std::max(wantedRows / shape.rows, fewest);
}

} // namespace

bool CascadeShape::isRoot(unsigned i) const {
  Operation *op = cascade.members[i].reduction.op;
  return llvm::any_of(cascade.members, [&](const CascadeMember &other) {
    return other.dependency && reductionBehind(other.dependency) == op;
  });
}

bool CascadeShape::scales(unsigned i) const {
  Operation *op = cascade.members[i].reduction.op;
  auto contract = dyn_cast<ContractOp>(op);
  Region &repair = contract ? contract.getRepair() : cast<ReduceOp>(op).getRepair();
  return !repair.empty() && repair.front().getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
}

bool CascadeShape::hasOwnLanes(unsigned i) const {
  return typeOf(cascade.members[i].reduction.op->getResult(0)).getRank() > static_cast<int64_t>(cascade.rows.size());
}

std::optional<unsigned> CascadeShape::productLike(Value value) const {
  for (unsigned i = 0; i < cascade.members.size(); ++i)
    if (isa<ContractOp>(cascade.members[i].reduction.op) &&
        typeOf(cascade.members[i].reduction.op->getResult(0)).getDims() == typeOf(value).getDims())
      return i;
  return std::nullopt;
}

int64_t CascadeShape::stepOver(const Dim &summed) const {
  int64_t most = productStep;
  while (summed.isStatic() && summed.size % most != 0)
    most /= 2;
  return most;
}

int64_t CascadeShape::carrierWidth() const {
  int64_t width = 0;
  for (const auto &[member, groups] : llvm::zip(cascade.members, lanes))
    width += isa<ContractOp>(member.reduction.op) ? std::accumulate(groups.begin(), groups.end(), int64_t(0))
                                                  : member.reduction.op->getNumResults();
  return width;
}

Dim CascadeShape::splits(MLIRContext *context) const {
  if (cascade.folded.isStatic())
    return Dim::fixed((cascade.folded.size + split - 1) / split);
  return Dim::dynamic(DimKind::Symbolic, context, "B"); // pages, of which a split has several
}

FailureOr<CascadeShape> chooseCascadeShape(ArrayRef<Operation *> ops, const TileTarget &target) {
  SmallVector<Operation *> members;
  int64_t number = 0;
  for (Operation *op : ops)
    if (auto attr = op->getAttrOfType<IntegerAttr>(cascadeAttr)) {
      members.push_back(op);
      number = attr.getInt();
    }
  CascadeShape shape;
  shape.cascade = cascadeOf(number, members);
  if (shape.cascade.rows.empty())
    return members.front()->emitError("a derived loop needs at least one row dimension");
  shape.block = blockFor(shape.cascade.folded, target.page);
  int64_t vectors = std::max<int64_t>(shape.block / 16, 1);
  shape.rows = rowsFor(shape.cascade, std::max<int64_t>((target.pieces - vectors - 2) / vectors, 1));
  shape.step = std::min<int64_t>(productStep, shape.block);
  shape.onTensorCores = target.isGpu && fitsTensorCores(shape.cascade);
  if (shape.onTensorCores)
    shape.rows = rowsFor(shape.cascade, mostTensorRows);
  for (unsigned i = 0; i < shape.cascade.members.size(); ++i) {
    const Reduction &r = shape.cascade.members[i].reduction;
    int64_t own = shape.hasOwnLanes(i) ? typeOf(r.op->getResult(0)).getDims().back().size : 1;
    SmallVector<int64_t> whole{own};
    shape.lanes.push_back(!isa<ContractOp>(r.op) ? SmallVector<int64_t>()
                          : shape.onTensorCores  ? whole
                                                 : groupsOf(own, shape.rows, target));
  }
  shape.bounds = commonBounds(shape);
  chooseSplit(shape);
  shape.tokens = tokensFor(shape);
  return shape;
}

} // namespace fusec
