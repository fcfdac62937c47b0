//===- KernelPrinter.h - the text of one kernel ----------------------------===//
//
// Prints a tile kernel op by op. Tiles become variables of type Tile<T, M, N, L>,
// scalars and indices plain C variables; chains of elementwise ops become one
// lambda. The class is the state of one emission; its parts are grouped by file:
//
//   KernelPrinter.cpp  what is printed when; regions and loops
//   EmitFrame.cpp      header comment, parameters, programs
//   EmitNames.cpp      names of buffers and variables
//   EmitIndex.cpp      index values and sizes
//   EmitScalar.cpp     arith and math as C expressions; scalar ops
//   EmitLayout.cpp     layouts of tiles
//   EmitMap.cpp        elementwise chains on tiles
//   EmitMemory.cpp     tile.load and tile.store through affine maps
//   EmitBest.cpp       scores that are folded instead of stored
//   EmitElement.cpp    one element of a tile as an expression of its place
//   EmitDot.cpp        tile.dot in registers
//   EmitProduct.cpp    whole loops over k as one call
//   EmitRows.cpp       derived loops on tensor cores (RowTiles.h)
//   EmitReduce.cpp     tile.reduce
//
// Errors are sticky: the first one is kept, printing goes on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/EmitLayout.h"
#include "codegen/cuda/IndexExpr.h"
#include "codegen/cuda/RowTiles.h"
#include "codegen/cuda/SourceText.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace fusec::codegen::cuda {

/// A buffer inside the kernel.
struct KernelBuffer {
  std::string name;
  tile::BufferType type;
  bool isScratch = false;
};

/// One tile.load or tile.store: what it touches and where element [0, 0] is.
struct MemoryAccess {
  mlir::Operation *op;
  KernelBuffer buffer, pages;
  mlir::AffineMap map;
  llvm::SmallVector<IndexExpr> indices;
  std::optional<IndexExpr> rows; ///< Rows that exist, where that is said.
  int64_t rank = 0;              ///< Rank of the moved value.
  mlir::Type element;
};

/// One element of an access.
struct MemoryPlace {
  CExpr element;                    ///< "x[token * 576 + col]", what is stored there.
  IndexExpr offset;                 ///< "token * 576 + col", of buffers of plain rows.
  std::vector<std::string> uniform; ///< Conditions for the place to exist that are the same for all lanes,
  std::vector<std::string> perLane; ///< and those that are not.
};

/// The index along one dimension of a tile, with its range.
IndexExpr laneIndex(const std::string &name, int64_t extent);

/// What panel.cuh calls a storage type: "Q4_1".
std::string formatName(StorageType storage);

/// What a place is for: a lane outside a buffer reads nothing, is not stored, or (tiles of rows some of which are past
/// the last one, and unused) reads the last row.
enum class Purpose { Load, Store, LoadClamped };

/// One axis of the grid.
struct GridAxis {
  IndexExpr origin; ///< Of this program.
  IndexExpr count;  ///< Programs along the axis.
  int64_t tile = 1;
  bool isUsed = false;
};

struct SlicedProduct; // SlicedProduct.h
enum class ProductForm { Spread, Streamed, Tiled, Warpgroup };

class KernelPrinter {
public:
  KernelPrinter(tile::KernelOp kernel, const CudaEmitOptions &options);
  Result<CudaKernelText> print();

private:
  // Frame, regions and loops.
  void nameBuffers();
  void findAxes();
  int chooseThreads();
  std::string assemble();
  std::string family();
  void printHeader(SourceText &out);
  void printSignature(SourceText &out);
  void printPrologue(SourceText &out);
  void printPrograms(SourceText &out);
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation &op);
  void emitLocation(mlir::Operation &op);
  void emitScratch(tile::ScratchOp op);
  void emitFor(mlir::scf::ForOp op);
  void emitIf(mlir::scf::IfOp op);
  void emitYield(mlir::Operation *yield, llvm::ArrayRef<std::string> names);
  void assignAtOnce(std::vector<std::pair<std::string, std::string>> assignments);
  std::string assignsTo(mlir::Operation &root);
  std::string carry(mlir::Value init, mlir::Value result, mlir::Block *block);
  void bindVariable(mlir::Value value, const std::string &name);
  std::string textOf(mlir::Value value);

  // Index values and sizes.
  std::string symbolName(mlir::StringAttr symbol);
  int64_t symbolAlignment(mlir::StringAttr symbol);
  IndexExpr extent(const fuse::Dim &dim, int64_t minus = 0);
  IndexExpr index(mlir::Value value);
  IndexExpr loopCounter(mlir::scf::ForOp op, const std::string &name);
  bool isIndexArith(mlir::Operation &op);
  void emitIndexArith(mlir::Operation &op);
  void emitIndexCast(mlir::Operation &op);
  IndexExpr division(mlir::Operation &op, const IndexExpr &x, const IndexExpr &y);
  void bindIndex(mlir::Value value, IndexExpr expr);
  const char *indexType() const { return wideIndices ? "long long" : "int"; }

  // Scalars.
  std::string cType(mlir::Type type);
  /// Of an element as it lies in memory: `float`, `Half`, ..., `void` for panels.
  std::string memoryType(tile::BufferType type);
  CExpr literal(mlir::Type type, mlir::Attribute value);
  std::optional<CExpr> lane(mlir::Operation &op, llvm::ArrayRef<CExpr> x);
  CExpr scalar(mlir::Value value);
  void emitScalar(mlir::Operation &op);
  void emitConstant(mlir::arith::ConstantOp op);

  // Tiles.
  static bool isTile(mlir::Value value) { return llvm::isa<mlir::VectorType>(value.getType()); }
  /// The shape in registers: that of the type, padded as the value's layout wants it.
  TileShape paddedShape(mlir::Value value) const;
  std::string tileType(mlir::Value value);
  /// "1, 64, L"
  std::string shapeText(mlir::Value value) const { return shapeText(shapeOf(value.getType()), layouts.of(value)); }
  std::string shapeText(TileShape shape, const TileLayout &layout) const;
  std::string tileName(mlir::Value value) { return tileName(value, layouts.of(value)); }
  std::string tileName(mlir::Value value, const TileLayout &layout);
  void findClusters(mlir::Block &block);
  void emitMap(mlir::Operation &root);
  struct Cluster;
  CExpr index(Cluster &cluster, tile::IndexOp op, bool row, bool col);
  CExpr inCluster(Cluster &cluster, mlir::Value value, bool row, bool col);
  void addToCluster(Cluster &cluster, mlir::Operation &op, CExpr result, bool isRoot);
  std::string overwrites(const Cluster &cluster, mlir::Operation &root);
  LambdaText treeText(const OperandTree &tree, std::vector<std::string> missing);
  void emitExtract(mlir::vector::ExtractOp op);
  void emitReduce(tile::ReduceOp op);
  LambdaText combineText(tile::ReduceOp op);

  // Memory.
  MemoryAccess access(mlir::Operation *op, mlir::Value buffer, mlir::ValueRange indices, mlir::AffineMap map,
                      mlir::Value pages, mlir::Type value);
  MemoryAccess access(tile::LoadOp op);
  MemoryAccess access(tile::StoreOp op);
  MemoryPlace place(const MemoryAccess &a, const IndexExpr &row, const IndexExpr &col, Purpose purpose);
  IndexExpr rowsOffset(const MemoryAccess &a, llvm::ArrayRef<IndexExpr> at);
  CExpr panelElement(const MemoryAccess &a, llvm::ArrayRef<IndexExpr> at);
  IndexExpr pageNumber(const MemoryAccess &a, const IndexExpr &row, const IndexExpr &block);
  CExpr pagedElement(const MemoryAccess &a, llvm::ArrayRef<IndexExpr> at, bool isStore);
  std::string guarded(const MemoryPlace &place, mlir::Type element);
  LambdaText loadText(const MemoryAccess &a, const std::string &row, const std::string &col, TileShape shape);
  std::string lookUp(const std::string &value, const std::string &type, const std::string &wish);
  void emitLoad(tile::LoadOp op);
  void emitStore(tile::StoreOp op);

  // Scores.
  bool isScores(mlir::Value buffer);
  bool isFoldable(tile::StoreOp op);
  void checkScores();
  void emitBest(tile::StoreOp op);
  std::string entry() { return kernel.getSymName().str() + (options.scores ? "_best" : ""); }

  // Products.
  void emitDot(tile::DotOp op);
  void emitDotOperand(mlir::Value operand, bool isLeft, mlir::Type rounded, std::vector<std::string> &arguments,
                      std::vector<LambdaText> &lambdas);
  bool emitProduct(mlir::scf::ForOp op);
  bool isProduct(SlicedProduct &product);
  void publishRows(SlicedProduct &product);
  bool isForWarpgroups();
  const TileLayout *layOutSums(SlicedProduct &product, ProductForm form);
  void emitProductCall(SlicedProduct &product, llvm::ArrayRef<unsigned> call, ProductForm form, TileShape padded);
  void emitSpreadDots(SlicedProduct &product, unsigned number, TileShape padded);
  std::string declareWeight(tile::DotOp dot, SlicedProduct &product);

  // Elements.
  CExpr elementOf(Cluster &cluster, mlir::Value value, bool row, bool col);
  CExpr loadedElement(Cluster &cluster, tile::LoadOp op, bool row, bool col);
  std::optional<std::string> floats8(const MemoryAccess &a, const IndexExpr &row, const IndexExpr &col);
  SourceText bindStep(SlicedProduct &product, int64_t divisor);
  LambdaText operandsText(mlir::Value value, SlicedProduct &product, TileShape padded);
  LambdaText elementText(mlir::Value value, SlicedProduct &product);

  // Derived loops on tensor cores.
  void layOutRows();
  bool emitAsRows(mlir::Operation &op);
  void emitQuery();
  void emitBlockLoop(mlir::scf::ForOp op);
  void emitFetch(mlir::scf::ForOp op);
  void emitStaged(const OperandTree &tree);
  bool comesInUnits(tile::LoadOp op);
  LambdaText unitText(tile::LoadOp op, bool &isCopy);
  void emitRowsDot(tile::DotOp op);
  tile::DotOp skippablePart(tile::DotOp score);
  void openSkippedPart(tile::DotOp last);
  void closeSkippedPart(tile::DotOp last);
  void hoistLoads(mlir::scf::ForOp op);
  void printStages(SourceText &text);
  int64_t stageBytes() const;
  int64_t stagedBytes() const { return rowTiles ? stages * stageBytes() + queryBytes() + parkedBytes() : 0; }
  int64_t queryBytes() const;
  bool isParked(mlir::Value value) const;
  int64_t parkedBytes() const;
  TileShape loadedShape(tile::LoadOp op);

  // Names and state.
  std::string fresh(llvm::StringRef wish);
  std::string nameFor(mlir::Value value);
  void bind(mlir::Value value, CExpr text) { values[value] = std::move(text); }
  int64_t sharedBytes() const { return stagedBytes() + productBytes + scratchBytes + 2 * exchangeBytes; }
  void needExchange(int64_t bytes) { exchangeBytes = std::max(exchangeBytes, (bytes + 15) / 16 * 16); }
  bool isOverwritable(mlir::Value value, mlir::Block *block);
  void fail(mlir::Operation *op, const llvm::Twine &what);

  tile::KernelOp kernel;
  const CudaEmitOptions &options;
  std::optional<RowTiles> rowTiles;
  bool streamsWeights = false;         ///< A product's matrices come through a ring in shared memory.
  bool forWarpgroups;                  ///< The kernel's product is done by warpgroups.
  mlir::Block *openEpilogue = nullptr; ///< The rest of this block is the lambda of a call.
  int threads, stages = 2;
  bool parks = true;                      ///< Wide sums that are only merged wait in shared memory.
  int64_t parkedAt = 0;                   ///< Bytes of parked tiles so far.
  std::vector<std::string> blockCarriers; ///< Variables of the loop over blocks.
  mlir::Operation *skippedUntil = nullptr;
  mlir::Value declaredAhead; ///< A tile that is assigned, not declared, where it is computed.
  TileLayouts layouts;
  bool wideIndices = false;
  llvm::StringMap<int> usedNames;
  llvm::MapVector<mlir::Value, KernelBuffer> buffers;
  llvm::DenseMap<mlir::Value, CExpr> values; ///< Scalars and tiles.
  llvm::DenseMap<mlir::Value, IndexExpr> indexValues;
  std::set<std::string> variables; ///< Names of tiles that may be overwritten.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> clusterRoot;
  llvm::DenseSet<mlir::Operation *> barriers, hoisted;
  llvm::DenseSet<mlir::Value> writtenOut;              ///< Tiles that exist as expressions only, where they are read.
  llvm::DenseMap<mlir::Value, std::string> sharedRows; ///< Row values that all threads can read: names of arrays.
  llvm::DenseMap<mlir::Value, std::string> weightMatrices; ///< Declarations of weights that products read.
  std::string samplingName;                                ///< The rows' parameters, for scores.
  std::vector<GridAxis> axes;
  std::set<std::string> usedSymbols;
  std::vector<std::pair<std::string, std::string>> pageLookups; ///< Expression and variable, those in scope.
  SourceText body{1}, *out = &body;
  std::string location;
  int64_t productBytes = 0, scratchBytes = 0, exchangeBytes = 0; ///< Of shared memory, one after the other.
  Status status;
};

} // namespace fusec::codegen::cuda
