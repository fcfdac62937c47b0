//===- Ast.h - PTX as the parser leaves it -----------------------------------===//
//
// A module is variables and functions; a function is registers, variables,
// labels and instructions, still by name. Decoding (exec/Decoder.h) turns a
// function into handlers and register offsets.
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/ptx/Type.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fusec::virtualgpu::ptx {

/// A line of a CUDA source file, from `.loc`; file 0 is unknown.
struct SourceLine {
  int file = 0;
  int line = 0;
  bool operator==(const SourceLine &) const = default;
};

struct Operand {
  enum class Kind {
    Name,    ///< A register, variable, label or function; `name`.
    Integer, ///< `integer`; `negative` spellings are folded.
    Float,   ///< `floating`: 0f... (exact as double), 0d..., or decimal.
    Vector,  ///< {a, b, ...}: `parts`.
    Memory,  ///< [base + integer], parts = tensor coordinates or further operands.
    List,    ///< (a, b): call parameters.
    Pair,    ///< a|b: `parts` of two.
    Sink,    ///< `_`
  };
  Kind kind = Kind::Sink;
  bool inverted = false; ///< `!p`
  bool negated = false;  ///< `-r`
  std::string name;
  int64_t integer = 0;
  double floating = 0;
  bool doubleBits = false; ///< Float written as 0d...
  std::vector<Operand> parts;
};

struct Instruction {
  std::string opcode; ///< With modifiers: "fma.rn.f32".
  std::string guard;  ///< Predicate register, or empty.
  bool guardInverted = false;
  std::vector<Operand> operands;
  int line = 0; ///< Of the PTX text.
  SourceLine source;
  int scope = 0;          ///< Index of Function::scopes.
  uint32_t usedBytes = 0; ///< Of a load: its low bytes that are used (.pragma "used_bytes_mask"); 0: all.
};

/// .reg, in one scope; `count` > 0 declares name0 ... name(count-1).
struct RegisterDeclaration {
  std::string name;
  Type type;
  int count = 0;
};

enum class Space { Generic, Global, Shared, Local, Const, Param };

struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::B8;
  int64_t alignment = 1;
  int64_t elements = 1; ///< 0 for `extern .shared x[]`: the dynamic shared memory.
  bool isExtern = false;
  int line = 0;
  std::vector<uint8_t> initial; ///< Empty: zeros for .global and .const.
  struct Reference {
    int64_t offset;
    std::string symbol;
    int64_t addend;
  };
  std::vector<Reference> references; ///< Addresses of other variables in `initial`.
  int64_t bytes() const { return elements * byteSize(type); }
};

/// { } of a body: names declared inside hide those outside.
struct Scope {
  int parent = -1;
  std::vector<RegisterDeclaration> registers;
  std::vector<Variable> variables;                               ///< .local, .shared and .param of this scope.
  std::map<std::string, size_t> labels;                          ///< Index of the instruction that follows.
  std::map<std::string, std::vector<std::string>> branchTargets; ///< Tables of brx.idx.
};

struct Function {
  std::string name;
  bool isEntry = false;
  bool isDeclaration = false; ///< No body.
  std::vector<Variable> parameters;
  std::vector<Variable> results;      ///< Of .func.
  int maxThreads[3] = {0, 0, 0};      ///< .maxntid; 0 = none.
  int requiredThreads[3] = {0, 0, 0}; ///< .reqntid
  int minBlocks = 0;                  ///< .minnctapersm
  std::vector<Scope> scopes;          ///< scopes[0] is the body.
  std::vector<Instruction> instructions;
  int line = 0;
};

struct Module {
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::map<int, std::string> files; ///< .file
};

} // namespace fusec::virtualgpu::ptx
