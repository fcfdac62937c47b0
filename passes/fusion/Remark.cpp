//===- Remark.cpp -------------------------------------------------------------===//
#include "passes/fusion/Remark.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

void fusec::passedFusion(Location loc, StringRef kind, const Twine &why) {
  remark::passed(loc, remark::RemarkOpts::name(kind).category("fusion")) << why.str();
}

void fusec::missedFusion(Location loc, StringRef kind, const Twine &why) {
  remark::missed(loc, remark::RemarkOpts::name(kind).category("fusion")) << why.str();
}
