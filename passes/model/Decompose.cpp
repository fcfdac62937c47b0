//===- Decompose.cpp - named ops to primitives --------------------------------===//
//
// One function per named op; each states the function it writes down. Maps are
// written over the result's dimensions, contractions over (result..., summed).
//
//===----------------------------------------------------------------------===//
#include "ir/fuse/FuseDialect.h"
#include "passes/Passes.h"

#include <cmath>
#include <limits>

namespace fusec {
#define GEN_PASS_DEF_FUSEDECOMPOSEPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec::fuse;

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

/// Writes primitives at one location.
class Writer {
public:
  using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

  Writer(OpBuilder &builder, Location loc) : builder(builder), loc(loc), f32(builder.getF32Type()) {}

  AffineExpr dim(unsigned d) { return builder.getAffineDimExpr(d); }
  AffineMap map(unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, builder.getContext());
  }
  AffineMap identity(unsigned dims) { return builder.getMultiDimIdentityMap(dims); }
  GraphTensorType tensor(ArrayRef<Dim> dims, Type element = {}) {
    return GraphTensorType::get(builder.getContext(), dims, element ? element : f32);
  }
  NumericsAttr numerics(Order order) {
    return NumericsAttr::get(builder.getContext(), f32, order, EmptyPolicy::Identity);
  }

  Value mapOp(GraphTensorType type, ValueRange inputs, ArrayRef<AffineMap> maps, Body body) {
    auto op = MapOp::create(builder, loc, type, inputs, builder.getAffineMapArrayAttr(maps));
    Block &block = op.getBody().emplaceBlock();
    for (Value input : inputs)
      block.addArgument(typeOf(input).getElementType(), loc);
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    YieldOp::create(inside, loc, body(inside, loc, block.getArguments()));
    return op;
  }

  /// A one-component reduction over the last dimension.
  Value reduceLast(Value input, float init, Body combine) {
    GraphTensorType type = typeOf(input);
    int64_t last = type.getRank() - 1;
    Type result = tensor(type.getDims().drop_back());
    auto op = ReduceOp::create(builder, loc, TypeRange{result}, ValueRange{input}, ArrayRef<int64_t>{last},
                               builder.getArrayAttr({builder.getF32FloatAttr(init)}), numerics(Order::Lanes));
    Block &block = op.getCombine().emplaceBlock();
    block.addArguments({f32, f32}, {loc, loc});
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    YieldOp::create(inside, loc, combine(inside, loc, block.getArguments()));
    return op.getResult(0);
  }
  Value reduceAdd(Value input) {
    return reduceLast(input, 0.0f, [](OpBuilder &b, Location l, ValueRange v) -> Value {
      return arith::AddFOp::create(b, l, v[0], v[1]);
    });
  }
  Value reduceMax(Value input) {
    return reduceLast(
        input, -std::numeric_limits<float>::infinity(),
        [](OpBuilder &b, Location l, ValueRange v) -> Value { return arith::MaximumFOp::create(b, l, v[0], v[1]); });
  }

  /// Language models bear any order of a sum; that kernels keep one is their own promise.
  Value contract(GraphTensorType type, Value lhs, Value rhs, ArrayRef<AffineMap> maps) {
    return ContractOp::create(builder, loc, type, lhs, rhs, builder.getAffineMapArrayAttr(maps), numerics(Order::Any));
  }
  Value view(Value source, AffineMap map, ArrayRef<Dim> dims) {
    return ViewOp::create(builder, loc, tensor(dims, typeOf(source).getElementType()), source, AffineMapAttr::get(map));
  }

  OpBuilder &builder;
  Location loc;
  Type f32;
};

Value constant(OpBuilder &b, Location loc, float value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

Value isEqual(OpBuilder &b, Location loc, Value x, float value) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, constant(b, loc, value));
}

//===----------------------------------------------------------------------===//
// linear: y[.., n] = sum_k x[.., k] w[n, k] + bias[n]
//===----------------------------------------------------------------------===//

Value decompose(LinearOp op, Writer &w) {
  GraphTensorType type = typeOf(op.getResult());
  unsigned rank = type.getRank(), k = rank;
  SmallVector<AffineExpr> lhs, out;
  for (unsigned d = 0; d < rank; ++d) {
    lhs.push_back(w.dim(d + 1 == rank ? k : d));
    out.push_back(w.dim(d));
  }
  Value y = w.contract(type, op.getX(), op.getW(),
                       {w.map(rank + 1, lhs), w.map(rank + 1, {w.dim(rank - 1), w.dim(k)}), w.map(rank + 1, out)});
  if (!op.getBias())
    return y;
  return w.mapOp(
      type, {y, op.getBias()}, {w.identity(rank), w.map(rank, {w.dim(rank - 1)})},
      [](OpBuilder &b, Location l, ValueRange v) -> Value { return arith::AddFOp::create(b, l, v[0], v[1]); });
}

//===----------------------------------------------------------------------===//
// rms_norm: y = (x * r) * w with r = 1 / sqrt(sum(x^2) / n + epsilon)
//===----------------------------------------------------------------------===//

Value decompose(RMSNormOp op, Writer &w) {
  GraphTensorType type = typeOf(op.getX());
  unsigned rank = type.getRank();
  float n = static_cast<float>(type.getDims().back().size), epsilon = op.getEpsilon().convertToDouble();
  Value squares = w.mapOp(type, {op.getX()}, {w.identity(rank)}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return arith::MulFOp::create(b, l, v[0], v[0]);
  });
  Value sum = w.reduceAdd(squares);
  Value r = w.mapOp(typeOf(sum), {sum}, {w.identity(rank - 1)}, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value mean = arith::DivFOp::create(b, l, v[0], constant(b, l, n));
    Value root = math::SqrtOp::create(b, l, arith::AddFOp::create(b, l, mean, constant(b, l, epsilon)));
    return arith::DivFOp::create(b, l, constant(b, l, 1.0f), root);
  });
  AffineMap rows = w.identity(rank).dropResult(rank - 1), last = w.map(rank, {w.dim(rank - 1)});
  return w.mapOp(type, {op.getX(), r, op.getW()}, {w.identity(rank), rows, last},
                 [](OpBuilder &b, Location l, ValueRange v) -> Value {
                   return arith::MulFOp::create(b, l, arith::MulFOp::create(b, l, v[0], v[1]), v[2]);
                 });
}

//===----------------------------------------------------------------------===//
// rope: y[i] = x[i] cos - x[partner] sin for the first of a pair, + for the second
//===----------------------------------------------------------------------===//

/// cos or sin of positions[t] * frequencies[i], computed in f64, as [T, n] of f32.
template <typename Trig> Value angleTable(RopeOp op, Writer &w) {
  Dim tokens = typeOf(op.getPositions()).getDim(0), pairs = typeOf(op.getFrequencies()).getDim(0);
  return w.mapOp(w.tensor({tokens, pairs}), {op.getPositions(), op.getFrequencies()},
                 {w.map(2, {w.dim(0)}), w.map(2, {w.dim(1)})}, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                   Value position = arith::SIToFPOp::create(b, l, b.getF64Type(), v[0]);
                   Value angle = arith::MulFOp::create(b, l, position, v[1]);
                   return arith::TruncFOp::create(b, l, b.getF32Type(), Trig::create(b, l, angle));
                 });
}

/// Index maps over (t, h, d): the other element of d's pair, and d's pair number.
std::pair<AffineExpr, AffineExpr> partnerOf(Pairing pairing, AffineExpr d, int64_t n) {
  if (pairing == Pairing::Half)
    return {(d + n) % (2 * n), d % n};
  return {d + 1 - (d % 2) * 2, d.floorDiv(2) % n};
}

Value decompose(RopeOp op, Writer &w) {
  GraphTensorType type = typeOf(op.getX());
  int64_t n = typeOf(op.getFrequencies()).getDim(0).size, head = type.getDim(2).size;
  bool half = op.getPairing() == Pairing::Half;
  Value cosine = angleTable<math::CosOp>(op, w), sine = angleTable<math::SinOp>(op, w);
  auto [partner, pair] = partnerOf(op.getPairing(), w.dim(2), n);
  AffineMap tableMap = w.map(3, {w.dim(0), pair});
  return w.mapOp(
      type, {op.getX(), op.getX(), cosine, sine},
      {w.identity(3), w.map(3, {w.dim(0), w.dim(1), partner}), tableMap, tableMap},
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        auto integer = [&](int64_t c) -> Value { return arith::ConstantOp::create(b, l, b.getI32IntegerAttr(c)); };
        Value d = IndexOp::create(b, l, b.getI32Type(), 2);
        Value first = half ? arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, d, integer(n)).getResult()
                           : arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq,
                                                   arith::AndIOp::create(b, l, d, integer(1)), integer(0));
        Value straight = arith::MulFOp::create(b, l, v[0], v[2]);
        Value crossed = arith::MulFOp::create(b, l, v[1], v[3]);
        Value turned = arith::SelectOp::create(b, l, first, arith::SubFOp::create(b, l, straight, crossed),
                                               arith::AddFOp::create(b, l, straight, crossed));
        if (2 * n == head)
          return turned;
        Value inside = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, d, integer(2 * n));
        return arith::SelectOp::create(b, l, inside, turned, v[0]);
      });
}

//===----------------------------------------------------------------------===//
// swiglu: y = gate / (1 + exp(-gate)) * up
//===----------------------------------------------------------------------===//

Value decompose(SwigluOp op, Writer &w) {
  GraphTensorType type = typeOf(op.getGate());
  unsigned rank = type.getRank();
  return w.mapOp(type, {op.getGate(), op.getUp()}, {w.identity(rank), w.identity(rank)},
                 [](OpBuilder &b, Location l, ValueRange v) -> Value {
                   Value decay = math::ExpOp::create(b, l, arith::NegFOp::create(b, l, v[0]));
                   Value silu =
                       arith::DivFOp::create(b, l, v[0], arith::AddFOp::create(b, l, constant(b, l, 1.0f), decay));
                   return arith::MulFOp::create(b, l, silu, v[1]);
                 });
}

//===----------------------------------------------------------------------===//
// softmax and attention: the max is subtracted, a row of -inf gives zeros
//===----------------------------------------------------------------------===//

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// exp(t - m) over the last dimension; 0 where the whole row is -inf, whose t - m would be NaN.
Value shiftedExp(Value t, Value m, Writer &w) {
  unsigned rank = typeOf(t).getRank();
  return w.mapOp(typeOf(t), {t, m}, {w.identity(rank), w.identity(rank).dropResult(rank - 1)},
                 [](OpBuilder &b, Location l, ValueRange v) -> Value {
                   Value e = math::ExpOp::create(b, l, arith::SubFOp::create(b, l, v[0], v[1]));
                   return arith::SelectOp::create(b, l, isEqual(b, l, v[1], minusInfinity), constant(b, l, 0.0f), e);
                 });
}

/// x / l with rows of `l` broadcast along the last dimension; 0 where l is 0.
Value divideRows(Value x, Value l, Writer &w) {
  unsigned rank = typeOf(x).getRank();
  return w.mapOp(typeOf(x), {x, l}, {w.identity(rank), w.identity(rank).dropResult(rank - 1)},
                 [](OpBuilder &b, Location loc, ValueRange v) -> Value {
                   Value quotient = arith::DivFOp::create(b, loc, v[0], v[1]);
                   return arith::SelectOp::create(b, loc, isEqual(b, loc, v[1], 0.0f), constant(b, loc, 0.0f),
                                                  quotient);
                 });
}

Value decompose(SoftmaxOp op, Writer &w) {
  Value e = shiftedExp(op.getX(), w.reduceMax(op.getX()), w);
  return divideRows(e, w.reduceAdd(e), w);
}

/// scale * s where the key is visible from the token, else -inf. Over (t, k, g, j).
Value maskScores(Value s, AttentionOp op, Writer &w) {
  float scale = op.getScale().convertToDouble();
  return w.mapOp(typeOf(s), {s, op.getPositions()}, {w.identity(4), w.map(4, {w.dim(0)})},
                 [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                   Value j = IndexOp::create(b, l, b.getI32Type(), 3);
                   Value visible = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sle, j, v[1]);
                   if (op.getWindow()) {
                     Value size = arith::ConstantOp::create(b, l, b.getI32IntegerAttr(*op.getWindow()));
                     Value oldest = arith::SubIOp::create(b, l, v[1], size);
                     Value recent = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sgt, j, oldest);
                     visible = arith::AndIOp::create(b, l, visible, recent);
                   }
                   Value scaled = arith::MulFOp::create(b, l, v[0], constant(b, l, scale));
                   return arith::SelectOp::create(b, l, visible, scaled, constant(b, l, minusInfinity));
                 });
}

Value decompose(AttentionOp op, Writer &w) {
  GraphTensorType q = typeOf(op.getQ()), k = typeOf(op.getK()), v = typeOf(op.getV());
  Dim tokens = q.getDim(0), context = k.getDim(1), kvHeads = k.getDim(2), head = q.getDim(2), valueHead = v.getDim(3);
  int64_t groupSize = q.getDim(1).size / kvHeads.size;
  Dim groups = Dim::fixed(groupSize);
  AffineExpr t = w.dim(0), h = w.dim(1), g = w.dim(2), j = w.dim(3), x = w.dim(4);

  Value query = w.view(op.getQ(), w.map(4, {t, h * groupSize + g, j}), {tokens, kvHeads, groups, head});
  auto history = [&](Value cache, GraphTensorType type) -> Value {
    SmallVector<Dim> dims = {tokens};
    llvm::append_range(dims, type.getDims().drop_front());
    return GatherOp::create(w.builder, w.loc, w.tensor(dims), cache, op.getSequences());
  };
  Value keys = history(op.getK(), k), values = history(op.getV(), v);

  // (t, h, g, j, x = element of the head)
  Value s = w.contract(w.tensor({tokens, kvHeads, groups, context}), query, keys,
                       {w.map(5, {t, h, g, x}), w.map(5, {t, j, h, x}), w.map(5, {t, h, g, j})});
  Value masked = maskScores(s, op, w);
  Value e = shiftedExp(masked, w.reduceMax(masked), w);
  Value p = divideRows(e, w.reduceAdd(e), w);
  // (t, h, g, j = element of the value head, x = position)
  Value y = w.contract(w.tensor({tokens, kvHeads, groups, valueHead}), p, values,
                       {w.map(5, {t, h, g, x}), w.map(5, {t, x, h, j}), w.map(5, {t, h, g, j})});
  return ReshapeOp::create(w.builder, w.loc, op.getType(), y);
}

/// Replaces every op of the type by its primitives.
template <typename Op> void decomposeAll(ModuleOp module) {
  module.walk([](Op op) {
    OpBuilder builder(op);
    Writer writer(builder, op.getLoc());
    op.getResult().replaceAllUsesWith(decompose(op, writer));
    op.erase();
  });
}

struct FuseDecompose : fusec::impl::FuseDecomposePassBase<FuseDecompose> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    decomposeAll<AttentionOp>(module);
    decomposeAll<SoftmaxOp>(module);
    decomposeAll<RopeOp>(module);
    decomposeAll<SwigluOp>(module);
    decomposeAll<RMSNormOp>(module);
    decomposeAll<LinearOp>(module);
  }
};

} // namespace
