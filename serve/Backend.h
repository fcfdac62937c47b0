//===- Backend.h - what the server asks of an engine ---------------------------===//
//
// The routes know engines by this interface alone, so that tests can serve from
// a fake. EngineBackend is the real one.
//
// Threading: every member may be called from any thread. Listeners are called
// on the engine's thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/EngineStats.h"
#include "runtime/engine/RequestOutcome.h"
#include "runtime/exec/ModelInfo.h"
#include "runtime/sched/RequestId.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fusec::grammar {
class CompiledGrammar;
struct GrammarText;
} // namespace fusec::grammar

namespace fusec::text {
class ChatTemplate;
class Tokenizer;
} // namespace fusec::text

namespace fusec::serve {

class Backend {
public:
  virtual ~Backend() = default;

  /// As EngineService::submit.
  virtual Result<runtime::RequestId> submit(runtime::Request request,
                                            std::shared_ptr<runtime::RequestListener> listener) = 0;
  /// Ends a request within one step; unknown ids are ignored.
  virtual void cancel(runtime::RequestId id) = 0;
  virtual void flushPrefixCache() = 0;

  virtual runtime::EngineStats stats() const = 0;
  /// Answers at once, also while the engine is stuck.
  virtual runtime::EngineHealth health() const = 0;

  /// Compiles what structured output asks for, or finds it in a cache; may take seconds. Errors: see grammar::compile.
  virtual Result<std::shared_ptr<const grammar::CompiledGrammar>>
  compileGrammar(const grammar::GrammarText &text) const = 0;

  // Constant.
  virtual const runtime::ModelInfo &model() const = 0;
  virtual const text::Tokenizer &tokenizer() const = 0;
  virtual const text::ChatTemplate *chatTemplate() const = 0; ///< Null when the model has none.
  virtual int64_t contextTokens() const = 0;                  ///< Prompt and answer together.
};

} // namespace fusec::serve
