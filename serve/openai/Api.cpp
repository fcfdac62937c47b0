//===- Api.cpp - the routes -----------------------------------------------------===//
#include "serve/openai/Api.h"

#include <ctime>

namespace fusec::serve {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::span<const Api::RouteRow> Api::table() {
  static constexpr RouteRow rows[] = {
      {"GET", "/", Guard::Open, &Api::page, "a web page: chat, and a live view of the engine"},
      {"GET", "/page/", Guard::Open, &Api::page, "the files of that page"},
      {"POST", "/v1/completions", Guard::User, &Api::completions, "continues prompts"},
      {"POST", "/v1/chat/completions", Guard::User, &Api::chatCompletions, "answers a conversation"},
      {"POST", "/v1/embeddings", Guard::User, &Api::embeddings, "vectors of texts, by a server for embeddings"},
      {"GET", "/v1/models", Guard::User, &Api::models, "the model that is served"},
      {"GET", "/v1/models/", Guard::User, &Api::model, "the same, by its name"},
      {"POST", "/tokenize", Guard::User, &Api::tokenize, "token ids of a text or a conversation"},
      {"POST", "/detokenize", Guard::User, &Api::detokenize, "the text of token ids"},
      {"GET", "/health", Guard::Open, &Api::health, "200 while the engine gets on, else 503"},
      {"GET", "/ready", Guard::Open, &Api::ready, "200 while new requests are taken, else 503"},
      {"GET", "/metrics", Guard::User, &Api::metrics, "figures for Prometheus"},
      {"GET", "/version", Guard::User, &Api::version, "versions of server, compiler and model"},
      {"GET", "/api/stats", Guard::User, &Api::stats, "figures as JSON"},
      {"GET", "/api/live", Guard::User, &Api::live, "the same, twice a second, as server-sent events"},
      {"POST", "/admin/flush", Guard::Admin, &Api::flush, "drops the prefix cache"},
      {"POST", "/admin/drain", Guard::Admin, &Api::drainRoute, "as SIGTERM: finishes what there is, then ends"},
  };
  return rows;
}

std::vector<Api::RouteInfo> Api::routes() {
  std::vector<RouteInfo> infos;
  for (const RouteRow &row : table())
    infos.push_back({row.method, row.path, row.help, row.guard});
  return infos;
}

static bool matches(std::string_view pattern, std::string_view path) {
  const bool takesAllBelow = pattern.size() > 1 && pattern.ends_with('/');
  return takesAllBelow ? path.starts_with(pattern) && path.size() > pattern.size() : path == pattern;
}

const Api::RouteRow *Api::findRoute(const http::Request &request, Visit &visit, ApiError &error) const {
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  for (const RouteRow &row : table()) {
    if (!matches(row.path, request.path) || (row.handler == &Api::page && !options.page))
      continue;
    visit.route = row.path;
    if (row.method == method)
      return &row;
    error = {ErrorKind::WrongMethod, "Not allowed to " + request.method.substr(0, 20) + " on " +
                                         request.path.substr(0, 200) + ": expected " + std::string(row.method)};
    return nullptr;
  }
  error = {ErrorKind::UnknownRoute,
           "Invalid URL (" + request.method.substr(0, 20) + " " + request.path.substr(0, 200) + ")"};
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

Api::Api(Backend &backend, http::EventLoop &loop, ApiOptions given, ApiHooks hooks)
    : backend(backend), loop(loop), options([&] {
        if (given.modelName.empty())
          given.modelName = backend.model().name;
        return std::move(given);
      }()),
      hooks(std::move(hooks)), access(options), created(std::time(nullptr)), workers(std::max(1, options.workers)) {
  loop.post([this, weak = std::weak_ptr(alive)] {
    if (weak.lock())
      sweep();
  });
}

Api::~Api() = default;

Failure Api::checkBodyKind(const http::Request &request) const {
  const std::string_view type = request.header("content-type");
  if (request.method != "POST" || type.empty() || type.substr(0, type.find(';')) == "application/json")
    return {};
  return ApiError{ErrorKind::WrongContentType,
                  "Content-Type '" + std::string(type.substr(0, 60)) + "': expected application/json"};
}

void Api::handle(std::shared_ptr<http::Exchange> exchange) {
  Visit visit{.exchange = exchange, .arrived = Clock::now()};
  const http::Request &request = exchange->request();
  visit.requestId = requestIdFor(request.header("x-request-id"));
  exchange->addHeader({"x-request-id", visit.requestId});
  if (const std::string origin = access.allowedOrigin(request); !origin.empty()) {
    exchange->addHeader({"Access-Control-Allow-Origin", origin});
    exchange->addHeader({"Vary", "Origin"});
    if (request.method == "OPTIONS")
      return preflight(visit);
  }
  ApiError error;
  const RouteRow *row = findRoute(request, visit, error);
  // Who may not ask is not told which paths exist, but the open ones.
  if (Failure failure = access.admit(request, row ? row->guard : Guard::User, visit.caller))
    return replyError(visit, *failure);
  if (!row)
    return replyError(visit, error);
  if (Failure failure = checkBodyKind(request))
    return replyError(visit, *failure);
  (this->*row->handler)(visit);
}

void Api::preflight(const Visit &visit) {
  reply(visit, {.status = 204,
                .headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                            {"Access-Control-Allow-Headers", "authorization, content-type, x-api-key, x-request-id, "
                                                             "x-fusec-explain"},
                            {"Access-Control-Max-Age", "600"}}});
}

void Api::reply(const Visit &visit, http::Response response) {
  const int status = response.status;
  visit.exchange->respond(std::move(response));
  log(visit, status, json::object());
}

void Api::replyFromWorker(const Visit &visit, std::function<http::Response(const http::Request &)> work) {
  workers.run([this, visit, work = std::move(work)]() mutable {
    http::Response response = work(visit.exchange->request());
    loop.post([this, visit = std::move(visit), response = std::move(response)]() mutable {
      reply(visit, std::move(response));
    });
  });
}

void Api::log(const Visit &visit, int status, json more) {
  const http::Request &request = visit.exchange->request();
  ++figures.requests[{visit.route.empty() ? "other" : std::string(visit.route), status}];
  const bool polled = visit.route == "/health" || visit.route == "/ready" || visit.route == "/metrics";
  if (!hooks.log || (polled && status == 200))
    return;
  const std::chrono::duration<double, std::milli> total = Clock::now() - visit.arrived;
  json line = {{"time", timestamp()},
               {"id", visit.requestId},
               {"remote", request.remote},
               {"method", request.method.substr(0, 20)},
               {"path", request.path.substr(0, 200)},
               {"status", status},
               {"total_ms", std::round(total.count() * 1000) / 1000}};
  if (visit.caller.keyIndex >= 0)
    line["key"] = visit.caller.keyIndex;
  line.update(more);
  hooks.log(dumpJson(line));
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void Api::checkDrained() {
  if (!draining || !jobs.empty() || parsing > 0)
    return;
  std::lock_guard lock(mutex);
  drained = true;
  idle.notify_all();
}

int64_t Api::drain(std::chrono::milliseconds patience) {
  draining = true;
  loop.post([this] {
    for (const auto &watcher : std::exchange(watchers, {}))
      watcher->endStream();
    checkDrained();
  });
  std::unique_lock lock(mutex);
  if (idle.wait_for(lock, patience, [this] { return drained; }))
    return 0;
  lock.unlock();
  loop.post([this] {
    cut = static_cast<int64_t>(jobs.size()) + parsing;
    for (const auto &job : std::set(jobs))
      job->fail({ErrorKind::Draining, "the server is ending and the time for open requests is over"});
    std::lock_guard guard(mutex);
    drained = true;
    idle.notify_all();
  });
  lock.lock();
  idle.wait_for(lock, std::chrono::seconds(5), [this] { return drained; });
  return cut;
}

} // namespace fusec::serve
