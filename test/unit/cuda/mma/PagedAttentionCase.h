//===- PagedAttentionCase.h - attention with random operands --------------------===//
//
// Runs kernels/attention.cu on sequences of several lengths, whose last tokens are
// queries, with pages in random order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/cuda/mma/MmaHarness.h"

namespace fusec::test {

struct AttentionType {
  OperandType operand;
  std::string cache; ///< Bfloat, Half, float.
  int64_t head, page, group, warps;
  bool wgmma = false;
  bool specialists = false; ///< By attentionBySpecialists; with wgmma.
};

class PagedAttentionCase {
public:
  PagedAttentionCase(const codegen::Nvrtc &nvrtc, const std::string &target, const AttentionType &type,
                     std::span<const Mutation> mutations = {});

  /// All rows; fails the test when the device reports something.
  std::vector<float> run();
  Status tryRun(std::vector<float> &result);
  /// Fails where a row is further from the exact one than rounding can bring it.
  void expectNear(const std::vector<float> &found) const;
  MmaProgram &device() { return program; }

private:
  std::vector<float> stored(std::vector<float> v) const;
  uint64_t putCache(const std::vector<float> &v);
  int64_t pageAt(size_t sequence, int64_t position, int64_t head) const;
  void expectRow(const std::vector<float> &found, size_t sequence, int64_t token, int64_t head) const;

  AttentionType c;
  MmaProgram program;
  int64_t blocks = 0;
  std::vector<int32_t> table, first;
  std::vector<float> q, keys, values;
};

} // namespace fusec::test
