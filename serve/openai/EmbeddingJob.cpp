//===- EmbeddingJob.cpp - one embedding request, from submit to its answer ---------===//
#include "serve/openai/EmbeddingJob.h"

#include "serve/openai/EmbeddingReply.h"

#include <algorithm>

namespace fusec::serve {

using nlohmann::json;

/// Carries the end of one input from the engine's thread to the loop's.
class EmbeddingJob::Listener final : public runtime::RequestListener {
public:
  Listener(std::shared_ptr<EmbeddingJob> job, size_t input) : job(std::move(job)), input(input) {}

  void onToken(const runtime::TokenEvent &) override {}
  void onDone(const runtime::RequestOutcome &outcome) override {
    http::EventLoop &loop = job->loop;
    loop.post([job = std::exchange(job, nullptr), input = input, outcome]() mutable {
      job->onDone(input, std::move(outcome));
    });
  }

private:
  std::shared_ptr<EmbeddingJob> job; ///< Until the end: the job ends with its last listener.
  const size_t input;
};

EmbeddingJob::EmbeddingJob(Backend &backend, http::EventLoop &loop, WorkerPool &workers,
                           std::shared_ptr<http::Exchange> exchange, EmbeddingCall call, EmbeddingHead head,
                           JobHooks hooks)
    : backend(backend), loop(loop), workers(workers), exchange(std::move(exchange)), call(std::move(call)),
      head(std::move(head)), hooks(std::move(hooks)), embeddings(this->call.inputs.size()),
      remaining(this->call.inputs.size()) {}

Failure EmbeddingJob::submit(size_t input) {
  runtime::Request request;
  request.prompt = call.inputs[input];
  request.embed = true;
  request.tenant = head.tenant;
  auto id = backend.submit(std::move(request), std::make_shared<Listener>(shared_from_this(), input));
  if (!id)
    return errorFor(id.status());
  ids.push_back(*id);
  return {};
}

void EmbeddingJob::start() {
  exchange->onAbandoned([weak = weak_from_this()](http::Departure why) {
    if (auto job = weak.lock())
      job->onAbandoned(why);
  });
  for (size_t input = 0; input < call.inputs.size() && !ended; ++input)
    if (Failure failure = submit(input))
      fail(*failure);
}

void EmbeddingJob::cancelAll() {
  for (runtime::RequestId id : ids)
    backend.cancel(id);
}

void EmbeddingJob::end(JobReport report) {
  ended = true;
  exchange.reset();
  if (hooks.onEnd)
    std::exchange(hooks.onEnd, nullptr)(report);
}

void EmbeddingJob::onAbandoned(http::Departure why) {
  if (ended)
    return;
  cancelAll();
  end(abandonedReport(why));
}

void EmbeddingJob::fail(const ApiError &error) {
  if (ended)
    return;
  cancelAll();
  exchange->respond(error.toResponse());
  const json code = error.toJson()["error"]["code"];
  end({.status = error.status(), .error = code.is_string() ? code.get<std::string>() : "error"});
}

void EmbeddingJob::onDone(size_t input, runtime::RequestOutcome outcome) {
  if (ended)
    return;
  if (!outcome.status.ok())
    return fail(errorFor(outcome.status));
  if (outcome.embedding.empty())
    return fail({ErrorKind::Draining, "the server stopped before the answer was complete"});
  embeddings[input] = std::move(outcome.embedding);
  queueSeconds = std::max(queueSeconds, outcome.explanation.queueSeconds);
  if (--remaining == 0)
    complete();
}

/// A million numbers take a moment to print: not on the loop's thread.
void EmbeddingJob::complete() {
  workers.run([job = shared_from_this()] {
    std::string body = embeddingReply(job->call, job->head.model, job->embeddings);
    job->loop.post([job, body = std::move(body)]() mutable { job->answer(std::move(body)); });
  });
}

void EmbeddingJob::answer(std::string body) {
  if (ended)
    return;
  exchange->respond({.body = std::move(body)});
  JobReport report{.status = 200};
  report.usage.promptTokens = inputTokens(call);
  report.queueSeconds = queueSeconds;
  if (!ended) // The client may have left meanwhile.
    end(std::move(report));
}

} // namespace fusec::serve
