//===- WeightProductCase.h - a product with random operands ---------------------===//
//
// Runs kernels/weight_product.cu for one weight type in any form.
//
//   WeightProductCase product(*nvrtc, "sm_80", {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Bfloat, 544, 128});
//   std::vector<float> y = product.run(spreadForm, 9);      // [9, rows]
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/StorageType.h"
#include "test/unit/cuda/mma/MmaHarness.h"

namespace fusec::test {

/// W[rows, columns] as a kernel gets it, and what it means.
struct StoredWeight {
  std::vector<uint8_t> bytes;
  std::vector<float> values;
};

struct WeightType {
  std::string weight; ///< The C++ type, but for operand and columns.
  StorageType type;
  OperandType operand;
  int64_t columns, slice;
  bool streamed = false; ///< Also compile the streamed form.
};

/// A kernel of weight_product.cu and its tile.
struct WeightForm {
  const char *kernel;
  int64_t tileTokens, tileRows;
  int threads;
  int64_t shared;
};
inline constexpr WeightForm spreadForm = {"spread", 8, 32, 256, 8 * 8 * 36 * 4};
inline constexpr WeightForm tiledForm = {"tiled", 32, 128, 256, 32 * 256};
inline constexpr WeightForm tiledPairForm = {"tiledPair", 64, 64, 128, 64 * 256};
inline constexpr WeightForm warpgroupForm = {"warpgroup", 64, 128, 384, 4 * 8192 + 64};

inline constexpr WeightForm warpgroupPairForm = {"warpgroupPair", 32, 128, 384, 4 * 4096 + 64};
/// weightProductStreamed for a packed type, with its scratch memory.
WeightForm streamedForm(StorageType type);

class WeightProductCase {
public:
  static constexpr int64_t rows = 100, tokens = 65;

  WeightProductCase(const codegen::Nvrtc &nvrtc, const std::string &target, const WeightType &type,
                    std::span<const Mutation> mutations = {});

  /// The first `count` tokens by one form; fails the test when the device reports something.
  std::vector<float> run(const WeightForm &form, int64_t count);
  /// The same, with what the device says.
  Status tryRun(const WeightForm &form, int64_t count, std::vector<float> &result);
  /// Fails where `found` is further from the exact sums of rounded operands than f32 sums can be.
  void expectNear(const std::vector<float> &found, int64_t count) const;
  MmaProgram &device() { return program; }

private:
  WeightType type;
  MmaProgram program;
  StoredWeight weight;
  std::vector<float> x;
  uint64_t w = 0;
};

} // namespace fusec::test
