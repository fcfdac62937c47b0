//===- RuleFile.h - a file of fusion rules, read and checked --------------------------------===//
//
// A rule file is MLIR text: `pdl.pattern`s, each a rule, and `func.func`s of
// scalars that rules use as bodies of maps. A rule rewrites the graph in
// primitives, or, with `attributes {at = "fusion"}`, places hints for the
// passes that fuse. docs/extending/rules.md describes both.
//
// Everything that can be wrong with the text is found here, so that the PDL
// interpreter only ever sees rules it can run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/extend/RuleVocabulary.h"
#include "runtime/base/Status.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace fusec {

struct Rule {
  std::string name; ///< The symbol's, or "line N".
  mlir::Location location;
  bool hints = false; ///< Places hints; else rewrites.
  int benefit = 0;
  mlir::FrozenRewritePatternSet pattern;
  int64_t matches = 0; ///< Rewrites so far; of hints, the most in one graph.
};

/// Rules of one file, by falling benefit, else in the file's order.
/// Owned by one compilation and not thread-safe: rules count their matches.
class RuleFile {
public:
  /// Reads and checks `path`. Errors: InvalidArgument as "FILE:LINE:COLUMN: what", NotFound.
  static Result<std::unique_ptr<RuleFile>> load(mlir::MLIRContext &context, const std::filesystem::path &path);

  const std::filesystem::path &path() const { return file; }
  llvm::MutableArrayRef<Rule> rules() { return list; }
  RuleContext &state() { return context; }

private:
  Status addRules();

  std::filesystem::path file;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  RuleContext context;
  std::vector<Rule> list;
};

/// "file:line:column" of a location in a text file, else how MLIR prints it.
std::string placeOf(mlir::Location location);

} // namespace fusec
