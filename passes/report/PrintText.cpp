//===- PrintText.cpp - a report as a table -----------------------------------------------===//
#include "passes/report/PrintReport.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace fusec::report {

namespace {

std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char *pattern, ...) {
  va_list args, again;
  va_start(args, pattern);
  va_copy(again, args);
  std::string text(static_cast<size_t>(std::vsnprintf(nullptr, 0, pattern, args)), '\0');
  va_end(args);
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string readable(double bytes) {
  double size = bytes / 1024;
  return size < 1024 ? format("%.1f KiB", size) : format("%.1f MiB", size / 1024);
}

class TextPrinter {
public:
  explicit TextPrinter(const Report &report) : report(report) {}

  std::string run() {
    overview();
    kernels();
    for (bool fused : {true, false})
      decisions(fused);
    memory();
    phases();
    return text;
  }

private:
  std::string stepText() const {
    return format("one step of %lld token%s with %lld positions", static_cast<long long>(report.step.tokens),
                  report.step.tokens == 1 ? "" : "s", static_cast<long long>(report.step.context));
  }

  void overview() {
    if (!report.model.empty())
      text +=
          "Model     " + report.model + (report.architecture.empty() ? "" : " (" + report.architecture + ")") + "\n";
    text += format("Launches  %lld per step, %lld per layer of %lld; every op by itself: %lld\n",
                   static_cast<long long>(report.launches), static_cast<long long>(report.launchesPerLayer),
                   static_cast<long long>(report.layers), static_cast<long long>(report.unfusedLaunches));
    text += "Bytes     " + readable(report.moved()) + " moved, " + readable(report.minimum) +
            " at least (weights, caches, inputs and outputs once), " + readable(report.unfused) +
            " with every op by itself; saved " + readable(report.unfused - report.moved()) + "\n";
    for (const Extension &used : report.extensions)
      text += (used.kind == "rule" ? "Rule      " : "Plugin    ") + used.name + " (" + used.from + ")" +
              (used.kind == "rule" ? ": matched " + std::to_string(used.matches) + " times" : "") + "\n";
    text += "\n";
  }

  bool timed() const {
    return std::any_of(report.kernels.begin(), report.kernels.end(), [](const Kernel &k) { return k.seconds; });
  }

  /// Share of what the roofline allows, in percent; negative when unknown.
  double shareOfRoof(const Kernel &k) const {
    if (!k.seconds || !report.machine || *k.seconds <= 0)
      return -1;
    double bytes = report.machine->bytesPerSecond > 0 ? k.moved() / report.machine->bytesPerSecond : 0;
    double work = report.machine->operationsPerSecond > 0 ? k.operations / report.machine->operationsPerSecond : 0;
    return 100 * std::max(bytes, work) / *k.seconds;
  }

  std::string timeColumns(const Kernel &k) const {
    if (!timed())
      return "";
    if (!k.seconds)
      return format(" %10s %8s %7s", "-", "-", "-");
    double share = shareOfRoof(k);
    return format(" %10.1f %8.2f ", *k.seconds * 1e6, k.moved() / *k.seconds / 1e9) +
           (share < 0 ? format("%7s", "-") : format("%6.0f%%", share));
  }

  void kernels() {
    text += "Kernels (level " + report.level + "; bytes of " + stepText() + ", KiB)\n\n";
    text += format("%-7s %-8s %8s %7s %12s %12s %12s %12s", "kernel", "kind", "launches", "a layer", "read", "written",
                   "minimum", "saved");
    text += timed() ? format(" %10s %8s %7s", "us", "GB/s", "of roof") : "";
    text += "  ops\n";
    for (const Kernel &k : report.kernels) {
      text += format("%-7s %-8s %8lld %7lld %12.1f %12.1f %12.1f %12.1f", k.name.c_str(), k.kind.c_str(),
                     static_cast<long long>(k.launches), static_cast<long long>(k.launchesPerLayer), k.read / 1024,
                     k.written / 1024, k.minimum / 1024, k.saved() / 1024);
      text +=
          timeColumns(k) + "  " + (k.partOf.empty() ? joined(k.members) : "merges the partial results of " + k.partOf);
      text += k.recomputed.empty() || !k.partOf.empty() ? "\n" : " (recomputing " + joined(k.recomputed) + ")\n";
    }
    totals();
  }

  void totals() {
    text += format("%-7s %-8s %8lld %7lld %12.1f %12.1f %12.1f %12.1f", "total", "",
                   static_cast<long long>(report.launches), static_cast<long long>(report.launchesPerLayer),
                   report.read / 1024, report.written / 1024, report.minimum / 1024,
                   (report.unfused - report.moved()) / 1024);
    if (timed()) {
      double seconds = 0;
      for (const Kernel &k : report.kernels)
        seconds += k.seconds.value_or(0);
      text += format(" %10.1f %8.2f %7s", seconds * 1e6, report.moved() / seconds / 1e9, "");
    }
    text += format("  moved / minimum = %.3f\n", report.minimum > 0 ? report.moved() / report.minimum : 0);
  }

  void decisions(bool fused) {
    text += fused ? "\nFused\n\n" : "\nRefused\n\n";
    for (const DecisionRow &d : report.decisions) {
      if (d.fused != fused)
        continue;
      text += format("%4lldx ", static_cast<long long>(d.count)) + format("%-12s ", d.kind.c_str()) + d.producer +
              " -> " + d.consumer + ": " + d.reason;
      if (!d.obligation.empty())
        text += " [" + d.obligation + "]";
      if (d.decidedBy != "cost" && d.decidedBy != "legality")
        text += " (decided by the " + d.decidedBy + ")";
      text += "\n";
      for (const auto &[name, how] : d.proof)
        text += format("%19s", "") + name + ": " + how + "\n";
    }
    for (const std::string &line : fused ? std::vector<std::string>() : report.idlePlanLines)
      text += "Without effect in the fusion plan: " + line + "\n";
  }

  void memory() {
    text += "\nMemory of that step\n\n";
    for (const Memory::Slot &slot : report.memory.slots)
      text += format("slot %-3lld %12.1f KiB  %3lld buffers of ", static_cast<long long>(slot.slot), slot.bytes / 1024,
                     static_cast<long long>(slot.buffers)) +
              slot.type + ", first " + slot.holder + "\n";
    text += "activations " + readable(report.memory.slotBytes) + ", the largest grows with " +
            report.memory.largestGrowth + "\n";
    if (report.memory.cacheBytesPerPosition > 0)
      text += report.memory.attentionLinear ? "attention takes memory linear in the length\n"
                                            : "attention keeps tokens x context scores in memory\n";
    text += "weights " + readable(report.memory.weightBytes) +
            format(", keys and values %.0f bytes per position\n", report.memory.cacheBytesPerPosition);
  }

  void phases() {
    if (report.phases.empty())
      return;
    text += "\nCompile time\n\n";
    for (const Phase &phase : report.phases)
      text += format("%-12s %8.3f s\n", phase.name.c_str(), phase.seconds);
  }

  const Report &report;
  std::string text;
};

} // namespace

std::string printText(const Report &report) { return TextPrinter(report).run(); }

} // namespace fusec::report
