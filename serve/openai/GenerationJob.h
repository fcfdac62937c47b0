//===- GenerationJob.h - one generation request, from submit to the last byte -----===//
//
// Submits a request per prompt, streams or gathers what the engine gives, and
// answers. Ends early when the client leaves, the time is up or the engine
// fails; then nothing of it stays in the engine beyond one step.
//
//   auto job = std::make_shared<GenerationJob>(backend, loop, exchange, std::move(call), head, hooks);
//   job->start();
//
// Ownership: kept alive by its listeners until the engine is done with them.
// Threading: the loop's thread; the listeners carry events over from the
// engine's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/Backend.h"
#include "serve/http/EventLoop.h"
#include "serve/http/Exchange.h"
#include "serve/openai/GenerationCall.h"
#include "serve/openai/Job.h"
#include "serve/openai/Replies.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusec::serve {

class GenerationJob final : public Job, public std::enable_shared_from_this<GenerationJob> {
public:
  GenerationJob(Backend &backend, http::EventLoop &loop, std::shared_ptr<http::Exchange> exchange, GenerationCall call,
                ReplyHead head, JobHooks hooks);

  void start();
  void fail(const ApiError &error) override;

private:
  class Listener;
  struct Text {
    bool begun = false;                   ///< Its first chunk is sent.
    int64_t characters = 0;               ///< Sent so far, for text offsets.
    std::optional<ToolCallReader> reader; ///< Where calls are told from text.
  };

  void onEvents(size_t prompt, const std::vector<runtime::TokenEvent> &events);
  void onDone(size_t prompt, runtime::RequestOutcome outcome);
  Failure submit(size_t prompt);

  void beginStream();
  std::string begin(size_t prompt, int index);
  std::string delta(size_t prompt, const runtime::TokenEvent &event);
  std::string spelled(const runtime::TokenEvent &event) const;
  std::string textDelta(int index, const std::string &delta, const runtime::TokenEvent *withLogprobs);
  std::string toolDelta(int index, const std::vector<AnswerPiece> &pieces, const runtime::TokenEvent *withLogprobs);
  void readWholeAnswers(size_t prompt, const std::vector<runtime::TokenEvent> &events);
  void finishTexts(size_t prompt);
  void complete();
  void finishStream(const std::vector<runtime::RequestOutcome> &all);
  int indexOf(size_t prompt, int choice) const { return static_cast<int>(prompt) * call.request.n + choice; }

  const GenerationCall call;
  const ReplyHead head;
  const ChunkWriter chunks;

  std::vector<std::optional<runtime::RequestOutcome>> outcomes;
  size_t remaining;
  std::vector<Text> texts;
  std::vector<ToolAnswer> answers; ///< Parallel to `texts` where calls are read and nothing is streamed, else empty.
  bool streaming = false, gotToken = false;
};

} // namespace fusec::serve
