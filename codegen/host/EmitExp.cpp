//===- EmitExp.cpp - exp and tanh on vectors -------------------------------===//
//
//   exp(x) = 2^n * exp(r),  n = round(x / ln 2),  r = x - n ln 2 in [-0.347, 0.347]
//
// ln 2 is split in two floats so that r keeps full precision; exp(r) is its
// Taylor polynomial of degree 7 (remainder below 0.1 ulp). The power of two is
// applied in two exact-range halves, so results round correctly into the
// subnormals and overflow to infinity. NaN stays NaN, exp(-inf) = 0.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"

#include "llvm/IR/Intrinsics.h"

namespace fusec::codegen {

llvm::Value *KernelEmitter::emitExp(llvm::Value *x) {
  llvm::Type *type = x->getType();
  auto f = [&](double c) { return llvm::ConstantFP::get(type, c); };
  auto fma = [&](llvm::Value *p, llvm::Value *q, llvm::Value *r) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {p, q, r});
  };
  llvm::Type *intType = type->getWithNewType(b.getInt32Ty());
  auto i = [&](int64_t c) { return llvm::ConstantInt::get(intType, c); };

  // Beyond these the result is 0 or infinity; comparisons that fail keep a NaN.
  x = b.CreateSelect(b.CreateFCmpOLT(x, f(-104.0)), f(-104.0), x);
  x = b.CreateSelect(b.CreateFCmpOGT(x, f(89.0)), f(89.0), x);
  // Adding 1.5 * 2^23 rounds to an integer that sits in the low mantissa bits.
  constexpr double magic = 12582912.0;
  llvm::Value *shifted = fma(x, f(1.4426950408889634), f(magic));
  llvm::Value *n = b.CreateFSub(shifted, f(magic));
  llvm::Value *power = b.CreateSub(b.CreateBitCast(shifted, intType), i(0x4b400000));
  llvm::Value *r = fma(n, f(-0x1.62e4p-1), x);
  r = fma(n, f(-0x1.7f7d1cf79abcap-20), r);

  llvm::Value *p = f(1.0 / 5040);
  for (double c : {1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    p = fma(p, r, f(c));
  llvm::Value *half = b.CreateAShr(power, i(1)), *rest = b.CreateSub(power, half);
  for (llvm::Value *part : {half, rest}) {
    llvm::Value *bits = b.CreateShl(b.CreateAdd(part, i(127)), i(23));
    p = b.CreateFMul(p, b.CreateBitCast(bits, type));
  }
  return p;
}

/// The C library's tanhf for every lane.
llvm::Value *KernelEmitter::emitTanh(llvm::Value *x) { return callPerLane("tanh", {x}); }

} // namespace fusec::codegen
