//===- FusionReport.cpp - what the passes made of a graph, and why --------------===//
#include "test/unit/passes/FusionReport.h"

#include "ir/InitAllDialects.h"
#include "ir/plan/PlanDialect.h"
#include "passes/Pipelines.h"
#include "passes/report/KernelUse.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>

namespace fusec::differential {

namespace {

class Collector : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(std::vector<FusionReport::Remark> &remarks) : remarks(remarks) {}
  void streamOptimizationRemark(const mlir::remark::detail::Remark &remark) override {
    std::string text;
    for (const auto &argument : remark.getArgs())
      text += argument.val;
    remarks.push_back({remark.getRemarkType() == llvm::remarks::Type::Passed, remark.getRemarkName().str(), text});
  }

private:
  std::vector<FusionReport::Remark> &remarks;
};

void collectRemarks(mlir::MLIRContext &context, std::vector<FusionReport::Remark> &remarks) {
  mlir::remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis = categories.failed = ".*";
  if (failed(mlir::remark::enableOptimizationRemarks(context, std::make_unique<Collector>(remarks),
                                                     std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(),
                                                     categories)))
    remarks.push_back({false, "internal", "remarks cannot be collected"});
}

/// Whether the kernel writes nothing but cache pages.
bool isAppend(tile::KernelOp kernel) {
  auto uses = usesOf(kernel);
  for (auto [use, type] : llvm::zip(uses, kernel.getBody().getArgumentTypes()))
    if (use.written && !mlir::cast<tile::BufferType>(type).isPaged())
      return false;
  return true;
}

std::string formOf(tile::KernelOp kernel) {
  if (auto schedule = kernel.getScheduleAttr())
    if (auto form = schedule.getAs<mlir::StringAttr>("form"))
      return form.str();
  return "";
}

void listLaunches(mlir::ModuleOp module, std::vector<std::string> &launches) {
  mlir::SymbolTable symbols(module);
  module.walk([&](plan::LaunchOp launch) {
    auto kernel = symbols.lookup<plan::KernelOp>(launch.getKernel());
    auto last = mlir::cast<plan::VariantAttr>(kernel.getVariants().getValue().back());
    auto body = symbols.lookup<tile::KernelOp>(last.getKernel().getValue());
    if (!isAppend(body))
      launches.push_back(formOf(body));
  });
}

} // namespace

FusionReport fuseGraph(const std::string &text) {
  FusionReport report;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  collectRemarks(context, report.remarks);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      report.error += d.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return report.error += "the graph does not parse\n", report;
  mlir::PassManager derive(&context), plan(&context);
  for (Phase phase : {Phase::Primitives, Phase::Derived})
    buildPhase(derive, phase, {});
  for (Phase phase : {Phase::Groups, Phase::Plan})
    buildPhase(plan, phase, {});
  if (failed(derive.run(*module)))
    return report.error += "derivation fails\n", report;
  module->walk([&](mlir::Operation *op) { report.cascades += op->hasAttr("cascade"); });
  if (failed(plan.run(*module)))
    return report.error += "lowering fails\n", report;
  listLaunches(*module, report.launches);
  return report;
}

bool FusionReport::isOneCascade() const {
  return error.empty() && cascades > 0 && !launches.empty() && launches.size() <= 2 && launches[0] == "cascade" &&
         (launches.size() == 1 || launches[1] == "cascade-merge");
}

bool FusionReport::derived() const {
  return std::any_of(remarks.begin(), remarks.end(), [](const Remark &r) { return r.fused && r.kind == "derive"; });
}

bool FusionReport::missed(const std::string &kind, const std::string &words) const {
  for (const Remark &remark : remarks)
    if (!remark.fused && remark.kind == kind && remark.text.find(words) != std::string::npos)
      return true;
  return false;
}

std::string FusionReport::toString() const {
  std::string text = error + "launches:";
  for (const std::string &launch : launches)
    text += " " + launch;
  text += "\n" + std::to_string(cascades) + " ops in cascades\n";
  for (const Remark &remark : remarks)
    text += std::string(remark.fused ? "fused " : "not fused ") + remark.kind + ": " + remark.text + "\n";
  return text;
}

} // namespace fusec::differential
