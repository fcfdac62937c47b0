//===- EmitMemory.cpp - tile.load and tile.store ---------------------------===//
//
// A piece is read in the cheapest of three ways: lanes side by side in memory
// (one vector load), lanes on one element (scalar load and broadcast), anything
// else lane by lane. Buffer indices that are not provably in range are clamped:
// a load never leaves its buffer by more than 64 bytes.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"
#include "codegen/host/NarrowFloats.h"

#include "ir/tile/LazyLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen {

constexpr int64_t overRead = 64; ///< Bytes past a buffer's end that loads may touch.

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static int64_t rankOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getRank() : 0;
}

Access KernelEmitter::access(LoadOp op) {
  Access a{buffers[op.getBuffer()], {}, op.getMap(), {}, shapeOf(op.getType()), rankOf(op.getType()), {}, {}};
  if (op.getPages())
    a.pages = buffers[op.getPages()];
  for (Value i : op.getIndices())
    a.indices.push_back(index(i));
  if (op.getRows())
    a.rows = index(op.getRows());
  a.element = getElementTypeOrSelf(op.getType());
  return a;
}

Access KernelEmitter::access(StoreOp op) {
  Type type = op.getValue().getType();
  Access a{buffers[op.getBuffer()], {}, op.getMap(), {}, shapeOf(type), rankOf(type), {}, {}};
  if (op.getPages())
    a.pages = buffers[op.getPages()];
  for (Value i : op.getIndices())
    a.indices.push_back(index(i));
  if (op.getRows())
    a.rows = index(op.getRows());
  a.element = getElementTypeOrSelf(type);
  return a;
}

/// The iteration indices of the lanes from (row, lane) on.
SmallVector<LaneIndex> KernelEmitter::laneDims(const Access &a, int64_t row, int64_t lane) {
  SmallVector<LaneIndex> dims;
  for (const IndexValue &i : a.indices)
    dims.push_back({i, 0});
  if (a.rank >= 2)
    dims[dims.size() - 2].at = math.addConstant(dims[dims.size() - 2].at, row);
  if (a.rank >= 1)
    dims.back() = {math.addConstant(dims.back().at, lane), 1};
  return dims;
}

/// True if all `width` lanes provably lie in [0, dim).
bool KernelEmitter::inRange(const LaneIndex &index, int64_t width, const Dim &dim) {
  int64_t span = index.stride * (width - 1);
  if (span < 0 || !index.at.min || *index.at.min < 0)
    return false;
  if (dim.isStatic())
    return index.at.max && *index.at.max + span < dim.size;
  return index.at.symbol == dim.symbol && index.at.margin >= 1 + span;
}

std::optional<SmallVector<LaneIndex>> KernelEmitter::bufferIndices(const Access &a, int64_t row, int64_t lane,
                                                                   int64_t width, bool clampRange) {
  SmallVector<LaneIndex> dims = laneDims(a, row, lane), result;
  if (width == 1 && !dims.empty())
    dims.back().stride = 0; // one lane has no neighbour: any map of it is a plain index
  for (auto [r, expr] : llvm::enumerate(a.map.getResults())) {
    std::optional<LaneIndex> at = math.evaluate(expr, dims, width);
    if (!at)
      return std::nullopt;
    const Dim &dim = a.buffer.type.getDims()[r];
    // Lanes side by side may run over the end by less than the slack.
    bool innermost = r + 1 == a.map.getNumResults() && a.buffer.type.getLayout() == Layout::Rows;
    bool mayOverRun = innermost && at->stride == 1 && (width - 1) * memoryBytes(a.buffer) < overRead;
    if (clampRange && !inRange(*at, mayOverRun ? 1 : width, dim)) {
      // Lanes that fill an aligned part of a paged dimension are all inside or all outside.
      bool wholePart = at->stride == 1 && dim.kind == fuse::DimKind::Paged && at->at.alignment(width) == width &&
                       options.pageTokens % width == 0;
      if (at->stride != 0 && !mayOverRun && !wholePart)
        return std::nullopt;
      at->at = math.clamp(at->at, extentMinus(dim, wholePart ? width : 1));
    }
    result.push_back(*at);
  }
  return result;
}

llvm::Type *KernelEmitter::memoryType(const BufferView &buffer) {
  if (!buffer.type.getStorage())
    return llvmType(buffer.type.getElementType());
  switch (*buffer.type.getStorage()) {
  case StorageType::F16:
    return b.getHalfTy();
  case StorageType::BF16:
    return b.getBFloatTy();
  case StorageType::E4M3:
    return b.getInt8Ty(); // LLVM has no such float
  default:
    return b.getFloatTy();
  }
}

int64_t KernelEmitter::memoryBytes(const BufferView &buffer) { return memoryType(buffer)->getScalarSizeInBits() / 8; }

std::optional<KernelEmitter::Address> KernelEmitter::rowsAddress(const Access &a, ArrayRef<LaneIndex> at) {
  IndexValue element = IndexValue::constant(0), stride = IndexValue::constant(1);
  int64_t laneStride = 0, bytes = memoryBytes(a.buffer);
  for (size_t r = at.size(); r-- > 0;) {
    element = math.add(element, math.mul(at[r].at, stride));
    if (at[r].stride != 0) {
      if (!stride.isConstant())
        return std::nullopt;
      laneStride += at[r].stride * stride.offset;
    }
    if (r > 0)
      stride = math.mul(stride, extent(a.buffer.type.getDims()[r]));
  }
  return Address{math.address(a.buffer.pointer, math.mulConstant(element, bytes)), laneStride * bytes};
}

/// table[sequence, block]; the block table does not change during a launch.
IndexValue KernelEmitter::pageNumber(const BufferView &table, const IndexValue &sequence, const IndexValue &block) {
  const bool counts = options.kvLayout == KvLayout::Contiguous;
  IndexValue row = math.mul(sequence, extent(table.type.getDims()[1]));
  llvm::Value *entry = math.address(table.pointer, math.mulConstant(counts ? row : math.add(row, block), 4));
  llvm::Value *number = math.once({100, entry, nullptr, 0},
                                  [&] { return b.CreateSExt(b.CreateLoad(b.getInt32Ty(), entry), b.getInt64Ty()); });
  return counts ? math.add(IndexValue::opaque(number), block) : IndexValue::opaque(number);
}

std::optional<KernelEmitter::Address> KernelEmitter::pagedAddress(const Access &a, ArrayRef<LaneIndex> at,
                                                                  int64_t width) {
  const LaneIndex &sequence = at[0], &position = at[1], &head = at[2], &channel = at[3];
  ArrayRef<Dim> dims = a.buffer.type.getDims();
  if (!dims[2].isStatic() || !dims[3].isStatic() || sequence.stride != 0)
    return std::nullopt;
  int64_t heads = dims[2].size, channels = dims[3].size, page = options.pageTokens, bytes = memoryBytes(a.buffer);
  // The lanes of one vector have to lie in one page.
  std::optional<LaneIndex> block = math.divide(position, page, width, false);
  std::optional<LaneIndex> slot = math.divide(position, page, width, true);
  if (!block || !slot)
    return std::nullopt;
  int64_t pageStride = options.pageStride ? options.pageStride : heads * channels * page * bytes;
  IndexValue number = pageNumber(a.pages, sequence.at, block->at);
  llvm::Value *base = math.address(a.buffer.pointer, math.mulConstant(number, pageStride));
  bool isK = a.buffer.type.getLayout() == Layout::PagedK;
  int64_t headStride = channels * page, slotStride = isK ? 1 : channels, channelStride = isK ? page : 1;
  IndexValue element =
      math.add(math.mulConstant(head.at, headStride),
               math.add(math.mulConstant(slot->at, slotStride), math.mulConstant(channel.at, channelStride)));
  int64_t laneStride = head.stride * headStride + position.stride * slotStride + channel.stride * channelStride;
  return Address{math.address(base, math.mulConstant(element, bytes)), laneStride * bytes};
}

std::optional<KernelEmitter::Address> KernelEmitter::address(const Access &a, int64_t row, int64_t lane, int64_t width,
                                                             bool clampRange) {
  std::optional<SmallVector<LaneIndex>> at = bufferIndices(a, row, lane, width, clampRange);
  if (!at)
    return std::nullopt;
  if (!a.buffer.type.isPaged())
    return rowsAddress(a, *at);
  return pagedAddress(a, *at, width);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

llvm::Value *KernelEmitter::loadElements(const Access &a, llvm::Value *pointer, int64_t width) {
  llvm::Type *scalar = memoryType(a.buffer), *element = llvmType(a.element);
  // A bfloat is the upper half of a float. Said in integers, this is two vector instructions at every level.
  bool isUpperHalf = scalar->isBFloatTy() && element->isFloatTy();
  llvm::Type *loaded = isUpperHalf ? b.getInt16Ty() : scalar;
  llvm::Type *type = width == 0 ? loaded : llvm::FixedVectorType::get(loaded, width);
  llvm::Value *v = b.CreateAlignedLoad(type, pointer, llvm::Align(memoryBytes(a.buffer)));
  if (scalar == element)
    return v;
  if (a.buffer.type.getStorage() == StorageType::E4M3)
    return floatsOfE4m3(b, v);
  llvm::Type *result = type->getWithNewType(element);
  if (isUpperHalf)
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(v, type->getWithNewType(b.getInt32Ty())), 16), result);
  return b.CreateFPExt(v, result);
}

llvm::Value *KernelEmitter::zeroBeyondRows(const Access &a, int64_t row, llvm::Value *loaded) {
  if (!a.rows)
    return loaded;
  llvm::Value *isRead = b.CreateICmpSLT(b.getInt64(row), math.value(*a.rows));
  return b.CreateSelect(isRead, loaded, llvm::Constant::getNullValue(loaded->getType()));
}

llvm::Value *KernelEmitter::loadScalar(const Access &a, int64_t row, int64_t lane) {
  return zeroBeyondRows(a, row, loadScalarAnyway(a, row, lane));
}

llvm::Value *KernelEmitter::loadPiece(const Access &a, int64_t row, int64_t lane, int64_t width) {
  return zeroBeyondRows(a, row, loadPieceAnyway(a, row, lane, width));
}

/// One element, as a scalar.
llvm::Value *KernelEmitter::loadScalarAnyway(const Access &a, int64_t row, int64_t lane) {
  if (a.buffer.type.getLayout() == Layout::Panel)
    return loadPanel(a, row, lane, 0);
  std::optional<Address> at = address(a, row, lane, 1, true);
  if (!at)
    return fail(kernel, "an index map is not affine"), llvm::PoisonValue::get(llvmType(a.element));
  return loadElements(a, at->pointer, 0);
}

llvm::Value *KernelEmitter::loadPieceAnyway(const Access &a, int64_t row, int64_t lane, int64_t width) {
  if (a.buffer.type.getLayout() == Layout::Panel)
    return loadPanel(a, row, lane, width);
  if (std::optional<Address> at = address(a, row, lane, width, true)) {
    if (at->stride == 0)
      return splat(loadElements(a, at->pointer, 0), width);
    if (at->stride == memoryBytes(a.buffer))
      return loadElements(a, at->pointer, width);
  }
  llvm::Value *v = llvm::PoisonValue::get(llvm::FixedVectorType::get(llvmType(a.element), width));
  for (int64_t l = 0; l < std::min(width, a.shape.lanes - lane); ++l)
    v = b.CreateInsertElement(v, loadScalar(a, row, lane + l), l);
  return v;
}

void KernelEmitter::emitLoad(LoadOp op) {
  auto type = cast<BufferType>(op.getBuffer().getType());
  bool blocks = type.getStorage() && info(*type.getStorage()).blockElements > 1;
  if (blocks && type.getLayout() != Layout::Panel) {
    fail(op, "block storage needs the panel layout");
    return;
  }
  if (isLazy(op))
    return;
  Access a = access(op);
  if (!a.shape.isVector) {
    llvm::Value *v = loadScalar(a, 0, 0);
    return bind(op, {v});
  }
  Pieces out;
  for (int64_t row = 0; row < a.shape.rows; ++row)
    for (int64_t lane = 0; lane < a.shape.lanes; lane += a.shape.width)
      out.push_back(loadPiece(a, row, lane, a.shape.width));
  bind(op, std::move(out));
}

//===----------------------------------------------------------------------===//
// Prefetches
//===----------------------------------------------------------------------===//

/// `nearness` from 0 (nowhere kept) to 3 (first level).
void KernelEmitter::emitPrefetchAt(llvm::Value *address, int nearness) {
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                    {address, b.getInt32(0), b.getInt32(nearness), b.getInt32(1)});
}

/// One request per cache line of each row whose lanes lie side by side; other layouts are left to the load.
void KernelEmitter::emitPrefetch(PrefetchOp op) {
  auto type = VectorType::get(op.getShape(), cast<BufferType>(op.getBuffer().getType()).getElementType());
  Access a{buffers[op.getBuffer()], {}, op.getMap(), {}, shapeOf(type), 2, type.getElementType(), {}};
  if (op.getPages())
    a.pages = buffers[op.getPages()];
  for (Value i : op.getIndices())
    a.indices.push_back(index(i));
  if (a.buffer.type.getLayout() == Layout::Panel)
    return;
  constexpr int64_t line = 64;
  for (int64_t row = 0; row < a.shape.rows; ++row)
    for (int64_t lane = 0; lane < a.shape.lanes; lane += line / memoryBytes(a.buffer))
      if (std::optional<Address> at = address(a, row, lane, 1, false))
        emitPrefetchAt(at->pointer, 3);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Writes a piece; `mask` null writes every lane the tile has.
void KernelEmitter::storePiece(const Access &a, int64_t row, int64_t lane, llvm::Value *value, llvm::Value *mask) {
  // All lanes at once, also where they then go to places apart.
  if (a.buffer.type.getStorage())
    value = roundedBits(b, value, *a.buffer.type.getStorage());
  int64_t valid = std::min(a.shape.width, a.shape.lanes - lane), bytes = memoryBytes(a.buffer);
  llvm::Align align(bytes);
  if (std::optional<Address> at = address(a, row, lane, a.shape.width, false); at && at->stride == bytes) {
    if (!mask && valid == a.shape.width) {
      b.CreateAlignedStore(value, at->pointer, align);
      return;
    }
    SmallVector<llvm::Constant *> lanes;
    for (int64_t l = 0; l < a.shape.width; ++l)
      lanes.push_back(b.getInt1(l < valid));
    llvm::Value *inTile = llvm::ConstantVector::get(lanes);
    b.CreateMaskedStore(value, at->pointer, align, mask ? b.CreateAnd(mask, inTile) : inTile);
    return;
  }
  for (int64_t l = 0; l < valid; ++l) {
    llvm::BasicBlock *after = nullptr;
    IndexMath::Scope scope(math);
    if (mask) {
      auto *write = llvm::BasicBlock::Create(context, "lane", function);
      after = llvm::BasicBlock::Create(context, "next", function);
      b.CreateCondBr(b.CreateExtractElement(mask, l), write, after);
      b.SetInsertPoint(write);
    }
    std::optional<Address> at = address(a, row, lane + l, 1, false);
    if (!at) {
      fail(kernel, "an index map of a store is not affine");
      return;
    }
    b.CreateAlignedStore(a.shape.isVector ? b.CreateExtractElement(value, l) : value, at->pointer, align);
    if (after) {
      b.CreateBr(after);
      b.SetInsertPoint(after);
    }
  }
}

void KernelEmitter::storeFull(const Access &a, ArrayRef<llvm::Value *> value) {
  size_t i = 0;
  for (int64_t row = 0; row < a.shape.rows; ++row)
    for (int64_t lane = 0; lane < a.shape.lanes; lane += a.shape.width)
      storePiece(a, row, lane, value[i++], nullptr);
}

/// A bound that a tile may reach: the extent of a buffer dimension that the map
/// names alone, and how the tile lies along the iteration dimension it names.
struct KernelEmitter::Limit {
  IndexValue first; ///< Index of the tile's first lane or row.
  IndexValue extent;
  int64_t span; ///< Lanes, rows or 1.
  bool alongLanes, alongRows;
};

SmallVector<KernelEmitter::Limit, 2> KernelEmitter::limitsOf(const Access &a) {
  SmallVector<Limit, 2> limits;
  unsigned n = a.indices.size();
  for (auto [r, expr] : llvm::enumerate(a.map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      continue;
    unsigned d = dim.getPosition();
    bool alongLanes = a.rank >= 1 && d == n - 1, alongRows = a.rank >= 2 && d == n - 2;
    int64_t span = alongLanes ? a.shape.lanes : alongRows ? a.shape.rows : 1;
    IndexValue i = a.indices[d];
    const Dim &size = a.buffer.type.getDims()[r];
    if (!i.min)
      i.min = 0; // only the upper end is checked, as the op defines
    if (!inRange({i, 1}, span, size))
      limits.push_back({a.indices[d], extent(size), span, alongLanes, alongRows});
  }
  if (a.rows)
    limits.push_back({IndexValue::constant(0), *a.rows, a.shape.rows, false, true});
  return limits;
}

/// The lanes of the piece at `lane` that lie below the limits; null without one.
llvm::Value *KernelEmitter::laneMask(const Access &a, ArrayRef<Limit> limits, int64_t lane) {
  llvm::Value *mask = nullptr;
  SmallVector<llvm::Constant *> numbers;
  for (int64_t k = 0; k < a.shape.width; ++k)
    numbers.push_back(b.getInt32(k));
  for (const Limit &l : limits) {
    if (!l.alongLanes)
      continue;
    llvm::Value *left = b.CreateSub(math.value(l.extent), math.value(math.addConstant(l.first, lane)));
    left = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, b.getInt64(0));
    left = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, b.getInt64(a.shape.width));
    llvm::Value *count = splat(b.CreateTrunc(left, b.getInt32Ty()), a.shape.width);
    llvm::Value *below = b.CreateICmpULT(llvm::ConstantVector::get(numbers), count);
    mask = mask ? b.CreateAnd(mask, below) : below;
  }
  return mask;
}

/// Writes the rows and lanes of a tile at an edge that lie inside.
void KernelEmitter::storeEdge(const Access &a, ArrayRef<Limit> limits, ArrayRef<llvm::Value *> value) {
  for (int64_t row = 0; row < a.shape.rows; ++row) {
    llvm::Value *isInside = b.getTrue();
    for (const Limit &l : limits)
      if (!l.alongLanes) {
        llvm::Value *at = math.value(math.addConstant(l.first, l.alongRows ? row : 0));
        isInside = b.CreateAnd(isInside, b.CreateICmpSLT(at, math.value(l.extent)));
      }
    auto *write = llvm::BasicBlock::Create(context, "row", function);
    auto *next = llvm::BasicBlock::Create(context, "next", function);
    b.CreateCondBr(isInside, write, next);
    b.SetInsertPoint(write);
    {
      IndexMath::Scope scope(math);
      for (int64_t p = 0; p < a.shape.piecesPerRow(); ++p) {
        int64_t lane = p * a.shape.width;
        storePiece(a, row, lane, value[row * a.shape.piecesPerRow() + p], laneMask(a, limits, lane));
      }
    }
    b.CreateBr(next);
    b.SetInsertPoint(next);
  }
}

void KernelEmitter::emitStore(StoreOp op) {
  Access a = access(op);
  Pieces value = pieces(op.getValue());
  SmallVector<Limit, 2> limits = limitsOf(a);
  if (limits.empty())
    return storeFull(a, value);

  // One test for the whole tile; only tiles at an edge test rows and lanes.
  llvm::Value *isFull = b.getTrue();
  for (const Limit &l : limits) {
    llvm::Value *last = math.value(math.addConstant(l.first, l.span - 1));
    isFull = b.CreateAnd(isFull, b.CreateICmpSLT(last, math.value(l.extent)));
  }
  auto *full = llvm::BasicBlock::Create(context, "full", function);
  auto *edge = llvm::BasicBlock::Create(context, "edge", function);
  auto *done = llvm::BasicBlock::Create(context, "stored", function);
  b.CreateCondBr(isFull, full, edge);
  b.SetInsertPoint(full);
  {
    IndexMath::Scope scope(math);
    storeFull(a, value);
  }
  b.CreateBr(done);
  b.SetInsertPoint(edge);
  {
    IndexMath::Scope scope(math);
    storeEdge(a, limits, value);
  }
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

} // namespace fusec::codegen
