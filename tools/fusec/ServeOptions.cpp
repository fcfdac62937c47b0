//===- ServeOptions.cpp - the command line of `fusec serve` -------------------===//
#include "tools/fusec/ServeOptions.h"

#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Version.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

namespace fusec {

static void declareEngine(CLI::App &app, ServeOptions &options) {
  const char *group = "Serving";
  std::vector<std::string> policies;
  for (const runtime::PolicyRow &row : runtime::policyTable())
    policies.emplace_back(row.name);
  app.add_option("--max-seqs", options.maxSequences, "sequences that run at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->group(group);
  app.add_option("--kv-memory", options.kvBytes,
                 "memory for keys and values, such as 2GB; default: a full context for each sequence")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->group(group);
  app.add_option("--policy", options.policy, "who is served first")
      ->check(CLI::IsMember(policies))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--static-batches", options.staticBatches,
               "start requests only when all before them have ended: slower, to compare with")
      ->group(group);
  app.add_flag("--no-prefix-cache", options.noPrefixCache, "compute every prompt from its beginning")->group(group);
}

static void declareAccess(CLI::App &app, ServeOptions &options) {
  const char *group = "Access";
  app.add_option("--host", options.http.host, "address to listen on; 0.0.0.0 = all")
      ->capture_default_str()
      ->group(group);
  options.http.port = 8000;
  app.add_option("-p,--port", options.http.port, "port; 0 = any free one, which is printed")
      ->capture_default_str()
      ->group(group);
  app.add_option("--api-key", options.api.apiKeys, "key that clients must send (may be repeated; or $FUSEC_API_KEY)")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--api-key-file", options.apiKeyFile, "file of such keys, one a line")->group(group);
  app.add_option("--admin-key", options.api.adminKey, "key for /admin; without it nobody may (or $FUSEC_ADMIN_KEY)")
      ->group(group);
  app.add_option("--cors-origin", options.api.corsOrigins,
                 "origin of web pages that may ask; * = all (may be repeated)")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--no-page", options.noPage, "no web page at /")->group(group);
}

static void declareLimits(CLI::App &app, ServeOptions &options) {
  const char *group = "Limits";
  const auto add = [&](const char *name, auto &value, const char *help) {
    app.add_option(name, value, help)->check(CLI::NonNegativeNumber)->capture_default_str()->group(group);
  };
  add("--max-body-bytes", options.http.maxBodyBytes, "size of a request");
  add("--max-prompt-tokens", options.api.maxPromptTokens, "tokens of a prompt; 0 = what the context holds");
  add("--max-n", options.api.maxN, "texts per prompt");
  add("--max-concurrent", options.api.maxConcurrent, "requests accepted and not finished; more are answered 429");
  add("--max-queue", options.api.maxQueue, "requests that wait for their first token; more are answered 429");
  add("--max-connections", options.http.maxConnections, "open connections; more are answered 503");
  add("--request-timeout", options.requestTimeoutSeconds, "seconds a request may take; 0 = any");
  add("--drain-timeout", options.drainTimeoutSeconds, "seconds that open requests get after SIGTERM");
}

static void declareReports(CLI::App &app, ServeOptions &options) {
  const char *group = "Reports";
  app.add_option("--served-model-name", options.api.modelName, "what clients call the model; default: its own name")
      ->group(group);
  app.add_option("--log", options.log, "a line of JSON per request on standard error, or nothing")
      ->check(CLI::IsMember({"json", "off"}))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--log-prompts", options.api.logPrompts, "with the text of the prompts")->group(group);
  app.add_option("--metrics-alias", options.metricsAlias, "vllm: emit each metric under vLLM's name, too")
      ->check(CLI::IsMember({"vllm"}))
      ->group(group);
}

void ServeOptions::declare(CLI::App &app) {
  declareEngine(app, *this);
  declareAccess(app, *this);
  declareLimits(app, *this);
  declareReports(app, *this);
}

runtime::EngineOptions ServeOptions::engine() const {
  runtime::EngineOptions engine;
  engine.maxSequences = maxSequences;
  engine.kvBytes = static_cast<int64_t>(kvBytes);
  engine.policy = runtime::findPolicy(policy)->policy; // Checked by declare.
  engine.staticBatches = staticBatches;
  engine.prefixCache = !noPrefixCache;
  return engine;
}

static Status addKeys(const std::string &file, std::vector<std::string> &keys) {
  FUSEC_ASSIGN_OR_RETURN(std::string text, readWholeFile(file));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.pop_back();
    if (!line.empty())
      keys.push_back(line);
  }
  return keys.empty() ? invalidArgument("--api-key-file: '" + file + "' holds no key") : Status();
}

Status ServeOptions::resolve(const Environment &environment) {
  if (!apiKeyFile.empty())
    FUSEC_RETURN_IF_ERROR(addKeys(apiKeyFile, api.apiKeys));
  if (!environment.apiKey.empty())
    api.apiKeys.push_back(environment.apiKey);
  if (api.adminKey.empty())
    api.adminKey = environment.adminKey;
  for (const std::string &key : api.apiKeys)
    if (key.empty() || key == api.adminKey)
      return invalidArgument(key.empty() ? "--api-key: a key must not be empty"
                                         : "--api-key: a key must not be the admin key, too");
  api.version = FUSEC_VERSION;
  api.page = !noPage;
  api.metricsAliasVllm = metricsAlias == "vllm";
  api.requestTimeout = std::chrono::seconds(requestTimeoutSeconds);
  // The engine runs the texts of a prompt at once.
  api.maxN = static_cast<int>(std::min<int64_t>(api.maxN, maxSequences));
  return {};
}

} // namespace fusec
