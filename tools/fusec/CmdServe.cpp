//===- CmdServe.cpp - fusec serve: a model behind OpenAI's API -----------------===//
#include "runtime/engine/EngineService.h"
#include "runtime/exec/Executor.h"
#include "serve/EngineBackend.h"
#include "serve/openai/Api.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/Interrupt.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/RunStats.h"
#include "tools/fusec/ServeOptions.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <future>
#include <sys/resource.h>

namespace fusec {

namespace {

class ServeCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Result<int> serve(const Environment &environment);
  int serveUntilAsked(serve::http::Server &server, runtime::EngineService &service);
  int64_t end(serve::Api &api, serve::http::Server &server, runtime::EngineService &service);
  void announce(const serve::http::Server &server, const runtime::EngineService &service) const;

  ModelOptions modelOptions;
  ServeOptions options;
};

void ServeCommand::declare(CLI::App &app) {
  modelOptions.declare(app);
  modelOptions.embeddings.declare(app);
  options.declare(app);
  app.footer("Examples:\n"
             "  fusec serve model.gguf                                  # http://127.0.0.1:8000/v1\n"
             "  fusec serve model/ --ctx 8192 --max-seqs 32 --kv-memory 8GB --kv-dtype f16\n"
             "  fusec serve model.gguf --embeddings                     # /v1/embeddings instead of text\n"
             "  fusec serve model.gguf --host 0.0.0.0 --api-key-file keys.txt --admin-key SECRET\n"
             "  curl http://127.0.0.1:8000/v1/completions -H 'Content-Type: application/json' \\\n"
             "       -d '{\"prompt\": \"Once upon a time\", \"max_tokens\": 32}'\n\n"
             "SIGTERM and Ctrl-C finish what was accepted and end; a second one ends at once.\n"
             "Routes and parameters: docs/serving/api.md; limits and keys: docs/serving/security.md.");
}

/// A connection is a file descriptor, and the usual limit is 1024.
void raiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int ServeCommand::execute(const Environment &environment) {
  Result<int> code = serve(environment);
  return code ? *code : reportError(code.status());
}

Result<int> ServeCommand::serve(const Environment &environment) {
  FUSEC_RETURN_IF_ERROR(options.resolve(environment));
  raiseFileLimit();
  // The port first: a wrong one should not cost the time to load a model.
  FUSEC_ASSIGN_OR_RETURN(auto server, serve::http::Server::bind(options.http));
  FUSEC_ASSIGN_OR_RETURN(auto engine, openEngine(modelOptions, environment, options.engine()));
  if (options.api.modelName.empty() && engine->model().name.empty())
    options.api.modelName = std::filesystem::path(modelOptions.model).stem().string();
  // The routes count requests; the engine counts prompts.
  auto service = runtime::EngineService::adopt(std::move(engine),
                                               {.maxRequests = options.api.maxConcurrent * options.api.maxPrompts});
  return serveUntilAsked(*server, *service);
}

void writeLogLine(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr); // One call: lines stay whole.
}

int ServeCommand::serveUntilAsked(serve::http::Server &server, runtime::EngineService &service) {
  serve::EngineBackend backend(service);
  std::promise<void> asked;
  std::atomic<bool> once = false;
  const auto stop = [&] {
    if (!once.exchange(true))
      asked.set_value();
  };
  serve::ApiHooks hooks{.log = {}, .serverStats = [&server] { return server.stats(); }, .stop = stop};
  if (options.log == "json")
    hooks.log = writeLogLine;
  serve::Api api(backend, server, options.api, hooks);
  GracefulStop onSignal(stop);
  server.run([&api](std::shared_ptr<serve::http::Exchange> exchange) { api.handle(std::move(exchange)); });
  announce(server, service);
  asked.get_future().wait();
  std::fprintf(stderr, "fusec: finishing open requests (at most %lld s); a second signal ends at once\n",
               static_cast<long long>(options.drainTimeoutSeconds));
  const int64_t cut = end(api, server, service);
  if (cut == 0)
    return ExitOk;
  std::fprintf(stderr, "fusec: %lld requests did not finish in time\n", static_cast<long long>(cut));
  return ExitFailure;
}

/// In this order: no listener may call into a server that is gone.
int64_t ServeCommand::end(serve::Api &api, serve::http::Server &server, runtime::EngineService &service) {
  const int64_t cut = api.drain(std::chrono::seconds(options.drainTimeoutSeconds));
  server.stop(std::chrono::seconds(2));
  service.stop();
  return cut;
}

void ServeCommand::announce(const serve::http::Server &server, const runtime::EngineService &service) const {
  const runtime::EngineOptions &engine = service.options();
  std::printf("%s on %s: %lld tokens of context, %lld sequences at once\n", service.model().name.c_str(),
              service.executorInfo().device.c_str(), static_cast<long long>(engine.contextTokens),
              static_cast<long long>(engine.maxSequences));
  for (const runtime::MemoryPlan::Row &row : service.memory().rows)
    std::printf("  %-28s %12s\n", row.name.c_str(), formatBytes(row.bytes).c_str());
  std::printf("  %-28s %12s\n", "total", formatBytes(service.memory().totalBytes()).c_str());
  const bool ipv6 = options.http.host.find(':') != std::string::npos;
  const std::string host = ipv6 ? "[" + options.http.host + "]" : options.http.host;
  if (options.api.apiKeys.empty() && host != "127.0.0.1" && host != "localhost" && host != "[::1]")
    std::fprintf(stderr, "fusec: warning: anybody who reaches %s may use this server; see --api-key\n", host.c_str());
  std::printf("listening on http://%s:%d/v1\n", host.c_str(), server.port());
  std::fflush(stdout);
}

} // namespace

std::unique_ptr<Command> makeServe() { return std::make_unique<ServeCommand>(); }

} // namespace fusec
