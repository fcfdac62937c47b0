//===- EmbeddingJob.h - one embedding request, from submit to its answer -----------===//
//
// Submits a request per input, gathers the embeddings and answers. Ends early
// when the client leaves, the time is up or the engine fails.
//
//   auto job = std::make_shared<EmbeddingJob>(backend, loop, workers, exchange, std::move(call), head, hooks);
//   job->start();
//
// Ownership: kept alive by its listeners until the engine is done with them.
// Threading: the loop's thread; a worker writes the answer.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/Backend.h"
#include "serve/http/EventLoop.h"
#include "serve/http/Exchange.h"
#include "serve/openai/EmbeddingCall.h"
#include "serve/openai/Job.h"
#include "serve/openai/WorkerPool.h"

#include <memory>
#include <string>
#include <vector>

namespace fusec::serve {

/// Whose request it is.
struct EmbeddingHead {
  std::string model;  ///< As the answer names it.
  std::string tenant; ///< Of the engine's requests.
};

class EmbeddingJob final : public Job, public std::enable_shared_from_this<EmbeddingJob> {
public:
  EmbeddingJob(Backend &backend, http::EventLoop &loop, WorkerPool &workers, std::shared_ptr<http::Exchange> exchange,
               EmbeddingCall call, EmbeddingHead head, JobHooks hooks);

  void start();
  void fail(const ApiError &error) override;

private:
  class Listener;

  Failure submit(size_t input);
  void onDone(size_t input, runtime::RequestOutcome outcome);
  void complete();
  void answer(std::string body);

  WorkerPool &workers;
  const EmbeddingCall call;
  const EmbeddingHead head;

  std::vector<std::vector<float>> embeddings;
  size_t remaining;
  double queueSeconds = 0; ///< Of the input that waited longest.
};

} // namespace fusec::serve
