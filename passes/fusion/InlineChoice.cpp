//===- InlineChoice.cpp -----------------------------------------------------------------===//
//
// Readers may be row ops, which take the value wherever they walk, or
// contractions, which compute their row operand again for each tile along the
// lanes (a prologue). Legality first, then cost, per op.
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/InlineChoice.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

class InlineChooser {
public:
  InlineChooser(const DataFlow &flow, CostModel cost, const llvm::SmallPtrSetImpl<Operation *> &placed,
                FusionControl &control, std::vector<Decision> &decisions)
      : flow(flow), cost(cost), placed(placed), control(control), decisions(decisions) {}

  /// Back to front, so that a reader's place is open while its inputs are weighed.
  llvm::SmallPtrSet<Operation *, 16> run() {
    for (Operation *op : llvm::reverse(flow.computing()))
      if (auto map = dyn_cast<MapOp>(op); map && !placed.contains(op))
        considerInline(map);
    return std::move(inlined);
  }

private:
  void decide(Operation *producer, Operation *consumer, StringRef kind, bool fused, const Twine &reason) {
    decisions.push_back({producer, consumer, kind.str(), fused, reason.str()});
  }

  /// Contractions whose result `map` reads element for element.
  static bool followsContraction(MapOp map) {
    for (auto [i, input] : llvm::enumerate(map.getInputs()))
      if (input.getDefiningOp<ContractOp>() && map.getMap(i).isIdentity() && input.getType() == map.getType())
        return true;
    return false;
  }

  /// Why `map` cannot be recomputed by all its readers, or nothing.
  std::optional<std::string> inlineObstacle(MapOp map) {
    if (flow.users(map).empty())
      return "nothing reads the result";
    if (isReshaped(map.getResult()))
      return "a reshape sees the result in memory";
    for (Operation *user : flow.users(map)) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return "the result leaves the graph";
      if (isa<GatherOp, ScatterOp>(user))
        return "a reader takes rows by index, which needs them in memory";
      if (auto contract = dyn_cast<ContractOp>(user))
        if (auto obstacle = prologueObstacle(map, contract))
          return obstacle;
    }
    return std::nullopt;
  }

  /// Whether a reshape reads the value, directly or through views.
  static bool isReshaped(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return isa<ReshapeOp>(user) || (isa<ViewOp>(user) && isReshaped(user->getResult(0)));
    });
  }

  /// Why `map` cannot be computed tile by tile in front of a contraction.
  std::optional<std::string> prologueObstacle(MapOp map, ContractOp contract) {
    AffineExpr lanes = contract.getMap(2).getResults().back();
    bool rhsHasLanes = contract.getMap(1).isFunctionOfDim(cast<AffineDimExpr>(lanes).getPosition());
    if (computesFrom(rhsHasLanes ? contract.getRhs() : contract.getLhs(), map))
      return "it feeds the contraction's lanes, whose tiles are read as they are stored";
    if (followsContraction(map))
      return "it follows another contraction element for element and costs nothing there";
    if (followsReduction(map) && !isOneTile(contract))
      return "it shares the rows, and so the kernel, of a reduction before it";
    return std::nullopt;
  }

  /// A matrix so narrow that one tile of lanes covers it: a norm in front is computed once either way.
  static bool isOneTile(ContractOp contract) {
    constexpr int64_t lanes = 64;
    const Dim &last = typeOf(contract.getResult()).getDims().back();
    return multipliesMatrix(contract) && last.isStatic() && last.size <= lanes;
  }

  /// Whether a reduction feeds the op, directly or through per-row ops.
  bool followsReduction(MapOp map) {
    for (Operation *producer : flow.producers(map)) {
      if (isa<ReduceOp>(producer))
        return true;
      auto before = dyn_cast<MapOp>(producer);
      if (before && typeOf(before.getResult()).getRank() < typeOf(map.getResult()).getRank() &&
          followsReduction(before))
        return true;
    }
    return false;
  }

  /// Tiles along a contraction's lanes: how often its row operand is computed.
  static double laneTiles(ContractOp contract, const CostModel &m) {
    constexpr double lanes = 64;
    return std::max(1.0, m.elements(typeOf(contract.getResult()).getDims().take_back()) / lanes);
  }

  /// How often a reader takes the whole of what it reads.
  double passesOf(Operation *user, const CostModel &m) {
    // A cascade stages its rows once, whatever it loops over.
    auto contract = placed.contains(user) ? ContractOp() : dyn_cast<ContractOp>(user);
    return contract ? laneTiles(contract, m) : 1.0;
  }

  /// Where the op's own inputs are read anyway by a reader, they cost nothing more there.
  double extraInputBytes(MapOp map, Operation *user, const CostModel &model) {
    double bytes = 0;
    for (Value input : map.getInputs())
      if (!llvm::is_contained(user->getOperands(), input))
        bytes += std::min(model.bytes(typeOf(input)), model.elements(typeOf(map.getResult()).getDims()) * 4);
    return bytes;
  }

  void considerInline(MapOp map) {
    if (auto obstacle = inlineObstacle(map))
      return decide(map, flow.users(map).empty() ? map.getOperation() : flow.users(map).front(), "inline", false,
                    *obstacle);
    bool epilogue = followsContraction(map);
    double stored = cost.secondsPerToken([&](const CostModel &m) {
      double own = m.bytes(typeOf(map.getResult()));
      double inputs = 0;
      for (Value input : map.getInputs())
        inputs += m.bytes(typeOf(input));
      // As an epilogue its main input stays in registers and there is no launch.
      if (epilogue)
        inputs -= 2 * own;
      double reads = 0;
      for (Operation *user : flow.users(map))
        reads += passesOf(user, m);
      return Work{epilogue ? 0.0 : 1.0, own * (1.0 + reads) + inputs,
                  m.elements(typeOf(map.getResult()).getDims()) * CostModel::operationsPerElement(map)};
    });
    double recomputed = cost.secondsPerToken([&](const CostModel &m) {
      Work work;
      for (Operation *user : flow.users(map)) {
        double evaluations = evaluationsIn(map, user, m);
        work = work + Work{0, extraInputBytes(map, user, m), evaluations * CostModel::operationsPerElement(map)} *
                          passesOf(user, m);
      }
      return work;
    });
    std::string figures =
        llvm::formatv("recomputing costs {0:f3} us per token, storing {1:f3}", recomputed * 1e6, stored * 1e6);
    auto kindFor = [](Operation *user) { return isa<ContractOp>(user) ? "prologue" : "inline"; };
    Operation *first = flow.users(map).front();
    bool taken = control.take({kindFor(first), map, first, figures}, recomputed < stored);
    for (Operation *user : flow.users(map)) {
      decide(map, user, kindFor(user), taken, control.verdict(figures));
      decisions.back().secondsSaved = stored - recomputed;
    }
    if (taken)
      inlined.insert(map);
  }

  /// How often a reader evaluates the op: per use, once per element of the
  /// reader, or once per row where the use is the same along the row.
  double evaluationsIn(MapOp map, Operation *user, const CostModel &m) {
    auto reader = dyn_cast<MapOp>(user);
    if (!reader)
      return m.elements(typeOf(map.getResult()).getDims());
    double evaluations = 0;
    ArrayRef<Dim> dims = typeOf(reader.getResult()).getDims();
    for (auto [i, input] : llvm::enumerate(reader.getInputs())) {
      if (!computesFrom(input, map))
        continue;
      bool perRow = !dims.empty() && !reader.getMap(i).isFunctionOfDim(dims.size() - 1);
      evaluations += m.elements(perRow ? dims.drop_back() : dims);
    }
    return evaluations;
  }

  const DataFlow &flow;
  CostModel cost;
  const llvm::SmallPtrSetImpl<Operation *> &placed;
  FusionControl &control;
  std::vector<Decision> &decisions;
  llvm::SmallPtrSet<Operation *, 16> inlined;
};

} // namespace

llvm::SmallPtrSet<Operation *, 16> chooseInlined(const DataFlow &flow, CostModel cost,
                                                 const llvm::SmallPtrSetImpl<Operation *> &placed,
                                                 FusionControl &control, std::vector<Decision> &decisions) {
  return InlineChooser(flow, cost, placed, control, decisions).run();
}

} // namespace fusec
