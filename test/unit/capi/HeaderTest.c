/*===- HeaderTest.c - fusec.h in a strict C99 program ---------------------------===*
 *
 * Compiled with -std=c99 -Wall -Wextra -pedantic -Werror. Also: no function that is
 * given nothing crashes.
 *
 *===------------------------------------------------------------------------===*/
#include "runtime/capi/fusec.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int condition, const char *what) {
  if (!condition) {
    ++failures;
    printf("failed: %s (last error: %s)\n", what, fusec_last_error());
  }
}

#define CHECK(condition) check((condition), #condition)
/* With a message that names the argument. */
#define REFUSED(call, name) check((call) == FUSEC_INVALID_ARGUMENT && strstr(fusec_last_error(), name), #call)

static void versions(void) {
  CHECK(fusec_abi_version() == FUSEC_ABI_VERSION);
  CHECK(strchr(fusec_version(), '.') != NULL);
  CHECK(strcmp(fusec_last_error(), "") == 0);
  CHECK(strcmp(fusec_status_name(FUSEC_NOT_FOUND), "not found") == 0);
  CHECK(strcmp(fusec_status_name(FUSEC_END), "end") == 0);
  CHECK(strcmp(fusec_status_name(-1), "unknown") == 0);
  CHECK(strcmp(fusec_status_name(11), "unknown") == 0);
  CHECK(strcmp(fusec_finish_reason_name(FUSEC_FINISH_LENGTH), "length") == 0);
  CHECK(strcmp(fusec_finish_reason_name(99), "unknown") == 0);
}

static void engines_of_nothing(void) {
  fusec_engine *engine = NULL;
  fusec_engine_options options;
  fusec_model_info info = {.struct_size = sizeof info};
  fusec_stats stats = {.struct_size = sizeof stats};
  REFUSED(fusec_engine_options_init(NULL, sizeof options), "engine options");
  REFUSED(fusec_engine_options_init(&options, 0), "struct_size is 0");
  REFUSED(fusec_engine_load(NULL, NULL, &engine), "artifact");
  REFUSED(fusec_engine_load("x", NULL, NULL), "engine");
  REFUSED(fusec_engine_drain(NULL, 0), "engine");
  REFUSED(fusec_engine_health(NULL), "engine");
  REFUSED(fusec_engine_flush_prefix_cache(NULL), "engine");
  REFUSED(fusec_engine_model_info(NULL, &info), "engine");
  REFUSED(fusec_engine_stats(NULL, &stats), "engine");
  CHECK(fusec_engine_free(NULL) == FUSEC_OK);
  CHECK(engine == NULL);
}

static void texts_of_nothing(void) {
  int32_t *ids = NULL;
  char *text = NULL;
  size_t count = 0;
  REFUSED(fusec_tokenize(NULL, "a", 1, 0, &ids, &count), "engine");
  REFUSED(fusec_detokenize(NULL, NULL, 0, 0, &text, &count), "engine");
  REFUSED(fusec_chat_text(NULL, NULL, NULL, 0, 0, &text, &count), "engine");
  REFUSED(fusec_chat_tokens(NULL, NULL, NULL, 0, 0, &ids, &count), "engine");
  fusec_free(NULL);
}

static void requests_of_nothing(void) {
  fusec_request *request = NULL;
  fusec_request_options options;
  fusec_event event = {.struct_size = sizeof event};
  fusec_result result = {.struct_size = sizeof result};
  fusec_choice choice = {.struct_size = sizeof choice};
  REFUSED(fusec_request_options_init(NULL, NULL, sizeof options), "request options");
  CHECK(fusec_request_options_init(NULL, &options, sizeof options) == FUSEC_OK);
  CHECK(options.temperature == 1 && options.max_tokens == -1 && options.n == 1 && options.logprobs == -1);
  REFUSED(fusec_engine_submit(NULL, NULL, 0, &options, &request), "engine");
  REFUSED(fusec_engine_submit_text(NULL, "a", 1, &options, &request), "engine");
  REFUSED(fusec_request_next(NULL, 0, &event), "request");
  REFUSED(fusec_request_wait(NULL, 0), "request");
  REFUSED(fusec_request_cancel(NULL), "request");
  REFUSED(fusec_request_result(NULL, &result), "request");
  REFUSED(fusec_request_choice(NULL, 0, &choice), "request");
  fusec_request_free(NULL);
}

int main(void) {
  versions();
  engines_of_nothing();
  texts_of_nothing();
  requests_of_nothing();
  return failures == 0 ? 0 : 1;
}
