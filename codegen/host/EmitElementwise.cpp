//===- EmitElementwise.cpp - arith, math and vector ops on pieces ----------===//
//
// Every op acts lane by lane, so one rule per op on a single piece is enough;
// tables name the rules that are one LLVM instruction, intrinsic or libm call.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen {
namespace {

template <typename T> struct Rule {
  llvm::StringLiteral op;
  T what;
};

constexpr Rule<llvm::Instruction::BinaryOps> binaries[] = {
    {"arith.addf", llvm::Instruction::FAdd},  {"arith.subf", llvm::Instruction::FSub},
    {"arith.mulf", llvm::Instruction::FMul},  {"arith.divf", llvm::Instruction::FDiv},
    {"arith.addi", llvm::Instruction::Add},   {"arith.subi", llvm::Instruction::Sub},
    {"arith.muli", llvm::Instruction::Mul},   {"arith.divsi", llvm::Instruction::SDiv},
    {"arith.divui", llvm::Instruction::UDiv}, {"arith.remsi", llvm::Instruction::SRem},
    {"arith.remui", llvm::Instruction::URem}, {"arith.andi", llvm::Instruction::And},
    {"arith.ori", llvm::Instruction::Or},     {"arith.xori", llvm::Instruction::Xor},
    {"arith.shli", llvm::Instruction::Shl},   {"arith.shrsi", llvm::Instruction::AShr},
    {"arith.shrui", llvm::Instruction::LShr},
};

constexpr Rule<llvm::Instruction::CastOps> casts[] = {
    {"arith.sitofp", llvm::Instruction::SIToFP},  {"arith.uitofp", llvm::Instruction::UIToFP},
    {"arith.fptosi", llvm::Instruction::FPToSI},  {"arith.fptoui", llvm::Instruction::FPToUI},
    {"arith.truncf", llvm::Instruction::FPTrunc}, {"arith.extf", llvm::Instruction::FPExt},
    {"arith.extsi", llvm::Instruction::SExt},     {"arith.extui", llvm::Instruction::ZExt},
    {"arith.trunci", llvm::Instruction::Trunc},   {"arith.bitcast", llvm::Instruction::BitCast},
};

constexpr Rule<llvm::Intrinsic::ID> intrinsics[] = {
    {"arith.maximumf", llvm::Intrinsic::maximum}, {"arith.minimumf", llvm::Intrinsic::minimum},
    {"arith.maxnumf", llvm::Intrinsic::maxnum},   {"arith.minnumf", llvm::Intrinsic::minnum},
    {"arith.maxsi", llvm::Intrinsic::smax},       {"arith.minsi", llvm::Intrinsic::smin},
    {"arith.maxui", llvm::Intrinsic::umax},       {"arith.minui", llvm::Intrinsic::umin},
    {"math.absf", llvm::Intrinsic::fabs},         {"math.sqrt", llvm::Intrinsic::sqrt},
    {"math.floor", llvm::Intrinsic::floor},       {"math.ceil", llvm::Intrinsic::ceil},
    {"math.trunc", llvm::Intrinsic::trunc},       {"math.roundeven", llvm::Intrinsic::roundeven},
    {"math.fma", llvm::Intrinsic::fma},           {"math.copysign", llvm::Intrinsic::copysign},
};

/// The C library's functions, for f64; f32 appends "f".
constexpr Rule<llvm::StringLiteral> libm[] = {
    {"math.exp", "exp"},     {"math.exp2", "exp2"},   {"math.log", "log"},  {"math.log2", "log2"},
    {"math.log1p", "log1p"}, {"math.sin", "sin"},     {"math.cos", "cos"},  {"math.tan", "tan"},
    {"math.tanh", "tanh"},   {"math.erf", "erf"},     {"math.powf", "pow"}, {"math.atan", "atan"},
    {"math.expm1", "expm1"}, {"math.round", "round"},
};

template <typename T, size_t n> const T *find(const Rule<T> (&rules)[n], StringRef name) {
  for (const Rule<T> &rule : rules)
    if (rule.op == name)
      return &rule.what;
  return nullptr;
}

llvm::CmpInst::Predicate predicate(arith::CmpFPredicate p) {
  using P = arith::CmpFPredicate;
  using L = llvm::CmpInst;
  switch (p) {
  case P::AlwaysFalse:
    return L::FCMP_FALSE;
  case P::OEQ:
    return L::FCMP_OEQ;
  case P::OGT:
    return L::FCMP_OGT;
  case P::OGE:
    return L::FCMP_OGE;
  case P::OLT:
    return L::FCMP_OLT;
  case P::OLE:
    return L::FCMP_OLE;
  case P::ONE:
    return L::FCMP_ONE;
  case P::ORD:
    return L::FCMP_ORD;
  case P::UEQ:
    return L::FCMP_UEQ;
  case P::UGT:
    return L::FCMP_UGT;
  case P::UGE:
    return L::FCMP_UGE;
  case P::ULT:
    return L::FCMP_ULT;
  case P::ULE:
    return L::FCMP_ULE;
  case P::UNE:
    return L::FCMP_UNE;
  case P::UNO:
    return L::FCMP_UNO;
  case P::AlwaysTrue:
    return L::FCMP_TRUE;
  }
  return L::FCMP_FALSE;
}

llvm::CmpInst::Predicate predicate(arith::CmpIPredicate p) {
  using P = arith::CmpIPredicate;
  using L = llvm::CmpInst;
  switch (p) {
  case P::eq:
    return L::ICMP_EQ;
  case P::ne:
    return L::ICMP_NE;
  case P::slt:
    return L::ICMP_SLT;
  case P::sle:
    return L::ICMP_SLE;
  case P::sgt:
    return L::ICMP_SGT;
  case P::sge:
    return L::ICMP_SGE;
  case P::ult:
    return L::ICMP_ULT;
  case P::ule:
    return L::ICMP_ULE;
  case P::ugt:
    return L::ICMP_UGT;
  case P::uge:
    return L::ICMP_UGE;
  }
  return L::ICMP_EQ;
}

/// `scalar`, as wide as `like`.
llvm::Type *asWideAs(llvm::Type *scalar, llvm::Value *like) {
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType()))
    return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  return scalar;
}

} // namespace

llvm::Value *KernelEmitter::callPerLane(StringRef name, ArrayRef<llvm::Value *> x) {
  llvm::Type *scalar = x.front()->getType()->getScalarType();
  llvm::FunctionType *type = llvm::FunctionType::get(scalar, llvm::SmallVector<llvm::Type *>(x.size(), scalar), false);
  std::string symbol = scalar->isFloatTy() ? (name + "f").str() : name.str();
  llvm::FunctionCallee callee = module.getOrInsertFunction(symbol, type);
  auto *declaration = llvm::cast<llvm::Function>(callee.getCallee());
  declaration->setDoesNotThrow();
  declaration->setDoesNotAccessMemory();
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(x.front()->getType());
  if (!vector)
    return b.CreateCall(callee, x);
  llvm::Value *result = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    llvm::SmallVector<llvm::Value *> scalars;
    for (llvm::Value *v : x)
      scalars.push_back(b.CreateExtractElement(v, lane));
    result = b.CreateInsertElement(result, b.CreateCall(callee, scalars), lane);
  }
  return result;
}

/// One op on one piece; null when the op has no rule.
llvm::Value *KernelEmitter::emitLane(Operation &op, ArrayRef<llvm::Value *> x, llvm::Type *scalar) {
  StringRef name = op.getName().getStringRef();
  llvm::Type *type = asWideAs(scalar, x.front());
  if (auto *opcode = find(binaries, name))
    return b.CreateBinOp(*opcode, x[0], x[1]);
  if (auto *opcode = find(casts, name))
    return b.CreateCast(*opcode, x[0], type);
  if (auto *id = find(intrinsics, name))
    return b.CreateIntrinsic(*id, {type}, x);
  if (isa<math::ExpOp>(op) && scalar->isFloatTy())
    return emitExp(x[0]);
  if (isa<math::TanhOp>(op) && scalar->isFloatTy())
    return emitTanh(x[0]);
  if (auto *function = find(libm, name))
    return callPerLane(*function, x);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return b.CreateFCmp(predicate(compare.getPredicate()), x[0], x[1]);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return b.CreateICmp(predicate(compare.getPredicate()), x[0], x[1]);
  if (isa<arith::SelectOp>(op))
    return b.CreateSelect(x[0], x[1], x[2]);
  if (isa<arith::NegFOp>(op))
    return b.CreateFNeg(x[0]);
  if (isa<math::AbsIOp>(op))
    return b.CreateIntrinsic(llvm::Intrinsic::abs, {type}, {x[0], b.getFalse()});
  if (isa<arith::IndexCastOp>(op))
    return b.CreateSExtOrTrunc(x[0], type);
  if (isa<arith::IndexCastUIOp>(op))
    return b.CreateZExtOrTrunc(x[0], type);
  if (isa<math::RsqrtOp>(op)) {
    llvm::Value *root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]);
    return b.CreateFDiv(llvm::ConstantFP::get(type, 1.0), root);
  }
  return nullptr;
}

bool KernelEmitter::emitElementwise(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumOperands() == 0 || op.getNumRegions() != 0)
    return false;
  Value result = op.getResult(0);
  llvm::Type *scalar = llvmType(getElementTypeOrSelf(result.getType()));
  SmallVector<Pieces> operands;
  size_t count = 1;
  for (Value operand : op.getOperands()) {
    operands.push_back(pieces(operand));
    count = std::max(count, operands.back().size());
  }
  Pieces out;
  for (size_t i = 0; i < count; ++i) {
    SmallVector<llvm::Value *> x;
    int64_t width = 0;
    for (Pieces &p : operands) {
      x.push_back(p[p.size() == 1 ? 0 : i]);
      if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(x.back()->getType()))
        width = vector->getNumElements();
    }
    if (width && !(isa<arith::SelectOp>(op) && !x[0]->getType()->isVectorTy()))
      for (llvm::Value *&v : x) // constants of a scalar region applied to whole pieces
        v = splat(v, width);
    llvm::Value *made = emitLane(op, x, scalar);
    if (!made)
      return false;
    out.push_back(made);
  }
  bind(result, std::move(out));
  return true;
}

//===----------------------------------------------------------------------===//
// Constants, lane numbers and reshaping
//===----------------------------------------------------------------------===//

static llvm::Constant *scalarConstant(llvm::Type *type, Attribute value) {
  if (auto f = dyn_cast<FloatAttr>(value))
    return llvm::ConstantFP::get(type->getContext(), f.getValue());
  return llvm::ConstantInt::get(type, cast<IntegerAttr>(value).getValue().sextOrTrunc(type->getIntegerBitWidth()));
}

void KernelEmitter::emitConstant(arith::ConstantOp op) {
  if (op.getType().isIndex()) {
    indexValues[op] = IndexValue::constant(cast<IntegerAttr>(op.getValue()).getInt());
    return;
  }
  llvm::Type *scalar = llvmType(getElementTypeOrSelf(op.getType()));
  TileShape s = shapeOf(op.getType());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return bind(op, {scalarConstant(scalar, op.getValue())});
  if (dense.isSplat()) {
    llvm::Constant *c = scalarConstant(scalar, dense.getSplatValue<Attribute>());
    return bind(op, Pieces(s.pieces(), b.CreateVectorSplat(s.width, c)));
  }
  Pieces out;
  auto all = dense.getValues<Attribute>();
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t lane = 0; lane < s.lanes; lane += s.width) {
      SmallVector<llvm::Constant *> lanes;
      for (int64_t l = lane; l < lane + s.width; ++l)
        lanes.push_back(l < s.lanes ? scalarConstant(scalar, all[row * s.lanes + l])
                                    : llvm::Constant::getNullValue(scalar));
      out.push_back(llvm::ConstantVector::get(lanes));
    }
  bind(op, std::move(out));
}

void KernelEmitter::emitTileIndex(IndexOp op) {
  TileShape s = shapeOf(op.getType());
  auto type = cast<VectorType>(op.getType());
  bool alongLanes = static_cast<int64_t>(op.getDim()) == type.getRank() - 1;
  llvm::Value *base = b.CreateTrunc(math.value(index(op.getBase())), b.getInt32Ty());
  Pieces out;
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t lane = 0; lane < s.lanes; lane += s.width) {
      SmallVector<llvm::Constant *> offsets;
      for (int64_t l = 0; l < s.width; ++l)
        offsets.push_back(b.getInt32(alongLanes ? lane + l : row));
      out.push_back(b.CreateAdd(splat(base, s.width), llvm::ConstantVector::get(offsets)));
    }
  bind(op, std::move(out));
}

bool KernelEmitter::emitVectorOp(Operation &op) {
  if (isa<vector::ShapeCastOp>(op)) {
    TileShape from = shapeOf(op.getOperand(0).getType()), to = shapeOf(op.getResult(0).getType());
    if (from.rows != to.rows || from.lanes != to.lanes)
      return false;
    bind(op.getResult(0), pieces(op.getOperand(0)));
    return true;
  }
  if (auto extract = dyn_cast<vector::ExtractOp>(op)) {
    TileShape from = shapeOf(extract.getSource().getType()), to = shapeOf(extract.getType());
    if (extract.hasDynamicPosition())
      return false;
    ArrayRef<int64_t> at = extract.getStaticPosition();
    Pieces source = pieces(extract.getSource());
    auto sourceType = cast<VectorType>(extract.getSource().getType());
    if (to.isVector && sourceType.getRank() == 2 && at.size() == 1) {
      auto *first = source.begin() + at[0] * from.piecesPerRow();
      bind(extract, Pieces(first, first + from.piecesPerRow()));
      return true;
    }
    if (to.isVector || at.empty())
      return false;
    int64_t row = at.size() == 2 ? at[0] : 0, lane = at.back();
    llvm::Value *piece = source[row * from.piecesPerRow() + lane / from.width];
    bind(extract, {b.CreateExtractElement(piece, lane % from.width)});
    return true;
  }
  auto broadcast = dyn_cast<vector::BroadcastOp>(op);
  if (!broadcast)
    return false;
  TileShape from = shapeOf(broadcast.getSourceType()), to = shapeOf(broadcast.getType());
  Pieces source = pieces(broadcast.getSource()), out;
  for (int64_t row = 0; row < to.rows; ++row)
    for (int64_t p = 0; p < to.piecesPerRow(); ++p) {
      int64_t sourceRow = from.rows == 1 ? 0 : row;
      if (from.lanes != to.lanes || !from.isVector) {
        llvm::Value *scalar = source[sourceRow * from.piecesPerRow()];
        out.push_back(splat(from.isVector ? b.CreateExtractElement(scalar, uint64_t(0)) : scalar, to.width));
      } else {
        out.push_back(source[sourceRow * from.piecesPerRow() + p]);
      }
    }
  bind(broadcast, std::move(out));
  return true;
}

} // namespace fusec::codegen
