//===- Program.h - a decoded kernel ------------------------------------------===//
//
// Every instruction is a handler and byte offsets into a warp's register file,
// in which a register is 32 lanes side by side (a predicate is one 32-bit mask).
// Immediates, addresses of variables and special registers have slots of that
// file too, filled once per warp and never written.
//
// Threading: immutable after decoding; shared by all warps.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/ptx/Ast.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fusec::virtualgpu {

class Warp;
struct Instr;
using Handler = void (*)(Warp &, const Instr &);

constexpr int warpLanes = 32;
constexpr uint32_t fullMask = 0xffffffffu;
/// "No register": offset of a sink operand, an absent guard or source.
constexpr uint32_t noSlot = 0xffffffffu;

struct Instr {
  Handler run = nullptr;
  uint32_t guard = noSlot; ///< Predicate slot.
  bool guardInverted = false;
  uint8_t inverted = 0; ///< Bit i: source i is a predicate read through `!`.
  uint8_t space = 0;    ///< ptx::Space of a memory access.
  uint8_t width = 0;    ///< Register bytes where they differ from the type's; handler's own meaning.
  uint32_t dst[2] = {noSlot, noSlot};
  uint32_t src[4] = {noSlot, noSlot, noSlot, noSlot};
  uint32_t list = 0; ///< First of `count` slots in Program::lists.
  uint16_t count = 0;
  uint16_t flags = 0;    ///< The handler's own meaning.
  uint8_t usedBytes = 0; ///< Of a load: its low bytes that are used; 0: all.
  int64_t immediate = 0; ///< Address offset, branch target, ...
};

/// Where an instruction comes from and how it was written.
struct InstrOrigin {
  int line = 0; ///< Of the PTX text.
  ptx::SourceLine source;
  std::string opcode;
};

/// Special registers whose value is fixed when a warp starts.
enum class Special {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicSharedBytes,
  TotalSharedBytes,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtaRank,
  ClusterNctaRank,
  IsExplicitCluster,
};

struct Program {
  std::string name;
  std::vector<Instr> code;
  std::vector<InstrOrigin> origins; ///< One per instruction.
  std::vector<uint32_t> lists;      ///< Register offsets of vector operands, branch tables.

  /// The register file: registers from 0, then constants and special registers.
  uint32_t registerBytes = 0;
  struct Constant {
    uint32_t slot;
    uint8_t bytes; ///< 2, 4, 8; 0 = predicate mask.
    uint64_t bits;
  };
  std::vector<Constant> constants;
  struct SpecialSlot {
    uint32_t slot;
    uint8_t bytes;
    Special which;
  };
  std::vector<SpecialSlot> specials;

  struct ParameterSlot {
    uint32_t slot;
    uint8_t bytes;
    int64_t offset; ///< In the parameter block.
  };
  std::vector<ParameterSlot> parameterSlots; ///< Filled once per launch and warp.

  struct SharedVariable {
    std::string name;
    int64_t offset, bytes;
  };
  std::vector<SharedVariable> sharedVariables; ///< Static ones, in address order.
  int64_t staticSharedBytes = 0;               ///< Dynamic shared memory starts here, aligned to 128.
  bool usesDynamicShared = false;
  int64_t localBytes = 0; ///< Per thread.

  struct Parameter {
    std::string name;
    int64_t offset, bytes;
  };
  std::vector<Parameter> parameters;
  int64_t parameterBytes = 0;

  int maxThreads = 0;      ///< .maxntid product; 0 = none.
  int requiredThreads = 0; ///< .reqntid product; 0 = none.
  std::shared_ptr<const std::map<int, std::string>> files;

  /// "file.cu:12" of an instruction, or empty.
  std::string sourceText(size_t instruction) const {
    const ptx::SourceLine &at = origins[instruction].source;
    if (!at.line || !files || !files->count(at.file))
      return {};
    return files->at(at.file) + ":" + std::to_string(at.line);
  }
};

} // namespace fusec::virtualgpu
