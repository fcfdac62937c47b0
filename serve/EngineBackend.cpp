//===- EngineBackend.cpp - the server's view of a real engine ---------------------===//
#include "serve/EngineBackend.h"

#include "runtime/grammar/GrammarCache.h"

namespace fusec::serve {

/// Bytes of compiled grammars that are kept for the next request.
static constexpr size_t grammarCacheBytes = 256u << 20;

struct EngineBackend::Grammars {
  explicit Grammars(const text::Tokenizer &tokenizer)
      : vocabulary(grammar::Vocabulary::fromTokenizer(tokenizer)), cache(grammarCacheBytes) {}

  grammar::VocabularyPtr vocabulary;
  grammar::GrammarCache cache;
};

EngineBackend::EngineBackend(runtime::EngineService &service)
    : service(service), grammars(std::make_unique<Grammars>(service.tokenizer())) {}

EngineBackend::~EngineBackend() = default;

Result<std::shared_ptr<const grammar::CompiledGrammar>>
EngineBackend::compileGrammar(const grammar::GrammarText &text) const {
  return grammars->cache.get(text, grammars->vocabulary);
}

} // namespace fusec::serve
