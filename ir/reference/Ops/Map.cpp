//===- Map.cpp - fuse.map ---------------------------------------------------------===//
//
// The body runs over lanes of the result's last dimension.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/AccessMap.h"
#include "ir/reference/LaneProgram.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

namespace {

/// One input of the map: where its elements lie.
struct Input {
  const Tensor *tensor;
  AccessMap access;
};

/// Fills `lanes` with the elements at `point` + 0 .. n-1 along the last dimension.
Status readLanes(const Input &input, Shape &point, int64_t n, double *lanes) {
  const int64_t last = static_cast<int64_t>(point.size()) - 1;
  if (last < 0 || input.access.isLinear(last)) {
    FUSEC_ASSIGN_OR_RETURN(int64_t position, input.access.at(point));
    const int64_t step = last < 0 ? 0 : input.access.step(last);
    for (int64_t i = 0; i < n; ++i)
      lanes[i] = input.tensor->load(position + i * step);
    return {};
  }
  const int64_t start = point[last];
  for (int64_t i = 0; i < n; ++i) {
    point[last] = start + i;
    FUSEC_ASSIGN_OR_RETURN(int64_t position, input.access.at(point));
    lanes[i] = input.tensor->load(position);
  }
  point[last] = start;
  return {};
}

void fillIndices(LaneProgram &body, ArrayRef<int64_t> point, int64_t n) {
  const int64_t last = static_cast<int64_t>(point.size()) - 1;
  for (auto [dim, slot] : body.indexDims())
    for (int64_t i = 0; i < n; ++i)
      body.slot(slot)[i] = static_cast<double>(point[dim] + (dim == last ? i : 0));
}

Status runRow(LaneProgram &body, ArrayRef<Input> inputs, Shape &point, int64_t extent, double *out) {
  for (int64_t start = 0; start < extent; start += LaneProgram::maxLanes) {
    const int64_t n = std::min(LaneProgram::maxLanes, extent - start);
    if (!point.empty())
      point.back() = start;
    for (auto [i, input] : llvm::enumerate(inputs))
      FUSEC_RETURN_IF_ERROR(readLanes(input, point, n, body.argument(i)));
    fillIndices(body, point, n);
    body.run(n);
    std::copy(body.result(0), body.result(0) + n, out + start);
  }
  return {};
}

} // namespace

Status runMap(GraphFrame &frame, Operation *op) {
  auto map = cast<fuse::MapOp>(op);
  FUSEC_ASSIGN_OR_RETURN(Tensor result, frame.make(map.getResult()));
  FUSEC_ASSIGN_OR_RETURN(LaneProgram body, LaneProgram::compile(map.getBody().front(), frame.precision));
  std::vector<Input> inputs;
  for (auto [i, value] : llvm::enumerate(map.getInputs())) {
    const Tensor &tensor = frame.get(value);
    FUSEC_ASSIGN_OR_RETURN(AccessMap access,
                           AccessMap::create(map.getMap(i), tensor, result.shape(), "input " + std::to_string(i)));
    inputs.push_back({&tensor, std::move(access)});
  }
  const ArrayRef<int64_t> shape = result.shape();
  const int64_t extent = shape.empty() ? 1 : shape.back();
  double *out = result.doubles();
  if (extent == 0)
    return frame.set(map.getResult(), std::move(result)), Status();
  Shape point;
  FUSEC_RETURN_IF_ERROR(forEachIndex(shape.empty() ? shape : shape.drop_back(), [&](ArrayRef<int64_t> outer) {
    point.assign(outer.begin(), outer.end());
    if (!shape.empty())
      point.push_back(0);
    Status status = runRow(body, inputs, point, extent, out);
    out += extent;
    return status;
  }));
  frame.set(map.getResult(), std::move(result));
  return {};
}

} // namespace fusec::reference
