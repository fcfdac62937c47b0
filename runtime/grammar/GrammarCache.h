//===- GrammarCache.h - compiled grammars, kept for the next request -------===//
//
//   GrammarCache cache(64 << 20);
//   FUSEC_ASSIGN_OR_RETURN(GrammarPtr grammar, cache.get({GrammarKind::Regex, "[0-9]+"}, vocabulary));
//
// Least recently used grammars go first when the bytes exceed the bound (those
// in use live on with their users). Failed compilations are not kept.
//
// Threading: every member may be called from any thread; compiling happens on
// the caller's thread, outside the lock.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Compile.h"

#include <list>
#include <mutex>

namespace fusec::grammar {

class GrammarCache {
public:
  explicit GrammarCache(size_t maxBytes, const Limits &l = {}) : bound(maxBytes), limits(l) {}

  /// Compiles `text` or returns it from the cache. Errors as compile().
  Result<GrammarPtr> get(const GrammarText &text, const VocabularyPtr &vocabulary);

  struct Stats {
    size_t grammars = 0;
    size_t bytes = 0; ///< Texts, machines and their mask caches now.
    uint64_t hits = 0;
    uint64_t misses = 0;
  };
  Stats stats() const;

private:
  struct Entry {
    GrammarText text;
    VocabularyPtr vocabulary;
    GrammarPtr grammar;
  };

  GrammarPtr find(const GrammarText &text, const VocabularyPtr &vocabulary);
  void add(Entry entry);
  void trim();
  size_t bytesHeld() const;

  const size_t bound;
  const Limits limits;
  mutable std::mutex lock;
  std::list<Entry> entries; ///< Most recently used first; some dozens at most.
  uint64_t hits = 0, misses = 0;
};

} // namespace fusec::grammar
