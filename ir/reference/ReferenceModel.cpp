//===- ReferenceModel.cpp - a graph driven token by token -----------------------===//
#include "ir/reference/ReferenceModel.h"

using namespace mlir;

namespace fusec::reference {

Result<ReferenceModel::Role> ReferenceModel::roleOf(func::FuncOp graph, unsigned argument) {
  struct NameRow {
    StringRef name;
    Role role;
  };
  constexpr NameRow names[] = {{"tokens", Role::Tokens},
                               {"positions", Role::Positions},
                               {"sequences", Role::Sequences},
                               {"output_rows", Role::OutputRows}};
  auto type = dyn_cast<fuse::GraphTensorType>(graph.getArgument(argument).getType());
  if (type && type.getRank() == 4 && type.getDim(1).kind == fuse::DimKind::Paged)
    return Role::Cache;
  auto name = graph.getArgAttrOfType<StringAttr>(argument, "fuse.name");
  for (const NameRow &row : names)
    if (type && name && name.getValue() == row.name)
      return row.role;
  return invalidArgument("argument " + std::to_string(argument) + " of '" + graph.getName().str() +
                         "' is neither a cache nor named tokens, positions, sequences or output_rows");
}

Result<ReferenceModel> ReferenceModel::create(func::FuncOp graph, Environment environment, Precision precision,
                                              int64_t sequences) {
  ReferenceModel model(graph, std::move(environment), precision, sequences);
  for (unsigned i = 0; i < graph.getNumArguments(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(Role role, roleOf(graph, i));
    model.arguments.push_back({role, Tensor()});
  }
  if (graph.getNumResults() != 1)
    return invalidArgument("'" + graph.getName().str() + "' returns " + std::to_string(graph.getNumResults()) +
                           " values, expected the logits alone");
  return model;
}

/// Unwritten positions are zero: masked, but a product with them must not be NaN.
Status ReferenceModel::growCache(Type type, Tensor &cache, int64_t context) {
  const int64_t capacity = cache.rank() ? cache.dim(1) : 0;
  if (cache.rank() && context <= capacity)
    return {};
  auto tensor = cast<fuse::GraphTensorType>(type);
  FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(tensor.getElementType()));
  FUSEC_ASSIGN_OR_RETURN(Shape rest, environment.extents(tensor.getDims().drop_front(2)));
  Shape shape = {history.count(), std::max(context, 2 * capacity)};
  shape.append(rest.begin(), rest.end());
  Tensor larger = Tensor::filled(element, shape, 0.0);
  if (capacity)
    FUSEC_RETURN_IF_ERROR(forEachIndex(cache.shape(), [&](ArrayRef<int64_t> index) {
      larger.set(index, cache.get(index));
      return Status();
    }));
  cache = std::move(larger);
  return {};
}

Result<Tensor> ReferenceModel::step(ArrayRef<Chunk> chunks, LogitRows rows) {
  FUSEC_ASSIGN_OR_RETURN(StepInputs step, history.append(chunks, rows));
  const int64_t context = roundToPages(step.context, environment.page);
  std::vector<Tensor> inputs;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    switch (argument.role) {
    case Role::Tokens:
      inputs.push_back(step.tokens);
      break;
    case Role::Positions:
      inputs.push_back(step.positions);
      break;
    case Role::Sequences:
      inputs.push_back(step.sequences);
      break;
    case Role::OutputRows:
      inputs.push_back(step.outputRows);
      break;
    case Role::Cache:
      FUSEC_RETURN_IF_ERROR(growCache(graph.getArgument(i).getType(), argument.cache, context));
      inputs.push_back(argument.cache.prefix(1, context));
      break;
    }
  }
  FUSEC_ASSIGN_OR_RETURN(std::vector<Tensor> results, interpretGraph(graph, inputs, environment, precision));
  return results[0];
}

Result<Tensor> ReferenceModel::logits(ArrayRef<int32_t> tokens, LogitRows rows) {
  return step({Chunk{0, std::vector<int32_t>(tokens.begin(), tokens.end())}}, rows);
}

} // namespace fusec::reference
