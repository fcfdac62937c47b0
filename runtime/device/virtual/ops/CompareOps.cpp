//===- CompareOps.cpp - setp, set, selp, slct --------------------------------===//

#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

using ptx::Type;

/// Instr::flags: how the comparison is combined with a predicate, and what is written.
enum Combine : uint16_t { combineNone = 0, combineAnd = 1, combineOr = 2, combineXor = 3, combineMask = 3 };
enum Result_ : uint16_t {
  resultPredicate = 0,
  resultOnes = 4,
  resultFloat = 8,
  resultHalf = 12,
  resultBrain = 16,
  resultMask = 28
};

uint32_t combine(Warp &warp, const Instr &instr, uint32_t bits) {
  if ((instr.flags & combineMask) == combineNone)
    return bits;
  uint32_t other = LaneReader<bool>(warp, instr, 2).bits;
  switch (instr.flags & combineMask) {
  case combineAnd:
    return bits & other;
  case combineOr:
    return bits | other;
  default:
    return bits ^ other;
  }
}

void finish(Warp &warp, const Instr &instr, uint32_t bits) {
  uint32_t made = combine(warp, instr, bits);
  auto store = [&](uint32_t slot, uint32_t value) {
    if (slot != noSlot)
      warp.predicate(slot) = (warp.predicate(slot) & ~warp.mask) | (value & warp.mask);
  };
  auto select = [&]<typename T>(T one) {
    writeLanes<T>(warp, instr.dst[0], [=](int lane) { return made >> lane & 1 ? one : T(0); });
  };
  switch (instr.flags & resultMask) {
  case resultPredicate: {
    uint32_t second = instr.dst[1] == noSlot ? 0 : combine(warp, instr, ~bits);
    store(instr.dst[0], made);
    store(instr.dst[1], second);
    return;
  }
  case resultOnes:
    return select(0xffffffffu);
  case resultFloat:
    return select(1.0f);
  case resultHalf:
    return select(uint16_t(0x3c00));
  default:
    return select(uint16_t(0x3f80));
  }
}

template <typename T, auto Compare> void runCompare(Warp &warp, const Instr &instr) {
  LaneReader<T> a(warp, instr, 0), b(warp, instr, 1);
  uint32_t bits = 0;
#pragma clang loop vectorize(enable)
  for (int lane = 0; lane < warpLanes; ++lane)
    bits |= static_cast<uint32_t>(Compare(a[lane], b[lane])) << lane;
  finish(warp, instr, bits);
}

/// Both halves of a pair: two predicates, or 1.0 (all ones, under resultOnes) in each half.
template <typename Two, auto Compare> void runComparePair(Warp &warp, const Instr &instr) {
  LaneReader<Two> a(warp, instr, 0), b(warp, instr, 1);
  uint32_t low = 0, high = 0;
  for (int lane = 0; lane < warpLanes; ++lane) {
    low |= static_cast<uint32_t>(Compare(toFloat(a[lane].low()), toFloat(b[lane].low()))) << lane;
    high |= static_cast<uint32_t>(Compare(toFloat(a[lane].high()), toFloat(b[lane].high()))) << lane;
  }
  const uint16_t result = instr.flags & resultMask;
  if (result == resultPredicate) {
    Instr half = instr;
    half.dst[1] = noSlot;
    finish(warp, half, low);
    half.dst[0] = instr.dst[1];
    return finish(warp, half, high);
  }
  const uint32_t one = result == resultOnes ? 0xffff : result == resultHalf ? 0x3c00 : 0x3f80;
  writeLanes<uint32_t>(warp, instr.dst[0],
                       [=](int lane) { return (low >> lane & 1 ? one : 0) | (high >> lane & 1 ? one << 16 : 0); });
}

struct Row {
  std::string_view compare;
  Handler run;
};

template <typename T, auto Convert> Handler floatHandler(std::string_view compare) {
  static const Row rows[] = {
      {"eq", runCompare<T, [](T a, T b) { return Convert(a) == Convert(b); }>},
      {"ne", runCompare<T, [](T a, T b) { return Convert(a) < Convert(b) || Convert(a) > Convert(b); }>},
      {"lt", runCompare<T, [](T a, T b) { return Convert(a) < Convert(b); }>},
      {"le", runCompare<T, [](T a, T b) { return Convert(a) <= Convert(b); }>},
      {"gt", runCompare<T, [](T a, T b) { return Convert(a) > Convert(b); }>},
      {"ge", runCompare<T, [](T a, T b) { return Convert(a) >= Convert(b); }>},
      {"equ", runCompare<T, [](T a, T b) { return !(Convert(a) < Convert(b) || Convert(a) > Convert(b)); }>},
      {"neu", runCompare<T, [](T a, T b) { return !(Convert(a) == Convert(b)); }>},
      {"ltu", runCompare<T, [](T a, T b) { return !(Convert(a) >= Convert(b)); }>},
      {"leu", runCompare<T, [](T a, T b) { return !(Convert(a) > Convert(b)); }>},
      {"gtu", runCompare<T, [](T a, T b) { return !(Convert(a) <= Convert(b)); }>},
      {"geu", runCompare<T, [](T a, T b) { return !(Convert(a) < Convert(b)); }>},
      {"num", runCompare<T, [](T a, T b) { return Convert(a) == Convert(a) && Convert(b) == Convert(b); }>},
      {"nan", runCompare<T, [](T a, T b) { return Convert(a) != Convert(a) || Convert(b) != Convert(b); }>},
  };
  for (const Row &row : rows)
    if (row.compare == compare)
      return row.run;
  return nullptr;
}

/// Comparisons of a pair's halves as floats.
template <typename Two> Handler pairHandler(std::string_view compare) {
  static const Row rows[] = {
      {"eq", runComparePair<Two, [](float a, float b) { return a == b; }>},
      {"ne", runComparePair<Two, [](float a, float b) { return a < b || a > b; }>},
      {"lt", runComparePair<Two, [](float a, float b) { return a < b; }>},
      {"le", runComparePair<Two, [](float a, float b) { return a <= b; }>},
      {"gt", runComparePair<Two, [](float a, float b) { return a > b; }>},
      {"ge", runComparePair<Two, [](float a, float b) { return a >= b; }>},
      {"equ", runComparePair<Two, [](float a, float b) { return !(a < b || a > b); }>},
      {"neu", runComparePair<Two, [](float a, float b) { return !(a == b); }>},
      {"ltu", runComparePair<Two, [](float a, float b) { return !(a >= b); }>},
      {"leu", runComparePair<Two, [](float a, float b) { return !(a > b); }>},
      {"gtu", runComparePair<Two, [](float a, float b) { return !(a <= b); }>},
      {"geu", runComparePair<Two, [](float a, float b) { return !(a < b); }>},
      {"num", runComparePair<Two, [](float a, float b) { return a == a && b == b; }>},
      {"nan", runComparePair<Two, [](float a, float b) { return a != a || b != b; }>},
  };
  for (const Row &row : rows)
    if (row.compare == compare)
      return row.run;
  return nullptr;
}

template <typename T> Handler integerHandler(std::string_view compare) {
  static const Row rows[] = {
      {"eq", runCompare<T, [](T a, T b) { return a == b; }>}, {"ne", runCompare<T, [](T a, T b) { return a != b; }>},
      {"lt", runCompare<T, [](T a, T b) { return a < b; }>},  {"lo", runCompare<T, [](T a, T b) { return a < b; }>},
      {"le", runCompare<T, [](T a, T b) { return a <= b; }>}, {"ls", runCompare<T, [](T a, T b) { return a <= b; }>},
      {"gt", runCompare<T, [](T a, T b) { return a > b; }>},  {"hi", runCompare<T, [](T a, T b) { return a > b; }>},
      {"ge", runCompare<T, [](T a, T b) { return a >= b; }>}, {"hs", runCompare<T, [](T a, T b) { return a >= b; }>},
  };
  for (const Row &row : rows)
    if (row.compare == compare)
      return row.run;
  return nullptr;
}

Handler handlerFor(Type type, std::string_view compare, bool ftz) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return integerHandler<uint16_t>(compare);
  case Type::S16:
    return integerHandler<int16_t>(compare);
  case Type::B32:
  case Type::U32:
    return integerHandler<uint32_t>(compare);
  case Type::S32:
    return integerHandler<int32_t>(compare);
  case Type::B64:
  case Type::U64:
    return integerHandler<uint64_t>(compare);
  case Type::S64:
    return integerHandler<int64_t>(compare);
  case Type::F32:
    return ftz ? floatHandler<float, [](float x) { return flush(x); }>(compare)
               : floatHandler<float, [](float x) { return x; }>(compare);
  case Type::F64:
    return floatHandler<double, [](double x) { return x; }>(compare);
  case Type::F16:
    return floatHandler<Half, [](Half x) { return toFloat(x); }>(compare);
  case Type::BF16:
    return floatHandler<Brain, [](Brain x) { return toFloat(x); }>(compare);
  case Type::F16x2:
    return pairHandler<Half2>(compare);
  case Type::BF16x2:
    return pairHandler<Brain2>(compare);
  default:
    return nullptr;
  }
}

/// Comparison, boolean operator, .ftz and the type of the operands.
Status decodeComparison(InstructionDecoder &d, Type type) {
  bool ftz = d.take("ftz");
  int boolean = d.takeOne({"and", "or", "xor"});
  if (d.modifiers().empty())
    return d.error("expected a comparison");
  d.out.run = handlerFor(type, d.modifiers().front(), ftz);
  if (d.out.run)
    d.take(d.modifiers().front());
  FUSEC_RETURN_IF_ERROR(d.finish());
  const size_t operands = boolean >= 0 ? 4 : 3;
  FUSEC_RETURN_IF_ERROR(d.expectOperands(operands, operands));
  ValueType value{static_cast<uint8_t>(ptx::byteSize(type)), type == Type::F32 || type == Type::F64};
  FUSEC_RETURN_IF_ERROR(d.source(1, 0, value));
  FUSEC_RETURN_IF_ERROR(d.source(2, 1, value));
  if (boolean < 0)
    return {};
  d.out.flags = static_cast<uint16_t>(d.out.flags | (boolean + 1));
  return d.source(3, 2, {0, false});
}

Status decodeSetp(InstructionDecoder &d) {
  std::optional<Type> type = d.takeType();
  if (!type)
    return d.error("expected a type");
  FUSEC_RETURN_IF_ERROR(decodeComparison(d, *type));
  const ptx::Operand &to = d.operand(0);
  bool pair = to.kind == ptx::Operand::Kind::Pair;
  if (!pair && (*type == Type::F16x2 || *type == Type::BF16x2))
    return d.error("expected two predicates, one for each half");
  FUSEC_ASSIGN_OR_RETURN(d.out.dst[0], d.destinationSlot(pair ? to.parts[0] : to, {0, false}));
  if (pair) {
    FUSEC_ASSIGN_OR_RETURN(d.out.dst[1], d.destinationSlot(to.parts[1], {0, false}));
  }
  return {};
}

/// set.op.dtype.stype
Status decodeSet(InstructionDecoder &d) {
  std::optional<Type> result = d.takeType(), type = d.takeType();
  if (!result || !type)
    return d.error("expected two types");
  switch (*result) {
  case Type::U32:
  case Type::S32:
    d.out.flags = resultOnes;
    break;
  case Type::F32:
    d.out.flags = resultFloat;
    break;
  case Type::F16:
  case Type::F16x2:
    d.out.flags = resultHalf;
    break;
  case Type::BF16:
  case Type::BF16x2:
    d.out.flags = resultBrain;
    break;
  default:
    return d.error("unknown result type");
  }
  const bool halves = *type == Type::F16x2 || *type == Type::BF16x2;
  if (halves != (*result == Type::F16x2 || *result == Type::BF16x2) && !(halves && d.out.flags == resultOnes))
    return d.error("the virtual device does not know these two types together");
  FUSEC_RETURN_IF_ERROR(decodeComparison(d, *type));
  return d.destination(0, 0, {static_cast<uint8_t>(ptx::byteSize(*result)), false});
}

template <typename T> void addSelect(OpcodeTable &table, std::initializer_list<const char *> types) {
  for (std::string type : types) {
    table.lanewise<[](T a, T b, bool p) -> T { return p ? a : b; }>("selp." + type);
    table.lanewise<[](T a, T b, int32_t c) -> T { return c >= 0 ? a : b; }>("slct." + type + ".s32");
    table.lanewise<[](T a, T b, float c) -> T { return c >= 0 ? a : b; }>("slct." + type + ".f32");
  }
}

} // namespace

void addCompareOps(OpcodeTable &table) {
  table.root("setp", decodeSetp);
  table.root("set", decodeSet);
  addSelect<uint16_t>(table, {"b16", "u16", "s16"});
  addSelect<uint32_t>(table, {"b32", "u32", "s32"});
  addSelect<float>(table, {"f32"});
  addSelect<uint64_t>(table, {"b64", "u64", "s64"});
  addSelect<double>(table, {"f64"});
}

} // namespace fusec::virtualgpu
