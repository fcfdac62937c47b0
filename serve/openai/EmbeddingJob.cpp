//===- EmbeddingJob.cpp - one embedding request, from submit to its answer ---------===//
#include "serve/openai/EmbeddingJob.h"

#include "serve/openai/EmbeddingReply.h"

#include <algorithm>

namespace fusec::serve {

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
    : Job(backend, loop, std::move(exchange), std::move(hooks)), workers(workers), call(std::move(call)),
      head(std::move(head)), embeddings(this->call.inputs.size()), remaining(this->call.inputs.size()) {}

Failure EmbeddingJob::submit(size_t input) {
  runtime::Request request;
  request.prompt = call.inputs[input];
  request.embed = true;
  request.tenant = head.tenant;
  return Job::submit(std::move(request), std::make_shared<Listener>(shared_from_this(), input));
}

void EmbeddingJob::start() {
  watchClient(weak_from_this());
  for (size_t input = 0; input < call.inputs.size() && !ended; ++input)
    if (Failure failure = submit(input))
      fail(*failure);
}

void EmbeddingJob::fail(const ApiError &error) {
  if (ended)
    return;
  cancelAll();
  exchange->respond(error.toResponse());
  endWith(error);
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
