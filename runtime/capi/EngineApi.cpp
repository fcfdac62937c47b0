//===- EngineApi.cpp - fusec_engine_*: load, facts, numbers, end -------------------===//

#include "runtime/capi/Failure.h"
#include "runtime/capi/Handles.h"
#include "runtime/capi/StructSizes.h"
#include "runtime/exec/Executor.h"
#include "runtime/sched/Policy.h"
#include "runtime/text/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <chrono>

using namespace fusec;
using namespace fusec::capi;
using namespace fusec::runtime;

namespace {

std::string textOf(const char *given) { return given ? given : ""; }

Status notInCallback(const char *function) {
  return RequestStream::isInCallback()
             ? invalidArgument(std::string(function) + " waits, so it must not be called from a callback")
             : Status();
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

fusec_engine_options defaultOptions() {
  const EngineOptions engine;
  fusec_engine_options options{};
  options.struct_size = sizeof(options);
  options.context_tokens = engine.contextTokens;
  options.step_tokens = engine.chunkTokens;
  options.max_sequences = engine.maxSequences;
  options.max_requests = ServiceOptions().maxRequests;
  options.threads = engine.threads;
  options.prefix_cache = engine.prefixCache;
  options.graphs = engine.graphs;
  return options;
}

Result<Policy> policyOf(const char *name) {
  if (!name)
    return EngineOptions().policy;
  if (const PolicyRow *row = findPolicy(name))
    return row->policy;
  std::string expected;
  for (const PolicyRow &row : policyTable())
    expected += (expected.empty() ? "'" : ", '") + std::string(row.name) + "'";
  return invalidArgument("policy: expected one of " + expected + ", found '" + name + "'");
}

Result<EngineOptions> engineOptions(const char *artifact, const fusec_engine_options &given) {
  EngineOptions options;
  FUSEC_ASSIGN_OR_RETURN(options.policy, policyOf(given.policy));
  options.artifact = artifact;
  options.threads = given.threads;
  options.contextTokens = given.context_tokens;
  options.chunkTokens = given.step_tokens;
  options.maxSequences = given.max_sequences;
  options.kvBytes = given.kv_bytes;
  options.kvTokens = given.kv_tokens;
  options.prefixCache = given.prefix_cache != 0;
  options.level = textOf(given.level);
  options.device = textOf(given.device);
  options.graphs = given.graphs != 0;
  if (given.on_progress)
    options.progress = [call = given.on_progress, user = given.user](std::string_view stage, double fraction) {
      call(user, std::string(stage).c_str(), fraction);
    };
  return options;
}

/// A range that the engine takes for granted.
Status checkRanges(const fusec_engine_options &options) {
  const std::pair<const char *, int64_t> fields[] = {
      {"context_tokens", options.context_tokens},
      {"kv_bytes", options.kv_bytes},
      {"kv_tokens", options.kv_tokens},
      {"threads", options.threads},
  };
  for (auto [name, value] : fields)
    if (value < 0)
      return invalidArgument(std::string(name) + ": expected a number from 0, found " + std::to_string(value));
  const std::pair<const char *, int64_t> counts[] = {
      {"step_tokens", options.step_tokens},
      {"max_sequences", options.max_sequences},
      {"max_requests", options.max_requests},
  };
  for (auto [name, value] : counts)
    if (value < 1)
      return invalidArgument(std::string(name) + ": expected a number from 1, found " + std::to_string(value));
  return isReserved(options.reserved);
}

//===----------------------------------------------------------------------===//
// Facts and numbers
//===----------------------------------------------------------------------===//

fusec_model_info infoOf(const EngineService &service) {
  const ModelInfo &model = service.model();
  fusec_model_info info{};
  info.name = model.name.c_str();
  info.architecture = model.architecture.c_str();
  info.digest = model.digest.c_str();
  info.compiler_version = model.compilerVersion.c_str();
  info.kv_dtype = model.kvDtype.c_str();
  info.device = service.executorInfo().device.c_str();
  info.level = service.executorInfo().level.c_str();
  info.end_ids = service.endIds().data();
  info.end_id_count = service.endIds().size();
  info.vocab_size = model.vocabSize;
  info.context_length = model.contextLength;
  info.context_tokens = service.options().contextTokens;
  info.max_sequences = service.options().maxSequences;
  info.weight_bytes = model.bytes;
  info.memory_bytes = service.memory().totalBytes();
  info.bos_id = model.bosId.value_or(-1);
  info.threads = service.executorInfo().threads;
  info.has_chat_template = service.chatTemplate() != nullptr;
  return info;
}

void setCounters(fusec_stats &out, const Counters &counters) {
  out.prompt_tokens = counters[Counter::PromptTokens];
  out.cached_prompt_tokens = counters[Counter::CachedPromptTokens];
  out.recomputed_tokens = counters[Counter::RecomputedTokens];
  out.generated_tokens = counters[Counter::GenerationTokens];
  out.prefix_queries = counters[Counter::PrefixQueries];
  out.prefix_hits = counters[Counter::PrefixHits];
  out.preemptions = counters[Counter::Preemptions];
  out.steps = counters[Counter::Steps];
  out.failed_steps = counters[Counter::FailedSteps];
}

void setPool(fusec_stats &out, const Ledger &pool) {
  out.pages_total = pool.total;
  out.pages_sink = pool.sink;
  out.pages_live = pool.live;
  out.pages_cached = pool.cached;
  out.pages_parked = pool.parked;
  out.pages_free = pool.free;
  out.page_tokens = pool.pageTokens;
  out.tokens_held = pool.held;
  out.tokens_tail = pool.tail;
  out.tokens_reserved = pool.reserved;
}

fusec_stats statsOf(const EngineStats &stats) {
  fusec_stats out{};
  auto ended = [&](FinishReason reason) { return stats.finished[static_cast<size_t>(reason)]; };
  out.uptime_seconds = stats.now;
  out.queued = stats.queued;
  out.waiting = stats.waiting;
  out.running = stats.running;
  out.ended_stop = ended(FinishReason::Stop);
  out.ended_length = ended(FinishReason::Length);
  out.ended_cancelled = ended(FinishReason::Cancelled);
  out.ended_error = ended(FinishReason::Error);
  setCounters(out, stats.counters);
  setPool(out, stats.pool);
  out.step_seconds = stats.stepSeconds;
  out.kernel_seconds = stats.executorSeconds;
  return out;
}

} // namespace

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

int32_t fusec_abi_version(void) { return FUSEC_ABI_VERSION; }
const char *fusec_version(void) { return FUSEC_VERSION; }

fusec_status fusec_engine_options_init(fusec_engine_options *options, size_t structSize) {
  return guarded([&] { return initSized(options, structSize, defaultOptions(), "engine options"); });
}

fusec_status fusec_engine_load(const char *artifact, const fusec_engine_options *options, fusec_engine **engine) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(artifact, "artifact"));
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    fusec_engine_options known = defaultOptions();
    if (options) {
      FUSEC_ASSIGN_OR_RETURN(known, readSized(*options, known, "engine options"));
    }
    FUSEC_RETURN_IF_ERROR(checkRanges(known));
    FUSEC_ASSIGN_OR_RETURN(EngineOptions engineOptions, ::engineOptions(artifact, known));
    FUSEC_ASSIGN_OR_RETURN(auto service, EngineService::start(engineOptions, {.maxRequests = known.max_requests}));
    *engine = new fusec_engine(std::move(service));
    return {};
  });
}

fusec_status fusec_engine_free(fusec_engine *engine) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notInCallback("fusec_engine_free"));
    delete engine;
    return {};
  });
}

fusec_status fusec_engine_drain(fusec_engine *engine, int64_t timeoutMs) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    FUSEC_RETURN_IF_ERROR(notInCallback("fusec_engine_drain"));
    return engine->service->drain(RequestStream::waitTime(timeoutMs));
  });
}

fusec_status fusec_engine_health(const fusec_engine *engine) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    const Status status = engine->service->health().status;
    return status.ok() ? Status() : unavailable("the engine is dead: " + status.message());
  });
}

fusec_status fusec_engine_flush_prefix_cache(fusec_engine *engine) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    engine->service->flushPrefixCache();
    return {};
  });
}

fusec_status fusec_engine_model_info(const fusec_engine *engine, fusec_model_info *info) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    FUSEC_RETURN_IF_ERROR(checkSized(info, "model info"));
    writeSized(*info, infoOf(*engine->service));
    return {};
  });
}

fusec_status fusec_engine_stats(const fusec_engine *engine, fusec_stats *stats) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    FUSEC_RETURN_IF_ERROR(checkSized(stats, "stats"));
    writeSized(*stats, statsOf(engine->service->stats()));
    return {};
  });
}
