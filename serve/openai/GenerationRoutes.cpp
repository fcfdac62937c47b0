//===- GenerationRoutes.cpp - completions and chat ----------------------------------===//
#include "serve/openai/Api.h"

#include <ctime>

namespace fusec::serve {

using nlohmann::json;

static constexpr std::chrono::milliseconds sweepInterval{500};

/// Before anything is read of the body: a server that is full says so quickly.
Failure Api::checkLoad() const {
  if (draining)
    return ApiError{ErrorKind::Draining, "the server is ending and takes no new requests"};
  const auto open = static_cast<int64_t>(jobs.size()) + parsing;
  if (open >= options.maxConcurrent)
    return ApiError{ErrorKind::TooManyRequests, "the server has " + std::to_string(open) +
                                                    " requests at once, as many as it may (--max-concurrent)"};
  if (waitingFirst + parsing >= options.maxQueue)
    return ApiError{ErrorKind::TooManyRequests, "the queue holds " + std::to_string(waitingFirst + parsing) +
                                                    " requests, as many as it may (--max-queue)"};
  return {};
}

void Api::readThen(const Visit &visit, std::function<Failure()> read, std::function<void()> launch) {
  if (Failure failure = checkLoad())
    return replyError(visit, *failure);
  ++parsing;
  workers.run([this, visit, read = std::move(read), launch = std::move(launch)] {
    loop.post([this, visit, launch, failure = read()] {
      --parsing;
      if (failure)
        replyError(visit, *failure);
      else
        launch();
      checkDrained();
    });
  });
}

void Api::generate(const Visit &visit, Route route) {
  auto call = std::make_shared<GenerationCall>();
  readThen(
      visit,
      [this, visit, route, call] {
        return readGenerationCall(route, visit.exchange->request().body, callContext(), *call);
      },
      [this, visit, call] { launch(visit, std::move(*call)); });
}

static json logLine(const JobReport &report, const GenerationCall &call) {
  json line = {{"stream", call.stream},
               {"prompt_tokens", report.usage.promptTokens},
               {"cached_tokens", report.usage.cachedTokens},
               {"completion_tokens", report.usage.completionTokens},
               {"queue_ms", report.queueSeconds * 1000},
               {"ttft_ms", report.firstTokenSeconds * 1000}};
  if (!report.error.empty())
    line["error"] = report.error;
  if (!report.finish.empty())
    line["finish"] = report.finish;
  if (!call.user.empty())
    line["user"] = call.user.substr(0, 128);
  return line;
}

ReplyHead Api::replyHead(bool chat) const {
  return {.id = randomId(chat ? "chatcmpl-" : "cmpl-"),
          .model = options.modelName,
          .fingerprint = "fp_" + backend.model().digest.substr(0, 16),
          .created = std::time(nullptr),
          .chat = chat};
}

/// Counts a job and logs its end with what `describe` adds. `self` is filled once the job exists.
JobHooks Api::hooksFor(const Visit &visit, std::function<json(const JobReport &)> describe,
                       std::shared_ptr<std::weak_ptr<Job>> self) {
  ++waitingFirst;
  auto waiting = std::make_shared<bool>(true);
  const auto started = [this, waiting] {
    if (std::exchange(*waiting, false))
      --waitingFirst;
  };
  const auto ended = [this, visit, describe = std::move(describe), started, self](const JobReport &report) {
    started();
    log(visit, report.status, describe(report));
    if (auto job = self->lock())
      endJob(job);
  };
  return {.onFirstToken = started, .onEnd = ended};
}

void Api::launch(const Visit &visit, GenerationCall call) {
  if (visit.exchange->request().header("x-fusec-explain") == "1")
    call.explain = true;
  call.request.tenant = visit.caller.tenant;
  auto self = std::make_shared<std::weak_ptr<Job>>();
  ReplyHead head = replyHead(call.chat);
  // What the log needs of the call; not its tokens.
  auto noted = std::make_shared<GenerationCall>();
  noted->stream = call.stream;
  noted->user = call.user;
  if (options.logPrompts)
    noted->promptTexts = call.promptTexts;
  JobHooks jobHooks = hooksFor(
      visit,
      [this, noted](const JobReport &report) {
        json line = logLine(report, *noted);
        if (options.logPrompts)
          line["prompts"] = noted->promptTexts;
        return line;
      },
      self);
  auto job = std::make_shared<GenerationJob>(backend, loop, visit.exchange, std::move(call), std::move(head),
                                             std::move(jobHooks));
  *self = job;
  jobs.insert(job);
  job->start();
}

void Api::endJob(const std::shared_ptr<Job> &job) {
  jobs.erase(job);
  checkDrained();
}

/// Ends jobs whose time is up.
void Api::sweep() {
  const auto now = std::chrono::steady_clock::now();
  if (options.requestTimeout.count() > 0)
    for (const auto &job : std::set(jobs))
      if (now - job->startedAt() > options.requestTimeout)
        job->fail({ErrorKind::Timeout, "the request took longer than " +
                                           std::to_string(options.requestTimeout.count()) + " s (--request-timeout)"});
  loop.after(sweepInterval, [this, weak = std::weak_ptr(alive)] {
    if (weak.lock())
      sweep();
  });
}

} // namespace fusec::serve
