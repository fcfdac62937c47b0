//===- GrammarCache.cpp - compiled grammars, kept for the next request -----===//
#include "runtime/grammar/GrammarCache.h"

namespace fusec::grammar {

namespace {

/// Bounds the linear search, whatever the bytes.
constexpr size_t kMaxGrammars = 256;

} // namespace

GrammarPtr GrammarCache::find(const GrammarText &text, const VocabularyPtr &vocabulary) {
  std::lock_guard guard(lock);
  for (auto entry = entries.begin(); entry != entries.end(); ++entry)
    if (entry->text.kind == text.kind && entry->vocabulary == vocabulary && entry->text.text == text.text) {
      ++hits;
      entries.splice(entries.begin(), entries, entry);
      GrammarPtr found = entry->grammar;
      trim(); // Grammars grow with their mask caches.
      return found;
    }
  ++misses;
  return nullptr;
}

size_t GrammarCache::bytesHeld() const {
  size_t bytes = 0;
  for (const Entry &entry : entries)
    bytes += entry.text.text.size() + entry.grammar->bytes();
  return bytes;
}

void GrammarCache::add(Entry entry) {
  std::lock_guard guard(lock);
  entries.push_front(std::move(entry));
  trim();
}

void GrammarCache::trim() {
  while (!entries.empty() && (entries.size() > kMaxGrammars || bytesHeld() > bound))
    entries.pop_back();
}

Result<GrammarPtr> GrammarCache::get(const GrammarText &text, const VocabularyPtr &vocabulary) {
  if (GrammarPtr known = find(text, vocabulary))
    return known;
  FUSEC_ASSIGN_OR_RETURN(GrammarPtr grammar, compile(text, vocabulary, limits));
  add({text, vocabulary, grammar});
  return grammar;
}

GrammarCache::Stats GrammarCache::stats() const {
  std::lock_guard guard(lock);
  return {entries.size(), bytesHeld(), hits, misses};
}

} // namespace fusec::grammar
