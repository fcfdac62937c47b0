//===- RuleFile.cpp -----------------------------------------------------------------------===//
//
// 1. Parse the file as a module of PDL, functions and scalar ops.
// 2. Check each function as a body, and each rule against the registered ops
//    and the vocabulary.
// 3. Compile each rule to a pattern of its own, so that its name is known when
//    it matches.
//
//===----------------------------------------------------------------------===//
#include "passes/extend/RuleFile.h"

#include "passes/extend/ScalarBody.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/Dialect/PDL/IR/PDLTypes.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace fusec {

namespace {

constexpr StringLiteral stageAttr = "at", fusionStage = "fusion";

Status errorAt(Location location, const std::string &what) { return invalidArgument(placeOf(location) + ": " + what); }

/// Keeps the first error that MLIR reports while alive, by place.
class FirstError {
public:
  explicit FirstError(MLIRContext *context)
      : handler(context, [this](Diagnostic &d) {
          if (d.getSeverity() == DiagnosticSeverity::Error && text.empty())
            text = placeOf(d.getLocation()) + ": " + d.str();
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks one rule; every error names it.
class RuleChecker {
public:
  RuleChecker(pdl::PatternOp pattern, std::string name, bool hints, ModuleOp file)
      : pattern(pattern), name(std::move(name)), hints(hints), file(file) {}

  Status check() {
    if (pattern.getRewriter().getName())
      return error(pattern.getRewriter(), "write the rewrite as a region; `rewrite ... with` is not supported");
    Status first;
    pattern.walk([&](Operation *op) {
      first = checkOp(op);
      return first.ok() ? WalkResult::advance() : WalkResult::interrupt();
    });
    return first;
  }

private:
  Status error(Operation *at, const std::string &what) { return errorAt(at->getLoc(), "rule '" + name + "': " + what); }

  static bool isRewriting(Operation *op) { return op->getParentOfType<pdl::RewriteOp>() != nullptr; }

  Status checkOp(Operation *op) {
    if (auto operation = dyn_cast<pdl::OperationOp>(op))
      return checkOperation(operation);
    if (auto constraint = dyn_cast<pdl::ApplyNativeConstraintOp>(op))
      return checkNative(op, constraint.getName(), true);
    if (auto rewrite = dyn_cast<pdl::ApplyNativeRewriteOp>(op))
      return checkNative(op, rewrite.getName(), false);
    if (hints && isa<pdl::ReplaceOp, pdl::EraseOp>(op))
      return error(op, hintsOnly());
    return {};
  }

  static std::string hintsOnly() { return "a rule with at = \"fusion\" places hints and must not change the graph"; }

  Status checkOperation(pdl::OperationOp op) {
    if (isRewriting(op) && hints)
      return error(op, hintsOnly());
    std::optional<StringRef> opName = op.getOpName();
    if (!opName)
      return {};
    if (!RegisteredOperationName::lookup(*opName, op.getContext()))
      return error(op, "unknown op '" + opName->str() + "'");
    bool hasRegion = *opName == fuse::MapOp::getOperationName() || *opName == fuse::ReduceOp::getOperationName();
    if (isRewriting(op) && hasRegion)
      return error(op, "PDL cannot write the body of a new '" + opName->str() + "'; use map_like or inline_into");
    return {};
  }

  Status checkNative(Operation *op, StringRef called, bool constraint) {
    const NativeFunction *native = findNative(called, constraint);
    if (!native)
      return error(op, std::string("unknown ") + (constraint ? "constraint" : "rewrite") + " '" + called.str() +
                           "', expected one of " + knownNames(constraint));
    bool isHint = native->use == NativeFunction::Use::Hint;
    if (isHint && !hints)
      return error(op, "'" + called.str() + "' is a hint; give the rule attributes {at = \"fusion\"}");
    if (!constraint && !isHint && hints)
      return error(op, hintsOnly());
    return checkSignature(op, *native);
  }

  static std::string knownNames(bool constraint) {
    std::string names;
    for (const NativeFunction &row : ruleVocabulary())
      if ((row.use == NativeFunction::Use::Constraint) == constraint)
        names += (names.empty() ? "" : ", ") + row.name.str();
    return names;
  }

  Status checkSignature(Operation *op, const NativeFunction &native) {
    size_t next = 0;
    OperandRange given = op->getOperands();
    for (char letter : native.arguments) {
      auto kind = static_cast<ArgumentKind>(letter);
      if (kind == ArgumentKind::Values) {
        while (next < given.size() && isValue(given[next], true))
          ++next;
        continue;
      }
      if (next >= given.size() || !fits(given[next++], kind))
        return wrongArguments(op, native);
    }
    bool results = op->getNumResults() == 0 || (native.givesOperation && op->getNumResults() == 1 &&
                                                isa<pdl::OperationType>(op->getResult(0).getType()));
    if (next != given.size() || !results)
      return wrongArguments(op, native);
    return {};
  }

  Status wrongArguments(Operation *op, const NativeFunction &native) {
    std::string what = "expected " + signatureOf(native);
    what += native.givesOperation ? " : !pdl.operation" : " without a result";
    return error(op, what + "; a string or @function is the result of a constant pdl.attribute");
  }

  static bool isValue(Value value, bool ranges) {
    auto range = dyn_cast<pdl::RangeType>(value.getType());
    return isa<pdl::ValueType>(value.getType()) || (ranges && range && isa<pdl::ValueType>(range.getElementType()));
  }

  bool fits(Value value, ArgumentKind kind) {
    auto attribute = value.getDefiningOp<pdl::AttributeOp>();
    Attribute constant = attribute ? attribute.getValue().value_or(Attribute()) : Attribute();
    switch (kind) {
    case ArgumentKind::Operation:
      return isa<pdl::OperationType>(value.getType());
    case ArgumentKind::Value:
      return isValue(value, false);
    case ArgumentKind::Values:
      return isValue(value, true);
    case ArgumentKind::String:
      return isa_and_nonnull<StringAttr>(constant);
    case ArgumentKind::Function: {
      auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(constant);
      return symbol && file.lookupSymbol<func::FuncOp>(symbol.getValue());
    }
    }
    llvm_unreachable("all kinds are listed");
  }

  pdl::PatternOp pattern;
  std::string name;
  bool hints;
  ModuleOp file;
};

/// Whether a rule places hints: its `at` attribute.
Result<bool> placesHints(pdl::PatternOp pattern, const std::string &name) {
  Attribute stage = pattern->getAttr(stageAttr);
  if (!stage)
    return false;
  auto text = dyn_cast<StringAttr>(stage);
  if (!text || (text.getValue() != "primitives" && text.getValue() != fusionStage))
    return errorAt(pattern.getLoc(), "rule '" + name + R"(': expected at = "primitives" or at = "fusion")");
  return text.getValue() == fusionStage;
}

std::string ruleName(pdl::PatternOp pattern) {
  if (auto name = pattern.getSymName())
    return name->str();
  auto place = dyn_cast<FileLineColLoc>(pattern.getLoc());
  return place ? "line " + std::to_string(place.getLine()) : "unnamed";
}

/// One rule as a pattern set of its own.
FrozenRewritePatternSet compileRule(pdl::PatternOp pattern, RuleContext &context) {
  OwningOpRef<ModuleOp> alone = ModuleOp::create(pattern.getLoc());
  OpBuilder::atBlockEnd(alone->getBody()).clone(*pattern);
  PDLPatternModule rule(std::move(alone));
  for (const NativeFunction &row : ruleVocabulary()) {
    auto call = [&context, function = row.call](PatternRewriter &rewriter, PDLResultList &results,
                                                ArrayRef<PDLValue> arguments) {
      return function(context, rewriter, results, arguments);
    };
    if (row.use == NativeFunction::Use::Constraint)
      rule.registerConstraintFunction(row.name, call);
    else
      rule.registerRewriteFunction(row.name, call);
  }
  return FrozenRewritePatternSet(RewritePatternSet(std::move(rule)));
}

} // namespace

std::string placeOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn());
  std::string text;
  llvm::raw_string_ostream(text) << location;
  return text;
}

Result<std::unique_ptr<RuleFile>> RuleFile::load(MLIRContext &context, const std::filesystem::path &path) {
  context.loadDialect<pdl::PDLDialect, pdl_interp::PDLInterpDialect>();
  if (std::error_code error; !std::filesystem::is_regular_file(path, error))
    return notFound("fusion rules '" + path.string() + "': no such file");
  auto file = std::make_unique<RuleFile>();
  file->file = path;
  FirstError error(&context);
  file->module = parseSourceFile<ModuleOp>(path.string(), &context);
  if (!file->module)
    return invalidArgument(error.text.empty() ? path.string() + ": cannot be parsed" : error.text);
  file->context.file = *file->module;
  FUSEC_RETURN_IF_ERROR(file->addRules());
  if (!error.text.empty())
    return invalidArgument(error.text);
  return file;
}

Status RuleFile::addRules() {
  for (Operation &op : *module->getBody()) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      if (std::string obstacle = scalarFunctionObstacle(function); !obstacle.empty())
        return errorAt(op.getLoc(), "function '" + function.getSymName().str() + "' cannot be a body: " + obstacle);
      continue;
    }
    if (!isa<pdl::PatternOp>(op))
      return errorAt(op.getLoc(),
                     "expected pdl.pattern or func.func, found '" + op.getName().getStringRef().str() + "'");
  }
  for (auto pattern : module->getOps<pdl::PatternOp>()) {
    std::string name = ruleName(pattern);
    FUSEC_ASSIGN_OR_RETURN(bool hints, placesHints(pattern, name));
    FUSEC_RETURN_IF_ERROR(RuleChecker(pattern, name, hints, *module).check());
    Rule rule{name, pattern.getLoc(), hints, pattern.getBenefit(), compileRule(pattern, context)};
    auto fallsBehind = [](const Rule &a, const Rule &b) { return a.benefit > b.benefit; };
    list.insert(llvm::upper_bound(list, rule, fallsBehind), rule);
  }
  if (list.empty())
    return invalidArgument(file.string() + ": has no pdl.pattern");
  return {};
}

} // namespace fusec
