//===- MmaHarness.cpp - kernels of the device library, executed ------------------===//
#include "test/unit/cuda/mma/MmaHarness.h"

#include "runtime/base/Float16.h"

#include <limits>
#include <random>

namespace fusec::test {

bool runsAll() { return std::getenv("FUSEC_FULL"); }

const char *name(OperandType type) { return type == OperandType::Half ? "Half" : "Bfloat"; }
uint16_t operandBits(OperandType type, float value) {
  return type == OperandType::Half ? floatToHalf(value) : floatToBfloat(value);
}
float operandValue(OperandType type, float value) {
  uint16_t bits = operandBits(type, value);
  return type == OperandType::Half ? halfToFloat(bits) : bfloatToFloat(bits);
}

std::vector<float> randomFloats(int64_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<float> values(count);
  for (float &v : values)
    v = static_cast<float>(static_cast<int32_t>(rng() >> 8) - (1 << 23)) / (1 << 23);
  return values;
}

/// The device library with the mutations applied; the changed texts live in `changed`.
static std::vector<codegen::CudaHeader> library(std::span<const Mutation> mutations,
                                                std::vector<std::string> &changed) {
  std::vector<codegen::CudaHeader> headers(codegen::deviceLibrary().begin(), codegen::deviceLibrary().end());
  changed.reserve(mutations.size());
  for (const Mutation &m : mutations)
    for (codegen::CudaHeader &header : headers)
      if (header.name == m.header) {
        std::string text(header.text);
        size_t at = text.find(m.from);
        EXPECT_NE(at, std::string::npos) << m.from;
        if (at != std::string::npos)
          text.replace(at, m.from.size(), m.to);
        header.text = changed.emplace_back(std::move(text));
      }
  return headers;
}

MmaProgram::MmaProgram(const codegen::Nvrtc &nvrtc, const std::string &target, const std::string &text,
                       std::vector<std::string> definitions, std::span<const Mutation> mutations) {
  std::vector<std::string> changed;
  const std::vector<codegen::CudaHeader> headers = library(mutations, changed);
  auto created =
      MmaDevice::create(nvrtc, {text, readFixture("mma/kernels/" + text), target, std::move(definitions), headers});
  EXPECT_TRUE(created) << created.status().message();
  if (created)
    device = std::move(created.value());
}

uint64_t MmaProgram::putBytes(const void *from, int64_t bytes) {
  if (!device)
    return 0;
  Result<uint64_t> at = device->put(from, bytes);
  EXPECT_TRUE(at) << at.status().message();
  return at ? *at : 0;
}

uint64_t MmaProgram::outputs(int64_t count) {
  return put(std::vector<float>(count, std::numeric_limits<float>::quiet_NaN()));
}

void MmaProgram::getBytes(void *to, uint64_t at, int64_t bytes) {
  if (device)
    EXPECT_TRUE(device->get(to, at, bytes).ok());
}

void MmaProgram::setSeed(uint64_t seed) {
  if (device)
    device->setSeed(seed);
}

Status MmaProgram::launch(const std::string &kernel, MmaLaunch shape, const std::vector<uint64_t> &parameters) {
  return device ? device->launch(kernel, shape, parameters) : internalError("no module");
}

} // namespace fusec::test
