// continue-text ARTIFACT TEXT: prints 32 likely tokens after the text, as they come.
#include "runtime/engine/Engine.h"
#include "runtime/text/Tokenizer.h"

#include <cstdio>

using namespace fusec;

static Status run(const char *artifact, const char *text) {
  FUSEC_ASSIGN_OR_RETURN(auto engine, runtime::Engine::create({.artifact = artifact}));
  FUSEC_ASSIGN_OR_RETURN(auto ids, engine->tokenizer().encode(text, {}));
  runtime::Request request{.prompt = ids, .maxTokens = 32};
  request.sampling.temperature = 0;
  auto print = [](const runtime::TokenEvent &event) {
    std::fputs(event.textDelta.c_str(), stdout);
    return true;
  };
  return engine->generate(request, print).status();
}

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fputs("usage: continue-text ARTIFACT TEXT\n", stderr), 2;
  if (Status status = run(argv[1], argv[2]); !status.ok())
    return std::fprintf(stderr, "continue-text: %s\n", status.message().c_str()), 1;
  std::puts("");
}
