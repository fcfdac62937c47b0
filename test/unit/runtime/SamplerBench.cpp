//===- SamplerBench.cpp - what choosing a token costs, by hand ---------------------===//
//
//   SamplerBench ARTIFACT [rounds] [part of a name]
//
// Computes the logits of a text and lets the sampler choose after each of them, as
// after the rows of a step. Prints, for some parameters, the median time per row
// and a checksum of all that was chosen: two builds that differ in speed only print
// the same. Not a test: figures are for reading.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Engine.h"
#include "runtime/engine/Sampler.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace fusec;
using namespace fusec::runtime;

namespace {

constexpr const char *sample =
    "The engine turns requests into tokens. One step of the model serves all running requests at once; what a request "
    "gets depends on the request alone. In the morning she walked down to the harbour, where";

struct Case {
  const char *name;
  SamplingParams params;
  bool isMasked = false; ///< Two of three ids are allowed.
};

std::vector<Case> cases() {
  SamplingParams greedy = SamplingParams::greedy(), drawn;
  drawn.temperature = 1;
  drawn.seed = 7;
  auto with = [](SamplingParams params, auto change) {
    change(params);
    return params;
  };
  auto k = [](SamplingParams &p) { p.topK = 40; };
  auto nucleus = [](SamplingParams &p) { p.topP = 0.95f; };
  auto least = [](SamplingParams &p) { p.minP = 0.05f; };
  auto logprobs = [](SamplingParams &p) { p.logprobs = 5; };
  auto all = [&](SamplingParams &p) {
    k(p), nucleus(p), least(p), logprobs(p);
    p.repetitionPenalty = 1.1f;
    p.presencePenalty = 0.1f;
  };
  return {{"greedy", greedy},
          {"temperature", drawn},
          {"top_k 40", with(drawn, k)},
          {"top_p 0.95", with(drawn, nucleus)},
          {"top_p 0.95, flat", with(drawn, [&](SamplingParams &p) { nucleus(p), p.temperature = 4; })},
          {"min_p 0.05", with(drawn, least)},
          {"greedy, logprobs 5", with(greedy, logprobs)},
          {"greedy, masked", greedy, true},
          {"all together, masked", with(drawn, all), true}};
}

struct Rows {
  std::vector<float> logits;
  size_t vocab;
  size_t count() const { return logits.size() / vocab; }
  std::span<const float> row(size_t i) const { return std::span(logits).subspan(i * vocab, vocab); }
};

void run(const Case &one, const Rows &rows, int64_t sampleable, int rounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<uint32_t> mask(rows.vocab / 32 + 1);
  for (size_t word = 0; word < mask.size(); ++word)
    mask[word] = word % 3 == 0 ? 0 : ~0u << (word % 7);
  Sampler::Restriction restriction;
  if (one.isMasked)
    restriction.allowed = mask;
  Sampler sampler(one.params, {}, sampleable);
  std::vector<double> times;
  uint64_t checksum = 0;
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < rows.count(); ++i) {
      const Clock::time_point start = Clock::now();
      Result<Sampler::Choice> choice = sampler.next(rows.row(i), restriction);
      times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      auto add = [&](uint32_t value) { checksum = checksum * 0x9e3779b97f4a7c15u + value + 1; };
      add(static_cast<uint32_t>(choice->id));
      add(std::bit_cast<uint32_t>(choice->logprob));
      for (const TokenLogprob &top : choice->topLogprobs) {
        add(static_cast<uint32_t>(top.id));
        add(std::bit_cast<uint32_t>(top.logprob));
      }
    }
  std::sort(times.begin(), times.end());
  std::printf("%-22s %7.1f us median %7.1f us p90   %016llx\n", one.name, times[times.size() / 2] * 1e6,
              times[times.size() * 9 / 10] * 1e6, static_cast<unsigned long long>(checksum));
}

Status bench(const char *artifact, int rounds, std::string_view part) {
  EngineOptions options;
  options.artifact = artifact;
  options.contextTokens = 512;
  options.maxSequences = 1;
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::create(options));
  FUSEC_ASSIGN_OR_RETURN(std::vector<TokenId> ids, engine->tokenizer().encode(sample));
  Rows rows;
  rows.vocab = static_cast<size_t>(engine->model().vocabSize);
  FUSEC_ASSIGN_OR_RETURN(rows.logits, engine->logits(ids, LogitRows::All));
  for (const Case &one : cases())
    if (std::string_view(one.name).find(part) != std::string_view::npos)
      run(one, rows, engine->tokenizer().size(), rounds);
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: SamplerBench ARTIFACT [rounds] [part of a name]\n"), 2;
  if (Status status = bench(argv[1], argc > 2 ? std::atoi(argv[2]) : 10, argc > 3 ? argv[3] : ""); !status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  return 0;
}
