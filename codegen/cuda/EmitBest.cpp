//===- EmitBest.cpp - scores that are folded instead of stored ---------------===//
//
// The head's kernel for greedy steps: where it would store a tile of scores it
// keeps the best id of each row (device/best_ids.cuh). Everything before is the
// kernel's own text, so the scores have the bits that are stored otherwise.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "runtime/schema/SamplingMath.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

bool KernelPrinter::isScores(Value buffer) {
  return options.scores && buffer == kernel.getBody().getArgument(*options.scores);
}

void KernelPrinter::checkScores() {
  if (!options.scores)
    return;
  Value scores = kernel.getBody().getArgument(*options.scores);
  bool isStoredOnly = !scores.use_empty() && llvm::all_of(scores.getUsers(), llvm::IsaPred<StoreOp>);
  if (!isStoredOnly)
    fail(kernel, "scores are stored, and only stored");
}

/// True for a tile of whole units of ids that all threads store, from a product of few tokens.
bool KernelPrinter::isFoldable(StoreOp op) {
  auto tile = dyn_cast<VectorType>(op.getValue().getType());
  auto type = cast<BufferType>(op.getBuffer().getType());
  bool isMatrix = type.getLayout() == Layout::Rows && type.getDims().size() == 2 && type.getDims()[1].isStatic() &&
                  op.getMap().isIdentity() && op.getIndices().size() == 2;
  return tile && isMatrix && tile.getElementType().isF32() && op->getParentOp() == kernel && !op.getRows() &&
         StringRef(layouts.of(op.getValue()).type).starts_with("Flat<") && shapeOf(tile).lanes % bestIdsUnit == 0 &&
         index(op.getIndices()[1]).alignment(bestIdsUnit) == bestIdsUnit;
}

void KernelPrinter::emitBest(StoreOp op) {
  if (!isFoldable(op))
    return fail(op, "the best id is found behind a product of few tokens only");
  emitLocation(*op);
  MemoryAccess a = access(op);
  TileShape own = shapeOf(op.getValue().getType()), padded = paddedShape(op.getValue());
  IndexExpr row = laneIndex("row", own.rows), col = laneIndex("col", own.lanes);
  MemoryPlace at = place(a, row, col, Purpose::Store);
  std::vector<std::string> exists = at.uniform;
  llvm::append_range(exists, at.perLane);
  if (padded.lanes > own.lanes)
    exists.push_back("col < " + std::to_string(own.lanes));
  if (padded.rows > own.rows)
    exists.push_back("row < " + std::to_string(own.rows));

  std::string best = fresh("best"), rows = std::to_string(own.rows), item = a.indices[0].plus(row).text();
  out->line("__shared__ SamplingMass " + best + "[" + rows + "];");
  out->line("clearBest(" + best + ");");
  std::string slot = best + (own.rows == 1 ? "[0]" : "[row]");
  std::string offer =
      "offerId(" + slot + ", " + a.indices[1].plus(col).text() + ", value, " + samplingName + "[" + item + "].ids);";
  LambdaText lambda{{"int row", "int col", "float value"}, {offer}, ""};
  if (!exists.empty())
    lambda.statements = {"if (" + llvm::join(exists, " && ") + ")", "  " + offer};
  out->call("store(" + tileName(op.getValue()) + ", ", {lambda}, ");");

  const int64_t units = own.lanes / bestIdsUnit, ids = a.buffer.type.getDims()[1].size;
  IndexExpr unit = laneIndex("unit", units), words = IndexExpr::constant(llvm::divideCeil(ids, bestIdsUnit));
  MemoryPlace first = place(a, row, IndexExpr::constant(0), Purpose::Store);
  std::vector<std::string> inside = first.uniform;
  llvm::append_range(inside, first.perLane);
  IndexExpr word = a.indices[1].floorDiv(bestIdsUnit).plus(unit);
  if (units > 1 && ids % own.lanes != 0)
    inside.push_back(word.text() + " < " + words.text());
  std::string address = a.buffer.name + " + (" + a.indices[0].plus(row).times(words).plus(word).text() + ")";
  LambdaText where{{"int row", "int unit"}, {}, address};
  if (!inside.empty())
    where.result = llvm::join(inside, " && ") + " ? " + address + " : nullptr";
  out->call("publishBest<" + rows + ", " + std::to_string(units) + ">(" + best + ", ", {where}, ");");
}

} // namespace fusec::codegen::cuda
