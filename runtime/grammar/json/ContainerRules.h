//===- ContainerRules.h - arrays and objects as rules ----------------------===//
//
// Items and properties are calls of their values' rules. Properties may come in
// any order: the bits of Registers::seen say which declared ones are there, and
// a key is offered only while it, or one that begins like it, may still come.
//
//   ContainerRules(compiler, rule).writeArray(set);
//
// Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/json/SchemaCompiler.h"

namespace fusec::grammar::json {

class ContainerRules {
public:
  ContainerRules(SchemaCompiler &c, RuleId r) : compiler(c), builder(c.builder), rule(r) {}

  void writeArray(const ArraySet &set);
  void writeObject(const ObjectSet &set, KeyAutomaton &keys);

private:
  /// `bracket`, then whitespace.
  StateId opened(StateId from, char bracket, OpId op = 0);
  /// Calls the rule of `terms`, then takes whitespace; ends in `to`.
  void value(StateId from, const Conjunction &terms, StateId to, OpId op = 0);
  bool inhabited(const Conjunction &terms) { return compiler.valueOf(terms).inhabited; }
  void close(StateId from, char bracket, OpId op = 0);
  void writeRest(const ArraySet &set, uint32_t fixed, StateId from);
  void writeKeys(const ObjectSet &set, const KeyAutomaton &keys, StateId key, StateId afterValue);
  void endKey(const ObjectSet &set, const KeyLabel &label, StateId from, StateId &after, StateId afterValue);
  Op keyOp(const ObjectSet &set, OpKind kind, uint64_t keys, bool others) const;
  OpId openOp(const ObjectSet &set, uint64_t keys, bool others);

  SchemaCompiler &compiler;
  MachineBuilder &builder;
  RuleId rule;
  StateId end = 0;
  uint64_t required = 0; ///< Bits of the required properties.
};

} // namespace fusec::grammar::json
