//===- Tensor.cpp - strided views of shared storage --------------------------===//
#include "ir/reference/Tensor.h"

namespace fusec::reference {

int64_t numElements(llvm::ArrayRef<int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

std::string toString(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

namespace {
Shape denseStrides(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}
} // namespace

Tensor Tensor::fromValues(Element element, llvm::ArrayRef<int64_t> shape, Doubles values) {
  Tensor t;
  t.elementType = element;
  t.extents.assign(shape.begin(), shape.end());
  t.steps = denseStrides(shape);
  t.storage = std::make_shared<Storage>(std::move(values));
  return t;
}

Tensor Tensor::filled(Element element, llvm::ArrayRef<int64_t> shape, double value) {
  return fromValues(element, shape, Doubles(numElements(shape), value));
}

Tensor Tensor::fromFloats(llvm::ArrayRef<int64_t> shape, Floats values) {
  Tensor t = fromValues(Element::F32, shape, {});
  t.storage = std::make_shared<Storage>(std::move(values));
  return t;
}

int64_t Tensor::offset(llvm::ArrayRef<int64_t> index) const {
  int64_t at = first;
  for (size_t d = 0; d < index.size(); ++d)
    at += d == 0 && rows ? (*rows)[index[0]] : index[d] * steps[d];
  return at;
}

const double *Tensor::doubles() const {
  auto *values = storage ? std::get_if<Doubles>(storage.get()) : nullptr;
  return values ? values->data() : nullptr;
}
double *Tensor::doubles() {
  auto *values = storage ? std::get_if<Doubles>(storage.get()) : nullptr;
  return values ? values->data() : nullptr;
}
const float *Tensor::floats() const {
  auto *values = storage ? std::get_if<Floats>(storage.get()) : nullptr;
  return values ? values->data() : nullptr;
}

double Tensor::load(int64_t offset) const {
  const float *single = floats();
  return single ? single[offset] : doubles()[offset];
}

void Tensor::store(int64_t offset, double value) { doubles()[offset] = value; }

int64_t Tensor::storageSize() const {
  if (!storage)
    return 0;
  return std::visit([](const auto &values) { return static_cast<int64_t>(values.size()); }, *storage);
}

bool Tensor::isContiguous() const {
  if (rows)
    return false;
  const Shape dense = denseStrides(extents);
  for (size_t d = 0; d < extents.size(); ++d)
    if (extents[d] > 1 && steps[d] != dense[d])
      return false;
  return true;
}

Tensor::Doubles Tensor::values() const {
  Doubles result;
  result.reserve(size());
  (void)forEachIndex(extents, [&](llvm::ArrayRef<int64_t> index) {
    result.push_back(get(index));
    return Status();
  });
  return result;
}

Tensor Tensor::clone() const { return fromValues(elementType, extents, values()); }

Tensor Tensor::reshaped(llvm::ArrayRef<int64_t> shape) const {
  if (!isContiguous())
    return fromValues(elementType, shape, values());
  return restrided(shape, denseStrides(shape), first);
}

Tensor Tensor::restrided(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, int64_t base) const {
  Tensor t = *this;
  t.extents.assign(shape.begin(), shape.end());
  t.steps.assign(strides.begin(), strides.end());
  t.first = base;
  t.rows = nullptr;
  return t;
}

Tensor Tensor::prefix(int64_t dim, int64_t extent) const {
  Tensor t = *this;
  t.extents[dim] = extent;
  return t;
}

Tensor Tensor::gatherRows(llvm::ArrayRef<int64_t> indices) const {
  Tensor t = *this;
  auto table = std::make_shared<std::vector<int64_t>>();
  for (int64_t i : indices)
    table->push_back(i * steps[0]);
  t.rows = std::move(table);
  t.extents[0] = static_cast<int64_t>(indices.size());
  return t;
}

Tensor Tensor::withElement(Element element) const {
  Tensor t = *this;
  t.elementType = element;
  return t;
}

} // namespace fusec::reference
