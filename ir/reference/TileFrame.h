//===- TileFrame.h - the state of a running tile kernel -----------------------===//
#pragma once

#include "ir/reference/KernelInterpreter.h"
#include "ir/reference/LaneProgram.h"

namespace fusec::reference {

/// The elements of a scalar (one) or vector value, row-major.
using Lanes = std::vector<double>;

/// A buffer as programs see it.
struct TileBuffer {
  tile::BufferType type;
  Tensor tensor;
  Shape extents;         ///< Logical: [S, C, H, D] for a paged buffer.
  int64_t argument = -1; ///< Block argument number, or -1 for scratch.
  double elementBytes = 0;
  /// Per storage element the number + 1 of the program that wrote it; shared
  /// by buffers with one storage, null for scratch.
  std::shared_ptr<std::vector<int32_t>> writers;
};

class TileFrame {
public:
  TileFrame(Environment environment, Precision precision) : environment(std::move(environment)), precision(precision) {}

  const Lanes &get(mlir::Value value) const { return values.find(value)->second; }
  void set(mlir::Value value, Lanes lanes) { values[value] = std::move(lanes); }
  /// A scalar used as an index; InvalidArgument when it is poison.
  Result<int64_t> index(mlir::Value value) const;
  TileBuffer &buffer(mlir::Value value) { return buffers.find(value)->second; }
  void setBuffer(mlir::Value value, TileBuffer buffer) { buffers[value] = std::move(buffer); }

  /// Compiled once per op and run.
  Result<const LaneInstruction *> instruction(mlir::Operation *op);
  Result<LaneProgram *> combine(tile::ReduceOp op);

  /// Runs the block's ops but the terminator.
  Status runBlock(mlir::Block &block);

  Environment environment;
  const Precision precision;
  int32_t program = 0; ///< Linear number of the running program.
  Shape origins;       ///< Its origin along each axis.
  std::vector<Traffic> traffic;

private:
  llvm::DenseMap<mlir::Value, Lanes> values;
  llvm::DenseMap<mlir::Value, TileBuffer> buffers;
  llvm::DenseMap<mlir::Operation *, LaneInstruction> instructions;
  llvm::DenseMap<mlir::Operation *, LaneProgram> combines;
};

/// Shape of a vector type; empty for a scalar.
llvm::ArrayRef<int64_t> lanesShape(mlir::Type type);

} // namespace fusec::reference
