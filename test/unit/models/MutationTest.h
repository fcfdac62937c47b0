//===- MutationTest.h - random damage to a good file -----------------------===//
//
// Runs a fuzzer entry point on truncations and random byte changes of a good
// file. Each input lives in its own heap block, so that a sanitizer sees a read
// one byte too far.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace fusec {

inline void runFuzzerOn(const std::string &bytes) {
  std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  LLVMFuzzerTestOneInput(copy.get(), bytes.size());
}

/// `rounds` inputs with 1 to 8 changed bytes each, half of them in the first
/// `headerBytes`, where the structure is.
inline void runMutations(const std::string &good, size_t headerBytes, int rounds) {
  static constexpr uint8_t extremes[] = {0, 1, 0x7f, 0x80, 0xff};
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;
    const size_t range = round % 2 ? headerBytes : bytes.size();
    for (unsigned change = 0, changes = 1 + random() % 8; change < changes; ++change)
      bytes[random() % range] = static_cast<char>(random() % 2 ? extremes[random() % 5] : random());
    runFuzzerOn(bytes);
  }
}

inline void runTruncations(const std::string &good) {
  for (size_t step = 0; step < 1000; ++step)
    runFuzzerOn(good.substr(0, good.size() * step / 1000));
}

} // namespace fusec
