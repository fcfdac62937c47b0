//===- RowTiles.cpp --------------------------------------------------------===//
#include "codegen/cuda/RowTiles.h"

#include "codegen/cuda/SlicedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

const OperandTree *RowTiles::stagedAs(Value value) const {
  for (const OperandTree &tree : staged)
    if (tree.root == value)
      return &tree;
  return nullptr;
}

bool RowTiles::isPartOfOperand(Operation *op) const {
  return query.ops.contains(op) || llvm::any_of(staged, [&](const OperandTree &tree) { return tree.ops.contains(op); });
}

namespace {

constexpr int rowsPerWarp = 16, warpsPerGroup = 4;
constexpr int64_t depth = 16;            ///< k of one mma.
constexpr int64_t slabColumns = 64;      ///< wgmma's right operand comes in slabs.
constexpr int64_t mostInRegisters = 128; ///< Channels of queries that wgmma reads from registers without spilling.

bool isFree(Operation *op) { return isa<vector::BroadcastOp, IndexOp, arith::ConstantOp>(op); }
bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isa<VectorType>(op->getResult(0).getType()) &&
         (isFree(op) || isa<arith::ArithDialect, math::MathDialect>(op->getDialect()));
}

int64_t dimOf(Value value, int d) { return cast<VectorType>(value.getType()).getDimSize(d); }

class Finder {
public:
  Finder(KernelOp kernel, const CudaEmitOptions &options) : kernel(kernel), options(options) {}

  std::optional<RowTiles> run() {
    kernel.walk([&](DotOp op) { dots.push_back(op); });
    if (!isCascade() || dots.empty() || !findLoop() || !findOperands() || !allTilesFit() || !findLimit())
      return std::nullopt;
    chooseWarps();
    nameRoles();
    return std::move(found);
  }

private:
  /// Other kernels have forms of their own for tensor cores.
  bool isCascade() {
    DictionaryAttr schedule = kernel.getScheduleAttr();
    auto form = schedule ? schedule.getAs<StringAttr>("form") : StringAttr();
    return form && form.getValue().starts_with("cascade");
  }

  /// All products are in the body of one loop and round their operands alike.
  bool findLoop() {
    found.loop = dyn_cast<scf::ForOp>(dots.front()->getParentOp());
    found.operand = dots.front().getOperandType().value_or(Type());
    found.rows = dimOf(dots.front().getAcc(), 0);
    if (!found.loop || !found.operand || !matchPattern(found.loop.getStep(), m_Constant()))
      return false;
    return llvm::all_of(dots, [&](DotOp op) {
      return op->getBlock() == found.loop.getBody() && op.getOperandType() == found.operand &&
             dimOf(op.getLhs(), 1) % depth == 0;
    });
  }

  bool findOperands() {
    for (DotOp op : dots) {
      if (!found.stagedAs(op.getRhs())) {
        std::optional<OperandTree> tree = treeOf(op.getRhs());
        if (!tree || op.getRhs().getParentBlock() != found.loop.getBody())
          return false;
        tree->isSummed = isCarried(op);
        if (auto load = tree->root.getDefiningOp<LoadOp>())
          tree->rowLimit = load.getRows();
        tree->name = nameOfNext(tree->isSummed ? "values" : "keys");
        found.staged.push_back(std::move(*tree));
      }
      bool isBefore = !found.loop->isAncestor(op.getLhs().getParentBlock()->getParentOp());
      if (isBefore && !found.query.root)
        if (std::optional<OperandTree> tree = treeOf(op.getLhs())) {
          found.query = std::move(*tree);
          found.query.name = "query";
        }
    }
    return true;
  }

  std::string nameOfNext(StringRef role) {
    auto number = 1 + llvm::count_if(found.staged, [&](auto &tree) { return StringRef(tree.name).starts_with(role); });
    return number == 1 ? role.str() : (role + llvm::Twine(number)).str();
  }

  /// The ops of one block that lead to `root` and to nothing else.
  std::optional<OperandTree> treeOf(Value root) {
    OperandTree tree;
    if (!root.getDefiningOp() || !grow(tree, root, root.getParentBlock()))
      return std::nullopt;
    tree.root = root;
    tree.rows = dimOf(root, 0);
    tree.columns = dimOf(root, 1);
    for (Operation *op : tree.ops)
      for (Operation *user : op->getUsers())
        if (!tree.ops.contains(user) && !(op == root.getDefiningOp() && isa<DotOp>(user)))
          return std::nullopt;
    return tree;
  }

  bool grow(OperandTree &tree, Value value, Block *block) {
    Operation *op = value.getDefiningOp();
    if (!isa<VectorType>(value.getType()) || (op && isa<arith::ConstantOp>(op)))
      return true;
    if (!op || op->getBlock() != block || !(isa<LoadOp>(op) || isElementwise(op)))
      return false;
    if (!isFree(op))
      tree.ops.insert(op);
    return isa<LoadOp>(op) ||
           llvm::all_of(op->getOperands(), [&](Value operand) { return grow(tree, operand, block); });
  }

  /// Whether the product adds to what the loop carries.
  bool isCarried(DotOp op) { return carriedBehind(op.getAcc()).has_value(); }
  std::optional<unsigned> carriedBehind(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == found.loop.getBody())
      return argument.getArgNumber() - 1;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != found.loop.getBody() || !isElementwise(op))
      return std::nullopt;
    for (Value operand : op->getOperands())
      if (std::optional<unsigned> number = carriedBehind(operand); number && operand.getType() == value.getType())
        return number;
    return std::nullopt;
  }

  /// Every other tile of rank 2 has the products' rows.
  bool allTilesFit() {
    bool fits = true;
    kernel.walk([&](Operation *op) {
      if (found.isPartOfOperand(op) || isFree(op))
        return;
      for (Value result : op->getResults()) {
        auto type = dyn_cast<VectorType>(result.getType());
        fits &= !type || type.getRank() == 1 || (type.getRank() == 2 && type.getDimSize(0) == found.rows);
      }
      fits &= !isa<vector::ExtractOp, vector::ShapeCastOp, ScratchOp>(op);
    });
    return fits;
  }

  /// Stores leave the same rows out.
  bool findLimit() {
    SmallVector<Value> limits;
    kernel.walk([&](StoreOp op) { limits.push_back(op.getRows()); });
    found.rowLimit = found.query.rowLimit = limits.empty() ? Value() : limits.front();
    return llvm::all_equal(limits);
  }

  /// A row's bits may not depend on how many rows there are: all kernels of one operation multiply with the same
  /// instruction, chosen by what they have in common.
  void chooseWarps() {
    found.warps = static_cast<int>((found.rows + rowsPerWarp - 1) / rowsPerWarp);
    found.isWarpgroup = options.hasWarpgroupProducts && llvm::all_of(dots, [](DotOp op) {
                          return dimOf(op.getRhs(), 1) % slabColumns == 0 && dimOf(op.getLhs(), 1) <= mostInRegisters;
                        });
    if (found.isWarpgroup)
      found.warps = (found.warps + warpsPerGroup - 1) / warpsPerGroup * warpsPerGroup;
  }

  //===--------------------------------------------------------------------===//
  // Names
  //===--------------------------------------------------------------------===//

  void name(Value value, StringRef role) { found.roles.try_emplace(value, role.str()); }

  void nameRoles() {
    for (DotOp op : dots) {
      if (isCarried(op)) {
        name(op.getLhs(), "weight");
        continue;
      }
      name(op, "score");
      name(op.getLhs(), "query");
    }
    if (found.rowLimit)
      name(found.rowLimit, "rows");
    auto yield = cast<scf::YieldOp>(found.loop.getBody()->getTerminator());
    for (auto [i, value] : llvm::enumerate(yield.getOperands()))
      nameCarried(i, value);
    kernel.walk([&](StoreOp op) { name(op.getValue(), "result"); });
    nameBounds();
  }

  /// Where the folded dimension begins and ends for the block's rows, which rows they are.
  void nameBounds() {
    auto around = dyn_cast<scf::ForOp>(found.loop->getParentOp());
    name((around ? around : found.loop).getUpperBound(), "end");
    if (around)
      name(found.loop.getUpperBound(), "partEnd");
    name(found.loop.getLowerBound(), "from");
    for (const OperandTree &tree : found.staged)
      for (Operation *op : tree.ops)
        if (auto load = dyn_cast<LoadOp>(op); load && load.getRows())
          name(load.getRows(), "filled");
    kernel.walk([&](ReduceOp op) {
      if (op.getInputs().size() == 1 && cast<VectorType>(op.getInputs().front().getType()).getRank() == 1) {
        name(op.getInputs().front(), "bounds");
        name(op.getResult(0), "bound");
      }
    });
    kernel.walk([&](arith::DivUIOp op) {
      if (op.getLhs().getDefiningOp<OriginOp>())
        name(op, "split");
    });
    nameTokens();
  }

  /// An entry of the list of query tiles: the first token and how many there are.
  void nameTokens() {
    Operation *product = found.rowLimit ? found.rowLimit.getDefiningOp() : nullptr;
    Value count = product ? (isa<arith::MulIOp>(product) ? product->getOperand(0) : found.rowLimit) : Value();
    auto cast = count ? count.getDefiningOp<arith::IndexCastOp>() : arith::IndexCastOp();
    auto tokens = cast ? cast.getIn().getDefiningOp<LoadOp>() : LoadOp();
    if (!tokens)
      return;
    name(tokens.getResult(), "tokens");
    for (Operation *user : tokens.getBuffer().getUsers())
      if (user != tokens && isa<LoadOp>(user))
        name(user->getResult(0), "token");
  }

  /// The greatest score, the total weight, the weighted sum of values.
  void nameCarried(unsigned i, Value value) {
    StringRef role = value.getDefiningOp<arith::MaximumFOp>() ? "most"
                     : value.getDefiningOp<DotOp>()           ? "sum"
                     : value.getDefiningOp<arith::AddFOp>()   ? "total"
                                                              : "";
    if (role.empty())
      return;
    name(found.loop.getResult(i), role);
    name(value, role == "most" ? "mostNow" : role);
    BlockArgument carried = found.loop.getRegionIterArg(i);
    nameRepair(carried, role, "repair");
    if (role == "most")
      nameScores(value);
    if (role == "total")
      nameFolded(value, "blockTotal");
    nameOuter(found.loop.getResult(i), role);
  }

  /// What an accumulator is multiplied with, and the product.
  void nameRepair(Value accumulator, StringRef role, StringRef repair) {
    for (Operation *user : accumulator.getUsers())
      if (isa<arith::MulFOp>(user)) {
        name(user->getResult(0), role);
        Value factor = user->getOperand(user->getOperand(0) == accumulator ? 1 : 0);
        if (auto broadcast = factor.getDefiningOp<vector::BroadcastOp>())
          factor = broadcast.getSource();
        name(factor, repair);
      }
  }

  void nameFolded(Value sum, StringRef role) {
    for (Value operand : sum.getDefiningOp()->getOperands())
      if (operand.getDefiningOp<ReduceOp>())
        name(operand, role);
  }

  /// What a maximum is taken of, and the value that weights are relative to.
  void nameScores(Value most) {
    for (Value operand : most.getDefiningOp()->getOperands())
      if (auto reduce = operand.getDefiningOp<ReduceOp>()) {
        name(reduce.getInputs().front(), "score");
        name(operand, "blockMost");
      }
    for (Operation *user : most.getUsers())
      if (isa<arith::SelectOp>(user))
        name(user->getResult(0), "base");
  }

  /// Splits are merged by a loop around: what it carries is that of all splits so far.
  void nameOuter(Value part, StringRef role) {
    auto outer = dyn_cast<scf::ForOp>(found.loop->getParentOp());
    if (!outer)
      return;
    auto yield = cast<scf::YieldOp>(outer.getBody()->getTerminator());
    const unsigned i = cast<OpResult>(part).getResultNumber();
    if (outer.getNumResults() != found.loop.getNumResults() || yield.getOperand(i).getType() != part.getType())
      return;
    name(outer.getResult(i), (role + "OfAll").str());
    nameRepair(outer.getRegionIterArg(i), (role + "OfAll").str(), "repairOfAll");
    nameRepair(part, role, "repair");
    if (role == "most")
      name(yield.getOperand(i), "mostOfBoth");
  }

  KernelOp kernel;
  const CudaEmitOptions &options;
  SmallVector<DotOp> dots;
  RowTiles found;
};

} // namespace

/// A product with stored weights, which has a form of its own.
static bool isSliced(KernelOp kernel) {
  bool found = false;
  kernel.walk([&](scf::ForOp loop) { found |= matchSlicedProduct(loop).has_value(); });
  return found;
}

std::optional<RowTiles> findRowTiles(KernelOp kernel, const CudaEmitOptions &options) {
  if (isSliced(kernel))
    return std::nullopt;
  return Finder(kernel, options).run();
}

} // namespace fusec::codegen::cuda
