//===- Interleaving.h - the same requests alone and among others -----------------===//
//
//   expectSoloEqualsBatched(*engine, *alone, {.seed = 3, .next = [&](auto &random) { return ...; }});
//
// Submits random requests to an engine at random times and cancels some; each
// must give, bit for bit, what it gives alone in another engine.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Engine.h"

#include <cstdint>
#include <functional>
#include <random>

namespace fusec::runtime::test {

class RandomSource {
public:
  explicit RandomSource(uint32_t seed) : generator(seed) {}
  size_t below(size_t end) { return generator() % end; }
  bool oneIn(size_t count) { return below(count) == 0; }
  std::vector<TokenId> ids(size_t count, size_t vocab);

private:
  std::mt19937 generator;
};

struct Interleaving {
  uint32_t seed = 1;
  size_t requests = 64;
  size_t arrivals = 3;     ///< Fewer than so many arrive before a step.
  size_t cancelOneIn = 12; ///< Steps.
  std::function<Request(RandomSource &)> next = {};
};

/// Sampling, limits, stops and the like of a request, drawn at random.
void varyRequest(Request &request, RandomSource &random, const std::vector<std::string> &stops);

/// `alone` runs one request at a time, with room for all its texts. Afterwards the engine's pool is empty.
void expectSoloEqualsBatched(Engine &engine, Engine &alone, const Interleaving &how);

} // namespace fusec::runtime::test
