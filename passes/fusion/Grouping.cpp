//===- Grouping.cpp - which ops share a kernel ----------------------------------===//
//
// 1. The members and the prologue of each derived cascade are one kernel.
// 2. Some elementwise ops are recomputed in their readers (InlineChoice.h).
// 3. Walk front to back: each other op joins a kernel of one of its producers
//    (contraction epilogue, same rows), or one beside it that reads the same
//    values (horizontal), or opens its own.
// 4. Order the kernels by their dependences.
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/Grouping.h"

#include "passes/derive/Cascade.h"
#include "passes/fusion/InlineChoice.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {
GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

class Grouper {
public:
  Grouper(func::FuncOp function, CostModel cost, FusionControl &control)
      : flow(function), cost(cost), control(control) {
    placeCascades(function);
    llvm::SmallPtrSet<Operation *, 16> placed;
    for (const auto &[op, g] : result.groupOf)
      placed.insert(op);
    result.inlined = chooseInlined(flow, cost, placed, control, result.decisions);
  }

  Grouping run() {
    for (Operation *op : flow.computing())
      if (!result.inlined.contains(op) && !result.groupOf.contains(op))
        place(op);
    absorbRowFolds();
    orderGroups();
    return std::move(result);
  }

private:
  void decide(Operation *producer, Operation *consumer, StringRef kind, bool fused, const Twine &reason) {
    result.decisions.push_back({producer, consumer, kind.str(), fused, reason.str()});
  }

  /// A legal fusion that the cost model wants: taken unless the user says otherwise.
  bool take(Operation *producer, Operation *consumer, StringRef kind, const Twine &reason) {
    bool taken = control.take({kind, producer, consumer, reason.str()}, true);
    decide(producer, consumer, kind, taken, control.verdict(reason.str()));
    return taken;
  }

  //===--------------------------------------------------------------------===//
  // Joining kernels
  //===--------------------------------------------------------------------===//

  /// The contractions (or members of their kernels) whose result `map` reads element for
  /// element, the latest first.
  SmallVector<Operation *> contractionsBehind(MapOp map) {
    SmallVector<Operation *> found;
    for (auto [i, input] : llvm::enumerate(map.getInputs())) {
      Operation *def = input.getDefiningOp();
      if (!def || !map.getMap(i).isIdentity() || input.getType() != map.getType())
        continue;
      if (isa<ContractOp>(def) || (isa<MapOp>(def) && kindOf(def) && kindOf(def) != GroupKind::Rows))
        found.push_back(def);
    }
    llvm::sort(found, [&](Operation *a, Operation *b) { return flow.position(a) > flow.position(b); });
    return found;
  }

  std::optional<GroupKind> kindOf(Operation *op) {
    auto it = result.groupOf.find(op);
    return it == result.groupOf.end() ? std::nullopt : std::optional(result.groups[it->second].kind);
  }

  /// Whether joining `op` to group `g` would make a dependence leave the kernel and return.
  bool returnsThroughOthers(Operation *op, int g) {
    using Step = llvm::PointerIntPair<Operation *, 1, bool>; // an op, and whether the path has left the kernel
    SmallVector<Step> pending = {Step(op, false)};
    llvm::DenseSet<Step> seen;
    while (!pending.empty()) {
      Step step = pending.pop_back_val();
      Operation *current = step.getPointer();
      bool outside = step.getInt();
      for (Operation *producer : flow.producers(current)) {
        auto it = result.groupOf.find(producer);
        bool member = it != result.groupOf.end() && it->second == g;
        if (member && outside)
          return true;
        bool left = outside || (!member && !result.inlined.contains(producer));
        if (Step next(producer, left); seen.insert(next).second)
          pending.push_back(next);
      }
    }
    return false;
  }

  void join(Operation *op, int g) {
    result.groups[g].ops.push_back(op);
    result.groupOf[op] = g;
  }

  void open(Operation *op, GroupKind kind, ArrayRef<Dim> rows) {
    result.groups.push_back({kind, SmallVector<Dim>(rows), {}});
    join(op, result.groups.size() - 1);
  }

  void placeCascades(func::FuncOp function) {
    for (const Cascade &cascade : cascadesOf(function)) {
      open(cascade.members.front().reduction.op, GroupKind::Cascade, cascade.rows);
      int g = result.groups.size() - 1;
      for (const CascadeMember &member : ArrayRef(cascade.members).drop_front())
        join(member.reduction.op, g);
      for (Operation *op : cascade.prologue)
        join(op, g);
    }
  }

  void place(Operation *op) {
    if (isa<ContractOp>(op))
      return open(op, GroupKind::Contract, {});
    if (auto map = dyn_cast<MapOp>(op))
      if (joinEpilogue(map))
        return;
    if (joinRows(op) || joinHorizontally(op))
      return;
    open(op, GroupKind::Rows, rowDims(op));
  }

  /// The rows of a row op: all dimensions but the last of what it walks over.
  static SmallVector<Dim> rowDims(Operation *op) {
    ArrayRef<Dim> dims = walkedType(op).getDims();
    return SmallVector<Dim>(dims.drop_back(dims.empty() ? 0 : 1));
  }

  static GraphTensorType walkedType(Operation *op) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return typeOf(reduce.getInputs().front());
    if (auto append = dyn_cast<KVAppendOp>(op))
      return typeOf(append.getValues());
    return typeOf(op->getResult(0));
  }

  /// Two contractions that one kernel can compute side by side.
  static bool sameSpace(ContractOp a, ContractOp b) {
    return a.getLhs() == b.getLhs() && a.getMaps() == b.getMaps() && a.getType() == b.getType() &&
           a.getRhs().getType() == b.getRhs().getType();
  }

  /// The contraction that a Contract kernel was opened for; null for other kernels.
  ContractOp contractOf(int g) {
    const Group &group = result.groups[g];
    return group.kind == GroupKind::Contract ? dyn_cast<ContractOp>(group.ops.front()) : ContractOp();
  }

  bool joinEpilogue(MapOp map) {
    SmallVector<Operation *> behind = contractionsBehind(map);
    for (Operation *p : flow.producers(map))
      if (isa<ContractOp>(p) && !llvm::is_contained(behind, p))
        decide(p, map, "epilogue", false, "the op does not read the contraction's result element for element");
    for (Operation *producer : behind) {
      int g = result.groupOf[producer];
      mergeSideBySide(map, g);
      if (returnsThroughOthers(map, g)) {
        decide(producer, map, "epilogue", false, "another input depends on this kernel through a different one");
        continue;
      }
      if (readsElsewhere(map, g)) {
        decide(producer, map, "epilogue", false, "the op also reads other elements of what this kernel computes");
        continue;
      }
      if (!take(producer, map, "epilogue", "saves a launch and one pass over the result"))
        continue;
      join(map, g);
      return true;
    }
    return false;
  }

  /// Moves other contractions that `map` reads into group `g` when their iteration space is the same.
  void mergeSideBySide(MapOp map, int g) {
    for (Operation *producer : flow.producers(map)) {
      auto other = dyn_cast<ContractOp>(producer);
      if (!other || result.groupOf[other] == g || !contractOf(g))
        continue;
      int old = result.groupOf[other];
      bool alone = result.groups[old].ops.size() == 1 && flow.users(other).size() == 1;
      if (!alone || !sameSpace(contractOf(g), other)) {
        decide(other, map, "side-by-side", false, "the contractions differ in rows, shape or storage");
        continue;
      }
      if (!take(other, map, "side-by-side", "same rows and shape: one pass over the activation"))
        continue;
      result.groups[old].ops.clear();
      join(other, g);
    }
  }

  /// Whether `value[map]` needs a result that group `g` cannot recompute (a reduction, a product, a
  /// gather's table) at another place than the tile at hand, so that it would have to be in memory.
  /// Maps of the group and inlined ones are computed again wherever they are read.
  using Read = std::pair<Value, AffineMap>;
  bool readsElsewhere(Value value, AffineMap map, int g, llvm::DenseSet<Read> &seen) {
    map = simplifyAffineMap(map);
    Operation *def = value.getDefiningOp();
    if (!def || !seen.insert({value, map}).second)
      return false;
    if (auto view = dyn_cast<ViewOp>(def))
      return readsElsewhere(view.getSource(), view.getMap().compose(map), g, seen);
    if (auto gather = dyn_cast<GatherOp>(def)) {
      AffineMap row = AffineMap::get(map.getNumDims(), 0, map.getResult(0));
      return isComputedIn(gather.getTable(), g) || readsElsewhere(gather.getIndices(), row, g, seen);
    }
    if (isIndexOnly(def))
      return isComputedIn(value, g);
    auto it = result.groupOf.find(def);
    bool member = it != result.groupOf.end() && it->second == g;
    if (auto other = dyn_cast<MapOp>(def); other && (member || result.inlined.contains(def)))
      return readsElsewhere(other, map, g, seen);
    return member && !isPrefix(map);
  }

  bool readsElsewhere(MapOp op, AffineMap map, int g, llvm::DenseSet<Read> &seen) {
    for (auto [i, input] : llvm::enumerate(op.getInputs()))
      if (readsElsewhere(input, op.getMap(i).compose(map), g, seen))
        return true;
    return false;
  }

  /// The same for all that `op` reads when it walks over its rows.
  bool readsElsewhere(Operation *op, int g) {
    llvm::DenseSet<Read> seen;
    AffineMap walk = AffineMap::getMultiDimIdentityMap(walkedType(op).getRank(), op->getContext());
    if (auto map = dyn_cast<MapOp>(op))
      return readsElsewhere(map, walk, g, seen);
    if (isa<GatherOp>(op))
      return readsElsewhere(op->getResult(0), walk, g, seen);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return llvm::any_of(reduce.getInputs(), [&](Value input) { return readsElsewhere(input, walk, g, seen); });
    auto append = dyn_cast<KVAppendOp>(op);
    return append && readsElsewhere(append.getValues(), walk, g, seen);
  }

  /// (d0, d1, ...) -> (d0, ..): the same place, seen without the last dimensions.
  static bool isPrefix(AffineMap map) {
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); !dim || dim.getPosition() != i)
        return false;
    return true;
  }

  /// Whether an op of group `g` computes the value, seen through index-only and inlined ops.
  bool isComputedIn(Value value, int g) {
    Operation *def = value.getDefiningOp();
    if (!def)
      return false;
    if (auto it = result.groupOf.find(def); it != result.groupOf.end())
      return it->second == g;
    return llvm::any_of(def->getOperands(), [&](Value operand) { return isComputedIn(operand, g); });
  }

  //===--------------------------------------------------------------------===//
  // Reductions of a contraction's rows
  //===--------------------------------------------------------------------===//

  /// A kernel of nothing but row values that one contraction's epilogue reads (the root of a deferred norm)
  /// moves into it: the rows are folded again for each tile, and neither a launch nor a buffer is left.
  void absorbRowFolds() {
    for (size_t h = 0; h < result.groups.size(); ++h) {
      std::optional<int> g = onlyReader(h);
      if (!g || !foldsRowsOf(h, contractOf(*g)))
        continue;
      if (feeds(h, contractOf(*g)) && !multipliesMatrix(contractOf(*g)))
        continue; // elements and rows of one loop are derivation's affair
      Operation *first = result.groups[h].ops.front(), *contract = contractOf(*g);
      if (returnsThroughOthers(first, *g)) {
        decide(first, contract, "row", false, "another input depends on this kernel through a different one");
        continue;
      }
      std::string figures;
      bool profitable = foldingAgainPays(h, contractOf(*g), figures);
      bool taken = control.take({"row", first, contract, figures}, profitable);
      decide(first, contract, "row", taken, figures);
      if (!taken)
        continue;
      for (Operation *op : std::exchange(result.groups[h].ops, {}))
        join(op, *g);
    }
  }

  /// The one Contract kernel that reads what kernel `h` computes.
  std::optional<int> onlyReader(int h) {
    std::optional<int> reader;
    SmallVector<Operation *> pending(result.groups[h].ops);
    while (!pending.empty())
      for (Operation *user : flow.users(pending.pop_back_val())) {
        if (result.inlined.contains(user)) {
          pending.push_back(user);
          continue;
        }
        auto it = result.groupOf.find(user);
        if (it == result.groupOf.end() || (it->second != h && reader && *reader != it->second))
          return std::nullopt;
        if (it->second != h)
          reader = it->second;
      }
    return reader && contractOf(*reader) ? reader : std::nullopt;
  }

  /// Whether kernel `h` gives one value per row of the contraction, folded over what it sums.
  bool foldsRowsOf(int h, ContractOp contract) {
    GraphTensorType type = typeOf(contract.getResult());
    SmallVector<unsigned> summed = contract.getSummedDims();
    if (summed.size() != 1 || type.getRank() < 2)
      return false;
    SmallVector<Dim> rows(type.getDims().drop_back()), elements(rows);
    elements.push_back(contract.getIterationExtents()[summed.front()]);
    return llvm::all_of(result.groups[h].ops, [&](Operation *op) {
      if (auto reduce = dyn_cast<ReduceOp>(op))
        return typeOf(reduce.getInputs()[0]).getDims() == ArrayRef<Dim>(elements) &&
               reduce.getNumerics().getOrder() != Order::Sequential &&
               reduce.getNumerics().getEmpty() == EmptyPolicy::Identity && reduce.getDims().size() == 1 &&
               reduce.getDims()[0] == static_cast<int64_t>(rows.size());
      return isa<MapOp>(op) && typeOf(op->getResult(0)).getDims() == ArrayRef<Dim>(rows);
    });
  }

  /// Whether kernel `h` computes part of what the contraction sums.
  bool feeds(int h, Operation *contract) {
    return llvm::any_of(candidateProducers(contract), [&](Operation *producer) {
      auto it = result.groupOf.find(producer);
      return it != result.groupOf.end() && it->second == h;
    });
  }

  bool foldingAgainPays(int h, ContractOp contract, std::string &figures) {
    GraphTensorType elements = walkedType(result.groups[h].ops.front());
    double again = cost.secondsOfFoldingAgain(elements.getDims(), typeOf(contract.getResult()).getDims().back());
    double stored = cost.secondsPerToken([&](const CostModel &m) { return Work{1, m.bytes(elements), 0}; });
    figures = llvm::formatv("folding the rows for every tile costs {0:f3} us per token, a kernel of their own {1:f3}",
                            again * 1e6, stored * 1e6);
    return again < stored;
  }

  bool joinRows(Operation *op) {
    SmallVector<Dim> rows = rowDims(op);
    ArrayRef<Dim> full = walkedType(op).getDims();
    for (Operation *producer : candidateProducers(op)) {
      int g = result.groupOf[producer];
      const Group &group = result.groups[g];
      if (group.kind == GroupKind::Contract) {
        if (isa<ReduceOp>(op))
          decide(producer, op, "row", false, "a row of the result spans several tiles of the contraction");
        continue;
      }
      bool isRowValue = isa<MapOp>(op) && ArrayRef<Dim>(group.rows) == full;
      if (group.kind == GroupKind::Cascade && !isRowValue) {
        decide(producer, op, "row", false, "a second pass over the elements is a kernel of its own");
        continue;
      }
      bool fits = isRowValue || ArrayRef<Dim>(group.rows) == ArrayRef<Dim>(rows);
      if (!fits) {
        decide(producer, op, "row", false, "the kernels number their programs by different dimensions");
        continue;
      }
      if (returnsThroughOthers(op, g)) {
        decide(producer, op, "row", false, "another input depends on this kernel through a different one");
        continue;
      }
      if (readsElsewhere(op, g)) {
        decide(producer, op, "row", false, "the op reads other rows of what this kernel computes");
        continue;
      }
      if (!take(producer, op, "row", "same rows: saves a launch and keeps the row in cache"))
        continue;
      join(op, g);
      return true;
    }
    return false;
  }

  /// Placed producers, seen through inlined ops, the latest first.
  SmallVector<Operation *> candidateProducers(Operation *op) {
    SetVector<Operation *> found;
    SmallVector<Operation *> pending = {op};
    while (!pending.empty())
      for (Operation *producer : flow.producers(pending.pop_back_val())) {
        if (result.inlined.contains(producer))
          pending.push_back(producer);
        else
          found.insert(producer);
      }
    SmallVector<Operation *> list = found.takeVector();
    llvm::sort(list, [&](Operation *a, Operation *b) { return flow.position(a) > flow.position(b); });
    return list;
  }

  bool joinHorizontally(Operation *op) {
    if (isa<GatherOp>(op))
      return false;
    for (auto [g, group] : llvm::enumerate(result.groups)) {
      if (group.kind != GroupKind::Rows || group.ops.empty() || walkedType(group.ops.back()) != walkedType(op) ||
          group.ops.back()->getName() != op->getName() || !shareInputs(op, group.ops.back()))
        continue;
      if (returnsThroughOthers(op, g) || dependsOn(op, g))
        continue;
      if (!take(group.ops.back(), op, "horizontal", "same shape and inputs: saves a launch"))
        continue;
      join(op, g);
      return true;
    }
    return false;
  }

  /// Whether two ops read results of one kernel's op, or one tensor that no kernel computes.
  bool shareInputs(Operation *a, Operation *b) {
    SmallVector<Operation *> left = candidateProducers(a), right = candidateProducers(b);
    if (left == right || llvm::any_of(left, [&](Operation *op) { return llvm::is_contained(right, op); }))
      return true;
    llvm::SetVector<Value> given = givenInputs(b);
    return llvm::any_of(givenInputs(a), [&](Value v) { return given.contains(v); });
  }

  /// The graph's arguments that an op walks over element for element, seen through inlined ops.
  llvm::SetVector<Value> givenInputs(Operation *op) {
    llvm::SetVector<Value> given;
    SmallVector<Operation *> pending = {op};
    while (!pending.empty())
      for (Value operand : pending.pop_back_val()->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (!def && typeOf(operand).getDims() == walkedType(op).getDims())
          given.insert(operand);
        else if (def && result.inlined.contains(def))
          pending.push_back(def);
      }
    return given;
  }

  bool dependsOn(Operation *op, int g) {
    return llvm::any_of(candidateProducers(op), [&](Operation *p) { return result.groupOf[p] == g; });
  }

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  /// A topological order of the groups; among ready ones the first in graph order.
  void orderGroups() {
    std::vector<Group> ordered;
    llvm::DenseSet<int> done;
    size_t live = llvm::count_if(result.groups, [](const Group &g) { return !g.ops.empty(); });
    while (ordered.size() < live) {
      size_t before = ordered.size();
      for (auto [g, group] : llvm::enumerate(result.groups)) {
        if (group.ops.empty() || done.contains(g) || !ready(group, g, done))
          continue;
        done.insert(g);
        ordered.push_back(group);
      }
      assert(ordered.size() > before && "returnsThroughOthers keeps the groups acyclic");
      if (ordered.size() == before)
        break;
    }
    result.groups = std::move(ordered);
    for (auto [g, group] : llvm::enumerate(result.groups)) {
      llvm::sort(group.ops, [&](Operation *a, Operation *b) { return flow.position(a) < flow.position(b); });
      for (Operation *op : group.ops)
        result.groupOf[op] = g;
    }
  }

  bool ready(const Group &group, int g, const llvm::DenseSet<int> &done) {
    for (Operation *op : group.ops)
      for (Operation *producer : candidateProducers(op))
        if (int p = result.groupOf[producer]; p != g && !done.contains(p))
          return false;
    return true;
  }

  DataFlow flow;
  CostModel cost;
  FusionControl &control;
  Grouping result;
};

} // namespace

Grouping group(func::FuncOp function, CostModel cost, FusionControl &control) {
  return Grouper(function, cost, control).run();
}

} // namespace fusec
