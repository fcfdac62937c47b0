//===- NarrowFloats.cpp - f32 to shorter floats in memory, and back ---------===//
#include "codegen/host/NarrowFloats.h"

#include "llvm/IR/Intrinsics.h"

#include <cassert>

namespace fusec::codegen {

/// As halves the bits are the value times 2^-8, subnormal ones too. Only the code that would
/// be 480 is not a number.
llvm::Value *floatsOfE4m3(llvm::IRBuilder<> &b, llvm::Value *codes) {
  llvm::Type *i16 = codes->getType()->getWithNewType(b.getInt16Ty());
  auto constant = [&](uint16_t value) { return llvm::ConstantInt::get(i16, value); };
  constexpr uint16_t sign = 0x8000, magnitude = 0x3f80;
  llvm::Value *wide = b.CreateShl(b.CreateSExt(codes, i16), 7);
  llvm::Value *isNaN = b.CreateICmpEQ(b.CreateAnd(wide, constant(magnitude)), constant(magnitude));
  llvm::Value *half = b.CreateOr(b.CreateAnd(wide, constant(sign | magnitude)), b.CreateSExt(isNaN, i16));
  llvm::Type *f32 = codes->getType()->getWithNewType(b.getFloatTy());
  llvm::Value *scaled = b.CreateFPExt(b.CreateBitCast(half, i16->getWithNewType(b.getHalfTy())), f32);
  return b.CreateFMul(scaled, llvm::ConstantFP::get(f32, 256.0));
}

/// E4M3 codes of f32 values, to nearest even; what is larger than 448 becomes 448.
static llvm::Value *e4m3OfFloats(llvm::IRBuilder<> &b, llvm::Value *v) {
  llvm::Type *f32 = v->getType(), *i32 = f32->getWithNewType(b.getInt32Ty());
  auto constant = [&](uint32_t value) { return llvm::ConstantInt::get(i32, value); };
  constexpr uint32_t largest = 0x43e00000, smallestNormal = 0x3c800000; // 448 and 2^-6, as floats
  llvm::Value *bits = b.CreateBitCast(v, i32);
  llvm::Value *magnitude =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateAnd(bits, constant(0x7fffffff)), constant(largest));
  llvm::Value *isOdd = b.CreateAnd(b.CreateLShr(magnitude, 20), constant(1));
  llvm::Value *rounded = b.CreateLShr(b.CreateAdd(magnitude, b.CreateAdd(isOdd, constant(0x7ffff))), 20);
  llvm::Value *normal = b.CreateSub(rounded, constant((127 - 7) << 3));
  // Subnormal codes count multiples of 2^-9, which is the last bit of a float from 2^14 on.
  llvm::Value *sum = b.CreateFAdd(b.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0x1p14));
  llvm::Value *subnormal = b.CreateSub(b.CreateBitCast(sum, i32), constant(0x46800000));
  llvm::Value *code = b.CreateSelect(b.CreateICmpULT(magnitude, constant(smallestNormal)), subnormal, normal);
  code = b.CreateOr(code, b.CreateAnd(b.CreateLShr(bits, 24), constant(0x80)));
  code = b.CreateSelect(b.CreateFCmpUNO(v, v), constant(0x7f), code);
  return b.CreateTrunc(code, f32->getWithNewType(b.getInt8Ty()));
}

/// bfloat in integers: without an instruction for it, LLVM calls a function per lane.
llvm::Value *roundedBits(llvm::IRBuilder<> &b, llvm::Value *v, StorageType storage) {
  if (storage == StorageType::E4M3)
    return e4m3OfFloats(b, v);
  llvm::Type *i16 = v->getType()->getWithNewType(b.getInt16Ty()), *i32 = v->getType()->getWithNewType(b.getInt32Ty());
  if (storage == StorageType::F16)
    return b.CreateBitCast(b.CreateFPTrunc(v, v->getType()->getWithNewType(b.getHalfTy())), i16);
  assert(storage == StorageType::BF16 && "buffers that are written have plain storage");
  auto constant = [&](uint32_t value) { return llvm::ConstantInt::get(i32, value); };
  llvm::Value *bits = b.CreateBitCast(v, i32), *upper = b.CreateLShr(bits, 16);
  llvm::Value *toEven = b.CreateAdd(b.CreateAnd(upper, constant(1)), constant(0x7fff));
  llvm::Value *nearest = b.CreateLShr(b.CreateAdd(bits, toEven), 16);
  // Rounding a NaN up could carry into the sign.
  llvm::Value *quietNaN = b.CreateOr(upper, constant(0x40));
  return b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(v, v), quietNaN, nearest), i16);
}

} // namespace fusec::codegen
