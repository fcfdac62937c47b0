//===- KernelInterpreter.cpp - the walk over a kernel's grid --------------------===//
#include "ir/reference/KernelInterpreter.h"

#include "ir/reference/Ops/TileOps.h"
#include "runtime/schema/PanelLayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace mlir;

namespace fusec::reference {

namespace {
struct OpRow {
  StringRef name;
  Status (*run)(TileFrame &, Operation *);
};

constexpr OpRow opRows[] = {
    {"arith.constant", runScalarConstant},
    {"scf.for", runFor},
    {"scf.if", runIf},
    {"tile.dot", runDot},
    {"tile.extent", runExtent},
    {"tile.index", runIndex},
    {"tile.load", runLoad},
    {"tile.origin", runOrigin},
    {"tile.reduce", runTileReduce},
    {"tile.scratch", runScratch},
    {"tile.store", runStore},
    {"tile.prefetch", runPrefetch},
    {"vector.broadcast", runBroadcast},
    {"vector.extract", runExtract},
    {"vector.extract_strided_slice", runExtractStridedSlice},
    {"vector.from_elements", runFromElements},
    {"vector.insert", runInsert},
    {"vector.shape_cast", runShapeCast},
    {"vector.shuffle", runShuffle},
};

Status runOp(TileFrame &frame, Operation *op) {
  const StringRef name = op->getName().getStringRef();
  for (const OpRow &row : opRows)
    if (row.name == name)
      return row.run(frame, op);
  if (isLaneOp(op))
    return runLaneOp(frame, op);
  return unsupported("the reference interpreter has no such op at tile level");
}

/// Bytes of memory per logical element, block overheads included.
double bytesPerElement(tile::BufferType type, Element element) {
  if (!type.getStorage())
    return info(element).bits / 8.0;
  if (type.isPaged())
    return static_cast<double>(type.getElementBytes());
  const PanelFormat &format = panelFormat(*type.getStorage());
  if (type.getLayout() == tile::Layout::Panel)
    return static_cast<double>(panelOffsets(format).superBytes) / static_cast<double>(panelRows * format.superElements);
  return static_cast<double>(info(*type.getStorage()).blockBytes) /
         static_cast<double>(info(*type.getStorage()).blockElements);
}

/// Checks the tensor against the buffer's type and the symbols.
Status checkBuffer(const Environment &environment, const TileBuffer &buffer, const std::string &what) {
  FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(buffer.type.getElementType()));
  if (element != buffer.tensor.element())
    return invalidArgument(what + " holds " + info(buffer.tensor.element()).name + ", expected " + info(element).name);
  Shape expected = buffer.extents;
  if (buffer.type.isPaged())
    expected = {buffer.tensor.rank() ? buffer.tensor.dim(0) : 0, environment.page, buffer.extents[2],
                buffer.extents[3]};
  if (buffer.tensor.shape() != ArrayRef<int64_t>(expected))
    return invalidArgument(what + " has shape " + toString(buffer.tensor.shape()) + ", expected " + toString(expected));
  return {};
}

Status bindBuffers(TileFrame &frame, tile::KernelOp kernel, ArrayRef<Tensor> tensors) {
  Block &body = kernel.getBody().front();
  if (tensors.size() != body.getNumArguments())
    return invalidArgument("takes " + std::to_string(body.getNumArguments()) + " buffers, found " +
                           std::to_string(tensors.size()));
  llvm::DenseMap<const void *, std::shared_ptr<std::vector<int32_t>>> writers;
  for (auto [argument, tensor] : llvm::zip(body.getArguments(), tensors)) {
    TileBuffer buffer;
    buffer.type = cast<tile::BufferType>(argument.getType());
    buffer.tensor = tensor;
    buffer.argument = argument.getArgNumber();
    FUSEC_ASSIGN_OR_RETURN(buffer.extents, frame.environment.extents(buffer.type.getDims()));
    FUSEC_RETURN_IF_ERROR(checkBuffer(frame.environment, buffer, "buffer " + std::to_string(argument.getArgNumber())));
    buffer.elementBytes = bytesPerElement(buffer.type, tensor.element());
    auto &shared = writers[tensor.storageId()];
    if (!shared && (!buffer.type.getStorage() || buffer.type.isPaged()))
      shared = std::make_shared<std::vector<int32_t>>(tensor.storageSize(), 0);
    buffer.writers = shared;
    frame.setBuffer(argument, std::move(buffer));
  }
  frame.traffic.resize(tensors.size());
  return {};
}

/// The order in which programs run: program numbers, last axis fastest.
std::vector<int64_t> programOrder(int64_t count, const KernelOptions &options) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (options.shuffleSeed)
    std::shuffle(order.begin(), order.end(), std::mt19937(*options.shuffleSeed));
  return order;
}

Status runPrograms(TileFrame &frame, tile::KernelOp kernel, const KernelOptions &options, int64_t &programs) {
  Shape counts, tiles;
  for (Attribute attribute : kernel.getGrid()) {
    auto axis = cast<tile::AxisAttr>(attribute);
    FUSEC_ASSIGN_OR_RETURN(Shape extent, frame.environment.extents({axis.getExtent()}));
    tiles.push_back(axis.getTile());
    counts.push_back((extent[0] + axis.getTile() - 1) / axis.getTile());
  }
  programs = numElements(counts);
  if (programs > INT32_MAX - 1)
    return resourceExhausted("has " + std::to_string(programs) + " programs, more than the interpreter counts");
  for (int64_t program : programOrder(programs, options)) {
    frame.program = static_cast<int32_t>(program);
    frame.origins.assign(counts.size(), 0);
    int64_t rest = program;
    for (int64_t axis = static_cast<int64_t>(counts.size()) - 1; axis >= 0; --axis) {
      frame.origins[axis] = rest % counts[axis] * tiles[axis];
      rest /= counts[axis];
    }
    FUSEC_RETURN_IF_ERROR(frame.runBlock(kernel.getBody().front()).withContext("program " + std::to_string(program)));
  }
  return {};
}
} // namespace

ArrayRef<int64_t> lanesShape(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getShape() : ArrayRef<int64_t>();
}

Result<int64_t> TileFrame::index(Value value) const {
  const double number = get(value)[0];
  if (std::isnan(number))
    return invalidArgument("an index comes from an unspecified value (a lane out of range, or unwritten memory)");
  return static_cast<int64_t>(number);
}

Result<const LaneInstruction *> TileFrame::instruction(Operation *op) {
  auto it = instructions.find(op);
  if (it == instructions.end()) {
    FUSEC_ASSIGN_OR_RETURN(LaneInstruction compiled, laneInstruction(op, precision));
    it = instructions.try_emplace(op, compiled).first;
  }
  return &it->second;
}

Result<LaneProgram *> TileFrame::combine(tile::ReduceOp op) {
  auto it = combines.find(op);
  if (it == combines.end()) {
    FUSEC_ASSIGN_OR_RETURN(LaneProgram compiled, LaneProgram::compile(op.getCombine().front(), precision));
    it = combines.try_emplace(op, std::move(compiled)).first;
  }
  return &it->second;
}

Status TileFrame::runBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    Status status = runOp(*this, &op);
    // The innermost op names itself; enclosing loops add nothing.
    if (!status.ok())
      return op.getNumRegions() && !isa<tile::ReduceOp>(op) ? status : status.withContext(describe(&op));
  }
  return {};
}

SmallVector<bool> storedArguments(tile::KernelOp kernel) {
  SmallVector<bool> stored(kernel.getBody().getNumArguments(), false);
  kernel.walk([&](tile::StoreOp store) {
    if (auto argument = dyn_cast<BlockArgument>(store.getBuffer()))
      stored[argument.getArgNumber()] = true;
  });
  return stored;
}

Result<KernelRun> interpretKernel(tile::KernelOp kernel, ArrayRef<Tensor> buffers, const Environment &environment,
                                  Precision precision, const KernelOptions &options) {
  TileFrame frame(environment, precision);
  KernelRun run;
  auto execute = [&]() -> Status {
    FUSEC_RETURN_IF_ERROR(bindBuffers(frame, kernel, buffers));
    return runPrograms(frame, kernel, options, run.programs);
  };
  FUSEC_RETURN_IF_ERROR(execute().withContext("kernel '" + kernel.getSymName().str() + "'"));
  run.traffic = std::move(frame.traffic);
  return run;
}

} // namespace fusec::reference
