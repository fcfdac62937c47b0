//===- Tensor.h - a tensor of the reference interpreter --------------------===//
//
// A strided view of shared storage. Fresh tensors are dense and row-major;
// slices, transposes and reshapes share the storage; `gatherRows` replaces
// dimension 0 by a table of offsets, so that a gather copies nothing.
// Decoded weights are stored as float (exact), everything else as double.
//
//   Tensor x = Tensor::filled(Element::F32, {2, 3}, 0.0);
//   x.set({1, 2}, 5.0);
//
// Ownership: copies share the storage; `clone` does not. Threading: reading is
// safe from any thread, writing is not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Element.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace fusec::reference {

using Shape = llvm::SmallVector<int64_t, 4>;

/// Number of elements; 1 for a scalar.
int64_t numElements(llvm::ArrayRef<int64_t> shape);
/// "[2, 3]"
std::string toString(llvm::ArrayRef<int64_t> shape);

class Tensor {
public:
  using Doubles = std::vector<double>;
  using Floats = std::vector<float>;
  using Storage = std::variant<Doubles, Floats>;

  Tensor() = default;
  static Tensor filled(Element element, llvm::ArrayRef<int64_t> shape, double value);
  /// `values` in row-major order, as many as the shape has.
  static Tensor fromValues(Element element, llvm::ArrayRef<int64_t> shape, Doubles values);
  static Tensor fromFloats(llvm::ArrayRef<int64_t> shape, Floats values);

  Element element() const { return elementType; }
  llvm::ArrayRef<int64_t> shape() const { return extents; }
  int64_t rank() const { return static_cast<int64_t>(extents.size()); }
  int64_t dim(int64_t i) const { return extents[i]; }
  int64_t size() const { return numElements(extents); }
  llvm::ArrayRef<int64_t> strides() const { return steps; }
  /// Position of the first element in the storage.
  int64_t base() const { return first; }
  /// Offsets that stand for dimension 0, or empty.
  llvm::ArrayRef<int64_t> rowTable() const { return rows ? llvm::ArrayRef<int64_t>(*rows) : llvm::ArrayRef<int64_t>(); }
  bool isGathered() const { return rows != nullptr; }

  /// Position of an element in the storage; the index is in range.
  int64_t offset(llvm::ArrayRef<int64_t> index) const;
  double load(int64_t offset) const;
  /// Storage must be double (every tensor but a decoded weight).
  void store(int64_t offset, double value);
  double get(llvm::ArrayRef<int64_t> index) const { return load(offset(index)); }
  void set(llvm::ArrayRef<int64_t> index, double value) { store(offset(index), value); }

  /// True for a decoded weight, which is read-only.
  bool holdsFloats() const { return storage && std::holds_alternative<Floats>(*storage); }
  /// Null when the storage is of the other type, or empty.
  const double *doubles() const;
  double *doubles();
  const float *floats() const;
  /// Identifies the storage; equal for tensors that share it.
  const void *storageId() const { return storage.get(); }
  /// Number of elements of the whole storage.
  int64_t storageSize() const;

  bool isContiguous() const;
  /// The elements in row-major order.
  Doubles values() const;
  /// A dense copy in double storage with its own memory.
  Tensor clone() const;
  /// The same elements in row-major order under another shape of equal size; shares storage when
  /// contiguous.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// A view with other extents and strides over the same storage.
  Tensor restrided(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, int64_t base) const;
  /// The first `extent` elements along `dim`.
  Tensor prefix(int64_t dim, int64_t extent) const;
  /// Rows `indices[i]` of dimension 0; indices are in range and the tensor is not gathered.
  Tensor gatherRows(llvm::ArrayRef<int64_t> indices) const;
  /// The same storage under another element type.
  Tensor withElement(Element element) const;

private:
  Element elementType = Element::F64;
  Shape extents, steps;
  int64_t first = 0;
  std::shared_ptr<Storage> storage;
  std::shared_ptr<const std::vector<int64_t>> rows;
};

/// Calls `visit(index)` for every index of the shape, in row-major order, until it gives an error.
template <typename Visit> Status forEachIndex(llvm::ArrayRef<int64_t> shape, Visit visit) {
  if (numElements(shape) == 0)
    return {};
  Shape index(shape.size(), 0);
  while (true) {
    FUSEC_RETURN_IF_ERROR(visit(llvm::ArrayRef<int64_t>(index)));
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    while (d >= 0 && ++index[d] == shape[d])
      index[d--] = 0;
    if (d < 0)
      return {};
  }
}

} // namespace fusec::reference
