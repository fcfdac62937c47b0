//===- Remark.cpp -------------------------------------------------------------===//
#include "passes/fusion/Remark.h"

#include "passes/report/OpName.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

void fusec::passedFusion(Location loc, StringRef kind, const Twine &why) {
  remark::passed(loc, remark::RemarkOpts::name(kind).category("fusion")) << why.str();
}

void fusec::missedFusion(Location loc, StringRef kind, const Twine &why) {
  remark::missed(loc, remark::RemarkOpts::name(kind).category("fusion")) << why.str();
}

void fusec::reportFusion(const Decision &d) {
  Location loc = d.consumer ? d.consumer->getLoc() : d.producer->getLoc();
  std::string text = opName(d.producer);
  if (d.consumer && d.consumer != d.producer)
    text += " -> " + opName(d.consumer);
  text += ": " + d.reason;
  if (d.fused)
    passedFusion(loc, d.kind, text);
  else
    missedFusion(loc, d.kind, text);
}
