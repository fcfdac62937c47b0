//===- RequestApi.cpp - submit, and what comes back -------------------------------===//

#include "runtime/capi/Failure.h"
#include "runtime/capi/Handles.h"
#include "runtime/capi/StructSizes.h"
#include "runtime/text/Tokenizer.h"

using namespace fusec;
using namespace fusec::capi;
using namespace fusec::runtime;

namespace {

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

fusec_request_options defaultsOf(const fusec_engine *engine) {
  const Request request;
  const SamplingParams sampling = engine ? SamplingParams::defaultsFor(engine->service->model()) : SamplingParams();
  fusec_request_options options{};
  options.struct_size = sizeof(options);
  options.max_tokens = request.maxTokens;
  options.min_tokens = request.minTokens;
  options.seed = sampling.seed;
  options.temperature = sampling.temperature;
  options.top_p = sampling.topP;
  options.min_p = sampling.minP;
  options.repetition_penalty = sampling.repetitionPenalty;
  options.presence_penalty = sampling.presencePenalty;
  options.frequency_penalty = sampling.frequencyPenalty;
  options.top_k = sampling.topK;
  options.n = request.n;
  options.best_of = request.bestOf;
  options.logprobs = sampling.logprobs;
  options.priority = request.priority;
  return options;
}

SamplingParams samplingOf(const fusec_request_options &given) {
  SamplingParams sampling;
  for (size_t i = 0; i < given.logit_bias_count; ++i)
    sampling.logitBias[given.logit_bias_ids[i]] = given.logit_bias_values[i];
  sampling.repetitionPenalty = given.repetition_penalty;
  sampling.presencePenalty = given.presence_penalty;
  sampling.frequencyPenalty = given.frequency_penalty;
  sampling.temperature = given.temperature;
  sampling.topK = given.top_k;
  sampling.topP = given.top_p;
  sampling.minP = given.min_p;
  sampling.seed = given.seed;
  sampling.logprobs = given.logprobs;
  return sampling;
}

Status checkArrays(const fusec_request_options &given) {
  FUSEC_RETURN_IF_ERROR(arrayNotNull(given.stop, given.stop_count, "stop"));
  for (size_t i = 0; i < given.stop_count; ++i)
    FUSEC_RETURN_IF_ERROR(notNull(given.stop[i], ("stop[" + std::to_string(i) + "]").c_str()));
  FUSEC_RETURN_IF_ERROR(arrayNotNull(given.stop_token_ids, given.stop_token_id_count, "stop_token_ids"));
  FUSEC_RETURN_IF_ERROR(arrayNotNull(given.logit_bias_ids, given.logit_bias_count, "logit_bias_ids"));
  return arrayNotNull(given.logit_bias_values, given.logit_bias_count, "logit_bias_values");
}

/// All but the prompt and the grammar.
Result<Request> requestOf(const fusec_request_options &given) {
  FUSEC_RETURN_IF_ERROR(isReserved(given.reserved));
  FUSEC_RETURN_IF_ERROR(checkArrays(given));
  Request request;
  request.sampling = samplingOf(given);
  request.maxTokens = given.max_tokens;
  request.minTokens = given.min_tokens;
  request.stopIds.assign(given.stop_token_ids, given.stop_token_ids + given.stop_token_id_count);
  request.stopStrings.assign(given.stop, given.stop + given.stop_count);
  request.ignoreEos = given.ignore_eos != 0;
  request.n = given.n;
  request.bestOf = given.best_of;
  request.priority = given.priority;
  request.tenant = given.tenant ? given.tenant : "";
  request.includeStop = given.include_stop != 0;
  request.skipPrefixCache = given.skip_prefix_cache != 0;
  return request;
}

Status submit(fusec_engine &engine, std::vector<TokenId> prompt, const fusec_request_options *options,
              fusec_request **out) {
  fusec_request_options known = defaultsOf(&engine);
  if (options) {
    FUSEC_ASSIGN_OR_RETURN(known, readSized(*options, known, "request options"));
  }
  FUSEC_ASSIGN_OR_RETURN(Request request, requestOf(known));
  FUSEC_ASSIGN_OR_RETURN(request.constraint, engine.grammars.compile(known));
  auto handle = std::make_unique<fusec_request>();
  auto stream =
      std::make_shared<RequestStream>(handle.get(), StreamCallbacks{known.on_token, known.on_done, known.user});
  handle->stream = stream;
  request.prompt = std::move(prompt);
  request.cancel = stream->cancelFlag();
  // From here on a callback may free the handle.
  fusec_request *const given = handle.release();
  Result<RequestId> id = engine.service->submit(std::move(request), stream);
  if (!id) {
    delete given;
    return id.status();
  }
  *out = given;
  return {};
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

Status mayWait(const fusec_request *request, int64_t timeoutMs) {
  FUSEC_RETURN_IF_ERROR(notNull(request, "request"));
  if (timeoutMs != 0 && RequestStream::isInCallback())
    return invalidArgument("a callback must not wait: timeout_ms must be 0");
  return {};
}

/// What there is to say at the end of a request: its error, or `otherwise`.
fusec_status endOf(const fusec_request &request, fusec_status otherwise) {
  const RequestOutcome *outcome = request.stream->outcome();
  return outcome && !outcome->status.ok() ? fail(outcome->status) : otherwise;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Result<const RequestOutcome *> outcomeOf(const fusec_request *request) {
  FUSEC_RETURN_IF_ERROR(notNull(request, "request"));
  if (const RequestOutcome *outcome = request->stream->outcome())
    return outcome;
  return unavailable("the request has not ended");
}

fusec_result resultOf(const RequestOutcome &outcome) {
  const Explanation &explanation = outcome.explanation;
  fusec_result out{};
  out.message = outcome.status.message().c_str();
  out.queue_seconds = explanation.queueSeconds;
  out.prefill_seconds = explanation.prefillSeconds;
  out.first_token_seconds = explanation.firstTokenSeconds;
  out.decode_seconds = explanation.decodeSeconds;
  out.total_seconds = explanation.totalSeconds;
  out.prompt_tokens = explanation.promptTokens;
  out.cached_tokens = explanation.cachedTokens;
  out.computed_tokens = explanation.computedTokens;
  out.recomputed_tokens = explanation.recomputedTokens;
  out.generated_tokens = explanation.generatedTokens;
  out.preemptions = explanation.preemptions;
  out.steps = explanation.steps;
  out.status = statusOf(outcome.status.code());
  out.choice_count = static_cast<int32_t>(outcome.choices.size());
  return out;
}

struct ReasonRow {
  FinishReason reason;
  fusec_finish_reason number;
};
constexpr ReasonRow reasonTable[] = {
    {FinishReason::Stop, FUSEC_FINISH_STOP},
    {FinishReason::Length, FUSEC_FINISH_LENGTH},
    {FinishReason::Cancelled, FUSEC_FINISH_CANCELLED},
    {FinishReason::Error, FUSEC_FINISH_ERROR},
};
static_assert(std::size(reasonTable) == numFinishReasons);

int32_t numberOf(FinishReason reason) {
  for (const ReasonRow &row : reasonTable)
    if (row.reason == reason)
      return row.number;
  return FUSEC_FINISH_ERROR;
}

fusec_choice choiceOf(const Generation &generation) {
  fusec_choice out{};
  out.text = generation.text.c_str();
  out.text_length = generation.text.size();
  out.ids = generation.ids.data();
  out.id_count = generation.ids.size();
  out.mean_logprob = generation.meanLogprob;
  out.finish_reason = numberOf(generation.reason);
  out.stop_id = generation.stopId;
  out.stop_string = generation.stopString;
  return out;
}

} // namespace

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

fusec_status fusec_request_options_init(const fusec_engine *engine, fusec_request_options *options, size_t structSize) {
  return guarded([&] { return initSized(options, structSize, defaultsOf(engine), "request options"); });
}

fusec_status fusec_engine_submit(fusec_engine *engine, const int32_t *ids, size_t count,
                                 const fusec_request_options *options, fusec_request **request) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    FUSEC_RETURN_IF_ERROR(arrayNotNull(ids, count, "ids"));
    FUSEC_RETURN_IF_ERROR(notNull(request, "request"));
    return submit(*engine, std::vector<TokenId>(ids, ids + count), options, request);
  });
}

fusec_status fusec_engine_submit_text(fusec_engine *engine, const char *text, size_t length,
                                      const fusec_request_options *options, fusec_request **request) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    FUSEC_RETURN_IF_ERROR(arrayNotNull(text, length, "text"));
    FUSEC_RETURN_IF_ERROR(notNull(request, "request"));
    FUSEC_ASSIGN_OR_RETURN(std::vector<TokenId> ids, engine->service->tokenizer().encode({text, length}, {}));
    return submit(*engine, std::move(ids), options, request);
  });
}

fusec_status fusec_request_next(fusec_request *request, int64_t timeoutMs, fusec_event *event) {
  return guarded([&]() -> fusec_status {
    if (Status allowed = mayWait(request, timeoutMs); !allowed.ok())
      return fail(allowed);
    if (Status sized = checkSized(event, "event"); !sized.ok())
      return fail(sized);
    if (request->stream->hasTokenCallback())
      return fail(FUSEC_INVALID_ARGUMENT, "the events of this request go to its on_token");
    fusec_event found;
    const fusec_status status = request->stream->next(timeoutMs, found);
    if (status == FUSEC_OK)
      writeSized(*event, found);
    return status == FUSEC_END ? endOf(*request, FUSEC_END) : status;
  });
}

fusec_status fusec_request_wait(fusec_request *request, int64_t timeoutMs) {
  return guarded([&]() -> fusec_status {
    if (Status allowed = mayWait(request, timeoutMs); !allowed.ok())
      return fail(allowed);
    const fusec_status status = request->stream->wait(timeoutMs);
    return status == FUSEC_OK ? endOf(*request, FUSEC_OK) : status;
  });
}

fusec_status fusec_request_cancel(fusec_request *request) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(request, "request"));
    request->stream->cancel();
    return {};
  });
}

void fusec_request_free(fusec_request *request) {
  (void)guarded([&]() -> Status {
    if (request)
      request->stream->close();
    delete request;
    return {};
  });
}

const char *fusec_finish_reason_name(int32_t reason) {
  for (const ReasonRow &row : reasonTable)
    if (row.number == reason)
      return finishReasonName(row.reason).data(); // Literals, so they end with NUL.
  return "unknown";
}

fusec_status fusec_request_result(const fusec_request *request, fusec_result *result) {
  return guarded([&]() -> Status {
    FUSEC_ASSIGN_OR_RETURN(const RequestOutcome *outcome, outcomeOf(request));
    FUSEC_RETURN_IF_ERROR(checkSized(result, "result"));
    writeSized(*result, resultOf(*outcome));
    return {};
  });
}

fusec_status fusec_request_choice(const fusec_request *request, int32_t index, fusec_choice *choice) {
  return guarded([&]() -> Status {
    FUSEC_ASSIGN_OR_RETURN(const RequestOutcome *outcome, outcomeOf(request));
    FUSEC_RETURN_IF_ERROR(checkSized(choice, "choice"));
    const size_t count = outcome->choices.size();
    if (index < 0 || static_cast<size_t>(index) >= count)
      return invalidArgument("index: found " + std::to_string(index) + ", but the request has " +
                             std::to_string(count) + " texts");
    writeSized(*choice, choiceOf(outcome->choices[static_cast<size_t>(index)]));
    return {};
  });
}
