//===- FixtureRun.cpp - the emitted texts of test/unit/cuda/texts, ready to run ---===//
#include "test/hostcuda/FixtureRun.h"

#include "runtime/base/Float16.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

namespace fusec::hostcuda {

namespace {

constexpr int64_t tokens = 4;
// Panels of 16 rows; a super-block of 32 (q4_1) or 256 k has these bytes (panel.cuh).
constexpr int64_t q4_1Bytes = 1536 / 16 * 576 / 32 * 320, q6_kBytes = 1536 / 16 * 768 / 256 * 3360,
                  q4_kBytes = 1536 / 16 * 512 / 256 * 2368;
constexpr int64_t pagesOf = 2, tilePages = 1474560;

const std::vector<int64_t> tileSizes = {tokens, 1, 2, 1, 128, 1};
const std::vector<FixtureArgument> tileArguments = {{0, Fill::Bytes, {0, tokens}},
                                                    {0, Fill::Bytes, {66, 67, 68, 69}},
                                                    {tokens * 960 * 4, Fill::Floats},
                                                    {tokens * 32 * 4, Fill::Floats},
                                                    {tokens * 32 * 4, Fill::Floats},
                                                    {0, Fill::Bytes, {0, 0, 0, 0}},
                                                    {pagesOf * tilePages, Fill::Halves},
                                                    {0, Fill::Bytes, {1, 0}},
                                                    {pagesOf * tilePages, Fill::Halves},
                                                    {tokens * 576 * 4, Fill::Nan},
                                                    {16, Fill::Nan}};

const Fixture fixtures[] = {
    {"norm.cu",
     "norm_rows",
     "sm_80",
     tokens + 1,
     64,
     512,
     {tokens, 1, 1, 1, 64},
     {{tokens * 576 * 4, Fill::Floats}, {576 * 4, Fill::Floats}, {tokens * 576 * 4, Fill::Nan}}},
    {"gemv.cu",
     "gated",
     "sm_80",
     49,
     32,
     0,
     {tokens, 1, 1, 1, 64},
     {{tokens * 576 * 4, Fill::Floats},
      {q4_1Bytes, Fill::Halves},
      {q6_kBytes, Fill::Halves},
      {tokens * 1536 * 4, Fill::Nan}}},
    {"append.cu",
     "append",
     "sm_80",
     tokens * 3 + 1,
     64,
     0,
     {tokens, 2, 1, 1, 64},
     {{0, Fill::Bytes, {0, 1, 9, 1}}, // The third sequence is padding.
      {0, Fill::Bytes, {0, 5, 63, 63}},
      {tokens * 960 * 4, Fill::Floats},
      {tokens * 32 * 4, Fill::Floats},
      {tokens * 32 * 4, Fill::Floats},
      {pagesOf * 24576, Fill::Zeros},
      {0, Fill::Bytes, {1, 0}},
      {pagesOf * 24576, Fill::Zeros}}},
    {"product.cu",
     "gate_up",
     "sm_80",
     97,
     128,
     13344,
     {tokens, 1, 1, 1, 64},
     {{tokens * 512 * 4, Fill::Floats},
      {512 * 4, Fill::Floats},
      {q4_kBytes, Fill::Halves},
      {q4_kBytes, Fill::Halves},
      {tokens * 1536 * 4, Fill::Nan}}},
    {"attention_tile.sm_80.cu", "attention_tile", "sm_80", 4, 128, 49664, tileSizes, tileArguments},
    {"attention_tile.sm_90a.cu", "attention_tile", "sm_90a", 4, 128, 49664, tileSizes, tileArguments},
};

/// Random in [-1, 1), the same on every machine; halves are small as bf16 and as scales of weights too.
std::vector<std::byte> filled(const FixtureArgument &argument, uint32_t seed) {
  const int64_t bytes = argument.numbers.empty() ? argument.bytes : std::ssize(argument.numbers) * 4;
  std::vector<std::byte> memory(static_cast<size_t>(bytes),
                                static_cast<std::byte>(argument.fill == Fill::Nan ? 0xff : 0));
  std::mt19937 random(seed);
  const auto next = [&] { return static_cast<float>(static_cast<int32_t>(random())) / 2147483648.0f; };
  if (!argument.numbers.empty())
    std::memcpy(memory.data(), argument.numbers.data(), memory.size());
  else if (argument.fill == Fill::Floats)
    for (size_t i = 0; i + 4 <= memory.size(); i += 4) {
      const float value = next();
      std::memcpy(&memory[i], &value, 4);
    }
  else if (argument.fill == Fill::Halves)
    for (size_t i = 0; i + 2 <= memory.size(); i += 2) {
      const uint16_t value = floatToHalf(next());
      std::memcpy(&memory[i], &value, 2);
    }
  return memory;
}

} // namespace

const Fixture &fixtureOf(const std::string &file) {
  for (const Fixture &fixture : fixtures)
    if (file == fixture.file)
      return fixture;
  std::abort();
}

std::string textOf(const Fixture &fixture) {
  std::ifstream file(std::string(FUSEC_SOURCE_DIR) + "/test/unit/cuda/texts/" + fixture.file, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

FixtureRun::FixtureRun(const Fixture &fixture) : fixture(fixture) {}

Status FixtureRun::launch(const std::string &text, std::span<const codegen::CudaHeader> headers, uint64_t seed) {
  FUSEC_ASSIGN_OR_RETURN(
      std::unique_ptr<HostCudaKernels> kernels,
      HostCudaKernels::create({.name = fixture.entry, .text = text, .headers = headers, .target = fixture.target}));
  buffers.clear();
  HostCudaLaunch launch{.grid = fixture.grid, .threads = fixture.threads, .sharedBytes = fixture.sharedBytes};
  launch.seed = seed;
  std::vector<std::string> names;
  for (size_t i = 0; i < fixture.arguments.size(); ++i) {
    buffers.push_back(filled(fixture.arguments[i], static_cast<uint32_t>(i + 1)));
    names.push_back("argument " + std::to_string(i));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    launch.parameters.push_back(reinterpret_cast<uint64_t>(buffers[i].data()));
    launch.memory.push_back({buffers[i].data(), buffers[i].size(), names[i].c_str()});
  }
  launch.parameters.push_back(reinterpret_cast<uint64_t>(fixture.sizes.data()));
  launch.memory.push_back({fixture.sizes.data(), fixture.sizes.size() * 8, "sizes"});
  return kernels->launch(fixture.entry, launch);
}

} // namespace fusec::hostcuda
