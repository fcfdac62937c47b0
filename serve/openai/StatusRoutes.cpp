//===- StatusRoutes.cpp - models, health, figures, administration -------------------===//
#include "serve/openai/Api.h"
#include "serve/openai/StatsJson.h"

namespace fusec::serve {

using nlohmann::json;

static constexpr std::chrono::milliseconds liveInterval{500};

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static json modelJson(const std::string &name, int64_t created, const Backend &backend) {
  return {{"id", name},
          {"object", "model"},
          {"created", created},
          {"owned_by", "fusec"},
          {"max_model_len", backend.contextTokens()}};
}

void Api::models(const Visit &visit) {
  reply(visit, {.body = dumpJson(
                    {{"object", "list"}, {"data", json::array({modelJson(options.modelName, created, backend)})}})});
}

/// Model names hold slashes and spaces, which clients escape.
static std::string percentDecoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    decoded += escape ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    i += escape ? 2 : 0;
  }
  return decoded;
}

void Api::model(const Visit &visit) {
  const std::string name = percentDecoded(std::string_view(visit.exchange->request().path).substr(visit.route.size()));
  if (Failure failure = checkModel({{"model", name}}, options.modelName))
    return replyError(visit, *failure);
  reply(visit, {.body = dumpJson(modelJson(options.modelName, created, backend))});
}

//===----------------------------------------------------------------------===//
// Health
//===----------------------------------------------------------------------===//

void Api::health(const Visit &visit) {
  const runtime::EngineHealth health = backend.health();
  const bool stuck = health.hasWork && health.secondsSinceProgress > static_cast<double>(options.stuckAfter.count());
  const bool ok = health.status.ok() && !stuck;
  json body = {{"status", ok ? "ok" : "failed"},
               {"steps", health.steps},
               {"busy", health.hasWork},
               {"seconds_since_progress", health.secondsSinceProgress}};
  if (!health.status.ok())
    body["reason"] = health.status.message();
  else if (stuck)
    body["reason"] = "no step for " + std::to_string(options.stuckAfter.count()) + " s with work to do";
  reply(visit, {.status = ok ? 200 : 503, .body = dumpJson(body)});
}

void Api::ready(const Visit &visit) {
  const runtime::EngineHealth health = backend.health();
  if (Failure failure = checkLoad())
    return reply(visit, {.status = 503, .body = dumpJson({{"ready", false}, {"reason", failure->message}})});
  const bool ok = health.status.ok() && health.accepting;
  reply(visit, {.status = ok ? 200 : 503, .body = dumpJson({{"ready", ok}})});
}

void Api::version(const Visit &visit) {
  const runtime::ModelInfo &model = backend.model();
  reply(visit, {.body = dumpJson({{"version", options.version},
                                  {"artifact_version", model.compilerVersion},
                                  {"model", options.modelName},
                                  {"architecture", model.architecture},
                                  {"model_digest", model.digest},
                                  {"kv_dtype", model.kvDtype},
                                  {"kv_layout", model.kvLayout},
                                  {"chat_template", backend.chatTemplate() != nullptr},
                                  {"context_tokens", backend.contextTokens()}})});
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

void Api::metrics(const Visit &visit) {
  figures.openRequests = static_cast<int64_t>(jobs.size()) + parsing;
  if (hooks.serverStats)
    figures.server = hooks.serverStats();
  reply(visit, {.contentType = "text/plain; version=0.0.4; charset=utf-8",
                .body = metrics::render(backend.stats(), figures,
                                        {.modelName = options.modelName, .aliasVllm = options.metricsAliasVllm})});
}

void Api::stats(const Visit &visit) { reply(visit, {.body = dumpJson(statsJson(backend.stats()))}); }

void Api::live(const Visit &visit) {
  if (draining)
    return replyError(visit, {ErrorKind::Draining, "the server is ending"});
  auto exchange = visit.exchange;
  exchange->startStream(
      {.contentType = "text/event-stream; charset=utf-8", .headers = {{"Cache-Control", "no-cache"}}});
  exchange->onAbandoned([this, weak = std::weak_ptr(alive), raw = exchange.get()](http::Departure) {
    if (weak.lock())
      std::erase_if(watchers, [raw](const auto &watcher) { return watcher.get() == raw; });
  });
  exchange->send("data: " + dumpJson(statsJson(backend.stats())) + "\n\n");
  log(visit, 200, json::object());
  watchers.insert(std::move(exchange));
  scheduleTick();
}

/// One timer for all watchers, also when the last left and another came within an interval.
void Api::scheduleTick() {
  if (std::exchange(ticking, true))
    return;
  loop.after(liveInterval, [this, weak = std::weak_ptr(alive)] {
    if (weak.lock())
      tick();
  });
}

void Api::tick() {
  ticking = false;
  if (watchers.empty())
    return;
  const runtime::EngineStats now = backend.stats();
  const std::string event = "data: " + dumpJson(statsJson(now, lastShown)) + "\n\n";
  lastShown = now.recent.empty() ? lastShown : now.recent.back().number;
  for (const auto &watcher : std::set(watchers))
    watcher->send(event);
  scheduleTick();
}

//===----------------------------------------------------------------------===//
// Administration
//===----------------------------------------------------------------------===//

void Api::flush(const Visit &visit) {
  backend.flushPrefixCache();
  reply(visit, {.body = dumpJson({{"flushed", true}})});
}

void Api::drainRoute(const Visit &visit) {
  reply(visit, {.body = dumpJson({{"draining", true}})});
  draining = true;
  if (hooks.stop)
    hooks.stop();
}

} // namespace fusec::serve
