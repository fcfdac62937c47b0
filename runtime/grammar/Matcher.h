//===- Matcher.h - a machine and a vocabulary as a Constraint --------------===//
//
//   auto grammar = std::make_shared<MachineGrammar>(std::move(machine), vocabulary, limits);
//   std::unique_ptr<Constraint> constraint = grammar->start();
//
// Threading: a MachineGrammar is safe from any thread, a Matcher from one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Constraint.h"
#include "runtime/grammar/MaskCache.h"

#include <memory>

namespace fusec::grammar {

class MachineGrammar final : public CompiledGrammar, public std::enable_shared_from_this<MachineGrammar> {
public:
  MachineGrammar(Machine machine, std::shared_ptr<const Vocabulary> vocabulary, const Limits &limits);

  std::unique_ptr<Constraint> start() const override;
  size_t bytes() const override { return machine.bytesHeld() + cache.bytes(); }

private:
  friend class Matcher;
  const Machine machine;
  const std::shared_ptr<const Vocabulary> vocabulary;
  const Limits limits;
  mutable MaskCache cache;
};

class Matcher final : public Constraint {
public:
  explicit Matcher(std::shared_ptr<const MachineGrammar> grammar);

  void allowed(std::span<uint32_t> mask) override;
  bool accept(TokenId id) override;
  bool finished() const override;
  bool mayEnd() const override;
  Status status() const override { return failure; }
  std::unique_ptr<Constraint> clone() const override { return std::make_unique<Matcher>(*this); }

  /// Appends text bytes that need not be whole tokens. False, and the state is
  /// unchanged, when they don't fit.
  bool acceptBytes(std::string_view bytes);

private:
  bool maskFor(std::vector<uint32_t> &mask);
  bool inMask(TokenId id);
  bool advance(std::string_view bytes, bool &overflow);
  void checkDepth();

  std::shared_ptr<const MachineGrammar> grammar;
  Frames frames;
  StackSet heads;
  bool ended = false;
  Status failure;
};

} // namespace fusec::grammar
