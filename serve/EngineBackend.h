//===- EngineBackend.h - the server's view of a real engine -----------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(auto service, runtime::EngineService::start(options));
//   EngineBackend backend(*service);
//
// Borrows the service. Threading: see Backend.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineService.h"
#include "serve/Backend.h"

namespace fusec::serve {

class EngineBackend final : public Backend {
public:
  explicit EngineBackend(runtime::EngineService &service);
  ~EngineBackend() override;

  Result<runtime::RequestId> submit(runtime::Request request,
                                    std::shared_ptr<runtime::RequestListener> listener) override {
    return service.submit(std::move(request), std::move(listener));
  }
  void cancel(runtime::RequestId id) override { service.cancel(id); }
  void flushPrefixCache() override { service.flushPrefixCache(); }
  runtime::EngineStats stats() const override { return service.stats(); }
  runtime::EngineHealth health() const override { return service.health(); }
  Result<std::shared_ptr<const grammar::CompiledGrammar>>
  compileGrammar(const grammar::GrammarText &text) const override;
  const runtime::ModelInfo &model() const override { return service.model(); }
  const text::Tokenizer &tokenizer() const override { return service.tokenizer(); }
  const text::ChatTemplate *chatTemplate() const override { return service.chatTemplate(); }
  int64_t contextTokens() const override { return service.options().contextTokens; }

private:
  struct Grammars;

  runtime::EngineService &service;
  std::unique_ptr<Grammars> grammars;
};

} // namespace fusec::serve
