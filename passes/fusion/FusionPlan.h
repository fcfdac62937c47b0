//===- FusionPlan.h - fusion decisions as an editable text file ------------------------===//
//
// One decision per line (docs/fusion-plan.md):
//
//   fuse  epilogue  blk.*.attn_output.weight:contract -> blk.*.attn_residual:map   # a note
//   keep  inline    "a name with spaces":map -> y:reduce
//
// `fuse` asks for a fusion that the cost model would not take, `keep` keeps the
// two apart; names are patterns with `*`; the last line that matches decides.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fusec {

/// What a candidate is called, and so what a plan can address.
struct FusionEdge {
  std::string kind, producer, consumer;
  /// "epilogue a:contract -> b:map"
  std::string text() const { return kind + " " + producer + " -> " + consumer; }
  bool operator==(const FusionEdge &) const = default;
  auto operator<=>(const FusionEdge &) const = default;
};

struct PlanLine {
  int64_t number = 0; ///< In the file, from 1.
  bool fuse = false;
  std::string kind;
  std::string producer, consumer; ///< Patterns: `*` matches any run of characters, `\x` is x itself.
  std::string text;               ///< As written, without the note.

  bool matches(const FusionEdge &edge) const;
  bool matchesNames(const FusionEdge &edge) const;
};

class FusionPlan {
public:
  /// Errors name the line and what was expected.
  static Result<FusionPlan> parse(llvm::StringRef text);

  llvm::ArrayRef<PlanLine> lines() const { return rows; }
  /// The line that decides, or null.
  const PlanLine *find(const FusionEdge &edge) const;

private:
  std::vector<PlanLine> rows;
};

/// Every kind of fusion a plan may name, in the order the compiler asks.
llvm::ArrayRef<llvm::StringRef> fusionKinds();

/// Whether a pattern of a plan matches the whole name.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef name);

/// A name as a plan spells it; in quotes where it needs them. `wild`: `*` in it is a wildcard.
std::string spelledInPlan(llvm::StringRef name, bool wild);

/// The candidate whose text is closest to `text`, or null when there is none.
const FusionEdge *nearestEdge(llvm::StringRef text, llvm::ArrayRef<FusionEdge> edges);

} // namespace fusec
