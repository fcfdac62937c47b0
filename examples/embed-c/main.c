// continue-text ARTIFACT TEXT: prints at most 32 likely tokens after the text, as they come.
#include <fusec/fusec.h>

#include <stdio.h>
#include <string.h>

static int failed(const char *what) {
  fprintf(stderr, "continue-text: %s: %s\n", what, fusec_last_error());
  return 1;
}

// Prints a request's text while it grows, and how long it took.
static int print_text(fusec_request *request) {
  fusec_event event = {.struct_size = sizeof event};
  fusec_result result = {.struct_size = sizeof result};
  fusec_status status;
  while ((status = fusec_request_next(request, -1, &event)) == FUSEC_OK) {
    fwrite(event.text, 1, event.text_length, stdout);
    fflush(stdout);
  }
  if (status != FUSEC_END || fusec_request_result(request, &result) != FUSEC_OK)
    return failed("generate");
  printf("\n");
  fprintf(stderr, "%lld tokens in %.3f s\n", (long long)result.generated_tokens, result.total_seconds);
  return 0;
}

static int continue_text(fusec_engine *engine, const char *text) {
  fusec_request_options options;
  fusec_request *request = NULL;
  int code;
  fusec_request_options_init(engine, &options, sizeof options);
  options.max_tokens = 32;
  options.temperature = 0;
  if (fusec_engine_submit_text(engine, text, strlen(text), &options, &request) != FUSEC_OK)
    return failed("submit");
  code = print_text(request);
  fusec_request_free(request);
  return code;
}

int main(int argc, char **argv) {
  fusec_engine *engine = NULL;
  int code;
  if (argc != 3)
    return fprintf(stderr, "usage: continue-text ARTIFACT TEXT\n"), 2;
  if (fusec_engine_load(argv[1], NULL, &engine) != FUSEC_OK)
    return failed(argv[1]);
  code = continue_text(engine, argv[2]);
  fusec_engine_free(engine);
  return code;
}
