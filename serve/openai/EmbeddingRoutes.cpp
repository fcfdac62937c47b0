//===- EmbeddingRoutes.cpp - embeddings ---------------------------------------------===//
#include "serve/openai/Api.h"
#include "serve/openai/EmbeddingJob.h"

namespace fusec::serve {

using nlohmann::json;

void Api::embeddings(const Visit &visit) {
  auto call = std::make_shared<EmbeddingCall>();
  readThen(
      visit, [this, visit, call] { return readEmbeddingCall(visit.exchange->request().body, callContext(), *call); },
      [this, visit, call] { embed(visit, std::move(*call)); });
}

static json logLine(const JobReport &report, size_t inputs, const std::string &user) {
  json line = {
      {"inputs", inputs}, {"prompt_tokens", report.usage.promptTokens}, {"queue_ms", report.queueSeconds * 1000}};
  if (!report.error.empty())
    line["error"] = report.error;
  if (!user.empty())
    line["user"] = user.substr(0, 128);
  return line;
}

void Api::embed(const Visit &visit, EmbeddingCall call) {
  auto self = std::make_shared<std::weak_ptr<Job>>();
  const auto describe = [inputs = call.inputs.size(), user = call.user, texts = call.texts](const JobReport &report) {
    json line = logLine(report, inputs, user);
    if (!texts.empty())
      line["prompts"] = texts;
    return line;
  };
  auto job = std::make_shared<EmbeddingJob>(backend, loop, workers, visit.exchange, std::move(call),
                                            EmbeddingHead{options.modelName, visit.caller.tenant},
                                            hooksFor(visit, describe, self));
  *self = job;
  jobs.insert(job);
  job->start();
}

} // namespace fusec::serve
