//===- Api.h - the routes -------------------------------------------------------===//
//
//   auto server = http::Server::bind({.port = 8000});
//   Api api(backend, **server, options, hooks);
//   (*server)->run([&](auto exchange) { api.handle(std::move(exchange)); });
//   ...
//   api.drain(std::chrono::seconds(30));
//   (*server)->stop(std::chrono::seconds(1));
//
// docs/serving/api.md describes every route.
//
// Ownership: owns worker threads and the jobs in flight; borrows backend and
// loop. Destroy it after the server has stopped and the backend calls no
// listener any more. Threading: handle on the loop's thread, drain on any
// other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/Backend.h"
#include "serve/http/EventLoop.h"
#include "serve/http/Server.h"
#include "serve/metrics/Exposition.h"
#include "serve/openai/Access.h"
#include "serve/openai/ApiOptions.h"
#include "serve/openai/EmbeddingCall.h"
#include "serve/openai/GenerationJob.h"
#include "serve/openai/RequestLog.h"
#include "serve/openai/WorkerPool.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace fusec::serve {

/// What the routes need of the process around them. All may be empty.
struct ApiHooks {
  LogSink log;
  std::function<http::ServerStats()> serverStats;
  std::function<void()> stop; ///< POST /admin/drain: begin as SIGTERM does. Must not block.
};

/// One request on its way through the routes.
struct Visit {
  std::shared_ptr<http::Exchange> exchange;
  Caller caller = {};
  std::string requestId = {};
  std::string_view route = {}; ///< The path of the table.
  std::chrono::steady_clock::time_point arrived = {};
};

class Api {
public:
  Api(Backend &backend, http::EventLoop &loop, ApiOptions options, ApiHooks hooks);
  ~Api();

  void handle(std::shared_ptr<http::Exchange> exchange);

  /// No new generations; waits until those accepted have ended, or the time is up: then they are cut. The number cut.
  int64_t drain(std::chrono::milliseconds patience);

  /// One row per route, for the documentation.
  struct RouteInfo {
    std::string_view method, path, help;
    Guard guard;
  };
  static std::vector<RouteInfo> routes();

private:
  using Handler = void (Api::*)(const Visit &);
  struct RouteRow {
    std::string_view method, path; ///< A path that ends in '/' takes all below it.
    Guard guard;
    Handler handler;
    std::string_view help;
  };
  static std::span<const RouteRow> table();

  const RouteRow *findRoute(const http::Request &request, Visit &visit, ApiError &error) const;
  void preflight(const Visit &visit);
  void reply(const Visit &visit, http::Response response);
  void replyError(const Visit &visit, const ApiError &error) { reply(visit, error.toResponse()); }
  /// Answers with what `work` gives; it runs on a worker.
  void replyFromWorker(const Visit &visit, std::function<http::Response(const http::Request &)> work);
  void log(const Visit &visit, int status, nlohmann::json more);
  Failure checkBodyKind(const http::Request &request) const;

  // GenerationRoutes.cpp
  void completions(const Visit &visit) { generate(visit, Route::Completions); }
  void chatCompletions(const Visit &visit) { generate(visit, Route::Chat); }
  void generate(const Visit &visit, Route route);
  /// Reads a call on a worker, then launches it on the loop's thread; not when the server is full or `read` fails.
  void readThen(const Visit &visit, std::function<Failure()> read, std::function<void()> launch);
  void launch(const Visit &visit, GenerationCall call);
  ReplyHead replyHead(bool chat) const;
  JobHooks hooksFor(const Visit &visit, std::function<nlohmann::json(const JobReport &)> describe,
                    std::shared_ptr<std::weak_ptr<Job>> self);
  void endJob(const std::shared_ptr<Job> &job);
  void sweep();
  void checkDrained();
  Failure checkLoad() const;
  CallContext callContext() const { return {backend, options, options.modelName}; }

  // TokenRoutes.cpp
  void tokenize(const Visit &visit);
  void detokenize(const Visit &visit);

  // EmbeddingRoutes.cpp
  void embeddings(const Visit &visit);
  void embed(const Visit &visit, EmbeddingCall call);

  // PageRoutes.cpp
  void page(const Visit &visit);

  // StatusRoutes.cpp
  void models(const Visit &visit);
  void model(const Visit &visit);
  void health(const Visit &visit);
  void ready(const Visit &visit);
  void version(const Visit &visit);
  void metrics(const Visit &visit);
  void stats(const Visit &visit);
  void live(const Visit &visit);
  void scheduleTick();
  void tick();
  void flush(const Visit &visit);
  void drainRoute(const Visit &visit);

  Backend &backend;
  http::EventLoop &loop;
  const ApiOptions options;
  const ApiHooks hooks;
  const Access access;
  const int64_t created;

  // Of the loop's thread.
  std::set<std::shared_ptr<Job>> jobs;
  int64_t parsing = 0;      ///< Requests for jobs on a worker.
  int64_t waitingFirst = 0; ///< Jobs without a first token or embeddings.
  int64_t cut = 0;
  metrics::HttpFigures figures;
  std::set<std::shared_ptr<http::Exchange>> watchers; ///< Streams of /api/live.
  bool ticking = false;                               ///< A timer for them runs.
  uint64_t lastShown = 0;                             ///< Number of the last step that they were told of.

  std::atomic<bool> draining = false;
  std::mutex mutex;
  std::condition_variable idle;
  bool drained = false; ///< Guarded by mutex.

  std::shared_ptr<bool> alive = std::make_shared<bool>(true); ///< For timers that outlive this.
  WorkerPool workers;
};

} // namespace fusec::serve
