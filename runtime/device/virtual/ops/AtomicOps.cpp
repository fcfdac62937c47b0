//===- AtomicOps.cpp - atom and red ------------------------------------------===//
//
// Lanes act one after the other in lane order; each is atomic for the other host
// threads too, which may run other blocks.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/exec/MemoryAccess.h"
#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/MemoryOps.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

template <size_t Bytes> struct Bits;
template <> struct Bits<2> {
  using Type = uint16_t;
};
template <> struct Bits<4> {
  using Type = uint32_t;
};
template <> struct Bits<8> {
  using Type = uint64_t;
};

/// Op(old, b, c) is stored; the old value goes to the destination, if any.
template <typename T, auto Op> void runAtomic(Warp &warp, const Instr &instr) {
  using U = typename Bits<sizeof(T)>::Type;
  LaneAccess access(warp.mask);
  access.address(warp, instr, 0);
  if (!access.resolve(warp, static_cast<ptx::Space>(instr.space), sizeof(T), static_cast<AccessKind>(instr.flags)))
    return;
  const U *b = warp.lanes<U>(instr.src[1]), *c = instr.src[2] == noSlot ? b : warp.lanes<U>(instr.src[2]);
  alignas(64) U before[warpLanes];
  for (uint32_t m = access.mask; m; m &= m - 1) {
    int lane = std::countr_zero(m);
    U *word = reinterpret_cast<U *>(access.host[lane]);
    U old = __atomic_load_n(word, __ATOMIC_SEQ_CST), made;
    do
      made = std::bit_cast<U>(Op(std::bit_cast<T>(old), std::bit_cast<T>(b[lane]), std::bit_cast<T>(c[lane])));
    while (!__atomic_compare_exchange_n(word, &old, made, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    before[lane] = old;
  }
  if (instr.dst[0] != noSlot)
    for (uint32_t m = access.mask; m; m &= m - 1)
      warp.lanes<U>(instr.dst[0])[std::countr_zero(m)] = before[std::countr_zero(m)];
}

struct Row {
  std::string_view op;
  ptx::Type type;
  Handler run;
  int operands; ///< After the address.
};

using ptx::Type;

template <typename U> constexpr auto exchange = [](U, U b, U) { return b; };
template <typename U> constexpr auto compareSwap = [](U a, U b, U c) { return a == b ? c : a; };
template <typename U> constexpr auto bitAnd = [](U a, U b, U) -> U { return a & b; };
template <typename U> constexpr auto bitOr = [](U a, U b, U) -> U { return a | b; };
template <typename U> constexpr auto bitXor = [](U a, U b, U) -> U { return a ^ b; };
template <typename T> constexpr auto plus = [](T a, T b, T) -> T { return a + b; };
template <typename T> constexpr auto least = [](T a, T b, T) -> T { return b < a ? b : a; };
template <typename T> constexpr auto most = [](T a, T b, T) -> T { return a < b ? b : a; };
constexpr auto increment = [](uint32_t a, uint32_t b, uint32_t) { return a >= b ? 0 : a + 1; };
constexpr auto decrement = [](uint32_t a, uint32_t b, uint32_t) { return a == 0 || a > b ? b : a - 1; };
constexpr auto addHalf = [](Half a, Half b, Half) { return toHalf(toFloat(a) + toFloat(b)); };
constexpr auto addBrain = [](Brain a, Brain b, Brain) { return toBrain(toFloat(a) + toFloat(b)); };
constexpr auto addHalves = [](Half2 a, Half2 b, Half2) {
  return Half2::pack(toHalf(toFloat(a.low()) + toFloat(b.low())), toHalf(toFloat(a.high()) + toFloat(b.high())));
};
constexpr auto addBrains = [](Brain2 a, Brain2 b, Brain2) {
  return Brain2::pack(toBrain(toFloat(a.low()) + toFloat(b.low())), toBrain(toFloat(a.high()) + toFloat(b.high())));
};

constexpr Row rows[] = {
    {"and", Type::B32, runAtomic<uint32_t, bitAnd<uint32_t>>, 1},
    {"or", Type::B32, runAtomic<uint32_t, bitOr<uint32_t>>, 1},
    {"xor", Type::B32, runAtomic<uint32_t, bitXor<uint32_t>>, 1},
    {"exch", Type::B32, runAtomic<uint32_t, exchange<uint32_t>>, 1},
    {"cas", Type::B32, runAtomic<uint32_t, compareSwap<uint32_t>>, 2},
    {"and", Type::B64, runAtomic<uint64_t, bitAnd<uint64_t>>, 1},
    {"or", Type::B64, runAtomic<uint64_t, bitOr<uint64_t>>, 1},
    {"xor", Type::B64, runAtomic<uint64_t, bitXor<uint64_t>>, 1},
    {"exch", Type::B64, runAtomic<uint64_t, exchange<uint64_t>>, 1},
    {"cas", Type::B64, runAtomic<uint64_t, compareSwap<uint64_t>>, 2},
    {"cas", Type::B16, runAtomic<uint16_t, compareSwap<uint16_t>>, 2},
    {"add", Type::U32, runAtomic<uint32_t, plus<uint32_t>>, 1},
    {"add", Type::S32, runAtomic<uint32_t, plus<uint32_t>>, 1},
    {"add", Type::U64, runAtomic<uint64_t, plus<uint64_t>>, 1},
    {"add", Type::S64, runAtomic<uint64_t, plus<uint64_t>>, 1},
    {"add", Type::F32, runAtomic<float, plus<float>>, 1},
    {"add", Type::F64, runAtomic<double, plus<double>>, 1},
    {"add", Type::F16, runAtomic<Half, addHalf>, 1},
    {"add", Type::BF16, runAtomic<Brain, addBrain>, 1},
    {"add", Type::F16x2, runAtomic<Half2, addHalves>, 1},
    {"add", Type::BF16x2, runAtomic<Brain2, addBrains>, 1},
    {"inc", Type::U32, runAtomic<uint32_t, increment>, 1},
    {"dec", Type::U32, runAtomic<uint32_t, decrement>, 1},
    {"min", Type::U32, runAtomic<uint32_t, least<uint32_t>>, 1},
    {"max", Type::U32, runAtomic<uint32_t, most<uint32_t>>, 1},
    {"min", Type::S32, runAtomic<int32_t, least<int32_t>>, 1},
    {"max", Type::S32, runAtomic<int32_t, most<int32_t>>, 1},
    {"min", Type::U64, runAtomic<uint64_t, least<uint64_t>>, 1},
    {"max", Type::U64, runAtomic<uint64_t, most<uint64_t>>, 1},
    {"min", Type::S64, runAtomic<int64_t, least<int64_t>>, 1},
    {"max", Type::S64, runAtomic<int64_t, most<int64_t>>, 1},
};

Status decodeAtomic(InstructionDecoder &d, size_t first) {
  ptx::Space space = takeSpace(d);
  const bool release = takeMemoryHints(d) == Strength::Release;
  std::optional<ptx::Type> type = d.takeType();
  const Row *found = nullptr;
  for (const Row &row : rows)
    if (type == row.type && !d.modifiers().empty() && d.modifiers().front() == row.op)
      found = &row;
  if (!found)
    return d.error("the virtual device does not know this atomic operation and type");
  d.take(found->op);
  FUSEC_RETURN_IF_ERROR(d.finish());
  const size_t operands = first + 1 + static_cast<size_t>(found->operands);
  FUSEC_RETURN_IF_ERROR(d.expectOperands(operands, operands));
  ValueType value{static_cast<uint8_t>(ptx::byteSize(*type)), *type == Type::F32 || *type == Type::F64};
  if (first == 1)
    FUSEC_RETURN_IF_ERROR(d.destination(0, 0, value));
  FUSEC_RETURN_IF_ERROR(d.address(first, 0));
  for (int i = 0; i < found->operands; ++i)
    FUSEC_RETURN_IF_ERROR(d.source(first + 1 + static_cast<size_t>(i), i + 1, value));
  d.out.space = static_cast<uint8_t>(space);
  d.out.flags = static_cast<uint16_t>(release ? AccessKind::AtomicRelease : AccessKind::Atomic);
  d.out.run = found->run;
  return {};
}

} // namespace

void addAtomicOps(OpcodeTable &table) {
  table.root("atom", [](InstructionDecoder &d) { return decodeAtomic(d, 1); });
  table.root("red", [](InstructionDecoder &d) { return decodeAtomic(d, 0); });
}

} // namespace fusec::virtualgpu
