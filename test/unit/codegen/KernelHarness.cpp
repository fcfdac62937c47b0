//===- KernelHarness.cpp - compile kernel text and call it ------------------===//
#include "test/unit/codegen/KernelHarness.h"

#include "codegen/pack/PanelPack.h"
#include "ir/InitAllDialects.h"
#include "models/import/Dequantize.h"
#include "runtime/base/Float16.h"

#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gtest/gtest.h>

namespace fusec::codegen {

LoadedKernels::LoadedKernels(const std::string &text, std::string_view level, int64_t pageTokens) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    message = "the kernel text does not parse";
    return;
  }
  auto made = RunnableKernels::create(*module, level, {"T", "S", "B", "R", "C"}, pageTokens);
  if (made)
    kernels = std::move(*made);
  else
    message = made.status().message();
}

void LoadedKernels::run(const std::string &name, std::vector<void *> args, std::vector<int64_t> symbols,
                        int64_t programs) const {
  int64_t cut = programs / 3;
  Status status = kernels->run(name, args, symbols, {{0, cut}, {cut, programs}});
  EXPECT_TRUE(status.ok()) << status.message();
}

float noise(uint64_t index) {
  uint64_t x = index * 0x9e3779b97f4a7c15ull + 0xd1b54a32d192ed03ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  return (static_cast<float>(x >> 40) + 0.5f) / static_cast<float>(1 << 23) - 1.0f;
}

/// Random bytes, except that the half-precision scales are ordinary numbers.
static void fillBlocks(StorageType type, std::vector<std::byte> &stored, uint64_t seed) {
  for (size_t i = 0; i < stored.size(); ++i)
    stored[i] = static_cast<std::byte>(static_cast<int>((noise(seed * 1000003 + i) + 1) * 128));
  int64_t block = info(type).blockBytes;
  auto put = [&](int64_t at, uint64_t i) {
    uint16_t h = type == StorageType::BF16 ? floatToBfloat(noise(i)) : floatToHalf(noise(i) * 0.25f);
    std::memcpy(stored.data() + at, &h, 2);
  };
  for (int64_t at = 0; at < static_cast<int64_t>(stored.size()); at += block) {
    if (type == StorageType::F32) {
      float v = noise(seed + at);
      std::memcpy(stored.data() + at, &v, 4);
    } else if (type == StorageType::Q6_K) {
      put(at + 208, seed + at);
    } else {
      put(at, seed + at);
      if (panelFormat(type).hasMinimum)
        put(at + 2, seed + at + 1);
    }
  }
}

TestWeights::TestWeights(StorageType type, int64_t rows, int64_t columns, uint64_t seed)
    : type(type), rows(rows), columns(columns), stored(rows * models::rowBytes(type, columns)),
      packed(packedBytes(type, rows, columns)), values(rows * columns) {
  fillBlocks(type, stored, seed);
  StoredRows part{stored, rows};
  Status status = packPanels(type, {&part, 1}, columns, {packed.as<std::byte>(), static_cast<size_t>(packed.size())});
  if (!status.ok())
    std::abort();
  for (int64_t r = 0; r < rows; ++r)
    models::dequantizeRow(type, stored.data() + r * models::rowBytes(type, columns), values.data() + r * columns,
                          columns);
}

} // namespace fusec::codegen
