//===- Vocabulary.cpp - the tokens of a model as a trie of bytes -----------===//
#include "runtime/grammar/Vocabulary.h"

#include <algorithm>
#include <numeric>

namespace fusec::grammar {

std::shared_ptr<const Vocabulary> Vocabulary::fromTokenizer(const text::Tokenizer &tokenizer) {
  std::vector<std::string> pieces(static_cast<size_t>(tokenizer.size()));
  for (TokenId id = 0; id < tokenizer.size(); ++id)
    if (!tokenizer.isSpecial(id))
      pieces[static_cast<size_t>(id)] = tokenizer.piece(id);
  return fromPieces(std::move(pieces), tokenizer.endIds());
}

std::shared_ptr<const Vocabulary> Vocabulary::fromPieces(std::vector<std::string> pieces, std::vector<TokenId> endIds) {
  auto vocabulary = std::make_shared<Vocabulary>();
  vocabulary->pieces = std::move(pieces);
  for (TokenId id : endIds)
    if (id >= 0 && id < vocabulary->size()) {
      vocabulary->ends.push_back(id);
      vocabulary->pieces[static_cast<size_t>(id)].clear();
    }
  vocabulary->build();
  return vocabulary;
}

std::string_view Vocabulary::piece(TokenId id) const {
  return id >= 0 && id < size() ? std::string_view(pieces[static_cast<size_t>(id)]) : std::string_view();
}

bool Vocabulary::isEnd(TokenId id) const { return std::find(ends.begin(), ends.end(), id) != ends.end(); }

void Vocabulary::build() {
  std::vector<TokenId> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](TokenId id) { return piece(id).empty(); });
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    int order = piece(a).compare(piece(b));
    return order != 0 ? order < 0 : a < b;
  });

  std::vector<uint32_t> path{0}; // The open nodes, root first.
  nodes.push_back({0, 0, 0, 0});
  auto close = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes[path.back()].end = static_cast<uint32_t>(nodes.size());
  };
  std::string_view previous;
  for (TokenId id : order) {
    std::string_view bytes = piece(id);
    size_t shared = static_cast<size_t>(
        std::mismatch(previous.begin(), previous.end(), bytes.begin(), bytes.end()).first - previous.begin());
    close(shared);
    for (size_t depth = shared; depth < bytes.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes.size()));
      nodes.push_back({0, static_cast<uint32_t>(tokens.size()), static_cast<uint32_t>(depth + 1),
                       static_cast<uint8_t>(bytes[depth])});
    }
    tokens.push_back(id);
    longestPiece = std::max(longestPiece, static_cast<uint32_t>(bytes.size()));
    previous = bytes;
  }
  close(0);
  nodes[0].end = static_cast<uint32_t>(nodes.size());
  nodes.push_back({0, static_cast<uint32_t>(tokens.size()), 0, 0});
}

} // namespace fusec::grammar
