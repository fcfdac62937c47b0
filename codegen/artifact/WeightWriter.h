//===- WeightWriter.h - weights.bin ------------------------------------------------===//
#pragma once

#include "ir/plan/PlanDialect.h"
#include "models/import/Model.h"

#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

namespace fusec::codegen {

/// Where a buffer's bytes lie in weights.bin.
struct WeightRange {
  int64_t offset = 0, bytes = 0;
};

/// The bytes of a weight or constant as kernels read them: matrices packed in panels, vectors and constants as plain
/// elements. May be called by several threads at once.
Result<std::vector<std::byte>> storedBytesOf(plan::BufferOp buffer, const models::Model &model);

/// Appends weights to weights.bin, each at a multiple of 64 bytes.
class WeightWriter {
public:
  static Result<WeightWriter> create(const std::filesystem::path &file);
  Result<WeightRange> append(std::span<const std::byte> bytes);
  /// Writes the slack kernels may read past the last weight, and closes.
  Status finish();

private:
  WeightWriter(std::ofstream stream, std::string name) : stream(std::move(stream)), name(std::move(name)) {}
  std::ofstream stream;
  std::string name;
  int64_t position = 0;
};

} // namespace fusec::codegen
