//===- CompilerReference.cpp - what a model computes, without any kernel ----------===//
#include "ir/reference/ReferenceModel.h"
#include "ir/reference/WeightDecoder.h"
#include "tools/fusec/Compilation.h"

namespace fusec {

namespace {

/// Appends one row of logits as f32.
void append(const reference::Tensor &logits, std::vector<float> &values) {
  for (double value : logits.values())
    values.push_back(static_cast<float>(value));
}

} // namespace

Result<std::vector<float>> referenceLogits(const ReferenceOptions &options) {
  CompileOptions compile;
  compile.model = options.model;
  Compilation compilation(compile);
  FUSEC_RETURN_IF_ERROR(compilation.open());
  reference::Environment environment;
  environment.weight = reference::weightsOf(compilation.model());
  auto function = *compilation.module().getOps<mlir::func::FuncOp>().begin();
  FUSEC_ASSIGN_OR_RETURN(auto model,
                         reference::ReferenceModel::create(function, environment, reference::Precision::F64));
  std::vector<float> values;
  // Token by token, which gives the same bits as all at once, so that progress shows.
  for (size_t i = 0; i < options.ids.size(); ++i) {
    if (options.progress)
      options.progress("interpreting in double", static_cast<double>(i) / static_cast<double>(options.ids.size()));
    FUSEC_ASSIGN_OR_RETURN(reference::Tensor row, model.logits({options.ids[i]}));
    append(row, values);
  }
  return values;
}

} // namespace fusec
