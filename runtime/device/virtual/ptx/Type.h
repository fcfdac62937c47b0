//===- Type.h - the fundamental types of PTX ---------------------------------===//
//
// One row per type in Type.def-like order below; names without the dot.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string_view>

namespace fusec::virtualgpu::ptx {

enum class Type {
  Pred,
  B8,
  U8,
  S8,
  E4M3,
  E5M2,
  B16,
  U16,
  S16,
  F16,
  BF16,
  E4M3x2,
  E5M2x2,
  B32,
  U32,
  S32,
  F32,
  TF32,
  F16x2,
  BF16x2,
  B64,
  U64,
  S64,
  F64,
  F32x2,
  B128,
};

/// "f32" -> Type::F32; nothing for other words.
std::optional<Type> typeNamed(std::string_view name);
std::string_view typeName(Type type);
/// Bytes in memory; 1 for Pred.
int byteSize(Type type);
bool isSigned(Type type);
bool isFloat(Type type);
/// .b8 ... .b128, which carry no arithmetic.
bool isBits(Type type);

} // namespace fusec::virtualgpu::ptx
