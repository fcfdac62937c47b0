//===- WeightProductCase.cpp - a product with random operands -------------------===//
#include "test/unit/cuda/mma/WeightProductCase.h"

#include "codegen/cuda/device/product_scratch.cuh"
#include "codegen/pack/PanelPack.h"
#include "runtime/base/Float16.h"
#include "runtime/schema/PanelLayout.h"

#include <cmath>
#include <cstring>
#include <random>

namespace fusec::test {
namespace {

/// Panels of random codes with scales around 2^-6, so that sums stay small.
StoredWeight randomPanels(StorageType type, int64_t rows, int64_t columns, uint32_t seed) {
  const PanelFormat &f = panelFormat(type);
  const PanelOffsets at = panelOffsets(f);
  StoredWeight w{std::vector<uint8_t>(packedBytes(type, rows, columns)), std::vector<float>(rows * columns)};
  std::mt19937 rng(seed);
  for (uint8_t &b : w.bytes)
    b = static_cast<uint8_t>(rng() >> 24);
  auto half = [&](uint8_t *p) {
    uint16_t bits = floatToHalf(std::ldexp(static_cast<float>(rng() >> 8), -30) * (rng() & 0x100 ? 1.0f : -1.0f));
    std::memcpy(p, &bits, 2);
  };
  for (size_t super = 0; super < w.bytes.size(); super += at.superBytes)
    for (int lane = 0; lane < panelRows; ++lane) {
      half(&w.bytes[super + at.scale + 2 * lane]);
      if (f.hasMinimum)
        half(&w.bytes[super + at.minimum + 2 * lane]);
    }
  codegen::decodePanels(type, std::as_bytes(std::span<const uint8_t>(w.bytes)), rows, columns, w.values.data());
  return w;
}

StoredWeight randomRows(StorageType type, int64_t rows, int64_t columns, uint32_t seed) {
  StoredWeight w;
  w.values = randomFloats(rows * columns, seed);
  for (float &v : w.values) {
    uint16_t bits = type == StorageType::F16 ? floatToHalf(v) : floatToBfloat(v);
    if (type == StorageType::F16)
      v = halfToFloat(bits);
    else if (type == StorageType::BF16)
      v = bfloatToFloat(bits);
    const auto *p = type == StorageType::F32 ? reinterpret_cast<uint8_t *>(&v) : reinterpret_cast<uint8_t *>(&bits);
    w.bytes.insert(w.bytes.end(), p, p + (type == StorageType::F32 ? 4 : 2));
  }
  return w;
}

/// Rows of a plain type as panels.
std::vector<uint8_t> asPanels(StorageType type, const std::vector<uint8_t> &bytes, int64_t rows, int64_t columns) {
  std::vector<uint8_t> packed(packedBytes(type, rows, columns));
  const codegen::StoredRows stored{std::as_bytes(std::span(bytes)), rows};
  Status status = codegen::packPanels(type, {&stored, 1}, columns, std::as_writable_bytes(std::span(packed)));
  EXPECT_TRUE(status.ok()) << status.message();
  return packed;
}

std::vector<std::string> definitions(const WeightType &c) {
  std::vector<std::string> all = {"-DWEIGHT=" + c.weight + "," + name(c.operand) + "," + std::to_string(c.columns) +
                                      ">",
                                  std::string("-DOPERAND=") + name(c.operand),
                                  "-DCOLUMNS=" + std::to_string(c.columns),
                                  "-DSLICE=" + std::to_string(c.slice),
                                  "-DSPREAD_TOKENS=8",
                                  "-DSPREAD_ROWS=32"};
  if (c.streamed)
    all.push_back("-DSTREAMED");
  return all;
}

} // namespace

WeightForm streamedForm(StorageType type) {
  WeightForm form = spreadForm;
  form.kernel = "streamed";
  form.shared = streamScratch(8, 32, 8, 1, static_cast<int>(panelOffsets(panelFormat(type)).superBytes));
  return form;
}

WeightProductCase::WeightProductCase(const codegen::Nvrtc &nvrtc, const std::string &target, const WeightType &type,
                                     std::span<const Mutation> mutations)
    : type(type), program(nvrtc, target, "weight_product.cu", definitions(type), mutations) {
  bool isPacked = panelFormat(type.type).bits != 0;
  weight = isPacked ? randomPanels(type.type, rows, type.columns, 5) : randomRows(type.type, rows, type.columns, 5);
  if (!isPacked && type.weight.starts_with("PanelWeight"))
    weight.bytes = asPanels(type.type, weight.bytes, rows, type.columns);
  x = randomFloats(tokens * type.columns, 6);
  w = program.put(weight.bytes);
}

Status WeightProductCase::tryRun(const WeightForm &form, int64_t count, std::vector<float> &result) {
  const uint64_t y = program.outputs(count * rows);
  const std::vector<int64_t> sizes = {count, rows};
  const std::span<const float> some = std::span(x).first(count * type.columns);
  const int64_t grid = ceilDiv(count, form.tileTokens) * ceilDiv(rows, form.tileRows);
  FUSEC_RETURN_IF_ERROR(program.launch(form.kernel, {.grid = grid + 1, .threads = form.threads, .shared = form.shared},
                                       {w, program.put(some), y, program.put(sizes)}));
  result = program.floats(y, count * rows);
  return {};
}

std::vector<float> WeightProductCase::run(const WeightForm &form, int64_t count) {
  std::vector<float> result(count * rows);
  Status status = tryRun(form, count, result);
  EXPECT_TRUE(status.ok()) << form.kernel << ": " << status.message();
  return result;
}

/// Sums of n exact products in f32, in any order: the error is at most n u times the sum of magnitudes, u = 2^-24 for
/// rounding; tensor cores may truncate, which doubles it.
void WeightProductCase::expectNear(const std::vector<float> &found, int64_t count) const {
  for (int64_t t = 0; t < count; ++t)
    for (int64_t n = 0; n < rows; ++n) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < type.columns; ++k) {
        const double p = static_cast<double>(operandValue(type.operand, weight.values[n * type.columns + k])) *
                         operandValue(type.operand, x[t * type.columns + k]);
        sum += p;
        magnitude += std::fabs(p);
      }
      const double bound = static_cast<double>(type.columns) * std::ldexp(magnitude, -23);
      ASSERT_NEAR(found[t * rows + n], sum, bound) << "token " << t << " row " << n;
    }
}

} // namespace fusec::test
