//===- HostMemory.cpp - the buffers of one step in guarded memory -------------===//
#include "test/unit/passes/HostMemory.h"

#include "runtime/base/Float16.h"
#include "test/unit/passes/E4m3.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace fusec::differential {

using namespace reference;

constexpr int64_t slack = 64;

PoisonedBuffer::PoisonedBuffer(int64_t bytes) : memory(bytes) { std::memset(memory.as(), 0xff, bytes + slack); }

bool PoisonedBuffer::slackIsUntouched() const {
  const unsigned char *end = memory.as<unsigned char>() + memory.size();
  return std::all_of(end, end + slack, [](unsigned char c) { return c == 0xff; });
}

namespace {

template <typename T> void put(const std::vector<double> &values, void *memory) {
  std::transform(values.begin(), values.end(), static_cast<T *>(memory), [](double v) { return static_cast<T>(v); });
}
template <typename T> std::vector<double> get(const void *memory, int64_t n) {
  const T *from = static_cast<const T *>(memory);
  return std::vector<double>(from, from + n);
}

struct MachineType {
  Element element;
  void (*write)(const std::vector<double> &, void *);
  std::vector<double> (*read)(const void *, int64_t);
};
constexpr MachineType machineTypes[] = {
    {Element::F32, put<float>, get<float>},
    {Element::F64, put<double>, get<double>},
    {Element::I32, put<int32_t>, get<int32_t>},
};

Result<const MachineType *> machineType(Element element) {
  for (const MachineType &type : machineTypes)
    if (type.element == element)
      return &type;
  return unsupported(std::string("no machine memory for ") + info(element).name);
}

/// How one cached value lies in memory.
struct CachedValue {
  StorageType storage;
  void (*write)(float, std::byte *);
  float (*read)(const std::byte *);
};

template <typename T, T (*Encode)(float)> void encode(float value, std::byte *to) {
  const T bits = Encode(value);
  std::memcpy(to, &bits, sizeof bits);
}
template <typename T, float (*Decode)(T)> float decode(const std::byte *from) {
  T bits;
  std::memcpy(&bits, from, sizeof bits);
  return Decode(bits);
}
float same(float value) { return value; }

constexpr CachedValue cachedValues[] = {
    {StorageType::F32, encode<float, same>, decode<float, same>},
    {StorageType::F16, encode<uint16_t, floatToHalf>, decode<uint16_t, halfToFloat>},
    {StorageType::BF16, encode<uint16_t, floatToBfloat>, decode<uint16_t, bfloatToFloat>},
    {StorageType::E4M3, encode<uint8_t, floatToE4m3>, decode<uint8_t, e4m3ToFloat>},
};

const CachedValue &cachedValue(tile::BufferType type) {
  const StorageType storage = type.getStorage().value_or(StorageType::F32);
  return *llvm::find_if(cachedValues, [&](const CachedValue &row) { return row.storage == storage; });
}

/// Visits (pool index, page memory position) of every element of the pool.
template <typename Visit> void forEachInPages(llvm::ArrayRef<int64_t> shape, bool isK, Visit visit) {
  const int64_t P = shape[1], H = shape[2], D = shape[3];
  int64_t at = 0;
  for (int64_t page = 0; page < shape[0]; ++page)
    for (int64_t p = 0; p < P; ++p)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t d = 0; d < D; ++d)
          visit(at++, page * P * H * D + (isK ? (h * D + d) * P + p : (h * P + p) * D + d));
}

} // namespace

Status writeTensor(const Tensor &tensor, void *memory) {
  FUSEC_ASSIGN_OR_RETURN(const MachineType *type, machineType(tensor.element()));
  type->write(tensor.values(), memory);
  return {};
}

Result<Tensor> readTensor(Element element, llvm::ArrayRef<int64_t> shape, const void *memory) {
  FUSEC_ASSIGN_OR_RETURN(const MachineType *type, machineType(element));
  return Tensor::fromValues(element, shape, type->read(memory, numElements(shape)));
}

PageTable::PageTable(const Step &step, uint32_t seed) {
  auto context = step.symbols.find("C");
  if (context == step.symbols.end())
    return;
  std::mt19937 random(seed);
  sequences = static_cast<int64_t>(step.lengths.size());
  columns = context->second / pageTokens + random() % 2; // rows may be longer than any sequence
  entries.assign(sequences * columns, 0);
  std::vector<int32_t> free(sequences * columns + 2);
  std::iota(free.begin(), free.end(), 1);
  std::shuffle(free.begin(), free.end(), random);
  pages = static_cast<int64_t>(free.size()) + 1;
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t b = 0; b * pageTokens < step.lengths[s]; ++b) {
      entries[s * columns + b] = free.back();
      free.pop_back();
    }
}

Tensor pagePool(const Tensor &cache, const Step &step, const PageTable &table, uint32_t seed) {
  Tensor pool = Tensor::filled(cache.element(), {table.pages, pageTokens, cache.dim(2), cache.dim(3)}, 0.0);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < pool.size(); ++i)
    pool.store(i, step.stale.value_or(random() % 2 ? 0x1p90 : -0x1p90));
  for (int64_t s = 0; s < table.sequences; ++s)
    for (int64_t c = 0; c < step.lengths[s]; ++c)
      for (int64_t h = 0; h < cache.dim(2); ++h)
        for (int64_t d = 0; d < cache.dim(3); ++d)
          pool.set({table.entries[s * table.columns + c / pageTokens], c % pageTokens, h, d}, cache.get({s, c, h, d}));
  return pool;
}

Tensor fromPool(const Tensor &pool, const Step &step, const PageTable &table, int64_t context) {
  Tensor cache = Tensor::filled(pool.element(), {table.sequences, context, pool.dim(2), pool.dim(3)}, 0.0);
  for (int64_t s = 0; s < table.sequences; ++s)
    for (int64_t c = 0; c < step.lengths[s]; ++c)
      for (int64_t h = 0; h < pool.dim(2); ++h)
        for (int64_t d = 0; d < pool.dim(3); ++d)
          cache.set({s, c, h, d}, pool.get({table.entries[s * table.columns + c / pageTokens], c % pageTokens, h, d}));
  return cache;
}

void writePages(const Tensor &pool, tile::BufferType type, void *memory) {
  const CachedValue &value = cachedValue(type);
  auto *bytes = static_cast<std::byte *>(memory);
  forEachInPages(pool.shape(), type.getLayout() == tile::Layout::PagedK, [&](int64_t at, int64_t to) {
    value.write(static_cast<float>(pool.load(at)), bytes + to * type.getElementBytes());
  });
}

Tensor readPages(llvm::ArrayRef<int64_t> poolShape, tile::BufferType type, const void *memory) {
  const CachedValue &value = cachedValue(type);
  const auto *bytes = static_cast<const std::byte *>(memory);
  Tensor pool = Tensor::filled(Element::F32, poolShape, 0.0);
  forEachInPages(poolShape, type.getLayout() == tile::Layout::PagedK,
                 [&](int64_t at, int64_t from) { pool.store(at, value.read(bytes + from * type.getElementBytes())); });
  return pool;
}

} // namespace fusec::differential
