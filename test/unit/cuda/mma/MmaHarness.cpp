//===- MmaHarness.cpp - kernels of the device library on the virtual device ----===//
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
  const std::string source = readFixture("mma/kernels/" + text);
  std::string log;
  auto code = nvrtc.compile({.name = text,
                             .text = source,
                             .target = *codegen::cudaTargetByName(target),
                             .headers = headers,
                             .options = std::move(definitions),
                             .ptxOnly = true},
                            &log);
  if (!code) {
    ADD_FAILURE() << code.status().message() << "\n" << log;
    return;
  }
  auto opened = virtualgpu::VirtualDevice::create({.target = target});
  EXPECT_TRUE(opened) << opened.status().message();
  if (!opened)
    return;
  device = std::move(opened.value());
  auto loaded = device->loadModule(std::as_bytes(std::span<const char>(code->ptx)), text);
  EXPECT_TRUE(loaded) << loaded.status().message();
  if (loaded)
    module = std::move(loaded.value());
  stream = std::move(device->createStream().value());
}

uint64_t MmaProgram::putBytes(const void *from, int64_t bytes) {
  buffers.push_back(std::move(device->allocate(bytes, "test").value()));
  const uint64_t at = buffers.back().address();
  EXPECT_TRUE(stream->copyToDevice(at, from, bytes).ok());
  EXPECT_TRUE(stream->synchronize().ok());
  return at;
}

uint64_t MmaProgram::outputs(int64_t count) {
  return put(std::vector<float>(count, std::numeric_limits<float>::quiet_NaN()));
}

void MmaProgram::getBytes(void *to, uint64_t at, int64_t bytes) {
  EXPECT_TRUE(stream->copyToHost(to, at, bytes).ok());
  EXPECT_TRUE(stream->synchronize().ok());
}

void MmaProgram::setSeed(uint64_t seed) {
  if (!device)
    return;
  device->clearError();
  device->setSeed(seed);
}

Status MmaProgram::launch(const std::string &kernel, MmaLaunch shape, std::vector<uint64_t> parameters) {
  if (!module)
    return internalError("no module");
  FUSEC_ASSIGN_OR_RETURN(runtime::GpuFunction * function, module->function(kernel));
  runtime::GpuLaunch launch;
  launch.function = function;
  launch.grid.x = static_cast<uint32_t>(shape.grid);
  launch.block.x = static_cast<uint32_t>(shape.threads);
  launch.sharedBytes = static_cast<uint32_t>(shape.shared);
  launch.parameters = parameters;
  FUSEC_RETURN_IF_ERROR(stream->launch(launch));
  return stream->synchronize();
}

} // namespace fusec::test
