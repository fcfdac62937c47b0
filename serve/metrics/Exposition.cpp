//===- Exposition.cpp - figures in Prometheus' text format ----------------------------===//
#include "serve/metrics/Exposition.h"

#include <cstdio>
#include <string_view>

namespace fusec::serve::metrics {

namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string escaped(std::string_view value) {
  std::string text;
  for (char c : value) {
    if (c == '\\' || c == '"')
      text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

/// Writes families of metrics under one prefix.
class Writer {
public:
  Writer(std::string &out, std::string_view prefix, const std::string &modelName) : out(out), prefix(prefix) {
    common.emplace_back("model_name", modelName);
  }

  void family(std::string_view name, std::string_view type, std::string_view help) {
    full = std::string(prefix) + std::string(name);
    out += "# HELP " + full + " " + std::string(help) + "\n# TYPE " + full + " " + std::string(type) + "\n";
  }
  /// A sample of the family begun last.
  void sample(double value, const Labels &labels = {}, std::string_view suffix = "") {
    out += full + std::string(suffix) + "{";
    bool first = true;
    for (const Labels *list : {static_cast<const Labels *>(&common), &labels})
      for (const auto &[label, text] : *list) {
        out += (first ? "" : ",") + std::string(label) + "=\"" + escaped(text) + "\"";
        first = false;
      }
    out += "} " + number(value) + "\n";
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    family(name, "gauge", help);
    sample(value);
  }
  void counter(std::string_view name, std::string_view help, double value) {
    const std::string total = name.ends_with("_total") ? std::string(name) : std::string(name) + "_total";
    family(total, "counter", help);
    sample(value);
  }
  void histogram(std::string_view name, std::string_view help, const runtime::Histogram &values) {
    family(name, "histogram", help);
    int64_t below = 0;
    for (size_t i = 0; i < values.bounds().size(); ++i) {
      below += values.count(i);
      sample(static_cast<double>(below), {{"le", number(values.bounds()[i])}}, "_bucket");
    }
    sample(static_cast<double>(values.observations()), {{"le", "+Inf"}}, "_bucket");
    sample(values.sumOfValues(), {}, "_sum");
    sample(static_cast<double>(values.observations()), {}, "_count");
  }

private:
  std::string &out;
  std::string_view prefix;
  Labels common;
  std::string full;
};

/// vLLM's words for why a request ended.
struct ReasonRow {
  runtime::FinishReason reason;
  const char *name;
};
constexpr ReasonRow reasons[] = {{runtime::FinishReason::Stop, "stop"},
                                 {runtime::FinishReason::Length, "length"},
                                 {runtime::FinishReason::Cancelled, "abort"},
                                 {runtime::FinishReason::Error, "error"}};

/// Metrics that vLLM has too.
void writeShared(Writer &writer, const runtime::EngineStats &stats) {
  writer.gauge("num_requests_running", "Sequences in the running batch.", static_cast<double>(stats.running));
  writer.gauge("num_requests_waiting", "Sequences that wait to be processed.",
               static_cast<double>(stats.waiting + stats.queued));
  const double usable = stats.pool.total - stats.pool.sink;
  writer.gauge("kv_cache_usage_perc", "Share of KV pages that running sequences hold; 1 = all.",
               usable > 0 ? stats.pool.live / usable : 0);
  writer.family("cache_config_info", "gauge", "The KV pool: tokens per page, pages.");
  writer.sample(
      1, {{"block_size", std::to_string(stats.pool.pageTokens)}, {"num_gpu_blocks", std::to_string(stats.pool.total)}});
  writer.family("request_success_total", "counter", "Requests that ended, by reason.");
  for (const ReasonRow &row : reasons)
    writer.sample(static_cast<double>(stats.finished[static_cast<size_t>(row.reason)]),
                  {{"finished_reason", row.name}});
  for (const runtime::CounterInfo &info : runtime::counterInfos)
    writer.counter(info.name, info.help, static_cast<double>(stats.counters[info.counter]));
  for (const runtime::MeasureInfo &info : runtime::measureInfos())
    writer.histogram(info.name, info.help, stats.histograms[info.measure]);
}

/// Metrics of our own.
void writeOwn(Writer &writer, const runtime::EngineStats &stats, const HttpFigures &figures) {
  const runtime::Ledger &pool = stats.pool;
  writer.family("kv_pages", "gauge", "KV pages by use; they sum to the pool.");
  const std::pair<const char *, int32_t> classes[] = {
      {"live", pool.live}, {"cached", pool.cached}, {"parked", pool.parked}, {"free", pool.free}, {"sink", pool.sink}};
  for (const auto &[name, pages] : classes)
    writer.sample(pages, {{"class", name}});
  writer.gauge("kv_live_tokens", "Tokens held in live pages.", static_cast<double>(pool.held));
  writer.gauge("kv_tail_tokens", "Positions behind the last token of partly filled pages.",
               static_cast<double>(pool.tail));
  writer.gauge("kv_reserved_tokens", "Positions of pages without any token yet.", static_cast<double>(pool.reserved));
  writer.counter("engine_step_seconds", "Wall time of all steps.", stats.stepSeconds);
  writer.counter("engine_executor_seconds", "Of those: in kernels.", stats.executorSeconds);
  writer.gauge("open_requests", "Generations and embeddings accepted and not finished.",
               static_cast<double>(figures.openRequests));
  writer.gauge("http_connections", "Open connections.", static_cast<double>(figures.server.connections));
  writer.counter("http_connections_accepted", "Connections since the start.",
                 static_cast<double>(figures.server.accepted));
  writer.counter("http_connections_refused", "Connections over the limit.",
                 static_cast<double>(figures.server.refused));
  writer.counter("http_abandoned", "Requests whose client left before the answer was complete.",
                 static_cast<double>(figures.server.abandoned));
  writer.family("http_requests_total", "counter", "Answers by route and status; 499 = the client left.");
  for (const auto &[key, count] : figures.requests)
    writer.sample(static_cast<double>(count), {{"route", key.first}, {"status", std::to_string(key.second)}});
}

} // namespace

std::string render(const runtime::EngineStats &stats, const HttpFigures &figures, const ExpositionOptions &options) {
  std::string out;
  Writer own(out, "fusec_", options.modelName);
  writeShared(own, stats);
  writeOwn(own, stats, figures);
  if (options.aliasVllm) {
    Writer alias(out, "vllm:", options.modelName);
    writeShared(alias, stats);
  }
  return out;
}

} // namespace fusec::serve::metrics
