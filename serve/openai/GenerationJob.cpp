//===- GenerationJob.cpp - one generation request, from submit to the last byte ----===//
#include "serve/openai/GenerationJob.h"

#include <mutex>

namespace fusec::serve {

using nlohmann::json;

/// Carries the events of one prompt from the engine's thread to the loop's; those that arrive before the loop looks
/// travel together.
class GenerationJob::Listener final : public runtime::RequestListener,
                                      public std::enable_shared_from_this<GenerationJob::Listener> {
public:
  Listener(std::shared_ptr<GenerationJob> job, size_t prompt) : job(std::move(job)), prompt(prompt) {}

  void onToken(const runtime::TokenEvent &event) override {
    {
      std::lock_guard lock(mutex);
      events.push_back(event);
      if (std::exchange(scheduled, true))
        return;
    }
    job->loop.post([self = shared_from_this()] { self->deliver(); });
  }

  void onDone(const runtime::RequestOutcome &outcome) override {
    job->loop.post([self = shared_from_this(), outcome]() mutable {
      self->deliver();
      // The job ends with its last listener; the listener must not keep it alive.
      std::exchange(self->job, nullptr)->onDone(self->prompt, std::move(outcome));
    });
  }

private:
  void deliver() {
    std::vector<runtime::TokenEvent> batch;
    {
      std::lock_guard lock(mutex);
      batch.swap(events);
      scheduled = false;
    }
    if (job && !batch.empty())
      job->onEvents(prompt, batch);
  }

  std::shared_ptr<GenerationJob> job;
  const size_t prompt;
  std::mutex mutex;
  std::vector<runtime::TokenEvent> events;
  bool scheduled = false;
};

GenerationJob::GenerationJob(Backend &backend, http::EventLoop &loop, std::shared_ptr<http::Exchange> exchange,
                             GenerationCall call, ReplyHead head, JobHooks hooks)
    : Job(backend, loop, std::move(exchange), std::move(hooks)), call(std::move(call)), head(std::move(head)),
      chunks(this->head, this->call.includeUsage), outcomes(this->call.prompts.size()),
      remaining(this->call.prompts.size()),
      texts(this->call.prompts.size() * static_cast<size_t>(this->call.request.n)) {
  if (!this->call.tools.format)
    return;
  for (Text &text : texts)
    text.reader.emplace(this->call.tools);
  if (!this->call.stream)
    answers.resize(texts.size());
}

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

Failure GenerationJob::submit(size_t prompt) {
  runtime::Request request = call.request;
  request.prompt = call.prompts[prompt];
  return Job::submit(std::move(request), std::make_shared<Listener>(shared_from_this(), prompt));
}

void GenerationJob::start() {
  watchClient(weak_from_this());
  for (size_t prompt = 0; prompt < call.prompts.size() && !ended; ++prompt)
    if (Failure failure = submit(prompt))
      fail(*failure);
}

void GenerationJob::fail(const ApiError &error) {
  if (ended)
    return;
  cancelAll();
  if (streaming) {
    exchange->send("data: " + dumpJson(error.toJson()) + "\n\ndata: [DONE]\n\n");
    exchange->endStream();
  } else {
    exchange->respond(error.toResponse());
  }
  endWith(error);
}

//===----------------------------------------------------------------------===//
// The stream
//===----------------------------------------------------------------------===//

/// Not before the first token: until then an error can still be an HTTP status.
void GenerationJob::beginStream() {
  if (std::exchange(streaming, true))
    return;
  exchange->startStream({.contentType = "text/event-stream; charset=utf-8",
                         .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
}

/// What comes before the first delta of a text: the role, or the prompt to echo.
std::string GenerationJob::begin(size_t prompt, int index) {
  Text &text = texts[static_cast<size_t>(index)];
  if (std::exchange(text.begun, true))
    return {};
  if (call.chat)
    return chunks.event(roleChoice(index, call.tools.forced));
  if (!call.echo)
    return {};
  text.characters = countCharacters(call.promptTexts[prompt]);
  return chunks.event(deltaChoice(false, index, call.promptTexts[prompt], nullptr, backend.tokenizer(), 0));
}

std::string GenerationJob::delta(size_t prompt, const runtime::TokenEvent &token) {
  const int index = indexOf(prompt, token.choice);
  if (static_cast<size_t>(index) >= texts.size())
    return {};
  std::string out = begin(prompt, index);
  if (call.hideText)
    return out;
  const bool wantsLogprobs = call.logprobs >= 0 && token.id != runtime::TokenEvent::noToken;
  const runtime::TokenEvent *withLogprobs = wantsLogprobs ? &token : nullptr;
  if (auto &reader = texts[static_cast<size_t>(index)].reader)
    return out + toolDelta(index, reader->push(spelled(token)), withLogprobs);
  return out + textDelta(index, token.textDelta, withLogprobs);
}

std::string GenerationJob::textDelta(int index, const std::string &delta, const runtime::TokenEvent *withLogprobs) {
  if (delta.empty() && !withLogprobs)
    return {};
  Text &text = texts[static_cast<size_t>(index)];
  std::string out =
      chunks.event(deltaChoice(call.chat, index, delta, withLogprobs, backend.tokenizer(), text.characters));
  text.characters += countCharacters(delta);
  return out;
}

/// A token's log-probabilities come with its text, or, where it is held back or part of a call, with an empty one.
std::string GenerationJob::toolDelta(int index, const std::vector<AnswerPiece> &pieces,
                                     const runtime::TokenEvent *withLogprobs) {
  std::string out;
  if (pieces.empty() || pieces.front().kind != AnswerPiece::Kind::Content)
    out += textDelta(index, "", std::exchange(withLogprobs, nullptr));
  for (const AnswerPiece &piece : pieces)
    out += piece.kind == AnswerPiece::Kind::Content ? textDelta(index, piece.text, std::exchange(withLogprobs, nullptr))
                                                    : chunks.event(callChoice(index, piece));
  return out;
}

/// The text of a token. A marker of calls may be a control token, which is left out of other text.
std::string GenerationJob::spelled(const runtime::TokenEvent &event) const {
  const text::Tokenizer &tokenizer = backend.tokenizer();
  if (event.id == runtime::TokenEvent::noToken || !tokenizer.isSpecial(event.id))
    return event.textDelta;
  const std::string_view piece = tokenizer.piece(event.id);
  const bool marks = piece == call.tools.format->begin || (!piece.empty() && call.tools.format->end.ends_with(piece));
  return marks ? event.textDelta + std::string(piece) : event.textDelta;
}

void GenerationJob::readWholeAnswers(size_t prompt, const std::vector<runtime::TokenEvent> &events) {
  for (const runtime::TokenEvent &token : events) {
    const auto index = static_cast<size_t>(indexOf(prompt, token.choice));
    if (index < answers.size())
      for (const AnswerPiece &piece : texts[index].reader->push(spelled(token)))
        answers[index].add(piece);
  }
}

void GenerationJob::onEvents(size_t prompt, const std::vector<runtime::TokenEvent> &events) {
  if (ended)
    return;
  if (!std::exchange(gotToken, true) && hooks.onFirstToken)
    hooks.onFirstToken();
  if (!call.stream)
    return readWholeAnswers(prompt, events);
  beginStream();
  std::string out;
  for (const runtime::TokenEvent &token : events)
    out += delta(prompt, token);
  exchange->send(out);
}

//===----------------------------------------------------------------------===//
// Outcomes
//===----------------------------------------------------------------------===//

void GenerationJob::onDone(size_t prompt, runtime::RequestOutcome outcome) {
  if (ended)
    return;
  if (!outcome.status.ok())
    return fail(errorFor(outcome.status));
  for (const runtime::Generation &generation : outcome.choices)
    if (generation.reason == runtime::FinishReason::Cancelled || generation.reason == runtime::FinishReason::Error)
      return fail({ErrorKind::Draining, "the server stopped before the answer was complete"});
  outcomes[prompt] = std::move(outcome);
  if (call.stream)
    finishTexts(prompt);
  if (!ended && --remaining == 0)
    complete();
}

void GenerationJob::finishTexts(size_t prompt) {
  beginStream();
  std::string out;
  const auto &choices = outcomes[prompt]->choices;
  for (size_t i = 0; i < choices.size(); ++i) {
    const int index = indexOf(prompt, static_cast<int>(i));
    out += begin(prompt, index); // A text of no token has not begun.
    auto &reader = texts[static_cast<size_t>(index)].reader;
    if (reader)
      out += toolDelta(index, reader->finish(), nullptr);
    out += chunks.event(finishChoice(call.chat, index, choices[i].reason, reader && reader->called()));
  }
  exchange->send(out);
}

void GenerationJob::finishStream(const std::vector<runtime::RequestOutcome> &all) {
  std::string out;
  if (call.includeUsage || call.explain) {
    json last = json::object();
    if (call.includeUsage)
      last["usage"] = usageOf(call, all).toJson();
    if (call.explain)
      last["fusec"] = explanation(all);
    out = chunks.lastEvent(last);
  }
  exchange->send(out + "data: [DONE]\n\n");
  if (exchange)
    exchange->endStream();
}

void GenerationJob::complete() {
  std::vector<runtime::RequestOutcome> all;
  for (auto &outcome : outcomes)
    all.push_back(std::move(*outcome));
  JobReport report{.status = 200};
  report.usage = usageOf(call, all);
  report.queueSeconds = all.front().explanation.queueSeconds;
  report.firstTokenSeconds = all.front().explanation.firstTokenSeconds;
  if (!all.front().choices.empty())
    report.finish = runtime::finishReasonName(all.front().choices.front().reason);
  if (call.stream) {
    finishStream(all);
  } else {
    for (size_t i = 0; i < answers.size(); ++i) {
      for (const AnswerPiece &piece : texts[i].reader->finish())
        answers[i].add(piece);
      answers[i].whole = texts[i].reader->called();
    }
    Usage usage;
    exchange->respond({.body = dumpJson(wholeReply(head, call, all, answers, backend.tokenizer(), usage))});
  }
  if (!ended)
    end(std::move(report));
}

} // namespace fusec::serve
