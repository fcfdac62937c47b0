//===- IndexMath.h - index arithmetic that knows alignment and range -------===//
//
// Kernel addresses are affine in loop counters and lane numbers. An IndexValue
// is a run-time base plus a constant offset together with what is known about
// it; IndexMath computes on them, emits only what cannot be folded and reuses
// what it emitted before. Knowing that a base is a multiple of 16 turns
// `(d + l) mod 64` for 16 lanes l into `d mod 64 + l`: one vector load.
//
// All arithmetic is 64-bit. Not thread-safe; one per function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ScopedHashTable.h"
#include "llvm/IR/IRBuilder.h"

#include <memory>
#include <optional>

namespace fusec::codegen {

struct IndexSplit;

/// `base + offset`; `base` is null when the value is a constant.
struct IndexValue {
  llvm::Value *base = nullptr;
  int64_t offset = 0;
  int64_t divisor = 0;             ///< Divides `base`; 0 when there is no base (gcd(0, m) = m).
  std::optional<int64_t> min, max; ///< Bounds of the value.
  mlir::StringAttr symbol;         ///< If set: value <= symbol - margin.
  int64_t margin = 0;
  /// If set: the value is the sum of these two. A position `block + i` with i
  /// below the block's alignment stays in the block, whatever i is.
  std::shared_ptr<const IndexSplit> split = nullptr;

  static IndexValue constant(int64_t v) { return {nullptr, v, 0, v, v, {}, 0}; }
  static IndexValue opaque(llvm::Value *v) { return {v, 0, 1, {}, {}, {}, 0}; }
  bool isConstant() const { return !base; }
  /// Largest known divisor of the whole value that divides `m`.
  int64_t alignment(int64_t m) const;
};

/// A well aligned value and a bounded, non-negative rest.
struct IndexSplit {
  IndexValue coarse, fine;
};

/// The values `at + lane * stride` of the lanes 0, 1, ... of a vector.
struct LaneIndex {
  IndexValue at;
  int64_t stride = 0;
};

class IndexMath {
public:
  using Key = std::tuple<int, const void *, const void *, int64_t>;

  explicit IndexMath(llvm::IRBuilder<> &builder) : b(builder) {}

  /// Values emitted inside a Scope are forgotten when it ends. Open one for
  /// every block that does not dominate what follows it.
  struct Scope;

  llvm::Value *value(const IndexValue &v);
  IndexValue add(const IndexValue &a, const IndexValue &c);
  IndexValue addConstant(IndexValue a, int64_t c);
  IndexValue mul(const IndexValue &a, const IndexValue &c);
  IndexValue mulConstant(const IndexValue &a, int64_t c);
  IndexValue floorDiv(const IndexValue &a, int64_t m);
  IndexValue mod(const IndexValue &a, int64_t m);
  /// `value` forced into [0, last], `last` >= 0 (negative values become `last`).
  IndexValue clamp(const IndexValue &a, const IndexValue &last);
  /// The smaller or the larger of two, as signed numbers.
  IndexValue minimum(const IndexValue &a, const IndexValue &c);
  IndexValue maximum(const IndexValue &a, const IndexValue &c);
  /// `v`, which is one of `a` and `c`: what holds for both.
  static IndexValue either(llvm::Value *v, const IndexValue &a, const IndexValue &c);
  /// Quotient (or remainder) by m > 0 of `width` lanes, if it is affine in the lane number.
  std::optional<LaneIndex> divide(const LaneIndex &a, int64_t m, int64_t width, bool wantRemainder);

  /// `expr` of the given dimensions for `width` lanes, if that is affine in the
  /// lane number; nullopt when lanes have to be computed one by one.
  std::optional<LaneIndex> evaluate(mlir::AffineExpr expr, llvm::ArrayRef<LaneIndex> dims, int64_t width);

  /// `pointer + a` bytes; the constant part stays outside the reused part.
  llvm::Value *address(llvm::Value *pointer, const IndexValue &bytes);

  /// Returns what `make` gave for `key` before in a live scope, else calls it.
  llvm::Value *once(const Key &key, llvm::function_ref<llvm::Value *()> make);

private:
  using Table = llvm::ScopedHashTable<Key, llvm::Value *>;

  llvm::IRBuilder<> &b;
  Table memo;
};

struct IndexMath::Scope {
  explicit Scope(IndexMath &math) : scope(math.memo) {}
  llvm::ScopedHashTableScope<Key, llvm::Value *> scope;
};

} // namespace fusec::codegen
