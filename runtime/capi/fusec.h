//===- fusec.h - the C interface of the runtime ------------------------------===//
//
// Runs compiled models ("artifacts") in a program of any language. C99.
//
//   fusec_engine *engine;
//   fusec_request *request;
//   fusec_event event = {.struct_size = sizeof event};
//   if (fusec_engine_load("model.fusec", NULL, &engine)) puts(fusec_last_error());
//   fusec_engine_submit_text(engine, "Once", 4, NULL, &request);
//   while (fusec_request_next(request, -1, &event) == FUSEC_OK)
//     fwrite(event.text, 1, event.text_length, stdout);
//   fusec_request_free(request);
//   fusec_engine_free(engine);
//
// Errors: what can fail returns a fusec_status. fusec_last_error() then says, for the
// calling thread, what was expected and what was found. A null pointer where none is
// allowed is FUSEC_INVALID_ARGUMENT; after any error the out-parameters are unchanged.
//
// Structs: each begins with struct_size, the size that the program was compiled with.
// The *_options_init functions set it; in structs that are filled by the library the
// program sets it (`fusec_stats stats = {.struct_size = sizeof stats}`). Later versions only append
// fields, whose zero means what the library did before. So:
//   - a program compiled with an older header works: fields it lacks are not read or written;
//   - a program compiled with a newer header works as long as the fields that the
//     library does not know are zero, and is refused with FUSEC_UNSUPPORTED otherwise;
//   - fields named `reserved` are zero.
// Enumerators may be added. Flags: 0 is false, everything else true.
//
// Ownership: what the library allocates says which function frees it. It copies what it
// is given, and keeps only the callbacks and their `user` pointer. Handles are valid
// until freed; freeing NULL does nothing.
//
// Text is UTF-8; invalid bytes count as U+FFFD. What the library returns also ends with
// a NUL, which no length counts.
//
// Threading: every function may be called from any thread at any time; exceptions are
// stated. A handle must not be in use by another thread when it is freed.
//
// docs/embedding.md has the guide.
//
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSEC_H
#define FUSEC_FUSEC_H

#include <stddef.h>
#include <stdint.h>

// NOLINTBEGIN(readability-identifier-naming): names as C has them.

#ifdef __cplusplus
extern "C" {
#endif

/// Changes when programs must be compiled again; it is the number in libfusec_runtime.so.1.
#define FUSEC_ABI_VERSION 1

/// FUSEC_ABI_VERSION of the library.
int32_t fusec_abi_version(void);
/// The release of the library: "0.1.0". Static.
const char *fusec_version(void);

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

typedef enum fusec_status {
  FUSEC_OK = 0,
  FUSEC_INVALID_ARGUMENT = 1,   ///< The call is meaningless: NULL, out of range, not allowed here.
  FUSEC_NOT_FOUND = 2,          ///< A file, device or kernel does not exist.
  FUSEC_CORRUPT_DATA = 3,       ///< A file contradicts its own format.
  FUSEC_UNSUPPORTED = 4,        ///< Valid, but not handled by this library.
  FUSEC_RESOURCE_EXHAUSTED = 5, ///< Memory, or a request that can never fit.
  FUSEC_CANCELLED = 6,          ///< Work was ended before its end.
  FUSEC_UNAVAILABLE = 7,        ///< Not now: too many requests, draining, or the device failed.
  FUSEC_INTERNAL = 8,           ///< A broken invariant of fusec itself.
  FUSEC_TIMEOUT = 9,            ///< Nothing came in time. No error: no message is set.
  FUSEC_END = 10                ///< The stream has no more events. No error: no message is set.
} fusec_status;

/// The message of the last call that failed on this thread; "" before the first. Valid
/// until the next call on this thread fails. At most 1023 bytes.
const char *fusec_last_error(void);
/// "ok", "invalid argument", ...; "unknown" for other numbers. Static.
const char *fusec_status_name(int32_t status);

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

/// A loaded model with its memory and its thread.
typedef struct fusec_engine fusec_engine;

/// Called on the thread that loads; `fraction` runs from 0 to 1. `stage` is valid during the call.
typedef void (*fusec_progress_callback)(void *user, const char *stage, double fraction);

typedef struct fusec_engine_options {
  size_t struct_size;
  int64_t context_tokens;              ///< Most tokens of prompt and text; 0 = the smaller of the model's and 4096.
  int64_t step_tokens;                 ///< Tokens per step, of all sequences; does not change results. Default 256.
  int64_t max_sequences;               ///< Texts that are generated at once; others wait. Default 1.
  int64_t max_requests;                ///< Accepted and not ended; more are FUSEC_UNAVAILABLE. Default 1024.
  int64_t kv_bytes;                    ///< Memory for keys and values; 0 = from kv_tokens.
  int64_t kv_tokens;                   ///< Tokens that this memory holds; 0 = a full context for each sequence.
  const char *device;                  ///< NULL or "host", "cuda", "cuda:1", "virtual".
  const char *level;                   ///< CPU: "avx2", "avx512"; NULL = the best this CPU runs.
  const char *policy;                  ///< "fcfs", "priority" or "prefix"; NULL = "fcfs".
  fusec_progress_callback on_progress; ///< May be NULL.
  void *user;                          ///< For on_progress.
  int32_t threads;                     ///< 0 = one per physical core this process may use.
  int32_t prefix_cache;                ///< Keep what was computed for prompts that begin alike. Default 1.
  int32_t graphs;                      ///< GPU: replay steps from captured graphs. Default 1.
  int32_t reserved;
} fusec_engine_options;

/// Sets the defaults. `struct_size` is sizeof(fusec_engine_options).
fusec_status fusec_engine_options_init(fusec_engine_options *options, size_t struct_size);

/// Loads an artifact, reserves all memory and starts the engine's thread. `options` may
/// be NULL. Free with fusec_engine_free.
fusec_status fusec_engine_load(const char *artifact, const fusec_engine_options *options, fusec_engine **engine);

/// Ends all requests as cancelled and frees the engine. Requests stay valid and keep
/// their events and results. FUSEC_INVALID_ARGUMENT from a callback.
fusec_status fusec_engine_free(fusec_engine *engine);

/// Accepts no more requests and waits until all have ended; at the end of the time the
/// rest are cancelled: FUSEC_CANCELLED says how many. Negative = wait for ever.
/// FUSEC_INVALID_ARGUMENT from a callback.
fusec_status fusec_engine_drain(fusec_engine *engine, int64_t timeout_ms);

/// FUSEC_OK, or FUSEC_UNAVAILABLE when the device has failed for good.
fusec_status fusec_engine_health(const fusec_engine *engine);

/// Forgets what was computed for ended requests, soon.
fusec_status fusec_engine_flush_prefix_cache(fusec_engine *engine);

/// What never changes while an engine lives; pointers are valid as long as it does.
typedef struct fusec_model_info {
  size_t struct_size;
  const char *name;
  const char *architecture;     ///< "llama", "qwen2", ...
  const char *digest;           ///< Identifies the source's weights.
  const char *compiler_version; ///< Of the fusec that wrote the artifact.
  const char *kv_dtype;         ///< "f32", "f16", "bf16" or "fp8_e4m3".
  const char *device;           ///< "host", "NVIDIA H200", ...
  const char *level;            ///< "avx512", "sm_80", ...
  const int32_t *end_ids;       ///< End a text; ascending.
  size_t end_id_count;
  int64_t vocab_size;     ///< Ids are in [0, vocab_size).
  int64_t context_length; ///< Tokens the model was trained for.
  int64_t context_tokens; ///< Most tokens of prompt and text in this engine.
  int64_t max_sequences;
  int64_t weight_bytes; ///< Of the source model.
  int64_t memory_bytes; ///< Reserved by this engine, mapped weights included.
  int32_t bos_id;       ///< -1 = none.
  int32_t threads;      ///< That run kernels; 0 on a GPU.
  int32_t has_chat_template;
  int32_t reserved;
} fusec_model_info;

fusec_status fusec_engine_model_info(const fusec_engine *engine, fusec_model_info *info);

/// A snapshot; it does not wait for a step.
typedef struct fusec_stats {
  size_t struct_size;
  double uptime_seconds;
  int64_t queued;  ///< Submitted, not yet seen by the engine's thread.
  int64_t waiting; ///< Sequences without memory.
  int64_t running; ///< Sequences with.
  // Requests that ended, by the finish reason of their first text.
  int64_t ended_stop;
  int64_t ended_length;
  int64_t ended_cancelled;
  int64_t ended_error;
  // Counters: only ever grow.
  int64_t prompt_tokens;
  int64_t cached_prompt_tokens; ///< Of those: not computed again.
  int64_t recomputed_tokens;    ///< Computed again after a preemption.
  int64_t generated_tokens;
  int64_t prefix_queries; ///< Prompt tokens looked up in the prefix cache.
  int64_t prefix_hits;    ///< Of those: found.
  int64_t preemptions;
  int64_t steps;
  int64_t failed_steps;
  // Pages of keys and values: live + cached + parked + free + sink = total, always.
  int64_t pages_total;
  int64_t pages_sink;   ///< Takes the writes of padding.
  int64_t pages_live;   ///< Of running sequences; a shared page counts once.
  int64_t pages_cached; ///< Only in the prefix cache.
  int64_t pages_parked; ///< Given up, but a running step names them.
  int64_t pages_free;
  // Tokens in live pages: held + tail + reserved = pages_live * page_tokens.
  int64_t page_tokens;
  int64_t tokens_held;
  int64_t tokens_tail;     ///< Room behind the last token of a page.
  int64_t tokens_reserved; ///< Room in pages without any token yet.
  double step_seconds;     ///< Of all steps.
  double kernel_seconds;   ///< Of those: in the model's kernels.
} fusec_stats;

fusec_status fusec_engine_stats(const fusec_engine *engine, fusec_stats *stats);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

enum {
  FUSEC_ADD_SPECIAL = 1,    ///< fusec_tokenize: add what the model puts around a text (often a first token).
  FUSEC_PARSE_SPECIAL = 2,  ///< fusec_tokenize: text that spells a control token becomes it. Not for what users typed.
  FUSEC_KEEP_SPECIAL = 4,   ///< fusec_detokenize: control tokens are written out.
  FUSEC_CONTINUES_TEXT = 8, ///< fusec_detokenize: the ids follow other text; a leading space is kept.
  FUSEC_ANSWER = 16         ///< fusec_chat_*: end where the assistant's answer begins.
};

/// Frees what the functions below return; NULL does nothing.
void fusec_free(void *memory);

/// `*ids` of `*count` ids: free with fusec_free. `flags`: of the above, those for this function.
fusec_status fusec_tokenize(const fusec_engine *engine, const char *text, size_t length, uint32_t flags, int32_t **ids,
                            size_t *count);

/// Free `*text` with fusec_free. Ids outside the vocabulary give nothing.
fusec_status fusec_detokenize(const fusec_engine *engine, const int32_t *ids, size_t count, uint32_t flags, char **text,
                              size_t *length);

/// The model's chat template, filled with `count` messages: roles[i] ("system", "user",
/// "assistant") said contents[i], both ending with NUL. Free `*text` with fusec_free.
/// FUSEC_UNSUPPORTED when the model has no template; FUSEC_INVALID_ARGUMENT with the
/// template's words when it refuses the messages.
fusec_status fusec_chat_text(const fusec_engine *engine, const char *const *roles, const char *const *contents,
                             size_t count, uint32_t flags, char **text, size_t *length);

/// The same as ids for fusec_engine_submit: control tokens come from the template alone,
/// whatever the contents spell. Free `*ids` with fusec_free.
fusec_status fusec_chat_tokens(const fusec_engine *engine, const char *const *roles, const char *const *contents,
                               size_t count, uint32_t flags, int32_t **ids, size_t *id_count);

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// One prompt and the texts that continue it.
typedef struct fusec_request fusec_request;

typedef struct fusec_token_logprob {
  int32_t id;
  float logprob; ///< Natural logarithm; finite.
} fusec_token_logprob;

/// One token, or text that was held back and is released at the end.
typedef struct fusec_event {
  size_t struct_size;
  const char *text;   ///< Whole characters; may be empty. The texts of all events make up the choice's text.
  size_t text_length; ///< Bytes.
  const fusec_token_logprob *top; ///< Best first; only with fusec_request_options::logprobs.
  size_t top_count;
  int32_t id;     ///< -1 = text only.
  int32_t choice; ///< Which of the request's texts, from 0.
  float logprob;  ///< Of the model's own distribution; only with fusec_request_options::logprobs.
  int32_t reserved;
} fusec_event;

/// Called on the engine's thread for each event; must return soon, because all requests
/// wait for it. Not 0 cancels the request. `event` is valid during the call.
/// Allowed inside: fusec_request_cancel, _result, _choice and _free of this request,
/// whatever does not wait (submitting another, stats, text). What waits is refused.
typedef int32_t (*fusec_token_callback)(void *user, fusec_request *request, const fusec_event *event);

/// Called once, after the last event, on the engine's thread: the result is there. As above.
typedef void (*fusec_done_callback)(void *user, fusec_request *request);

/// What fusec_request_options::grammar is; docs/serving/structured-output.md says what each may contain.
typedef enum fusec_grammar_kind {
  FUSEC_GRAMMAR_NONE = 0,
  FUSEC_GRAMMAR_JSON_SCHEMA = 1, ///< The texts are JSON that satisfies this schema.
  FUSEC_GRAMMAR_JSON_OBJECT = 2, ///< The texts are JSON objects; `grammar` is NULL.
  FUSEC_GRAMMAR_REGEX = 3,       ///< The expression matches each text as a whole.
  FUSEC_GRAMMAR_GBNF = 4,        ///< The rule `root` matches each text.
  FUSEC_GRAMMAR_CHOICE = 5       ///< The texts are members of this JSON array of strings.
} fusec_grammar_kind;

typedef struct fusec_request_options {
  size_t struct_size;
  int64_t max_tokens;      ///< -1 = until the context is full; the default.
  int64_t min_tokens;      ///< Before these, nothing ends a text.
  uint64_t seed;           ///< Equal seeds give equal texts, whatever else runs.
  const char *const *stop; ///< A text ends before the earliest of these; at most 16, none empty.
  size_t stop_count;
  const int32_t *stop_token_ids; ///< End a text, beside the model's own.
  size_t stop_token_id_count;
  const int32_t *logit_bias_ids;  ///< logit_bias_values[i], in [-100, 100], is added to the logit of logit_bias_ids[i].
  const float *logit_bias_values; ///< logit_bias_count of them.
  size_t logit_bias_count;
  const char *grammar; ///< Every text matches it; compiled by submit, on the calling thread, once for equal ones.
  const char *tenant;  ///< Shares cached prompts only with equal ones; NULL = "".
  /// Gets the events; then fusec_request_next does not. NULL = fusec_request_next gets them.
  fusec_token_callback on_token;
  fusec_done_callback on_done; ///< May be NULL.
  void *user;                  ///< For both.
  float temperature;           ///< 0 = the likeliest token.
  float top_p;                 ///< In [0, 1]; 1 = off.
  float min_p;                 ///< In [0, 1]; 0 = off.
  float repetition_penalty;    ///< > 0; 1 = off.
  float presence_penalty;      ///< In [-2, 2].
  float frequency_penalty;     ///< In [-2, 2].
  int32_t top_k;               ///< 0 = off.
  int32_t n;                   ///< Texts wanted. Default 1; at most fusec_engine_options::max_sequences.
  int32_t best_of;             ///< Texts generated, the n best are given; 0 = n. Above n nothing is streamed.
  int32_t logprobs;            ///< -1 = none, the default; k in [0, 20]: of each token and of the k likeliest.
  int32_t priority;            ///< Lower first, with the policy "priority".
  int32_t ignore_eos;          ///< The model's end ids end nothing.
  int32_t include_stop;        ///< The stop string is part of the text.
  int32_t skip_prefix_cache;   ///< Compute the whole prompt.
  int32_t grammar_kind;        ///< A fusec_grammar_kind.
  int32_t reserved;
} fusec_request_options;

/// Sets the defaults: how to sample as the model's authors recommend, where they do.
/// `engine` may be NULL: then temperature 1 and nothing else. `struct_size` is
/// sizeof(fusec_request_options).
fusec_status fusec_request_options_init(const fusec_engine *engine, fusec_request_options *options, size_t struct_size);

/// Accepts a request for texts after `count` ids; `options` may be NULL: the defaults.
/// FUSEC_INVALID_ARGUMENT names the field, FUSEC_UNAVAILABLE: try later. A request that
/// can never fit is FUSEC_RESOURCE_EXHAUSTED with the arithmetic, here or as its end.
/// Free with fusec_request_free. Callbacks may come before this returns.
fusec_status fusec_engine_submit(fusec_engine *engine, const int32_t *ids, size_t count,
                                 const fusec_request_options *options, fusec_request **request);

/// The same for a text, tokenized with FUSEC_ADD_SPECIAL.
fusec_status fusec_engine_submit_text(fusec_engine *engine, const char *text, size_t length,
                                      const fusec_request_options *options, fusec_request **request);

/// Waits for the next event: FUSEC_OK. FUSEC_TIMEOUT after `timeout_ms` (0 = do not
/// wait, negative = wait for ever), FUSEC_END after the last, or the error of a request
/// that failed. What the event points to is valid until the next call for this request.
/// Refused in callbacks unless the time is 0, and for requests with on_token.
/// One thread at a time for a request.
fusec_status fusec_request_next(fusec_request *request, int64_t timeout_ms, fusec_event *event);

/// Waits for the end of the request and of on_done: FUSEC_OK, also when it was
/// cancelled, FUSEC_TIMEOUT as above, or the error of a request that failed. Needs no
/// fusec_request_next. Refused in callbacks unless the time is 0.
fusec_status fusec_request_wait(fusec_request *request, int64_t timeout_ms);

/// Ends the request as cancelled within one step of the model, also while it waits.
/// Does nothing when it has ended.
fusec_status fusec_request_cancel(fusec_request *request);

/// Cancels the request if it runs, and frees it. No callback runs afterwards: waits for
/// one that is running, unless called from it.
void fusec_request_free(fusec_request *request);

typedef enum fusec_finish_reason {
  FUSEC_FINISH_STOP = 0,      ///< An end id or a stop string.
  FUSEC_FINISH_LENGTH = 1,    ///< max_tokens, or the context is full.
  FUSEC_FINISH_CANCELLED = 2, ///< Cancelled, or the engine was freed.
  FUSEC_FINISH_ERROR = 3      ///< fusec_result::message says what.
} fusec_finish_reason;

/// "stop", "length", "cancelled", "error"; "unknown" for other numbers. Static.
const char *fusec_finish_reason_name(int32_t reason);

/// What is known of a request at its end; pointers are valid until it is freed.
typedef struct fusec_result {
  size_t struct_size;
  const char *message;        ///< Of a request that failed; else "".
  double queue_seconds;       ///< From submit to its first step.
  double prefill_seconds;     ///< From its first step to its first token.
  double first_token_seconds; ///< From submit to its first token.
  double decode_seconds;      ///< From its first token to its last.
  double total_seconds;       ///< From submit to its end.
  int64_t prompt_tokens;
  int64_t cached_tokens;     ///< Of the prompt: not computed for it.
  int64_t computed_tokens;   ///< Computed for it, repeats included.
  int64_t recomputed_tokens; ///< Of those: lost by a preemption and computed again.
  int64_t generated_tokens;  ///< Of all its texts, end ids included.
  int64_t preemptions;
  int64_t steps;
  int32_t status; ///< A fusec_status: FUSEC_OK, or why it failed.
  int32_t choice_count;
} fusec_result;

/// One text; pointers are valid until the request is freed.
typedef struct fusec_choice {
  size_t struct_size;
  const char *text;
  size_t text_length;
  const int32_t *ids; ///< Without the id that ended it.
  size_t id_count;
  double mean_logprob;   ///< Only with best_of above n.
  int32_t finish_reason; ///< A fusec_finish_reason.
  int32_t stop_id;       ///< The id that ended it; -1 = none.
  int32_t stop_string;   ///< Index in fusec_request_options::stop of what ended it; -1 = none.
  int32_t reserved;
} fusec_choice;

/// FUSEC_UNAVAILABLE before the end of the request.
fusec_status fusec_request_result(const fusec_request *request, fusec_result *result);
/// `index` in [0, fusec_result::choice_count). FUSEC_UNAVAILABLE before the end of the request.
fusec_status fusec_request_choice(const fusec_request *request, int32_t index, fusec_choice *choice);

#ifdef __cplusplus
} // extern "C"
#endif

// NOLINTEND(readability-identifier-naming)

#endif // FUSEC_FUSEC_H
