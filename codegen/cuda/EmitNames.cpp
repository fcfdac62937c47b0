//===- EmitNames.cpp - what variables are called ---------------------------===//
//
// A name says what a value is as far as the op tells: "largest" for a maximum,
// "inputTile" for what was loaded from `input`. A number tells equal ones apart;
// names end with their block.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen::cuda {

/// Words that mean something else in the text: C++'s, the device library's.
static constexpr StringRef reservedNames[] = {
    "and",       "asm",       "auto",     "bool",      "break",    "case",   "char",     "class",     "concept",
    "const",     "continue",  "default",  "delete",    "do",       "double", "else",     "enum",      "explicit",
    "export",    "extern",    "false",    "float",     "for",      "friend", "goto",     "if",        "inline",
    "int",       "long",      "mutable",  "namespace", "new",      "not",    "nullptr",  "operator",  "or",
    "private",   "protected", "public",   "requires",  "return",   "short",  "signed",   "sizeof",    "static",
    "struct",    "switch",    "template", "this",      "throw",    "true",   "try",      "typename",  "union",
    "unsigned",  "using",     "virtual",  "void",      "volatile", "while",  "xor",      "barrier",   "clamped",
    "elementOf", "fused",     "get",      "infinity",  "inside",   "larger", "maximum",  "minimum",   "pack",
    "rowOf",     "rowsOf",    "scalar",   "smaller",   "splat",    "spread", "blockIdx", "threadIdx",
};

std::string KernelPrinter::fresh(StringRef wish) {
  std::string name;
  for (char c : wish)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name = "v" + name;
  int &uses = usedNames[name];
  if (uses++ == 0)
    return name;
  std::string numbered = name + std::to_string(uses);
  return usedNames.count(numbered) ? fresh(numbered) : (usedNames[numbered] = 1, numbered);
}

namespace {
struct RoleName {
  llvm::StringLiteral op, name;
};
constexpr RoleName roleNames[] = {
    {"arith.addf", "sum"},         {"arith.subf", "difference"},   {"arith.mulf", "product"},
    {"arith.divf", "quotient"},    {"arith.maximumf", "largest"},  {"arith.minimumf", "smallest"},
    {"arith.maxnumf", "largest"},  {"arith.cmpf", "test"},         {"arith.cmpi", "test"},
    {"arith.select", "chosen"},    {"arith.negf", "negative"},     {"math.exp", "exponential"},
    {"math.rsqrt", "scale"},       {"math.sqrt", "root"},          {"math.tanh", "tanhOf"},
    {"math.cos", "cosine"},        {"math.sin", "sine"},           {"tile.dot", "sum"},
    {"tile.reduce", "folded"},     {"arith.truncf", "rounded"},    {"arith.extf", "exact"},
    {"arith.sitofp", "number"},    {"arith.index_cast", "number"}, {"vector.broadcast", "spreadOut"},
    {"tile.index", "indices"},     {"arith.constant", "constant"}, {"arith.addi", "position"},
    {"arith.subi", "left"},        {"arith.minsi", "end"},         {"arith.maxsi", "start"},
    {"arith.muli", "multiple"},    {"arith.divui", "whole"},       {"vector.extract", "part"},
    {"vector.shape_cast", "tile"}, {"arith.andi", "both"},         {"arith.ori", "either"},
};
} // namespace

/// What one element of a buffer is called: "position" for one of "positions".
static std::string elementName(StringRef buffer, bool isTile) {
  StringRef plain = buffer.rtrim("0123456789");
  if (isTile)
    return (plain + "Tile").str();
  return plain.ends_with("s") && plain.size() > 2 ? plain.drop_back().str() : (plain + "Value").str();
}

std::string KernelPrinter::nameFor(Value value) {
  if (rowTiles)
    if (auto role = rowTiles->roles.find(value); role != rowTiles->roles.end())
      return role->second;
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) // what the loop carries
    return nameFor(loop.getBody()->getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return elementName(buffers[load.getBuffer()].name, isTile(value));
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op)) {
    Value merged = reduce.getCombine().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    return isa_and_nonnull<arith::AddFOp>(merged.getDefiningOp()) ? "total"
           : merged.getDefiningOp()                               ? nameFor(merged)
                                                                  : "folded";
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) // a value and what replaces it
    for (auto [kept, other] : {std::pair(select.getTrueValue(), select.getFalseValue()),
                               std::pair(select.getFalseValue(), select.getTrueValue())})
      if (matchPattern(other, m_Constant()) && kept.getDefiningOp() && !isa<arith::ConstantOp>(kept.getDefiningOp()))
        return nameFor(kept);
  if (op)
    for (const RoleName &role : roleNames)
      if (role.op == op->getName().getStringRef())
        return role.name.str();
  return "carried";
}

/// A plan's name of a buffer without layers: "blk.3.attn_q.weight" is "attn_q", and merged ones are joined.
static std::string plainName(StringRef name) {
  SmallVector<StringRef> merged, parts, kept;
  name.split(merged, '+');
  for (StringRef one : merged) {
    parts.clear();
    one.split(parts, '.');
    for (StringRef part : parts)
      if (part != "blk" && part != "weight" && !llvm::all_of(part, llvm::isDigit))
        kept.push_back(part);
  }
  return llvm::join(kept, "_");
}

/// Activations are named after one op of many: what they are to this kernel says more.
static bool isActivation(BufferType type) {
  auto isDynamic = [](const Dim &d) { return !d.isStatic(); };
  return isa<FloatType>(type.getElementType()) && llvm::any_of(type.getDims(), isDynamic);
}

/// Plan names where given, else what the buffer is used for. Caches are called the same everywhere.
void KernelPrinter::nameBuffers() {
  for (StringRef word : reservedNames)
    usedNames[word] = 1;
  llvm::SmallDenseSet<Value> stored, loaded, tables;
  kernel.walk([&](StoreOp op) {
    stored.insert(op.getBuffer());
    tables.insert(op.getPages());
  });
  kernel.walk([&](LoadOp op) {
    loaded.insert(op.getBuffer());
    tables.insert(op.getPages());
  });
  for (BlockArgument arg : kernel.getBody().getArguments()) {
    auto type = cast<BufferType>(arg.getType());
    bool isStatic = llvm::all_of(type.getDims(), [](const Dim &d) { return d.isStatic(); });
    StringRef role = tables.contains(arg)                            ? "blockTable"
                     : type.getLayout() == Layout::Panel             ? "weights"
                     : type.getLayout() == Layout::PagedK            ? "keys"
                     : type.getLayout() == Layout::PagedV            ? "values"
                     : stored.contains(arg) && !loaded.contains(arg) ? "output"
                     : type.getElementType().isInteger()             ? "ids"
                     : isStatic                                      ? "vector"
                                                                     : "input";
    size_t i = arg.getArgNumber();
    bool isNamed = i < options.bufferNames.size() && !isActivation(type) && !plainName(options.bufferNames[i]).empty();
    if (isScores(arg))
      role = "words";
    std::string name = fresh(isNamed ? plainName(options.bufferNames[i]) : role.str());
    buffers.insert({arg, {name, type}});
  }
  if (options.scores)
    samplingName = fresh("sampling");
}

} // namespace fusec::codegen::cuda
