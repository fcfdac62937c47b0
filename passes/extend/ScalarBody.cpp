//===- ScalarBody.cpp -----------------------------------------------------------------===//
#include "passes/extend/ScalarBody.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Equality of two expressions over block arguments; remembers pairs, as bodies share subexpressions.
class SameExpression {
public:
  /// `inputs`: how many arguments of the function come before the coordinates.
  explicit SameExpression(unsigned inputs) : inputs(inputs) {}

  bool operator()(Value a, Value b) {
    auto [entry, fresh] = known.try_emplace({a, b}, false);
    if (!fresh)
      return entry->second;
    bool same = compare(a, b);
    known[{a, b}] = same;
    return same;
  }

private:
  bool compare(Value a, Value b) {
    if (a.getType() != b.getType())
      return false;
    auto argA = dyn_cast<BlockArgument>(a), argB = dyn_cast<BlockArgument>(b);
    if (auto index = a.getDefiningOp<IndexOp>())
      return argB && argB.getArgNumber() == inputs + index.getDim();
    if (argA || argB)
      return argA && argB && argA.getArgNumber() == argB.getArgNumber();
    Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
    if (opA->getName() != opB->getName() || opA->getNumOperands() != opB->getNumOperands() ||
        opA->getAttrDictionary() != opB->getAttrDictionary() || opA->getNumRegions() != 0)
      return false;
    bool inOrder = llvm::all_of(llvm::zip(opA->getOperands(), opB->getOperands()),
                                [&](auto pair) { return (*this)(std::get<0>(pair), std::get<1>(pair)); });
    bool swappable = opA->hasTrait<OpTrait::IsCommutative>() && opA->getNumOperands() == 2;
    return inOrder || (swappable && (*this)(opA->getOperand(0), opB->getOperand(1)) &&
                       (*this)(opA->getOperand(1), opB->getOperand(0)));
  }

  unsigned inputs;
  llvm::DenseMap<std::pair<Value, Value>, bool> known;
};

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// A map whose body is still to be written.
struct OpenMap {
  MapOp op;
  Block *body;
  OpBuilder inside;

  OpenMap(RewriterBase &rewriter, Location loc, Type type, ArrayRef<Value> inputs, ArrayRef<AffineMap> maps)
      : op(MapOp::create(rewriter, loc, type, inputs, rewriter.getAffineMapArrayAttr(maps))),
        body(&op.getBody().emplaceBlock()), inside(OpBuilder::atBlockEnd(body)) {
    for (Value input : inputs)
      body->addArgument(typeOf(input).getElementType(), loc);
  }
};

/// How `like` reads `input`, or by which dimensions it fits the result.
std::optional<AffineMap> readingMap(Operation *like, Value input, ArrayRef<Dim> result) {
  if (auto map = dyn_cast<MapOp>(like))
    for (auto [i, operand] : llvm::enumerate(map.getInputs()))
      if (operand == input)
        return map.getMap(i);
  ArrayRef<Dim> dims = typeOf(input).getDims();
  if (dims.size() > result.size())
    return std::nullopt;
  Builder b(like->getContext());
  AffineMap all = b.getMultiDimIdentityMap(result.size());
  bool leading = dims == result.take_front(dims.size()), trailing = dims == result.take_back(dims.size());
  bool square = leading && trailing && dims.size() < result.size();
  if (square || (!leading && !trailing))
    return std::nullopt;
  return leading ? all.getMajorSubMap(dims.size()) : all.getMinorSubMap(dims.size());
}

/// A coordinate of the producer's result, as a value in the consumer's body.
Value coordinate(OpBuilder &b, Location loc, AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return IndexOp::create(b, loc, b.getI32Type(), b.getI64IntegerAttr(dim.getPosition()));
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(constant.getValue()));
  return nullptr;
}

/// Copies a body to the end of `target`'s; block arguments become `arguments`, and coordinates
/// those of `place`. Null when a coordinate cannot be followed.
Value copyBody(OpenMap &target, Block &from, ValueRange arguments, AffineMap place) {
  IRMapping mapping;
  mapping.map(from.getArguments(), arguments);
  for (Operation &op : from.without_terminator()) {
    auto index = dyn_cast<IndexOp>(op);
    if (!index) {
      target.inside.clone(op, mapping);
      continue;
    }
    Value value = coordinate(target.inside, op.getLoc(), place.getResult(index.getDim()));
    if (!value)
      return nullptr;
    mapping.map(index.getResult(), value);
  }
  return mapping.lookupOrDefault(from.getTerminator()->getOperand(0));
}

/// Whether the function's arguments are so many inputs, with or without the coordinates of `rank` dimensions.
bool takes(func::FuncOp function, size_t inputs, size_t rank) {
  ArrayRef<Type> rest = function.getArgumentTypes().drop_front(std::min<size_t>(inputs, function.getNumArguments()));
  return function.getNumArguments() == inputs ||
         (function.getNumArguments() == inputs + rank && llvm::all_of(rest, [](Type t) { return t.isInteger(32); }));
}

/// The inputs of a composed map, each way of reading a value once.
class InputList {
public:
  size_t add(Value value, AffineMap map) {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] == value && maps[i] == map)
        return i;
    values.push_back(value);
    maps.push_back(map);
    return values.size() - 1;
  }
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
};

} // namespace

std::string scalarFunctionObstacle(func::FuncOp function) {
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return "it needs a body of one block";
  if (function.getNumResults() != 1)
    return "it needs one result";
  for (Operation &op : function.getBody().front().without_terminator())
    if (!isPure(&op) || op.getNumRegions() != 0)
      return "'" + op.getName().getStringRef().str() + "' cannot be in a map's body";
  return "";
}

bool computes(MapOp map, func::FuncOp function) {
  Block &a = map.getBody().front(), &b = function.getBody().front();
  unsigned inputs = a.getNumArguments();
  if (!takes(function, inputs, typeOf(map.getResult()).getRank()) ||
      a.getArgumentTypes() != function.getArgumentTypes().take_front(inputs))
    return false;
  return SameExpression(inputs)(a.getTerminator()->getOperand(0), b.getTerminator()->getOperand(0));
}

MapOp mapLike(RewriterBase &rewriter, Operation *like, ValueRange inputs, func::FuncOp function, std::string &error) {
  auto type = like->getNumResults() == 1 ? dyn_cast<GraphTensorType>(like->getResult(0).getType()) : nullptr;
  if (!type || type.getElementType() != function.getResultTypes().front()) {
    error = "the op's result has not the element type that the function gives";
    return nullptr;
  }
  if (!takes(function, inputs.size(), type.getRank())) {
    error = "the function takes " + std::to_string(function.getNumArguments()) + " arguments, expected " +
            std::to_string(inputs.size()) + " inputs, or those and the " + std::to_string(type.getRank()) +
            " coordinates as i32";
    return nullptr;
  }
  SmallVector<AffineMap> maps;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!isa<GraphTensorType>(input.getType()) || typeOf(input).getElementType() != function.getArgumentTypes()[i]) {
      error = "input " + std::to_string(i) + " has not the element type that the function takes";
      return nullptr;
    }
    std::optional<AffineMap> map = readingMap(like, input, type.getDims());
    if (!map) {
      error = "the dimensions of input " + std::to_string(i) + " do not tell how the result reads it";
      return nullptr;
    }
    maps.push_back(*map);
  }
  OpenMap map(rewriter, like->getLoc(), type, SmallVector<Value>(inputs), maps);
  AffineMap here = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<Value> arguments(map.body->getArguments());
  for (size_t d = 0; arguments.size() < function.getNumArguments(); ++d)
    arguments.push_back(coordinate(map.inside, like->getLoc(), here.getResult(d)));
  Value result = copyBody(map, function.getBody().front(), arguments, here);
  YieldOp::create(map.inside, like->getLoc(), result);
  return map.op;
}

MapOp inlineInto(RewriterBase &rewriter, MapOp consumer, MapOp producer, std::string &error) {
  if (!llvm::is_contained(consumer.getInputs(), producer.getResult())) {
    error = "the first map does not read the second one's result";
    return nullptr;
  }
  InputList inputs;
  // For each input of the consumer: where it is in the list, or where the producer's inputs are.
  SmallVector<SmallVector<size_t>> places;
  for (auto [i, input] : llvm::enumerate(consumer.getInputs())) {
    SmallVector<size_t> &place = places.emplace_back();
    if (input != producer.getResult()) {
      place.push_back(inputs.add(input, consumer.getMap(i)));
      continue;
    }
    for (auto [j, behind] : llvm::enumerate(producer.getInputs()))
      place.push_back(inputs.add(behind, simplifyAffineMap(producer.getMap(j).compose(consumer.getMap(i)))));
  }
  OpenMap map(rewriter, consumer.getLoc(), consumer.getType(), inputs.values, inputs.maps);
  SmallVector<Value> arguments;
  for (auto [i, input] : llvm::enumerate(consumer.getInputs())) {
    SmallVector<Value> behind;
    for (size_t place : places[i])
      behind.push_back(map.body->getArgument(place));
    Value argument = input == producer.getResult()
                         ? copyBody(map, producer.getBody().front(), behind, consumer.getMap(i))
                         : behind.front();
    if (!argument) {
      error = "the second map's body asks for a coordinate that the first one reads through '" +
              llvm::formatv("{0}", consumer.getMap(i)).str() + "'";
      rewriter.eraseOp(map.op);
      return nullptr;
    }
    arguments.push_back(argument);
  }
  AffineMap here = rewriter.getMultiDimIdentityMap(typeOf(consumer.getResult()).getRank());
  YieldOp::create(map.inside, consumer.getLoc(), copyBody(map, consumer.getBody().front(), arguments, here));
  return map.op;
}

} // namespace fusec
