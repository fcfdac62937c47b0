//===- PlanReport.cpp -----------------------------------------------------------------------===//
#include "passes/report/PlanReport.h"

#include "passes/fusion/FusionPlan.h"

namespace fusec::report {

Result<Report> reportOfPlan(std::string_view text) {
  FUSEC_ASSIGN_OR_RETURN(FusionPlan plan, FusionPlan::parse(text));
  Report report;
  for (const PlanLine &line : plan.lines()) {
    DecisionRow row;
    row.kind = line.kind;
    row.producer = line.producer;
    row.consumer = line.consumer;
    row.fused = line.fuse;
    row.asked = true;
    row.count = 1;
    report.decisions.push_back(std::move(row));
  }
  return report;
}

Report asPlan(const Report &report) {
  Result<Report> plan = reportOfPlan(report.fusionPlan);
  return plan ? std::move(*plan) : Report();
}

} // namespace fusec::report
