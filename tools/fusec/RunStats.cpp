//===- RunStats.cpp - rates and memory of one generation as text -----------===//
#include "tools/fusec/RunStats.h"

#include "runtime/exec/Executor.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <sys/resource.h>

namespace fusec {

[[gnu::format(printf, 1, 2)]] static std::string format(const char *pattern, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string formatBytes(int64_t bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit)
    value /= 1024;
  return format(unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

int64_t peakResidentBytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t(usage.ru_maxrss) * 1024 : 0;
}

std::string describeGraphs(const runtime::GraphStats &stats) {
  std::string text = format("graphs     %6lld captured, %lld steps replayed", static_cast<long long>(stats.captured),
                            static_cast<long long>(stats.replayed));
  std::string eager;
  for (size_t i = 0; i < stats.eager.size(); ++i)
    if (stats.eager[i] > 0)
      eager +=
          (eager.empty() ? "" : ", ") + std::to_string(stats.eager[i]) + " " + std::string(runtime::eagerReasons[i]);
  return text + (eager.empty() ? "" : "; kernel by kernel: " + eager) + "\n";
}

std::string describeRun(const runtime::Generation &generation, const runtime::Engine &engine) {
  const runtime::Timings &t = generation.timings;
  const std::string_view reason = runtime::finishReasonName(generation.reason);
  std::string text;
  text += format("prompt     %6lld tokens (%lld from the cache), %.3f s, %.1f tokens/s\n",
                 static_cast<long long>(t.promptTokens), static_cast<long long>(t.cachedTokens), t.prefillSeconds,
                 t.prefillTokensPerSecond());
  text += format("generated  %6zu tokens, %.3f s, %.1f tokens/s, ended by %.*s\n", generation.ids.size(),
                 t.decodeSeconds, t.decodeTokensPerSecond(), static_cast<int>(reason.size()), reason.data());
  const runtime::EngineOptions &options = engine.options();
  const runtime::ExecutorInfo &executor = engine.executorInfo();
  const bool isHost = executor.threads > 0;
  const std::string where = isHost ? std::to_string(executor.threads) + " threads" : executor.device;
  text += format("engine     %s, level %s, context %lld, chunk %lld\n", where.c_str(), executor.level.c_str(),
                 static_cast<long long>(options.contextTokens), static_cast<long long>(options.chunkTokens));
  if (!isHost)
    text += describeGraphs(engine.graphStats());
  for (const std::string &note : executor.notes)
    text += "note       " + note + "\n";
  for (const runtime::MemoryPlan::Row &row : engine.memory().rows)
    text += format("memory     %-20s %12s\n", row.name.c_str(), formatBytes(row.bytes).c_str());
  text += format("memory     %-20s %12s\n", "total planned", formatBytes(engine.memory().totalBytes()).c_str());
  text += format("memory     %-20s %12s\n", "peak resident", formatBytes(peakResidentBytes()).c_str());
  return text;
}

} // namespace fusec
