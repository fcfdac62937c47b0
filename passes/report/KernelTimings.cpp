//===- KernelTimings.cpp --------------------------------------------------------------------===//
#include "passes/report/KernelTimings.h"

#include "passes/report/ReportJson.h"

#include <algorithm>
#include <cmath>

namespace fusec::report {

namespace {

/// A positive number, or nothing.
std::optional<double> positive(const Json &object, const char *key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_number())
    return std::nullopt;
  double value = it->get<double>();
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

Status readMachine(Report &report, const Json &machine) {
  std::optional<double> bytes = positive(machine, "bytes_per_second"), flops = positive(machine, "flops_per_second");
  if (!bytes || !flops)
    return corruptData("expected positive numbers bytes_per_second and flops_per_second in \"machine\"");
  report.machine = Machine{*bytes, *flops};
  return {};
}

} // namespace

Status addTimings(Report &report, std::string_view text) {
  Json all = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object() || !all.contains("kernels") || !all["kernels"].is_object())
    return corruptData("expected {\"kernels\": {\"k0\": {\"seconds\": 0.001}, ...}}");
  for (const auto &[name, entry] : all["kernels"].items()) {
    auto kernel =
        std::find_if(report.kernels.begin(), report.kernels.end(), [&](const Kernel &k) { return k.name == name; });
    if (kernel == report.kernels.end())
      return notFound("there is no kernel '" + name + "'; were the times taken with another model or fusion plan?");
    std::optional<double> seconds = entry.is_object() ? positive(entry, "seconds") : std::nullopt;
    if (!seconds)
      return corruptData("kernel '" + name + "': expected a positive number of seconds");
    kernel->seconds = seconds;
  }
  return all.contains("machine") && all["machine"].is_object() ? readMachine(report, all["machine"]) : Status();
}

} // namespace fusec::report
