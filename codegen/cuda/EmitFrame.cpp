//===- EmitFrame.cpp - header comment, parameters, programs ----------------===//
//
// What surrounds the ops of a kernel: the comment that says what it does, its
// parameters with their shapes, the sizes it reads, which program a block runs,
// and where its shared memory lies.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen::cuda {

static std::string typeText(Attribute type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string formatName(StorageType storage) {
  static constexpr StringRef formats[] = {"float", "Half", "Bfloat", "Q4_0", "Q4_1", "Q5_0",
                                          "Q5_1",  "Q8_0", "Q4_K",   "Q5_K", "Q6_K", "E4m3"};
  static_assert(std::size(formats) == std::size(storageTypes), "each storage type needs a name in the library");
  return formats[static_cast<int>(storage)].str();
}

std::string KernelPrinter::memoryType(BufferType type) {
  if (type.getLayout() == Layout::Panel)
    return "void";
  return type.getStorage() ? formatName(*type.getStorage()) : cType(type.getElementType());
}

/// "[T, 576] f32", "[960, 576] q4_1 panels".
static std::string describe(BufferType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(type.getDims(), os, [&](const Dim &dim) {
    if (dim.isStatic())
      os << dim.size;
    else
      os << dim.symbol.getValue();
  });
  os << "] ";
  if (type.getStorage())
    os << std::string(info(*type.getStorage()).name);
  else
    os << type.getElementType();
  static constexpr StringRef layouts[] = {"", " panels", " pages [H][D][P]", " pages [H][P][D]"};
  os << layouts[static_cast<int>(type.getLayout())];
  return text;
}

/// Each name once, "blk.*.attention" for those of all layers.
static std::vector<std::string> withoutLayers(ArrayRef<std::string> names) {
  std::vector<std::string> result;
  for (StringRef name : names) {
    SmallVector<StringRef> parts;
    name.split(parts, '.');
    for (StringRef &part : parts)
      if (!part.empty() && llvm::all_of(part, llvm::isDigit))
        part = "*";
    std::string plain = llvm::join(parts, ".");
    if (!llvm::is_contained(result, plain))
      result.push_back(plain);
  }
  return result;
}

void KernelPrinter::printHeader(SourceText &text) {
  std::string name = entry();
  text.line("//===- " + name + " " + std::string(std::max<int64_t>(1, 65 - static_cast<int64_t>(name.size())), '-') +
            "===//");
  if (!options.implements.empty())
    text.line("// Implements " + llvm::join(withoutLayers(options.implements), ", "));
  std::vector<std::string> axes;
  for (auto axis : kernel.getGrid().getAsRange<AxisAttr>()) {
    Dim dim = axis.getExtent();
    std::string extent = dim.isStatic() ? std::to_string(dim.size) : dim.symbol.getValue().str();
    axes.push_back(axis.getTile() == 1 ? extent : extent + " by " + std::to_string(axis.getTile()));
  }
  text.line("// Grid       " + llvm::join(axes, " x ") + ", a block of " + std::to_string(threads) +
            " threads for each program, last axis fastest");
  if (DictionaryAttr schedule = kernel.getScheduleAttr()) {
    std::vector<std::string> choices;
    for (NamedAttribute choice : schedule) {
      std::string value = isa<IntegerAttr>(choice.getValue())
                              ? std::to_string(cast<IntegerAttr>(choice.getValue()).getInt())
                              : typeText(choice.getValue());
      choices.push_back(choice.getName().str() + " = " + value);
    }
    text.line("// Schedule   " + llvm::join(choices, ", "));
  }
  if (rowTiles) {
    std::string used = rowTiles->paddedRows() > rowTiles->rows ? ", " + std::to_string(rowTiles->rows) + " in use" : "";
    text.line("// Tiles      " + std::to_string(rowTiles->paddedRows()) + " rows" + used +
              ", 16 in the mma accumulators of " + (rowTiles->warps == 1 ? "one warp" : "each warp"));
  }
  if (options.scores)
    text.line("// Result     the best id of each row's scores, not the scores");
  if (sharedBytes() > 0)
    text.line("// Shared     " + std::to_string(sharedBytes()) + " bytes");
  text.line("//===----------------------------------------------------------------------===//");
}

void KernelPrinter::printSignature(SourceText &text) {
  std::vector<std::pair<std::string, std::string>> parameters;
  llvm::SmallDenseSet<Value> stored;
  kernel.walk([&](StoreOp op) { stored.insert(op.getBuffer()); });
  for (auto &[value, buffer] : buffers) {
    if (buffer.isScratch)
      continue;
    bool isPanel = buffer.type.getLayout() == Layout::Panel;
    if (isScores(value)) {
      parameters.push_back({"SamplingMass *" + buffer.name, "for each 16 of " + describe(buffer.type)});
      continue;
    }
    std::string name = isPanel ? buffer.name + "Packed" : buffer.name;
    parameters.push_back(
        {(stored.contains(value) ? "" : "const ") + memoryType(buffer.type) + " *" + name, describe(buffer.type)});
  }
  if (options.scores)
    parameters.push_back({"const SamplingRow *" + samplingName, "[R]"});
  std::string sizes = "[" + llvm::join(options.symbols, ", ") + "]";
  parameters.push_back({"const long long *sizes", sizes});
  size_t widest = 0;
  for (auto &[parameter, comment] : parameters)
    widest = std::max(widest, parameter.size() + 1);
  std::string minimumBlocks = forWarpgroups ? ", 1" : ""; // setmaxnreg wants the registers to be known
  text.line("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + minimumBlocks + ") " +
            entry() + "(");
  for (size_t i = 0; i < parameters.size(); ++i) {
    bool isLast = i + 1 == parameters.size();
    std::string entry = parameters[i].first + (isLast ? ") {" : ",");
    text.line("    " + entry + std::string(widest + 3 - entry.size(), ' ') + "// " + parameters[i].second);
  }
}

void KernelPrinter::printPrologue(SourceText &text) {
  for (const TileLayout &layout : layouts.list())
    text.declare(layout.name, "using " + layout.name + " = " + layout.type + ";");
  printPrograms(text);
  for (auto &[value, buffer] : buffers) {
    if (buffer.isScratch || buffer.type.getLayout() != Layout::Panel)
      continue;
    if (auto weight = weightMatrices.find(value); weight != weightMatrices.end())
      text.line("const " + weight->second);
    else
      text.line("const Panel<" + formatName(*buffer.type.getStorage()) + ", " +
                std::to_string(buffer.type.getDims()[1].size) + "> " + buffer.name + "(" + buffer.name + "Packed);");
  }
  if (sharedBytes() == 0)
    return;
  int64_t at = stagedBytes() + productBytes; // a kernel has one of the two
  std::string alignment = stagedBytes() ? "1024" : productBytes ? "128" : "16";
  text.line("extern __shared__ __align__(" + alignment + ") unsigned char shared[];");
  if (rowTiles)
    printStages(text);
  if (productBytes)
    text.line("void *const products = shared; // " + std::to_string(productBytes) + " bytes");
  for (auto &[value, buffer] : buffers) {
    if (!buffer.isScratch)
      continue;
    std::string type = cType(buffer.type.getElementType());
    std::string where = at ? "shared + " + std::to_string(at) : "shared";
    text.line(type + " *const " + buffer.name + " = reinterpret_cast<" + type + " *>(" + where + "); // " +
              describe(buffer.type));
    int64_t elements = 1;
    for (const Dim &dim : buffer.type.getDims())
      elements *= dim.size;
    at += llvm::alignTo(elements * buffer.type.getElementBytes(), 16);
  }
  if (exchangeBytes)
    text.line("Exchange<" + std::to_string(2 * exchangeBytes) + "> exchange(shared" +
              (at ? " + " + std::to_string(at) : "") + ");");
}

/// Sizes, the number of programs, this block's and its origins.
void KernelPrinter::printPrograms(SourceText &text) {
  for (const std::string &symbol : options.symbols) {
    if (!usedSymbols.count(symbol))
      continue;
    size_t at = llvm::find(options.symbols, symbol) - options.symbols.begin();
    std::string value = "sizes[" + std::to_string(at) + "]";
    text.declare(symbol, "const " + std::string(indexType()) + " " + symbol + " = " +
                             (wideIndices ? value : "static_cast<int>(" + value + ")") + ";");
  }
  IndexExpr programs = IndexExpr::constant(1);
  for (const GridAxis &axis : axes)
    programs = programs.times(axis.count);
  text.line("const int program = static_cast<int>(blockIdx.x);");
  text.line("if (program >= " + programs.expr().in(Binding::Shift) + ")");
  text.line("  return;");
  IndexExpr rest = IndexExpr::constant(1); // programs of the axes after this one
  std::vector<std::pair<std::string, std::string>> origins;
  for (const GridAxis &axis : llvm::reverse(axes)) {
    CExpr number{"program", Binding::Atom};
    if (!rest.isConstant() || rest.offset != 1)
      number = {"program / " + rest.expr().in(Binding::Unary), Binding::Product};
    if (&axis != &axes.front())
      number = {number.in(Binding::Product) + " % " + axis.count.expr().in(Binding::Unary), Binding::Product};
    if (axis.tile != 1)
      number = {number.in(Binding::Product) + " * " + std::to_string(axis.tile), Binding::Product};
    if (axis.isUsed && !axis.origin.isConstant())
      origins.push_back({axis.origin.text(), "const int " + axis.origin.text() + " = " + number.text + ";"});
    rest = rest.times(axis.count);
  }
  for (auto &[name, line] : llvm::reverse(origins))
    text.declare(name, line);
}

} // namespace fusec::codegen::cuda
