//===- FakeBackend.h - an engine that says what a test wants -----------------------===//
//
// A vocabulary of ASCII characters and a few control tokens, a ChatML template,
// and answers that are made by a function of the prompt's text. Requests run on
// one thread, one token each in turn, as a real engine's do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/TextStream.h"
#include "runtime/text/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"
#include "serve/Backend.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

namespace fusec::serve::test {

inline constexpr text::TokenId imStart = 200, imEnd = 201, think = 202, toolCalls = 203, pythonTag = 204;

class FakeBackend final : public Backend {
public:
  FakeBackend();
  ~FakeBackend() override;

  /// The text that answers a prompt; the default repeats what follows its last newline.
  std::function<std::string(const std::string &prompt)> answer;
  std::atomic<int> tokenMilliseconds = 0; ///< Between two tokens.
  std::atomic<bool> stalled = false;      ///< Accepts requests and does nothing.
  std::atomic<bool> failing = false;      ///< Every request ends with an error after its second token.
  bool hasTemplate = true;                ///< Set before the server starts.
  bool spellsMarkers = false;             ///< What answers spell of control tokens becomes those.
  int64_t context = 512;                  ///< Likewise.
  /// Serves embeddings of width 4 instead of text: (ids, first id, last id, 1), of length 1. Before the server starts.
  void serveEmbeddings() { info.embedding = runtime::EmbeddingInfo{4, Pooling::Mean}; }
  std::function<void(runtime::EngineStats &)> figures; ///< Adds to stats(); set before the server starts.
  mutable std::string grammarSeen;                     ///< Kind and text of the last compiled grammar.
  std::optional<runtime::Request> last;                ///< As submitted; read it when nothing runs.

  /// Another chat template than ChatML; before the server starts.
  void useTemplate(const std::string &source);

  /// Requests that have not ended.
  int64_t open() const;
  int64_t cancelled() const { return numCancelled; }

  Result<runtime::RequestId> submit(runtime::Request request,
                                    std::shared_ptr<runtime::RequestListener> listener) override;
  void cancel(runtime::RequestId id) override;
  void flushPrefixCache() override { ++flushes; }
  runtime::EngineStats stats() const override;
  runtime::EngineHealth health() const override;
  Result<std::shared_ptr<const grammar::CompiledGrammar>>
  compileGrammar(const grammar::GrammarText &text) const override;
  const runtime::ModelInfo &model() const override { return info; }
  const text::Tokenizer &tokenizer() const override { return words; }
  const text::ChatTemplate *chatTemplate() const override { return hasTemplate ? &chat : nullptr; }
  int64_t contextTokens() const override { return context; }

  std::atomic<int> flushes = 0;

private:
  struct Choice {
    std::vector<text::TokenId> planned;
    runtime::TextStream stream;
    runtime::Generation result;
    size_t next = 0;
    bool done = false;
  };
  struct Running {
    runtime::RequestId id;
    runtime::Request request;
    std::shared_ptr<runtime::RequestListener> listener;
    std::vector<Choice> choices;
    bool cancelled = false;
  };

  void work();
  bool step(Running &running);
  void stepChoice(Running &running, Choice &choice, int index);
  void finish(Running &running, Status status);

  runtime::ModelInfo info;
  text::Tokenizer words;
  text::ChatTemplate chat;

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::list<Running> running;
  uint64_t nextId = 1;
  std::atomic<int64_t> numCancelled = 0;
  bool stopping = false;
  std::thread thread;
};

} // namespace fusec::serve::test
