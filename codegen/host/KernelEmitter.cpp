//===- KernelEmitter.cpp - frame, loops and index values of a kernel -------===//
#include "codegen/host/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TileShape KernelEmitter::shapeOf(Type type) const {
  TileShape s;
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return s;
  s.isVector = true;
  int64_t rank = vector.getRank();
  s.lanes = rank > 0 ? vector.getDimSize(rank - 1) : 1;
  s.rows = vector.getNumElements() / s.lanes;
  s.width = std::min<int64_t>(level.lanes, llvm::PowerOf2Ceil(s.lanes));
  return s;
}

llvm::Value *KernelEmitter::fail(Operation *op, const llvm::Twine &what) {
  if (status.ok())
    status = unsupported("kernel '" + kernel.getSymName().str() + "', " + op->getName().getStringRef().str() + ": " +
                         what.str());
  return llvm::PoisonValue::get(b.getInt32Ty());
}

llvm::Type *KernelEmitter::llvmType(Type scalar) {
  if (scalar.isIndex())
    return b.getInt64Ty();
  if (auto integer = dyn_cast<IntegerType>(scalar))
    return b.getIntNTy(integer.getWidth());
  if (scalar.isF64())
    return b.getDoubleTy();
  if (scalar.isF16())
    return b.getHalfTy();
  if (scalar.isBF16())
    return b.getBFloatTy();
  return b.getFloatTy();
}

llvm::Type *KernelEmitter::pieceType(Type type) {
  llvm::Type *scalar = llvmType(getElementTypeOrSelf(type));
  TileShape s = shapeOf(type);
  return s.isVector ? llvm::FixedVectorType::get(scalar, s.width) : scalar;
}

Pieces KernelEmitter::pieces(Value value) {
  // An index is written out where it is used: its parts dominate, its sum may not.
  if (auto known = indexValues.find(value); known != indexValues.end())
    return {math.value(known->second)};
  if (auto known = values.find(value); known != values.end())
    return known->second;
  fail(value.getDefiningOp() ? value.getDefiningOp() : kernel.getOperation(), "uses a value that was not computed");
  return Pieces(shapeOf(value.getType()).pieces(), llvm::PoisonValue::get(pieceType(value.getType())));
}

IndexValue KernelEmitter::index(Value value) {
  auto known = indexValues.find(value);
  if (known != indexValues.end())
    return known->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return IndexValue::constant(constant.getSExtValue());
  return IndexValue::opaque(pieces(value).front());
}

void KernelEmitter::bind(Value value, Pieces p) { values[value] = std::move(p); }

/// Binds a loop-carried or merged value: an index about which nothing is known, or plain pieces.
void KernelEmitter::bindOpaque(Value value, ArrayRef<llvm::Value *> p) {
  if (value.getType().isIndex())
    indexValues[value] = IndexValue::opaque(p.front());
  else
    values[value] = Pieces(p.begin(), p.end());
}

llvm::Value *KernelEmitter::splat(llvm::Value *scalar, int64_t width) {
  return scalar->getType()->isVectorTy() ? scalar : b.CreateVectorSplat(width, scalar);
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

llvm::Value *KernelEmitter::symbolValue(StringAttr symbol) {
  llvm::Value *&value = symbols[symbol];
  if (value)
    return value;
  auto found = llvm::find(options.symbols, symbol.getValue());
  if (found == options.symbols.end())
    return value = (fail(kernel, "unknown size symbol '" + symbol.getValue() + "'"), b.getInt64(1));
  llvm::IRBuilder<> atEntry(entry->getTerminator());
  llvm::Value *slot =
      atEntry.CreateConstGEP1_64(atEntry.getInt64Ty(), function->getArg(1), found - options.symbols.begin());
  return value = atEntry.CreateLoad(atEntry.getInt64Ty(), slot, symbol.getValue());
}

/// A symbol that measures a paged dimension counts whole pages.
int64_t KernelEmitter::symbolAlignment(StringAttr symbol) {
  for (Type type : kernel.getBody().getArgumentTypes())
    for (const Dim &dim : cast<BufferType>(type).getDims())
      if (dim.kind == fuse::DimKind::Paged && dim.symbol == symbol)
        return options.pageTokens;
  return 1;
}

IndexValue KernelEmitter::extent(const Dim &dim) { return extentMinus(dim, 0); }

IndexValue KernelEmitter::extentMinus(const Dim &dim, int64_t amount) {
  if (dim.isStatic())
    return IndexValue::constant(dim.size - amount);
  IndexValue v = IndexValue::opaque(symbolValue(dim.symbol));
  v.divisor = symbolAlignment(dim.symbol);
  v.offset = -amount;
  v.min = -amount;
  v.symbol = dim.symbol;
  v.margin = amount;
  return v;
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

KernelEmitter::KernelEmitter(KernelOp kernel, const HostLevel &level, const LoweringOptions &options,
                             llvm::Module &module)
    : kernel(kernel), level(level), options(options), module(module), context(module.getContext()), b(context),
      math(b) {}

static void setAttributes(llvm::Function &f, const HostLevel &level) {
  f.addFnAttr("target-cpu", level.cpu);
  if (!level.features.empty())
    f.addFnAttr("target-features", level.features);
  f.addFnAttr("prefer-vector-width", std::to_string(level.vectorBits));
  f.addFnAttr("min-legal-vector-width", std::to_string(level.vectorBits));
  f.addFnAttr(llvm::Attribute::NoUnwind);
}

Status KernelEmitter::emit() {
  llvm::Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, i64, i64, pointer}, false);
  function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel.getSymName(), module);
  setAttributes(*function, level);
  entry = llvm::BasicBlock::Create(context, "entry", function);
  b.SetInsertPoint(entry);
  IndexMath::Scope scope(math);
  for (BlockArgument arg : kernel.getBody().getArguments()) {
    llvm::Value *slot = b.CreateConstGEP1_64(pointer, function->getArg(0), arg.getArgNumber());
    buffers[arg] = {b.CreateLoad(pointer, slot), cast<BufferType>(arg.getType())};
  }
  emitGridLoop();
  return status;
}

void KernelEmitter::emitGridLoop() {
  llvm::Value *begin = function->getArg(2), *end = function->getArg(3);
  auto *loop = llvm::BasicBlock::Create(context, "program", function);
  auto *exit = llvm::BasicBlock::Create(context, "exit", function);
  b.CreateCondBr(b.CreateICmpSLT(begin, end), loop, exit);
  b.SetInsertPoint(loop);
  llvm::PHINode *program = b.CreatePHI(b.getInt64Ty(), 2);
  program->addIncoming(begin, entry);
  {
    IndexMath::Scope scope(math);
    emitOrigins(program);
    emitBlock(kernel.getBody().front());
  }
  llvm::Value *next = b.CreateAdd(program, b.getInt64(1));
  program->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, end), loop, exit);
  b.SetInsertPoint(exit);
  b.CreateRetVoid();
}

/// Delinearises the program number, last axis fastest.
void KernelEmitter::emitOrigins(llvm::Value *program) {
  auto axes = llvm::to_vector(kernel.getGrid().getAsRange<AxisAttr>());
  origins.resize(axes.size());
  llvm::Value *rest = program;
  for (size_t a = axes.size(); a-- > 0;) {
    Dim dim = axes[a].getExtent();
    int64_t tile = axes[a].getTile();
    IndexValue padded = math.addConstant(extent(dim), tile - 1);
    padded.min = tile - 1;
    IndexValue count = math.floorDiv(padded, tile);
    llvm::Value *number = rest;
    if (a > 0) {
      llvm::Value *n = math.value(count);
      number = b.CreateURem(rest, n);
      rest = b.CreateUDiv(rest, n);
    }
    IndexValue programNumber = IndexValue::opaque(number);
    programNumber.min = 0;
    if (count.isConstant())
      programNumber.max = count.offset - 1;
    origins[a] = math.mulConstant(programNumber, tile);
    if (count.isConstant() && count.offset == 1)
      origins[a] = IndexValue::constant(0);
    if (!dim.isStatic()) {
      origins[a].symbol = dim.symbol;
      origins[a].margin = std::gcd(symbolAlignment(dim.symbol), tile);
    }
  }
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (!status.ok())
      return;
    emitOp(op);
  }
}

void KernelEmitter::emitOp(Operation &op) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case<ReturnOp, scf::YieldOp, tile::YieldOp>([](auto) {})
      .Case<OriginOp>([&](OriginOp o) { indexValues[o] = origins[o.getAxis()]; })
      .Case<ExtentOp>([&](ExtentOp o) { indexValues[o] = extent({fuse::DimKind::Symbolic, 0, o.getSymbolAttr()}); })
      .Case<ScratchOp>([&](ScratchOp o) { emitScratch(o); })
      .Case<LoadOp>([&](LoadOp o) { emitLoad(o); })
      .Case<StoreOp>([&](StoreOp o) { emitStore(o); })
      .Case<PrefetchOp>([&](PrefetchOp o) { emitPrefetch(o); })
      .Case<IndexOp>([&](IndexOp o) { emitTileIndex(o); })
      .Case<DotOp>([&](DotOp o) { emitDot(o); })
      .Case<ReduceOp>([&](ReduceOp o) { emitReduce(o); })
      .Case<scf::ForOp>([&](scf::ForOp o) { emitFor(o); })
      .Case<scf::IfOp>([&](scf::IfOp o) { emitIf(o); })
      .Case<arith::ConstantOp>([&](arith::ConstantOp o) { emitConstant(o); })
      .Default([&](Operation *o) {
        if (isIndexArith(*o))
          emitIndexArith(*o);
        else if (!emitVectorOp(*o) && !emitElementwise(*o))
          fail(o, "has no host lowering");
      });
}

void KernelEmitter::emitScratch(ScratchOp op) {
  auto type = cast<BufferType>(op.getType());
  int64_t elements = 1;
  for (const Dim &dim : type.getDims())
    elements *= dim.size;
  int64_t bytes = elements * llvmType(type.getElementType())->getScalarSizeInBits() / 8;
  // The slack keeps over-reads of one tile's last row inside the program's memory.
  buffers[op] = {b.CreateConstGEP1_64(b.getInt8Ty(), function->getArg(4), scratchSize), type};
  scratchSize += llvm::alignTo(bytes, 64) + 64;
}

/// What is known about a loop counter: its alignment and its range.
IndexValue KernelEmitter::loopCounter(scf::ForOp op, llvm::Value *phi) {
  IndexValue lower = index(op.getLowerBound()), upper = index(op.getUpperBound()), step = index(op.getStep());
  IndexValue iv = IndexValue::opaque(phi);
  if (step.isConstant())
    iv.divisor = std::max<int64_t>(1, lower.alignment(step.offset));
  iv.min = lower.min;
  if (upper.max)
    iv.max = *upper.max - 1;
  if (upper.isConstant() && lower.isConstant() && step.isConstant() && upper.offset > lower.offset)
    iv.max = lower.offset + (upper.offset - 1 - lower.offset) / step.offset * step.offset;
  else if (iv.max && *iv.max >= 0)
    iv.max = *iv.max / iv.divisor * iv.divisor;
  if (upper.symbol) { // counter < limit, both multiples of g: counter <= limit - g; the limit is upper or symbol -
                      // margin
    int64_t symbolMultiple = symbolAlignment(upper.symbol);
    iv.symbol = upper.symbol;
    iv.margin = upper.margin + std::max(std::gcd(upper.alignment(symbolMultiple), iv.divisor),
                                        std::gcd(std::gcd(symbolMultiple, upper.margin), iv.divisor));
  }
  return iv;
}

void KernelEmitter::emitFor(scf::ForOp op) {
  IndexValue lower = index(op.getLowerBound()), upper = index(op.getUpperBound()), step = index(op.getStep());
  llvm::Value *first = math.value(lower), *last = math.value(upper), *increment = math.value(step);
  SmallVector<Pieces> inits;
  for (Value init : op.getInitArgs())
    inits.push_back(pieces(init));

  // do-while form behind one guard, as the optimiser likes it.
  llvm::BasicBlock *before = b.GetInsertBlock();
  auto *body = llvm::BasicBlock::Create(context, "loop", function);
  auto *after = llvm::BasicBlock::Create(context, "after", function);
  b.CreateCondBr(b.CreateICmpSLT(first, last), body, after);
  b.SetInsertPoint(body);
  llvm::PHINode *counter = b.CreatePHI(b.getInt64Ty(), 2);
  counter->addIncoming(first, before);
  SmallVector<SmallVector<llvm::PHINode *>> carried;
  for (auto [arg, init] : llvm::zip(op.getRegionIterArgs(), inits)) {
    SmallVector<llvm::PHINode *> &phis = carried.emplace_back();
    for (llvm::Value *v : init) {
      phis.push_back(b.CreatePHI(v->getType(), 2));
      phis.back()->addIncoming(v, before);
    }
    bindOpaque(arg, SmallVector<llvm::Value *>(phis.begin(), phis.end()));
  }
  SmallVector<Pieces> yields;
  {
    IndexMath::Scope scope(math);
    indexValues[op.getInductionVar()] = loopCounter(op, counter);
    emitBlock(*op.getBody());
    for (Value v : cast<scf::YieldOp>(op.getBody()->getTerminator()).getOperands())
      yields.push_back(pieces(v));
  }
  llvm::BasicBlock *latch = b.GetInsertBlock();
  llvm::Value *next = b.CreateNSWAdd(counter, increment);
  counter->addIncoming(next, latch);
  b.CreateCondBr(b.CreateICmpSLT(next, last), body, after);
  b.SetInsertPoint(after);
  for (size_t i = 0; i < yields.size(); ++i) {
    SmallVector<llvm::Value *> results;
    for (size_t j = 0; j < yields[i].size(); ++j) {
      carried[i][j]->addIncoming(yields[i][j], latch);
      llvm::PHINode *merged = b.CreatePHI(yields[i][j]->getType(), 2);
      merged->addIncoming(inits[i][j], before);
      merged->addIncoming(yields[i][j], latch);
      results.push_back(merged);
    }
    bindOpaque(op.getResult(i), results);
  }
}

void KernelEmitter::emitIf(scf::IfOp op) {
  llvm::Value *condition = pieces(op.getCondition()).front();
  auto *join = llvm::BasicBlock::Create(context, "join", function);
  SmallVector<llvm::BasicBlock *> ends;
  SmallVector<SmallVector<Pieces>> yields;
  SmallVector<llvm::BasicBlock *> starts{llvm::BasicBlock::Create(context, "then", function, join),
                                         llvm::BasicBlock::Create(context, "else", function, join)};
  b.CreateCondBr(condition, starts[0], starts[1]);
  for (auto [region, start] : llvm::zip(op->getRegions(), starts)) {
    b.SetInsertPoint(start);
    IndexMath::Scope scope(math);
    SmallVector<Pieces> &yielded = yields.emplace_back();
    if (!region.empty()) {
      emitBlock(region.front());
      for (Value v : region.front().getTerminator()->getOperands())
        yielded.push_back(pieces(v));
    }
    ends.push_back(b.GetInsertBlock());
    b.CreateBr(join);
  }
  b.SetInsertPoint(join);
  for (OpResult result : op.getResults()) {
    SmallVector<llvm::Value *> merged;
    unsigned r = result.getResultNumber();
    for (size_t j = 0; j < yields[0][r].size(); ++j) {
      llvm::PHINode *phi = b.CreatePHI(yields[0][r][j]->getType(), 2);
      phi->addIncoming(yields[0][r][j], ends[0]);
      phi->addIncoming(yields[1][r][j], ends[1]);
      merged.push_back(phi);
    }
    bindOpaque(result, merged);
  }
}

//===----------------------------------------------------------------------===//
// Index arithmetic with known facts
//===----------------------------------------------------------------------===//

bool KernelEmitter::isIndexArith(Operation &op) {
  if (op.getNumResults() != 1 || !op.getResult(0).getType().isIndex())
    return false;
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp, arith::DivUIOp, arith::RemUIOp,
             arith::DivSIOp, arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp, arith::SelectOp>(op);
}

void KernelEmitter::emitIndexArith(Operation &op) {
  IndexValue x = index(op.getOperand(op.getNumOperands() - 2)), y = index(op.getOperand(op.getNumOperands() - 1));
  auto emit = [&]() -> IndexValue {
    if (isa<arith::AddIOp>(op))
      return math.add(x, y);
    if (auto subtract = dyn_cast<arith::SubIOp>(op))
      return emitDifference(subtract, x, y);
    if (isa<arith::MulIOp>(op))
      return math.mul(x, y);
    if (isa<arith::MinSIOp>(op))
      return math.minimum(x, y);
    if (isa<arith::MaxSIOp>(op))
      return math.maximum(x, y);
    if (isa<arith::SelectOp>(op))
      return IndexMath::either(b.CreateSelect(pieces(op.getOperand(0)).front(), math.value(x), math.value(y)), x, y);
    return emitIndexDivision(op, x, y);
  };
  indexValues[op.getResult(0)] = emit();
}

IndexValue KernelEmitter::emitDifference(arith::SubIOp op, const IndexValue &x, const IndexValue &y) {
  IndexValue r = math.add(x, math.mulConstant(y, -1));
  // What is left of a loop: its counter is below its upper bound.
  auto counter = dyn_cast<BlockArgument>(op.getRhs());
  auto loop = counter ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp()) : scf::ForOp();
  if (loop && counter == loop.getInductionVar() && loop.getUpperBound() == op.getLhs())
    r.min = std::max<int64_t>(1, r.min.value_or(1));
  return r;
}

IndexValue KernelEmitter::emitIndexDivision(Operation &op, const IndexValue &x, const IndexValue &y) {
  bool isRemainder = isa<arith::RemUIOp, arith::RemSIOp>(op);
  bool isUnsigned = isa<arith::DivUIOp, arith::RemUIOp>(op);
  bool byPositive = y.isConstant() && y.offset > 0;
  if (byPositive && (isa<arith::FloorDivSIOp>(op) || (x.min && *x.min >= 0)))
    return isRemainder ? math.mod(x, y.offset) : math.floorDiv(x, y.offset);
  if (isa<arith::FloorDivSIOp>(op)) {
    fail(&op, "needs a constant positive divisor");
    return IndexValue::constant(0);
  }
  llvm::Value *l = math.value(x), *r = math.value(y);
  IndexValue v = IndexValue::opaque(isRemainder ? (isUnsigned ? b.CreateURem(l, r) : b.CreateSRem(l, r))
                                                : (isUnsigned ? b.CreateUDiv(l, r) : b.CreateSDiv(l, r)));
  if (!byPositive)
    return v;
  // The sign of x is not known.
  if (isRemainder) {
    v.min = isUnsigned ? 0 : 1 - y.offset;
    v.max = y.offset - 1;
  } else if (isUnsigned && y.offset > 1) {
    v.min = 0;
  } else if (!isUnsigned && x.max && *x.max >= 0) {
    v.max = *x.max / y.offset;
  }
  return v;
}

Result<LoweredKernel> lowerKernel(KernelOp kernel, const HostLevel &level, const LoweringOptions &options,
                                  llvm::Module &module) {
  KernelEmitter emitter(kernel, level, options, module);
  if (Status status = emitter.emit(); !status.ok())
    return status;
  return LoweredKernel{module.getFunction(kernel.getSymName()), emitter.scratchBytes()};
}

} // namespace fusec::codegen
