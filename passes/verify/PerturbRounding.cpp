//===- PerturbRounding.cpp - how far rounding can move a result ----------------===//
//
// Monte Carlo arithmetic in one sample. A sum of n terms in f32 is off by about
// u sqrt(n) of the size of its terms, whatever their order. Moving each term by
// u sqrt(n) with independent signs moves the sum about as far, and the graph
// behind carries that on exactly as it carries rounding errors on, through its
// own cancellations, exponentials and thresholds.
//
//===----------------------------------------------------------------------===//
#include "ir/fuse/FuseDialect.h"
#include "passes/Passes.h"
#include "passes/fusion/DataFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

namespace fusec {
#define GEN_PASS_DEF_PERTURBROUNDINGPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec::fuse;

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

class Perturber {
public:
  Perturber(MLIRContext *context, int64_t positions) : b(context), positions(positions) {}

  void run(func::FuncOp function) {
    SmallVector<Value> values;
    for (Operation &op : function.getBody().front())
      if (isa<MapOp, ContractOp, ReduceOp>(op))
        for (Value result : op.getResults())
          if (typeOf(result).getElementType().isF32() && typeOf(result).getRank() > 0 && !result.use_empty())
            values.push_back(result);
    for (Value value : values)
      perturb(value);
  }

private:
  double extent(const Dim &dim) const { return double(dim.isStatic() ? dim.size : positions); }

  /// Terms of each sum that reads the value directly or through views.
  double terms(Operation *producer) const {
    double most = 1;
    for (Operation *user : fusec::computingUsers(producer)) {
      double count = 1;
      if (auto contract = dyn_cast<ContractOp>(user)) {
        SmallVector<Dim> extents = contract.getIterationExtents();
        for (unsigned d : contract.getSummedDims())
          count *= extent(extents[d]);
      } else if (auto reduce = dyn_cast<ReduceOp>(user)) {
        for (int64_t d : reduce.getDims())
          count *= extent(typeOf(reduce.getInputs().front()).getDim(d));
      }
      most = std::max(most, count);
    }
    return most;
  }

  void perturb(Value value) {
    Operation *producer = value.getDefiningOp();
    // At least one step of f32 above 1: less would be rounded away there.
    auto step = static_cast<float>(std::max(0x1p-23, 0x1p-24 * std::sqrt(terms(producer))));
    Location loc = producer->getLoc();
    b.setInsertionPointAfter(producer);
    GraphTensorType type = typeOf(value);
    AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
    auto map = MapOp::create(b, loc, type, ValueRange{value}, b.getAffineMapArrayAttr({identity}));
    Block &block = map.getBody().emplaceBlock();
    Value element = block.addArgument(b.getF32Type(), loc);
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    YieldOp::create(inside, loc, moved(inside, loc, element, type.getRank(), step));
    value.replaceAllUsesExcept(map.getResult(), map);
  }

  /// x * (1 + s d), s = +1 or -1 by a bit of a hash of the element's coordinates.
  Value moved(OpBuilder &in, Location loc, Value x, int64_t rank, float step) {
    auto integer = [&](int32_t v) -> Value { return arith::ConstantOp::create(in, loc, in.getI32IntegerAttr(v)); };
    auto number = [&](float v) -> Value { return arith::ConstantOp::create(in, loc, in.getF32FloatAttr(v)); };
    // Any odd numbers far from each other will do: only neighbours must not share their signs.
    constexpr int32_t factors[] = {-1640531535, 668265263, 374761393, -2048144789, 1274126177};
    Value hash = integer(static_cast<int32_t>(salt += 7919));
    for (int64_t d = 0; d < rank; ++d) {
      Value index = IndexOp::create(in, loc, in.getI32Type(), d);
      Value scaled = arith::MulIOp::create(in, loc, index, integer(factors[d % std::size(factors)]));
      hash = arith::AddIOp::create(in, loc, hash, scaled);
    }
    hash = arith::XOrIOp::create(in, loc, hash, arith::ShRSIOp::create(in, loc, hash, integer(15)));
    hash = arith::MulIOp::create(in, loc, hash, integer(factors[0]));
    Value up = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::slt, hash, integer(0));
    Value factor = arith::SelectOp::create(in, loc, up, number(1.0f + step), number(1.0f - step));
    return arith::MulFOp::create(in, loc, x, factor);
  }

  OpBuilder b;
  int64_t positions;
  uint32_t salt = 0; ///< Each value gets signs of its own.
};

struct PerturbRounding : fusec::impl::PerturbRoundingPassBase<PerturbRounding> {
  using PerturbRoundingPassBase::PerturbRoundingPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.getBody().empty())
        Perturber(&getContext(), context).run(function);
  }
};

} // namespace
