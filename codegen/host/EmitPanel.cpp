//===- EmitPanel.cpp - decoding packed weights in registers ----------------===//
//
// Reads the layout that runtime/schema/PanelLayout.h defines, in one of three
// shapes: rows of a panel at one k (products), some k of one row (a row gather,
// as for embeddings), one element (anything else). With a 16-lane table
// lookup a 4 or 5 bit code becomes its float in one instruction.
//
// Weights are never written while kernels run, so loads are shared freely.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen {

/// One k of some rows of a panel: `width` of them from `lane` on, or a scalar when it is 0.
struct KernelEmitter::PanelPoint {
  llvm::Value *pointer;
  const PanelFormat &format;
  PanelOffsets at;
  IndexValue superStart; ///< Byte of the super-block in the buffer.
  IndexValue inSuper;    ///< k inside the super-block.
  IndexValue lane;       ///< First row inside the panel.
  int64_t width;
};

namespace {
enum MemoKind { SectionLoad = 200, Convert, Product };
constexpr int64_t wordBytes = 4 * panelRows; ///< One u32 of each row.

IndexValue constantIndex(int64_t v) { return IndexValue::constant(v); }
} // namespace

KernelEmitter::PanelPoint KernelEmitter::panelPoint(const BufferView &buffer, const IndexValue &n, const IndexValue &k,
                                                    int64_t width) {
  const PanelFormat &format = panelFormat(*buffer.type.getStorage());
  PanelOffsets at = panelOffsets(format);
  int64_t perPanel = buffer.type.getDims()[1].size / format.superElements * at.superBytes;
  IndexValue panel = math.floorDiv(n, panelRows);
  IndexValue start = math.add(math.mulConstant(panel, perPanel),
                              math.mulConstant(math.floorDiv(k, format.superElements), at.superBytes));
  return {buffer.pointer, format, at, start, math.mod(k, format.superElements), math.mod(n, panelRows), width};
}

/// The `scalar` that starts `bytes` into the super-block and has `unit` bytes per row.
llvm::Value *KernelEmitter::panelSection(const PanelPoint &p, const IndexValue &bytes, llvm::Type *scalar,
                                         int64_t unit) {
  IndexValue where = math.add(math.add(p.superStart, bytes), math.mulConstant(p.lane, unit));
  llvm::Type *type = p.width == 0 ? scalar : llvm::FixedVectorType::get(scalar, p.width);
  llvm::Value *address = math.address(p.pointer, {where.base, 0, where.divisor, {}, {}, {}, 0});
  return math.once({SectionLoad, address, type, where.offset}, [&] {
    llvm::Value *at = math.address(address, constantIndex(where.offset));
    return b.CreateAlignedLoad(type, at, llvm::Align(unit));
  });
}

/// The scale, or with `minimum` the added constant, as f32.
llvm::Value *KernelEmitter::panelScale(const PanelPoint &p, bool minimum) {
  auto asFloat = [&](llvm::Value *v, bool isSigned) {
    llvm::Type *type = v->getType()->getWithNewType(b.getFloatTy());
    return math.once({Convert, v, nullptr, isSigned}, [&] {
      if (v->getType()->getScalarType()->isHalfTy())
        return b.CreateFPExt(v, type);
      return isSigned ? b.CreateSIToFP(v, type) : b.CreateUIToFP(v, type);
    });
  };
  llvm::Value *d = panelSection(p, constantIndex(minimum ? p.at.minimum : p.at.scale), b.getHalfTy(), 2);
  if (!p.format.hasSubscales)
    return asFloat(d, false);
  IndexValue group = math.mulConstant(math.floorDiv(p.inSuper, p.format.group), panelRows);
  IndexValue where = math.addConstant(group, minimum ? p.at.submin : p.at.subscale);
  llvm::Value *sub = panelSection(p, where, b.getInt8Ty(), 1);
  bool isSigned = !minimum && !p.format.hasMinimum;
  return math.once({Product, d, sub, minimum}, [&]() -> llvm::Value * {
    llvm::Value *product = b.CreateFMul(asFloat(d, false), asFloat(sub, isSigned));
    return minimum ? b.CreateFNeg(product) : product;
  });
}

llvm::Value *KernelEmitter::panelWords(const PanelPoint &p, const IndexValue &bytes) {
  IndexValue chunk = math.mulConstant(math.floorDiv(p.inSuper, codeChunk), p.at.chunkBytes);
  return panelSection(p, math.add(math.addConstant(chunk, p.at.codes), bytes), b.getInt32Ty(), 4);
}

/// `words >> bits << left`, as one shift where `bits` is known.
llvm::Value *KernelEmitter::shiftWords(llvm::Value *words, const IndexValue &bits, int64_t left) {
  llvm::Type *type = words->getType();
  auto constant = [&](int64_t c) { return llvm::ConstantInt::get(type, c); };
  if (bits.isConstant()) {
    int64_t right = bits.offset - left;
    if (right == 0)
      return words;
    return right > 0 ? b.CreateLShr(words, constant(right)) : b.CreateShl(words, constant(-right));
  }
  llvm::Value *amount = b.CreateTrunc(math.value(bits), b.getInt32Ty());
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    amount = splat(amount, vector->getNumElements());
  llvm::Value *shifted = b.CreateLShr(words, amount);
  return left ? b.CreateShl(shifted, constant(left)) : shifted;
}

/// `table(index mod 16)` for every lane.
static llvm::Value *lookUp(llvm::IRBuilder<> &b, llvm::Value *index, llvm::function_ref<int(int)> table) {
  llvm::SmallVector<llvm::Constant *> entries;
  for (int i = 0; i < panelRows; ++i)
    entries.push_back(llvm::ConstantFP::get(b.getFloatTy(), table(i)));
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {llvm::ConstantVector::get(entries), index});
}

/// The code of one k as f32, the format's offset taken off.
llvm::Value *KernelEmitter::panelCode(const PanelPoint &p, bool asTable) {
  const PanelFormat &f = p.format;
  IndexValue inChunk = math.mod(p.inSuper, codeChunk);
  int64_t bits = f.bits >= 8 ? 8 : 4, perWord = 32 / bits, highBits = f.bits - bits;
  llvm::Value *low = panelWords(p, math.mulConstant(math.floorDiv(inChunk, perWord), wordBytes));
  IndexValue lowShift = math.mulConstant(math.mod(inChunk, perWord), bits);
  llvm::Type *type = low->getType(), *floats = type->getWithNewType(b.getFloatTy());
  auto constant = [&](int64_t c) { return llvm::ConstantInt::get(type, c); };
  if (f.isSigned && lowShift.isConstant()) { // sign-extend by two shifts
    llvm::Value *top = b.CreateShl(low, constant(32 - bits - lowShift.offset));
    return b.CreateSIToFP(b.CreateAShr(top, constant(32 - bits)), floats);
  }
  llvm::Value *code = shiftWords(low, lowShift, 0);
  llvm::Value *high = nullptr;
  bool useTable = asTable && f.bits <= 6;
  if (highBits > 0) {
    int64_t highPerWord = 32 / highBits;
    IndexValue word = math.mulConstant(math.floorDiv(inChunk, highPerWord), wordBytes);
    IndexValue shift = math.mulConstant(math.mod(inChunk, highPerWord), highBits);
    high = shiftWords(panelWords(p, math.addConstant(word, p.at.lowBytes)), shift, useTable ? 0 : bits);
  }
  if (useTable) { // a lookup reads the low 4 bits of its index only, so nothing is masked
    llvm::Value *value = lookUp(b, code, [&](int i) { return i - f.offset; });
    if (!high)
      return value;
    return b.CreateFAdd(value, lookUp(b, high, [&](int i) { return i % (1 << highBits) * 16; }));
  }
  code = b.CreateAnd(code, constant((1 << bits) - 1));
  if (high)
    code = b.CreateOr(code, b.CreateAnd(high, constant(((1 << highBits) - 1) << bits)));
  if (f.isSigned)
    code = b.CreateAShr(b.CreateShl(code, constant(32 - bits)), constant(32 - bits));
  if (f.offset)
    code = b.CreateSub(code, constant(f.offset));
  return b.CreateSIToFP(code, floats);
}

/// Combines code and scale as the format says; both products are exact.
static llvm::Value *scaled(llvm::IRBuilder<> &b, llvm::Value *code, llvm::Value *scale, llvm::Value *minimum) {
  if (!minimum)
    return b.CreateFMul(code, scale);
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {code->getType()}, {code, scale, minimum});
}

static llvm::Value *plainToFloat(llvm::IRBuilder<> &b, llvm::Value *v) {
  llvm::Type *type = v->getType()->getWithNewType(b.getFloatTy());
  return v->getType() == type ? v : b.CreateFPExt(v, type);
}

/// `width` rows from `n` on at `k`; they lie in one panel. A width of 0 gives a scalar.
llvm::Value *KernelEmitter::decodePanelLanes(const BufferView &buffer, const IndexValue &n, const IndexValue &k,
                                             int64_t width) {
  PanelPoint p = panelPoint(buffer, n, k, width);
  if (p.format.bits == 0)
    return plainToFloat(b, panelSection(p, constantIndex(0), memoryType(buffer), memoryBytes(buffer)));
  llvm::Value *minimum = p.format.hasMinimum ? panelScale(p, true) : nullptr;
  bool asTable = level.hasTableLookup && width == panelRows;
  return scaled(b, panelCode(p, asTable), panelScale(p, false), minimum);
}

/// `width` (8 or 16) k of row `n` from `k` on, a multiple of it: they share one scale.
llvm::Value *KernelEmitter::decodePanelRow(const BufferView &buffer, const IndexValue &n, const IndexValue &k,
                                           int64_t width) {
  PanelPoint p = panelPoint(buffer, n, k, 0);
  const PanelFormat &f = p.format;
  IndexValue inChunk = math.mod(p.inSuper, codeChunk);
  llvm::Type *ints = llvm::FixedVectorType::get(b.getInt32Ty(), width);
  auto ramp = [&](int64_t modulus, int64_t step) {
    SmallVector<llvm::Constant *> c;
    for (int64_t l = 0; l < width; ++l)
      c.push_back(b.getInt32(l % modulus * step));
    return llvm::ConstantVector::get(c);
  };
  int64_t bits = f.bits >= 8 ? 8 : 4, perWord = 32 / bits, highBits = f.bits - bits;
  IndexValue firstWord = math.floorDiv(inChunk, perWord);
  llvm::Value *words = llvm::PoisonValue::get(ints);
  for (int64_t l = 0; l < width; ++l) {
    IndexValue word = math.mulConstant(math.addConstant(firstWord, l / perWord), wordBytes);
    words = b.CreateInsertElement(words, panelWords(p, word), l);
  }
  llvm::Value *code = b.CreateLShr(words, ramp(perWord, bits));
  auto constant = [&](int64_t c) { return llvm::ConstantInt::get(ints, c); };
  code = b.CreateAnd(code, constant((1 << bits) - 1));
  if (highBits > 0) {
    int64_t perHigh = 32 / highBits;
    IndexValue word = math.mulConstant(math.floorDiv(inChunk, perHigh), wordBytes);
    IndexValue shift = math.mulConstant(math.mod(inChunk, perHigh), highBits);
    llvm::Value *high = shiftWords(panelWords(p, math.addConstant(word, p.at.lowBytes)), shift, 0);
    high = b.CreateLShr(splat(high, width), ramp(width, highBits));
    code = b.CreateOr(code, b.CreateShl(b.CreateAnd(high, constant((1 << highBits) - 1)), constant(bits)));
  }
  if (f.isSigned)
    code = b.CreateAShr(b.CreateShl(code, constant(32 - bits)), constant(32 - bits));
  if (f.offset)
    code = b.CreateSub(code, constant(f.offset));
  llvm::Value *floats = b.CreateSIToFP(code, ints->getWithNewType(b.getFloatTy()));
  llvm::Value *minimum = f.hasMinimum ? splat(panelScale(p, true), width) : nullptr;
  return scaled(b, floats, splat(panelScale(p, false), width), minimum);
}

/// Elements of a packed matrix; `width` 0 gives a scalar.
llvm::Value *KernelEmitter::loadPanel(const Access &a, int64_t row, int64_t lane, int64_t width) {
  const Dim &rows = a.buffer.type.getDims()[0], &columns = a.buffer.type.getDims()[1];
  llvm::Type *floats = b.getFloatTy();
  if (!rows.isStatic() || !columns.isStatic() || llvmType(a.element) != floats)
    return fail(kernel, "packed weights are static matrices of f32"), llvm::PoisonValue::get(floats);
  SmallVector<LaneIndex> dims = laneDims(a, row, lane);
  int64_t lanes = std::max<int64_t>(width, 1);
  std::optional<LaneIndex> n = math.evaluate(a.map.getResult(0), dims, lanes);
  std::optional<LaneIndex> k = math.evaluate(a.map.getResult(1), dims, lanes);
  auto inside = [&](LaneIndex at, int64_t span, const Dim &dim, int64_t unit) {
    if (inRange(at, span, dim))
      return at.at;
    return math.clamp(at.at, constantIndex((dim.size - 1) / unit * unit));
  };
  if (width == 0) {
    if (!n || !k)
      return fail(kernel, "an index map is not affine"), llvm::PoisonValue::get(floats);
    return decodePanelLanes(a.buffer, inside(*n, 1, rows, 1), inside(*k, 1, columns, 1), 0);
  }
  if (n && k && n->stride == 1 && k->stride == 0 && n->at.alignment(width) == width)
    return decodePanelLanes(a.buffer, inside(*n, 1, rows, width), inside(*k, 1, columns, 1), width);
  bool isBlock = panelFormat(*a.buffer.type.getStorage()).bits != 0;
  if (n && k && n->stride == 0 && k->stride == 1 && isBlock && width >= 8 && k->at.alignment(width) == width)
    return decodePanelRow(a.buffer, inside(*n, 1, rows, 1), inside(*k, 1, columns, width), width);
  llvm::Value *v = llvm::PoisonValue::get(llvm::FixedVectorType::get(floats, width));
  for (int64_t l = 0; l < std::min(width, a.shape.lanes - lane); ++l)
    v = b.CreateInsertElement(v, loadPanel(a, row, lane + l, 0), l);
  return v;
}

/// Asks for the lines of the tile `prefetchTiles` further on that lie where this
/// step reads: consecutive programs stream consecutive panels, and a tile is a
/// distance long enough for memory and short enough for the caches. Measured
/// against fixed distances of 0 to 8 KB, this was 1.3 to 3 times as fast.
void KernelEmitter::emitPrefetch(const Access &a) {
  if (a.buffer.type.getLayout() != Layout::Panel || options.prefetchTiles == 0)
    return;
  const PanelFormat &f = panelFormat(*a.buffer.type.getStorage());
  PanelOffsets at = panelOffsets(f);
  int64_t stepBytes = a.shape.rows * at.superBytes / f.superElements;
  int64_t panelBytes = a.buffer.type.getDims()[1].size / f.superElements * at.superBytes;
  int64_t distance = options.prefetchTiles * panelCount(a.shape.lanes) * panelBytes;
  for (int64_t lane = 0; lane < a.shape.lanes; lane += panelRows) {
    SmallVector<LaneIndex> dims = laneDims(a, 0, lane);
    std::optional<LaneIndex> n = math.evaluate(a.map.getResult(0), dims, 1);
    std::optional<LaneIndex> k = math.evaluate(a.map.getResult(1), dims, 1);
    if (!n || !k)
      return;
    // The bytes of a panel are spread evenly over its k, near enough for this.
    IndexValue where = math.add(math.mulConstant(math.floorDiv(n->at, panelRows), panelBytes),
                                math.floorDiv(math.mulConstant(k->at, at.superBytes), f.superElements));
    for (int64_t line = 0; line < stepBytes; line += 64) {
      llvm::Value *target = math.address(a.buffer.pointer, math.addConstant(where, distance + line));
      emitPrefetchAt(target, 3);
    }
  }
}

} // namespace fusec::codegen
