//===- MemoryTable.cpp - memory that a plan needs beside the model file -----------------===//
#include "passes/report/BuildReport.h"

#include "ir/plan/PlanDialect.h"
#include "runtime/schema/PanelLayout.h"

using namespace mlir;

namespace fusec::report {

namespace {

double bytesOf(tile::BufferType type, const StepSizes &sizes) {
  if (type.getLayout() == tile::Layout::Panel)
    return static_cast<double>(packedBytes(*type.getStorage(), type.getDims()[0].size, type.getDims()[1].size));
  double elements = 1;
  for (const fuse::Dim &dim : type.getDims())
    elements *= static_cast<double>(dim.isStatic() ? dim.size : sizes.lookup(dim.symbol.getValue()));
  return elements * static_cast<double>(type.getElementBytes());
}

int64_t countDims(tile::BufferType type, ArrayRef<StringRef> symbols) {
  return llvm::count_if(type.getDims(), [&](const fuse::Dim &dim) {
    return !dim.isStatic() && llvm::is_contained(symbols, dim.symbol.getValue());
  });
}

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return StringRef(text).starts_with("!tile.buffer") ? text.substr(StringRef("!tile.buffer").size()) : text;
}

void addToSlot(Memory &memory, plan::BufferOp buffer, const StepSizes &sizes) {
  auto type = cast<tile::BufferType>(buffer.getType());
  auto number = static_cast<int64_t>(*buffer.getSlot());
  auto slot = llvm::find_if(memory.slots, [&](const Memory::Slot &s) { return s.slot == number; });
  if (slot == memory.slots.end()) {
    memory.slots.push_back({number, typeText(type), buffer.getName().str(), 0, bytesOf(type, sizes),
                            countDims(type, {"T"}), countDims(type, {"C", "B"}), countDims(type, {"R"})});
    slot = std::prev(memory.slots.end());
  }
  ++slot->buffers;
  slot->bytes = std::max(slot->bytes, bytesOf(type, sizes));
}

std::string growthOf(const Memory::Slot &slot) {
  std::string text;
  for (auto [count, name] : {std::pair{slot.tokenDims, "tokens"}, std::pair{slot.contextDims, "context"},
                             std::pair{slot.outputDims, "output rows"}})
    for (int64_t i = 0; i < count; ++i)
      text += (text.empty() ? "" : " x ") + std::string(name);
  return text.empty() ? "nothing" : text;
}

} // namespace

Memory buildMemory(ModuleOp plan, const StepSizes &sizes) {
  Memory memory;
  for (auto program : plan.getOps<plan::ProgramOp>())
    for (auto buffer : program.getOps<plan::BufferOp>()) {
      auto type = cast<tile::BufferType>(buffer.getType());
      if (buffer.getSlot())
        addToSlot(memory, buffer, sizes);
      else if (buffer.getKind() == plan::BufferKind::Weight)
        memory.weightBytes += bytesOf(type, sizes);
      else if (type.isPaged())
        memory.cacheBytesPerPosition +=
            bytesOf(type, sizes) / std::max<double>(1, sizes.lookup("C") * sizes.lookup("S"));
    }
  llvm::sort(memory.slots, [](const auto &a, const auto &b) { return a.slot < b.slot; });
  const Memory::Slot *largest = nullptr;
  for (const Memory::Slot &slot : memory.slots) {
    memory.slotBytes += slot.bytes;
    memory.attentionLinear &= slot.contextDims == 0 || slot.tokenDims == 0;
    if (!largest || slot.bytes > largest->bytes)
      largest = &slot;
  }
  memory.largestGrowth = largest ? growthOf(*largest) : "";
  return memory;
}

} // namespace fusec::report
