//===- MatrixOps.cpp - ldmatrix, stmatrix, movmatrix, mma.sync --------------------------===//
//
// Fragment layouts are those of the PTX ISA ("Matrix fragments for mma.m16n8k*").
// With g = lane / 4, t = lane % 4 and e elements in a 32-bit register:
//   A, register r: row g + 8 * (r % 2), columns t * e + (r / 2) * 4e ...
//   B, register r: column g,            rows    t * e +  r      * 4e ...
//   C, element  i: row g + 8 * (i / 2), column  t * 2 + i % 2
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/exec/MemoryAccess.h"
#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/Fp8Formats.h"
#include "runtime/device/virtual/ops/MemoryOps.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <cstring>

namespace fusec::virtualgpu {
namespace {

using ptx::Type;

/// Warp-wide instructions need all 32 lanes.
bool wholeWarp(Warp &warp) {
  if (!warp.converged(warp.alive))
    return false;
  if (warp.mask == fullMask)
    return true;
  warp.fault(FaultKind::Divergence, "needs all 32 lanes, but only " + Warp::describeLanes(warp.mask) + " execute it");
  return false;
}

// --- ldmatrix ------------------------------------------------------------------------

/// Row r of matrix i is the 16 bytes at the address of lane 8 i + r.
template <bool Transposed> void runLdmatrix(Warp &warp, const Instr &instr) {
  if (!wholeWarp(warp))
    return;
  const uint32_t matrices = instr.count;
  LaneAccess access(matrices == 4 ? fullMask : (1u << 8 * matrices) - 1);
  access.address(warp, instr, 0);
  if (!access.resolve(warp, static_cast<ptx::Space>(instr.space), 16, AccessKind::Read))
    return;
  for (uint32_t i = 0; i < matrices; ++i) {
    uint16_t rows[8][8];
    for (uint32_t r = 0; r < 8; ++r)
      std::memcpy(rows[r], access.host[8 * i + r], 16);
    uint32_t *to = warp.lanes<uint32_t>(warp.program.lists[instr.list + i]);
    for (uint32_t lane = 0; lane < warpLanes; ++lane) {
      uint32_t g = lane / 4, t = lane % 4;
      uint16_t low = Transposed ? rows[2 * t][g] : rows[g][2 * t];
      uint16_t high = Transposed ? rows[2 * t + 1][g] : rows[g][2 * t + 1];
      to[lane] = low | uint32_t(high) << 16;
    }
  }
}

template <bool Transposed> void runStmatrix(Warp &warp, const Instr &instr) {
  if (!wholeWarp(warp))
    return;
  const uint32_t matrices = instr.count;
  LaneAccess access(matrices == 4 ? fullMask : (1u << 8 * matrices) - 1);
  access.address(warp, instr, 0);
  if (!access.resolve(warp, static_cast<ptx::Space>(instr.space), 16, AccessKind::Write))
    return;
  for (uint32_t i = 0; i < matrices; ++i) {
    uint16_t rows[8][8];
    const uint32_t *from = warp.lanes<uint32_t>(warp.program.lists[instr.list + i]);
    for (uint32_t lane = 0; lane < warpLanes; ++lane) {
      uint32_t g = lane / 4, t = lane % 4;
      (Transposed ? rows[2 * t][g] : rows[g][2 * t]) = static_cast<uint16_t>(from[lane]);
      (Transposed ? rows[2 * t + 1][g] : rows[g][2 * t + 1]) = static_cast<uint16_t>(from[lane] >> 16);
    }
    for (uint32_t r = 0; r < 8; ++r)
      std::memcpy(access.host[8 * i + r], rows[r], 16);
  }
}

template <bool IsLoad> Status decodeMatrixMove(InstructionDecoder &d) {
  d.out.space = static_cast<uint8_t>(takeSpace(d));
  const bool transposed = d.take("trans");
  const int size = d.takeOne({"x1", "x2", "x4"});
  if (!d.take("m8n8") || !d.take("b16") || size < 0)
    return d.error("expected .m8n8, .x1 .x2 or .x4, and .b16");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  FUSEC_RETURN_IF_ERROR(d.registerList(IsLoad ? 0 : 1, {4, false}, !IsLoad));
  if (d.out.count != 1u << size)
    return d.error("the number of registers is not that of the matrices");
  for (uint32_t i = 0; i < d.out.count; ++i)
    if (d.listEntry(i) == noSlot)
      return d.error("'_' as a matrix");
  d.out.run = IsLoad ? (transposed ? runLdmatrix<true> : runLdmatrix<false>)
                     : (transposed ? runStmatrix<true> : runStmatrix<false>);
  return d.address(IsLoad ? 1 : 0, 0);
}

/// An 8 x 8 matrix in one register per lane, rows and columns exchanged.
void runMovmatrix(Warp &warp, const Instr &instr) {
  if (!wholeWarp(warp))
    return;
  uint32_t from[warpLanes];
  std::memcpy(from, warp.lanes<uint32_t>(instr.src[0]), sizeof from);
  uint32_t *to = warp.lanes<uint32_t>(instr.dst[0]);
  for (uint32_t lane = 0; lane < warpLanes; ++lane) {
    uint32_t g = lane / 4, t = lane % 4;
    auto element = [&](uint32_t row) { return from[4 * row + g / 2] >> 16 * (g % 2) & 0xffff; };
    to[lane] = element(2 * t) | element(2 * t + 1) << 16;
  }
}

Status decodeMovmatrix(InstructionDecoder &d) {
  if (!d.take("m8n8") || !d.take("trans") || !d.take("b16"))
    return d.error("expected .m8n8.trans.b16");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  d.out.run = runMovmatrix;
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {4, false}));
  return d.source(1, 0, {4, false});
}

// --- mma -----------------------------------------------------------------------------

/// Element j of a 32-bit register, as a float.
struct HalfElement {
  static constexpr int perRegister = 2;
  static float get(uint32_t r, int j) { return toFloat(Half{static_cast<uint16_t>(r >> 16 * j)}); }
};
struct BrainElement {
  static constexpr int perRegister = 2;
  static float get(uint32_t r, int j) { return toFloat(Brain{static_cast<uint16_t>(r >> 16 * j)}); }
};
/// The hardware ignores the low 13 bits.
struct Tf32Element {
  static constexpr int perRegister = 1;
  static float get(uint32_t r, int) { return std::bit_cast<float>(r & ~0x1fffu); }
};
struct S8Element {
  static constexpr int perRegister = 4;
  static int32_t get(uint32_t r, int j) { return static_cast<int8_t>(r >> 8 * j); }
};
struct U8Element {
  static constexpr int perRegister = 4;
  static int32_t get(uint32_t r, int j) { return static_cast<uint8_t>(r >> 8 * j); }
};

template <typename F> struct Fp8Element {
  static constexpr int perRegister = 4;
  static float get(uint32_t r, int j) { return decodeFp8<F>(static_cast<uint8_t>(r >> 8 * j)); }
};

constexpr int tileRows = 16, tileColumns = 8;

/// Program::lists of mma: 4 slots of D, then A, B, C. f16 accumulators use 2 slots of 4.
struct MmaSlots {
  const uint32_t *d, *a, *b, *c;
};
MmaSlots slotsOf(Warp &warp, const Instr &instr, int aRegisters, int bRegisters) {
  const uint32_t *list = warp.program.lists.data() + instr.list;
  return {list, list + 4, list + 4 + aRegisters, list + 4 + aRegisters + bRegisters};
}

template <typename S> struct Accumulators {
  S c[tileRows][tileColumns];

  void read(Warp &warp, const uint32_t *slots, bool packed) {
    for (int i = 0; i < 4; ++i)
      for (int lane = 0; lane < warpLanes; ++lane)
        c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2] =
            packed ? static_cast<S>(toFloat(Half{warp.lanes<uint16_t>(slots[i / 2])[2 * lane + i % 2]}))
                   : warp.lanes<S>(slots[i])[lane];
  }
  void write(Warp &warp, const uint32_t *slots, bool packed) {
    for (int i = 0; i < 4; ++i)
      for (int lane = 0; lane < warpLanes; ++lane) {
        S value = c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2];
        if (packed)
          warp.lanes<uint16_t>(slots[i / 2])[2 * lane + i % 2] = toHalf(static_cast<float>(value)).bits;
        else
          warp.lanes<S>(slots[i])[lane] = value;
      }
  }
};

/// D = A B + C with the products of one k after the other; `ARegisters` 2 or 4 fixes K.
template <typename EA, typename EB, typename S, int ARegisters, bool PackedC, bool PackedD>
void runMma(Warp &warp, const Instr &instr) {
  if (!wholeWarp(warp))
    return;
  constexpr int e = EA::perRegister, bRegisters = ARegisters / 2, K = 4 * e * bRegisters;
  MmaSlots slots = slotsOf(warp, instr, ARegisters, bRegisters);
  S a[tileRows][K], b[K][tileColumns];
  for (int r = 0; r < ARegisters; ++r)
    for (int lane = 0; lane < warpLanes; ++lane)
      for (int j = 0; j < e; ++j)
        a[lane / 4 + 8 * (r % 2)][lane % 4 * e + j + r / 2 * 4 * e] =
            static_cast<S>(EA::get(warp.lanes<uint32_t>(slots.a[r])[lane], j));
  for (int r = 0; r < bRegisters; ++r)
    for (int lane = 0; lane < warpLanes; ++lane)
      for (int j = 0; j < e; ++j)
        b[lane % 4 * e + j + r * 4 * e][lane / 4] = static_cast<S>(EB::get(warp.lanes<uint32_t>(slots.b[r])[lane], j));
  Accumulators<S> sums;
  sums.read(warp, slots.c, PackedC);
  for (int m = 0; m < tileRows; ++m)
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < tileColumns; ++n)
        if constexpr (std::is_floating_point_v<S>)
          sums.c[m][n] = __builtin_fmaf(a[m][k], b[k][n], sums.c[m][n]);
        else
          sums.c[m][n] = static_cast<S>(static_cast<uint32_t>(sums.c[m][n]) + static_cast<uint32_t>(a[m][k] * b[k][n]));
  sums.write(warp, slots.d, PackedD);
  ++warp.counters().mma;
}

struct MmaRow {
  std::string_view shape;
  Type d, a, b, c;
  int aRegisters;
  Handler run;
};

template <typename E, int R> constexpr Handler floatMma = runMma<E, E, float, R, false, false>;

constexpr MmaRow mmaRows[] = {
    {"m16n8k16", Type::F32, Type::F16, Type::F16, Type::F32, 4, floatMma<HalfElement, 4>},
    {"m16n8k16", Type::F32, Type::BF16, Type::BF16, Type::F32, 4, floatMma<BrainElement, 4>},
    {"m16n8k16", Type::F16, Type::F16, Type::F16, Type::F16, 4, runMma<HalfElement, HalfElement, float, 4, true, true>},
    {"m16n8k16", Type::F16, Type::F16, Type::F16, Type::F32, 4,
     runMma<HalfElement, HalfElement, float, 4, false, true>},
    {"m16n8k16", Type::F32, Type::F16, Type::F16, Type::F16, 4,
     runMma<HalfElement, HalfElement, float, 4, true, false>},
    {"m16n8k8", Type::F32, Type::F16, Type::F16, Type::F32, 2, floatMma<HalfElement, 2>},
    {"m16n8k8", Type::F32, Type::BF16, Type::BF16, Type::F32, 2, floatMma<BrainElement, 2>},
    {"m16n8k8", Type::F16, Type::F16, Type::F16, Type::F16, 2, runMma<HalfElement, HalfElement, float, 2, true, true>},
    {"m16n8k8", Type::F32, Type::TF32, Type::TF32, Type::F32, 4, floatMma<Tf32Element, 4>},
    {"m16n8k4", Type::F32, Type::TF32, Type::TF32, Type::F32, 2, floatMma<Tf32Element, 2>},
    {"m16n8k32", Type::F32, Type::E4M3, Type::E4M3, Type::F32, 4, floatMma<Fp8Element<E4M3>, 4>},
    {"m16n8k32", Type::F32, Type::E5M2, Type::E5M2, Type::F32, 4, floatMma<Fp8Element<E5M2>, 4>},
    {"m16n8k32", Type::S32, Type::S8, Type::S8, Type::S32, 4, runMma<S8Element, S8Element, int32_t, 4, false, false>},
    {"m16n8k32", Type::S32, Type::U8, Type::U8, Type::S32, 4, runMma<U8Element, U8Element, int32_t, 4, false, false>},
    {"m16n8k32", Type::S32, Type::U8, Type::S8, Type::S32, 4, runMma<U8Element, S8Element, int32_t, 4, false, false>},
    {"m16n8k32", Type::S32, Type::S8, Type::U8, Type::S32, 4, runMma<S8Element, U8Element, int32_t, 4, false, false>},
    {"m16n8k16", Type::S32, Type::S8, Type::S8, Type::S32, 2, runMma<S8Element, S8Element, int32_t, 2, false, false>},
    {"m16n8k16", Type::S32, Type::U8, Type::U8, Type::S32, 2, runMma<U8Element, U8Element, int32_t, 2, false, false>},
};

/// Registers of one operand, appended to `slots`.
Status appendFragment(InstructionDecoder &d, size_t operand, size_t registers, ValueType type, bool isSource,
                      std::vector<uint32_t> &slots) {
  const ptx::Operand &fragment = d.operand(operand);
  if (fragment.kind != ptx::Operand::Kind::Vector || fragment.parts.size() != registers)
    return d.error("operand " + std::to_string(operand + 1) + " must have " + std::to_string(registers) + " registers");
  for (const ptx::Operand &part : fragment.parts) {
    FUSEC_ASSIGN_OR_RETURN(uint32_t slot, isSource ? d.sourceSlot(part, type) : d.destinationSlot(part, type));
    if (slot == noSlot)
      return d.error("'_' in a fragment");
    slots.push_back(slot);
  }
  return {};
}

Status decodeMma(InstructionDecoder &d) {
  std::string_view shape;
  for (std::string_view word : d.modifiers())
    if (word.starts_with("m") && word.find('n') != std::string_view::npos)
      shape = word;
  std::optional<Type> types[4];
  for (std::optional<Type> &type : types)
    type = d.takeType();
  const MmaRow *found = nullptr;
  for (const MmaRow &row : mmaRows)
    if (row.shape == shape && types[0] == row.d && types[1] == row.a && types[2] == row.b && types[3] == row.c)
      found = &row;
  if (!found || !d.take("row") || !d.take("col"))
    return d.error("the virtual device does not know this shape and these types");
  d.take(shape);
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(4, 4));
  const size_t a = static_cast<size_t>(found->aRegisters);
  const bool isFloat = found->d != Type::S32;
  std::vector<uint32_t> slots;
  FUSEC_RETURN_IF_ERROR(appendFragment(d, 0, found->d == Type::F16 ? 2 : 4, {4, isFloat}, false, slots));
  slots.resize(4, noSlot);
  FUSEC_RETURN_IF_ERROR(appendFragment(d, 1, a, {4, false}, true, slots));
  FUSEC_RETURN_IF_ERROR(appendFragment(d, 2, a / 2, {4, false}, true, slots));
  FUSEC_RETURN_IF_ERROR(appendFragment(d, 3, found->c == Type::F16 ? 2 : 4, {4, found->c == Type::F32}, true, slots));
  d.out.list = d.addList(slots);
  d.out.run = found->run;
  return {};
}

} // namespace

void addMatrixOps(OpcodeTable &table) {
  table.root("ldmatrix.sync.aligned", decodeMatrixMove<true>);
  table.root("stmatrix.sync.aligned", decodeMatrixMove<false>);
  table.root("movmatrix.sync.aligned", decodeMovmatrix);
  table.root("mma.sync.aligned", decodeMma);
}

} // namespace fusec::virtualgpu
