//===- TileMemory.cpp - tile.load, tile.store, tile.scratch ----------------------===//
#include "ir/reference/AccessMap.h"
#include "ir/reference/Ops/TileOps.h"

#include <utility>

using namespace mlir;

namespace fusec::reference {

namespace {

/// A tile's way through an index map: the buffer index of each lane.
class TileAccess {
public:
  /// `indices` are the op's, `lanes` the shape of the value (rank 0 to 2).
  TileAccess(AffineMap map, ArrayRef<int64_t> indices, ArrayRef<int64_t> lanes)
      : map(map), point(indices), dims(map.getNumDims()) {
    rows = lanes.size() == 2 ? lanes[0] : 1;
    columns = lanes.empty() ? 1 : lanes.back();
    rowDim = lanes.size() == 2 ? dims - 2 : -1;
    columnDim = lanes.empty() ? -1 : dims - 1;
    for (AffineExpr expr : map.getResults()) {
      const int64_t origin = evaluate(expr, point);
      linear &= isLinearAlong(expr, rowDim) && isLinearAlong(expr, columnDim);
      base.push_back(origin);
      rowStep.push_back(stepAlong(expr, rowDim, origin));
      columnStep.push_back(stepAlong(expr, columnDim, origin));
    }
    index.resize(base.size());
  }

  int64_t numRows() const { return rows; }
  int64_t numColumns() const { return columns; }
  int64_t numDistinct() const {
    return (rowDim < 0 || map.isFunctionOfDim(rowDim) ? rows : 1) *
           (columnDim < 0 || map.isFunctionOfDim(columnDim) ? columns : 1);
  }
  /// False for lanes that only repeat another lane's element.
  bool isDistinct(int64_t row, int64_t column) const {
    return (row == 0 || map.isFunctionOfDim(rowDim)) && (column == 0 || map.isFunctionOfDim(columnDim));
  }

  /// Where the lanes of a tile lie that is wholly inside a buffer without pages.
  struct Block {
    int64_t position, rowStep, columnStep;
  };
  /// Nothing when the map is not linear along the lanes or a lane is out of range.
  std::optional<Block> block(const Tensor &tensor, ArrayRef<int64_t> extents) const {
    if (!linear || tensor.isGathered())
      return std::nullopt;
    Block found{tensor.base(), 0, 0};
    for (size_t r = 0; r < base.size(); ++r) {
      const int64_t acrossRows = (rows - 1) * rowStep[r], acrossColumns = (columns - 1) * columnStep[r];
      const int64_t low = base[r] + std::min<int64_t>(0, acrossRows) + std::min<int64_t>(0, acrossColumns);
      const int64_t high = base[r] + std::max<int64_t>(0, acrossRows) + std::max<int64_t>(0, acrossColumns);
      if (low < 0 || high >= extents[r])
        return std::nullopt;
      found.position += base[r] * tensor.strides()[r];
      found.rowStep += rowStep[r] * tensor.strides()[r];
      found.columnStep += columnStep[r] * tensor.strides()[r];
    }
    return found;
  }

  /// The buffer index of a lane; valid until the next call.
  ArrayRef<int64_t> at(int64_t row, int64_t column) {
    if (linear) {
      for (size_t r = 0; r < index.size(); ++r)
        index[r] = base[r] + row * rowStep[r] + column * columnStep[r];
      return index;
    }
    Shape lane = point;
    if (rowDim >= 0)
      lane[rowDim] += row;
    if (columnDim >= 0)
      lane[columnDim] += column;
    for (auto [r, expr] : llvm::enumerate(map.getResults()))
      index[r] = evaluate(expr, lane);
    return index;
  }

private:
  static bool isLinearAlong(AffineExpr expr, int64_t dim) { return dim < 0 || isLinearIn(expr, dim); }
  int64_t stepAlong(AffineExpr expr, int64_t dim, int64_t origin) const {
    if (dim < 0)
      return 0;
    Shape moved = point;
    ++moved[dim];
    return evaluate(expr, moved) - origin;
  }

  AffineMap map;
  Shape point;
  int64_t dims, rows, columns, rowDim, columnDim;
  bool linear = true;
  Shape base, rowStep, columnStep, index;
};

bool inRange(ArrayRef<int64_t> index, ArrayRef<int64_t> extents) {
  for (size_t d = 0; d < index.size(); ++d)
    if (index[d] < 0 || index[d] >= extents[d])
      return false;
  return true;
}

/// The place of an in-range logical index in the buffer's storage. `isSink` is
/// set for page 0, where padding writes go.
Result<int64_t> positionOf(const TileFrame &frame, const TileBuffer &buffer, const TileBuffer *pages,
                           ArrayRef<int64_t> index, bool &isSink) {
  isSink = false;
  if (!pages)
    return buffer.tensor.offset(index);
  const int64_t page = frame.environment.page, slot = index[1] / page;
  if (index[0] >= pages->tensor.dim(0) || slot >= pages->tensor.dim(1))
    return invalidArgument("position " + std::to_string(index[1]) + " of sequence " + std::to_string(index[0]) +
                           " is outside the block table " + toString(pages->tensor.shape()));
  const double id = pages->tensor.get({index[0], slot});
  if (!(id >= 0 && id < static_cast<double>(buffer.tensor.dim(0))))
    return invalidArgument("page " + std::to_string(id) + " of sequence " + std::to_string(index[0]) +
                           " is outside the pool of " + std::to_string(buffer.tensor.dim(0)));
  isSink = id == 0;
  return buffer.tensor.offset({static_cast<int64_t>(id), index[1] % page, index[2], index[3]});
}

/// Rows of the tile that are moved: those below `rows`, when given.
template <typename Op> Result<int64_t> movedRows(TileFrame &frame, Op op, int64_t all) {
  if (!op.getRows())
    return all;
  FUSEC_ASSIGN_OR_RETURN(int64_t rows, frame.index(op.getRows()));
  return std::clamp<int64_t>(rows, 0, all);
}

template <typename Op> Result<Shape> indexOperands(TileFrame &frame, Op op) {
  Shape indices;
  for (Value value : op.getIndices()) {
    FUSEC_ASSIGN_OR_RETURN(int64_t index, frame.index(value));
    indices.push_back(index);
  }
  return indices;
}

Status checkRead(const TileFrame &frame, const TileBuffer &buffer, int64_t position, ArrayRef<int64_t> index) {
  const int32_t writer = buffer.writers ? (*buffer.writers)[position] : 0;
  if (writer == 0 || writer == frame.program + 1)
    return {};
  return invalidArgument("reads element " + toString(index) + ", which program " + std::to_string(writer - 1) +
                         " of the same launch writes");
}

Status claimWrite(const TileFrame &frame, TileBuffer &buffer, int64_t position, ArrayRef<int64_t> index) {
  if (!buffer.writers)
    return {};
  int32_t &writer = (*buffer.writers)[position];
  if (writer != 0 && writer != frame.program + 1)
    return invalidArgument("writes element " + toString(index) + ", which program " + std::to_string(writer - 1) +
                           " writes too");
  writer = frame.program + 1;
  return {};
}

/// True when an index that the map names alone reaches the buffer's extent.
bool isMasked(AffineMap map, ArrayRef<int64_t> index, ArrayRef<int64_t> extents) {
  for (auto [r, expr] : llvm::enumerate(map.getResults()))
    if (isa<AffineDimExpr>(expr) && index[r] >= extents[r])
      return true;
  return false;
}

} // namespace

namespace {

/// Copies a block of a weight, which no program writes.
template <typename T> void copyBlock(const T *storage, const TileAccess &access, TileAccess::Block block, double *out) {
  for (int64_t row = 0; row < access.numRows(); ++row)
    for (int64_t column = 0; column < access.numColumns(); ++column)
      *out++ = storage[block.position + row * block.rowStep + column * block.columnStep];
}

/// Any tile, lane by lane. Counts the distinct elements read.
Result<int64_t> readLanes(const TileFrame &frame, const TileBuffer &buffer, const TileBuffer *pages, TileAccess &access,
                          int64_t rows, Lanes &lanes) {
  int64_t distinct = 0;
  lanes.clear();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < access.numColumns(); ++column) {
      const ArrayRef<int64_t> index = access.at(row, column);
      if (!inRange(index, buffer.extents)) {
        lanes.push_back(NAN);
        continue;
      }
      bool isSink = false;
      FUSEC_ASSIGN_OR_RETURN(int64_t position, positionOf(frame, buffer, pages, index, isSink));
      FUSEC_RETURN_IF_ERROR(checkRead(frame, buffer, position, index));
      lanes.push_back(buffer.tensor.load(position));
      distinct += access.isDistinct(row, column);
    }
  lanes.resize(access.numRows() * access.numColumns(), 0.0);
  return distinct;
}

} // namespace

Status runLoad(TileFrame &frame, Operation *op) {
  auto load = cast<tile::LoadOp>(op);
  TileBuffer &buffer = frame.buffer(load.getBuffer());
  const TileBuffer *pages = load.getPages() ? &frame.buffer(load.getPages()) : nullptr;
  FUSEC_ASSIGN_OR_RETURN(Shape indices, indexOperands(frame, load));
  TileAccess access(load.getMap(), indices, lanesShape(load.getType()));
  Lanes lanes(access.numRows() * access.numColumns());
  int64_t distinct = access.numDistinct();
  // Weights and scratch have no writers to check, and most of what kernels read is weights.
  const bool plain = !pages && !buffer.writers;
  FUSEC_ASSIGN_OR_RETURN(int64_t rows, movedRows(frame, load, access.numRows()));
  std::optional<TileAccess::Block> block =
      plain && rows == access.numRows() ? access.block(buffer.tensor, buffer.extents) : std::nullopt;
  if (block && buffer.tensor.holdsFloats())
    copyBlock(buffer.tensor.floats(), access, *block, lanes.data());
  else if (block)
    copyBlock(std::as_const(buffer.tensor).doubles(), access, *block, lanes.data());
  else {
    FUSEC_ASSIGN_OR_RETURN(distinct, readLanes(frame, buffer, pages, access, rows, lanes));
  }
  if (buffer.argument >= 0) {
    frame.traffic[buffer.argument].loadedElements += distinct;
    frame.traffic[buffer.argument].loadedBytes += static_cast<double>(distinct) * buffer.elementBytes;
  }
  frame.set(load.getResult(), std::move(lanes));
  return {};
}

/// A hint moves nothing.
Status runPrefetch(TileFrame &, Operation *) { return {}; }

Status runStore(TileFrame &frame, Operation *op) {
  auto store = cast<tile::StoreOp>(op);
  TileBuffer &buffer = frame.buffer(store.getBuffer());
  const TileBuffer *pages = store.getPages() ? &frame.buffer(store.getPages()) : nullptr;
  if (buffer.tensor.holdsFloats())
    return invalidArgument("stores to a decoded weight");
  FUSEC_ASSIGN_OR_RETURN(Shape indices, indexOperands(frame, store));
  TileAccess access(store.getMap(), indices, lanesShape(store.getValue().getType()));
  Lanes rounded;
  if (buffer.type.getStorage()) {
    rounded = frame.get(store.getValue());
    roundLanes(elementOf(*buffer.type.getStorage()), rounded.data(), static_cast<int64_t>(rounded.size()));
  }
  const Lanes &lanes = buffer.type.getStorage() ? rounded : frame.get(store.getValue());
  FUSEC_ASSIGN_OR_RETURN(int64_t rows, movedRows(frame, store, access.numRows()));
  int64_t written = 0;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < access.numColumns(); ++column) {
      const ArrayRef<int64_t> index = access.at(row, column);
      if (isMasked(store.getMap(), index, buffer.extents))
        continue;
      if (!inRange(index, buffer.extents))
        return invalidArgument("stores to " + toString(index) + ", outside " + toString(buffer.extents));
      bool isSink = false;
      FUSEC_ASSIGN_OR_RETURN(int64_t position, positionOf(frame, buffer, pages, index, isSink));
      if (!isSink)
        FUSEC_RETURN_IF_ERROR(claimWrite(frame, buffer, position, index));
      buffer.tensor.store(position, lanes[row * access.numColumns() + column]);
      ++written;
    }
  if (buffer.argument >= 0) {
    frame.traffic[buffer.argument].storedElements += written;
    frame.traffic[buffer.argument].storedBytes += static_cast<double>(written) * buffer.elementBytes;
  }
  return {};
}

Status runScratch(TileFrame &frame, Operation *op) {
  auto scratch = cast<tile::ScratchOp>(op);
  TileBuffer buffer;
  buffer.type = cast<tile::BufferType>(scratch.getType());
  FUSEC_ASSIGN_OR_RETURN(buffer.extents, frame.environment.extents(buffer.type.getDims()));
  FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(buffer.type.getElementType()));
  buffer.tensor = Tensor::filled(element, buffer.extents, NAN); // uninitialised
  frame.setBuffer(scratch.getResult(), std::move(buffer));
  return {};
}

} // namespace fusec::reference
