// continue-text ARTIFACT TEXT: prints at most 32 likely tokens after the text, as they come.
#include "runtime/engine/EngineService.h"
#include "runtime/text/Tokenizer.h"

#include <cstdio>
#include <future>

using namespace fusec;
using namespace fusec::runtime;

namespace {

/// Called on the engine's thread.
class Printer final : public RequestListener {
public:
  void onToken(const TokenEvent &event) override {
    std::fputs(event.textDelta.c_str(), stdout);
    std::fflush(stdout);
  }
  void onDone(const RequestOutcome &outcome) override { done.set_value(outcome); }
  RequestOutcome wait() { return done.get_future().get(); }

private:
  std::promise<RequestOutcome> done;
};

Status continueText(EngineService &service, const char *text) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<TokenId> ids, service.tokenizer().encode(text));
  Request request{.prompt = ids, .sampling = SamplingParams::greedy(), .maxTokens = 32};
  auto printer = std::make_shared<Printer>();
  FUSEC_ASSIGN_OR_RETURN([[maybe_unused]] RequestId id, service.submit(request, printer));
  const RequestOutcome outcome = printer->wait();
  std::puts("");
  std::fprintf(stderr, "%lld tokens in %.3f s\n", static_cast<long long>(outcome.explanation.generatedTokens),
               outcome.explanation.totalSeconds);
  return outcome.status;
}

Status run(const char *artifact, const char *text) {
  FUSEC_ASSIGN_OR_RETURN(auto service, EngineService::start({.artifact = artifact}));
  return continueText(*service, text);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fputs("usage: continue-text ARTIFACT TEXT\n", stderr), 2;
  if (Status status = run(argv[1], argv[2]); !status.ok())
    return std::fprintf(stderr, "continue-text: %s\n", status.message().c_str()), 1;
}
