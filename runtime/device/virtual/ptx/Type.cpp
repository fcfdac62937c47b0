//===- Type.cpp - the fundamental types of PTX -------------------------------===//

#include "runtime/device/virtual/ptx/Type.h"

#include <iterator>

namespace fusec::virtualgpu::ptx {
namespace {

enum class Family { Bits, Unsigned, Signed, Float };

struct Row {
  Type type;
  std::string_view name;
  int bytes;
  Family family;
};

/// In the order of the enum.
constexpr Row rows[] = {
    {Type::Pred, "pred", 1, Family::Bits},      {Type::B8, "b8", 1, Family::Bits},
    {Type::U8, "u8", 1, Family::Unsigned},      {Type::S8, "s8", 1, Family::Signed},
    {Type::E4M3, "e4m3", 1, Family::Float},     {Type::E5M2, "e5m2", 1, Family::Float},
    {Type::B16, "b16", 2, Family::Bits},        {Type::U16, "u16", 2, Family::Unsigned},
    {Type::S16, "s16", 2, Family::Signed},      {Type::F16, "f16", 2, Family::Float},
    {Type::BF16, "bf16", 2, Family::Float},     {Type::E4M3x2, "e4m3x2", 2, Family::Float},
    {Type::E5M2x2, "e5m2x2", 2, Family::Float}, {Type::B32, "b32", 4, Family::Bits},
    {Type::U32, "u32", 4, Family::Unsigned},    {Type::S32, "s32", 4, Family::Signed},
    {Type::F32, "f32", 4, Family::Float},       {Type::TF32, "tf32", 4, Family::Float},
    {Type::F16x2, "f16x2", 4, Family::Float},   {Type::BF16x2, "bf16x2", 4, Family::Float},
    {Type::B64, "b64", 8, Family::Bits},        {Type::U64, "u64", 8, Family::Unsigned},
    {Type::S64, "s64", 8, Family::Signed},      {Type::F64, "f64", 8, Family::Float},
    {Type::F32x2, "f32x2", 8, Family::Float},   {Type::B128, "b128", 16, Family::Bits},
};

constexpr bool inEnumOrder() {
  for (size_t i = 0; i < std::size(rows); ++i)
    if (rows[i].type != static_cast<Type>(i))
      return false;
  return true;
}
static_assert(inEnumOrder());

const Row &row(Type type) { return rows[static_cast<size_t>(type)]; }

} // namespace

std::optional<Type> typeNamed(std::string_view name) {
  for (const Row &r : rows)
    if (r.name == name)
      return r.type;
  return std::nullopt;
}

std::string_view typeName(Type type) { return row(type).name; }
int byteSize(Type type) { return row(type).bytes; }
bool isSigned(Type type) { return row(type).family == Family::Signed; }
bool isFloat(Type type) { return row(type).family == Family::Float; }
bool isBits(Type type) { return row(type).family == Family::Bits; }

} // namespace fusec::virtualgpu::ptx
