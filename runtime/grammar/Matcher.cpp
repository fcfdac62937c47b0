//===- Matcher.cpp - a machine and a vocabulary as a Constraint ------------===//
#include "runtime/grammar/Matcher.h"

#include <algorithm>

namespace fusec::grammar {

namespace {

/// Frames a matcher gathers before it drops those it no longer needs.
constexpr size_t kCompactAt = 1 << 12;

Status tooAmbiguous(const Limits &limits) {
  return resourceExhausted("the grammar is too ambiguous here: more than " + std::to_string(limits.parallelStacks) +
                           " parses of the text at once");
}

} // namespace

MachineGrammar::MachineGrammar(Machine m, std::shared_ptr<const Vocabulary> v, const Limits &l)
    : machine(std::move(m)), vocabulary(std::move(v)), limits(l), cache(machine, vocabulary, limits) {}

std::unique_ptr<Constraint> MachineGrammar::start() const { return std::make_unique<Matcher>(shared_from_this()); }

Matcher::Matcher(std::shared_ptr<const MachineGrammar> g) : grammar(std::move(g)) {
  if (!frames.open(grammar->machine, grammar->limits.parallelStacks, heads))
    failure = tooAmbiguous(grammar->limits);
}

bool Matcher::mayEnd() const { return failure.ok() && !ended && !heads.empty() && heads.front() == kBottom; }

bool Matcher::finished() const { return ended || (mayEnd() && heads.size() == 1); }

bool Matcher::maskFor(std::vector<uint32_t> &mask) {
  mask.assign(grammar->vocabulary->maskWords(), 0);
  if (ended || !failure.ok())
    return false;
  if (!grammar->cache.allowed(frames, heads, mask)) {
    std::fill(mask.begin(), mask.end(), 0);
    failure = tooAmbiguous(grammar->limits);
    return false;
  }
  if (mayEnd())
    for (TokenId id : grammar->vocabulary->endIds())
      mask[static_cast<size_t>(id) / 32] |= 1u << (static_cast<uint32_t>(id) % 32);
  return true;
}

void Matcher::allowed(std::span<uint32_t> out) {
  std::vector<uint32_t> mask;
  bool usable = maskFor(mask);
  if (usable && std::all_of(mask.begin(), mask.end(), [](uint32_t word) { return word == 0; })) {
    if (mayEnd())
      ended = true; // Complete, and the vocabulary has no token to say so.
    else
      failure = invalidArgument("dead end: no token of the vocabulary continues the constrained text");
  }
  size_t words = std::min(out.size(), mask.size());
  std::copy_n(mask.begin(), words, out.begin());
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(words), out.end(), 0);
}

bool Matcher::inMask(TokenId id) {
  std::vector<uint32_t> mask;
  return maskFor(mask) && (mask[static_cast<size_t>(id) / 32] >> (static_cast<uint32_t>(id) % 32) & 1) != 0;
}

bool Matcher::advance(std::string_view bytes, bool &overflow) {
  StackSet now = heads, next;
  for (char byte : bytes) {
    overflow = !frames.step(grammar->machine, now, static_cast<uint8_t>(byte), grammar->limits.parallelStacks, next);
    if (overflow || next.empty())
      return false;
    std::swap(now, next);
  }
  heads = std::move(now);
  return true;
}

/// The parses that are nested too deeply are given up.
void Matcher::checkDepth() {
  auto limit = static_cast<uint32_t>(grammar->limits.stackDepth);
  std::erase_if(heads, [&](FrameId id) { return frames[id].depth > limit; });
  if (heads.empty())
    failure = resourceExhausted("the text nests deeper than " + std::to_string(limit) + " levels");
  if (frames.size() > kCompactAt)
    frames.compact(heads);
}

bool Matcher::acceptBytes(std::string_view bytes) {
  if (ended || !failure.ok())
    return false;
  bool overflow = false;
  if (!advance(bytes, overflow)) {
    if (overflow)
      failure = tooAmbiguous(grammar->limits);
    return false;
  }
  checkDepth();
  return true;
}

bool Matcher::accept(TokenId id) {
  if (ended || !failure.ok())
    return false;
  if (grammar->vocabulary->isEnd(id))
    return mayEnd() ? ended = true : false;
  std::string_view bytes = grammar->vocabulary->piece(id);
  if (bytes.empty())
    return false;
  bool overflow = false;
  if (advance(bytes, overflow)) {
    checkDepth();
    return true;
  }
  if (!overflow || !inMask(id))
    return false;
  // The mask offered it (each parse alone is small): it counts, and the run ends with the reason.
  failure = tooAmbiguous(grammar->limits);
  return true;
}

} // namespace fusec::grammar
