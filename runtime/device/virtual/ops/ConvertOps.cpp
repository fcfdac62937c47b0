//===- ConvertOps.cpp - cvt --------------------------------------------------===//
//
// Registers may be wider than the type on both sides: lanes are read with the
// register's stride, and results are extended by their sign.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <limits>

namespace fusec::virtualgpu {
namespace {

using ptx::Type;

enum class Mode : uint8_t { None, NearestEven, Zero, Down, Up, IntNearest, IntZero, IntDown, IntUp };

/// Instr::flags: mode, then these; Instr::width: bytes of source and destination register.
enum Flag : uint16_t { modeMask = 15, saturates = 16, flushes = 32, relu = 64 };

template <typename T>
constexpr bool isFloating = std::is_same_v<T, Half> || std::is_same_v<T, Brain> || std::is_floating_point_v<T>;

template <typename S> double widen(S v) {
  if constexpr (std::is_same_v<S, Half> || std::is_same_v<S, Brain>)
    return toFloat(v);
  else
    return static_cast<double>(v);
}

template <Mode M> double toWhole(double x) {
  if constexpr (M == Mode::IntNearest)
    return std::nearbyint(x);
  else if constexpr (M == Mode::IntZero)
    return std::trunc(x);
  else if constexpr (M == Mode::IntDown)
    return std::floor(x);
  else if constexpr (M == Mode::IntUp)
    return std::ceil(x);
  else
    return x;
}

/// Out of range goes to the nearest end; NaN to 0.
template <typename D> D clampToInteger(double x) {
  using L = std::numeric_limits<D>;
  constexpr double low = static_cast<double>(L::min()), high = static_cast<double>(L::max());
  if (x != x)
    return 0;
  return x <= low ? L::min() : x >= high ? L::max() : static_cast<D>(x);
}

/// `x` is exact. A float result is rounded once.
template <typename D, Mode M> D narrow(double x, bool saturate) {
  if (saturate)
    x = saturateUnit(x);
  constexpr Rounding R = M == Mode::Zero   ? Rounding::Zero
                         : M == Mode::Down ? Rounding::Down
                         : M == Mode::Up   ? Rounding::Up
                                           : Rounding::NearestEven;
  if constexpr (std::is_same_v<D, double>)
    return x;
  else if constexpr (std::is_same_v<D, float>)
    return roundToFloat<R>(x);
  else if constexpr (std::is_same_v<D, Half>) {
    Half h = toHalf(toFloatOdd(x));
    if (M == Mode::Zero && std::fabs(toFloat(h)) > std::fabs(x))
      --h.bits;
    return h;
  } else {
    float f = toFloatOdd(x);
    if (M == Mode::Zero && x == x)
      return {static_cast<uint16_t>(std::bit_cast<uint32_t>(f) >> 16)};
    return toBrain(f);
  }
}

template <typename D, typename S> D clampInteger(S v) {
  using L = std::numeric_limits<D>;
  __int128 wide = v;
  return wide < L::min() ? L::min() : wide > L::max() ? L::max() : static_cast<D>(v);
}

template <typename D, typename S, Mode M> D convert(S v, uint16_t flags) {
  if constexpr (isFloating<S> && isFloating<D>) {
    double x = widen(v);
    if (flags & flushes)
      x = flush(static_cast<float>(x));
    D made = narrow<D, M>(toWhole<M>(x), flags & saturates);
    if constexpr (std::is_same_v<D, float>)
      made = flags & flushes ? flush(made) : made;
    return made;
  } else if constexpr (isFloating<S>) {
    double x = widen(v);
    if (flags & flushes)
      x = flush(static_cast<float>(x));
    return clampToInteger<D>(toWhole<M>(x));
  } else if constexpr (std::is_same_v<D, float> && sizeof(S) == 8) {
    return static_cast<float>(v); // A double would round first.
  } else if constexpr (isFloating<D>) {
    return narrow<D, M>(static_cast<double>(v), flags & saturates);
  } else {
    return flags & saturates ? clampInteger<D>(v) : static_cast<D>(v);
  }
}

/// The result in a register of `bytes` bytes.
template <typename D> void store(Warp &warp, uint32_t slot, int bytes, const D *made) {
  using Wide = std::conditional_t<isFloating<D>, uint64_t, std::conditional_t<std::is_signed_v<D>, int64_t, uint64_t>>;
  if constexpr (!isFloating<D>)
    if (bytes != sizeof(D)) {
      for (uint32_t m = warp.mask; m; m &= m - 1) {
        int lane = std::countr_zero(m);
        Wide wide = made[lane];
        std::memcpy(warp.lanes<uint8_t>(slot) + lane * bytes, &wide, static_cast<size_t>(bytes));
      }
      return;
    }
  writeLanes<D>(warp, slot, [made](int lane) { return made[lane]; });
}

template <typename D, typename S, Mode M> void convertLanes(Warp &warp, const Instr &instr) {
  const int from = instr.width >> 4, to = instr.width & 15;
  const uint8_t *source = warp.lanes<uint8_t>(instr.src[0]);
  alignas(64) D made[warpLanes];
  const uint16_t flags = instr.flags & static_cast<uint16_t>(~modeMask);
  if (from == sizeof(S) && flags == 0) {
    const S *values = reinterpret_cast<const S *>(source);
#pragma clang loop vectorize(enable)
    for (int lane = 0; lane < warpLanes; ++lane)
      made[lane] = convert<D, S, M>(values[lane], 0);
  } else {
    for (int lane = 0; lane < warpLanes; ++lane) {
      S value;
      std::memcpy(&value, source + lane * from, sizeof(S));
      made[lane] = convert<D, S, M>(value, flags);
    }
  }
  store(warp, instr.dst[0], to, made);
}

template <typename D, typename S> Handler handlerForMode(Mode mode) {
  switch (mode) {
  case Mode::None:
    return convertLanes<D, S, Mode::None>;
  case Mode::NearestEven:
    if constexpr (isFloating<D>)
      return convertLanes<D, S, Mode::None>;
    break;
  case Mode::Zero:
    if constexpr (isFloating<D>)
      return convertLanes<D, S, Mode::Zero>;
    break;
  case Mode::Down:
    if constexpr (std::is_same_v<D, float>)
      return convertLanes<D, S, Mode::Down>;
    break;
  case Mode::Up:
    if constexpr (std::is_same_v<D, float>)
      return convertLanes<D, S, Mode::Up>;
    break;
  case Mode::IntNearest:
    if constexpr (isFloating<S>)
      return convertLanes<D, S, Mode::IntNearest>;
    break;
  case Mode::IntZero:
    if constexpr (isFloating<S>)
      return convertLanes<D, S, Mode::IntZero>;
    break;
  case Mode::IntDown:
    if constexpr (isFloating<S>)
      return convertLanes<D, S, Mode::IntDown>;
    break;
  case Mode::IntUp:
    if constexpr (isFloating<S>)
      return convertLanes<D, S, Mode::IntUp>;
    break;
  }
  return nullptr;
}

template <typename D> Handler handlerForSource(Type type, Mode mode) {
  switch (type) {
  case Type::U8:
    return handlerForMode<D, uint8_t>(mode);
  case Type::S8:
    return handlerForMode<D, int8_t>(mode);
  case Type::U16:
    return handlerForMode<D, uint16_t>(mode);
  case Type::S16:
    return handlerForMode<D, int16_t>(mode);
  case Type::U32:
    return handlerForMode<D, uint32_t>(mode);
  case Type::S32:
    return handlerForMode<D, int32_t>(mode);
  case Type::U64:
    return handlerForMode<D, uint64_t>(mode);
  case Type::S64:
    return handlerForMode<D, int64_t>(mode);
  case Type::F16:
    return handlerForMode<D, Half>(mode);
  case Type::BF16:
    return handlerForMode<D, Brain>(mode);
  case Type::F32:
    return handlerForMode<D, float>(mode);
  case Type::F64:
    return handlerForMode<D, double>(mode);
  default:
    return nullptr;
  }
}

Handler handlerFor(Type to, Type from, Mode mode) {
  switch (to) {
  case Type::U8:
    return handlerForSource<uint8_t>(from, mode);
  case Type::S8:
    return handlerForSource<int8_t>(from, mode);
  case Type::U16:
    return handlerForSource<uint16_t>(from, mode);
  case Type::S16:
    return handlerForSource<int16_t>(from, mode);
  case Type::U32:
    return handlerForSource<uint32_t>(from, mode);
  case Type::S32:
    return handlerForSource<int32_t>(from, mode);
  case Type::U64:
    return handlerForSource<uint64_t>(from, mode);
  case Type::S64:
    return handlerForSource<int64_t>(from, mode);
  case Type::F16:
    return handlerForSource<Half>(from, mode);
  case Type::BF16:
    return handlerForSource<Brain>(from, mode);
  case Type::F32:
    return handlerForSource<float>(from, mode);
  case Type::F64:
    return handlerForSource<double>(from, mode);
  default:
    return nullptr;
  }
}

Status decodeCvt(InstructionDecoder &d) {
  std::optional<Type> to = d.takeType(), from = d.takeType();
  int mode = d.takeOne({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  d.out.flags = static_cast<uint16_t>((d.take("sat") ? saturates : 0) | (d.take("ftz") ? flushes : 0));
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  d.out.run = to && from ? handlerFor(*to, *from, static_cast<Mode>(mode + 1)) : nullptr;
  if (!d.out.run)
    return d.error("the virtual device does not know this conversion");
  FUSEC_ASSIGN_OR_RETURN(InstructionDecoder::AnyRegister target, d.anyRegister(d.operand(0)));
  InstructionDecoder::AnyRegister source;
  if (Result<InstructionDecoder::AnyRegister> any = d.anyRegister(d.operand(1)); any && any->slot != noSlot) {
    source = *any;
  } else { // A literal, a special register or an address.
    source.bytes = static_cast<uint8_t>(std::max(ptx::byteSize(*from), 2));
    bool isFloat = *from == Type::F32 || *from == Type::F64;
    FUSEC_ASSIGN_OR_RETURN(source.slot, d.sourceSlot(d.operand(1), {source.bytes, isFloat}));
  }
  bool narrowRegister = target.bytes < ptx::byteSize(*to) || source.bytes < ptx::byteSize(*from);
  if (narrowRegister || (ptx::isFloat(*to) && target.bytes != ptx::byteSize(*to)))
    return d.error("a register does not have the size of its type");
  d.out.dst[0] = target.slot;
  d.out.src[0] = source.slot;
  d.out.width = static_cast<uint8_t>(source.bytes << 4 | target.bytes);
  return {};
}

float positive(float x) { return x < 0 ? 0.0f : x; }

/// Two floats into one register: the first source is the upper half.
void addPacked(OpcodeTable &table) {
  table.lanewise<[](float a, float b) -> Half2 { return Half2::pack(toHalf(b), toHalf(a)); }>("cvt.rn.f16x2.f32");
  table.lanewise<[](float a, float b) -> Brain2 { return Brain2::pack(toBrain(b), toBrain(a)); }>("cvt.rn.bf16x2.f32");
  table.lanewise<[](float a, float b) -> Half2 { return Half2::pack(toHalf(positive(b)), toHalf(positive(a))); }>(
      "cvt.rn.relu.f16x2.f32");
  table.lanewise<[](float a, float b) -> Brain2 { return Brain2::pack(toBrain(positive(b)), toBrain(positive(a))); }>(
      "cvt.rn.relu.bf16x2.f32");
  table.lanewise<[](float a) -> uint32_t { return toTf32(a); }>("cvt.rna.tf32.f32");
}

} // namespace

void addConvertOps(OpcodeTable &table) {
  table.root("cvt", decodeCvt);
  addPacked(table);
}

} // namespace fusec::virtualgpu
