//===- Vocabulary.h - the tokens of a model as a trie of bytes -------------===//
//
// Tokens are the bytes they add to a text (Tokenizer::piece), so a token may
// hold part of a character. Control tokens and end tokens are no text and are
// not in the trie; neither are holes.
//
//   auto vocabulary = Vocabulary::fromTokenizer(tokenizer);      // share it: building takes some 20 ms
//
// Threading: immutable.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Tokenizer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::grammar {

using text::TokenId;

class Vocabulary {
public:
  static std::shared_ptr<const Vocabulary> fromTokenizer(const text::Tokenizer &tokenizer);
  /// `pieces[id]`: the bytes of token id, empty for tokens that are no text.
  static std::shared_ptr<const Vocabulary> fromPieces(std::vector<std::string> pieces, std::vector<TokenId> endIds);

  int64_t size() const { return static_cast<int64_t>(pieces.size()); }
  /// Words of a mask over the vocabulary.
  size_t maskWords() const { return (pieces.size() + 31) / 32; }
  /// Empty for tokens that are no text and for ids outside the vocabulary.
  std::string_view piece(TokenId id) const;
  const std::vector<TokenId> &endIds() const { return ends; }
  bool isEnd(TokenId id) const;
  /// Bytes of the longest token.
  uint32_t longest() const { return longestPiece; }

  /// A node of the trie. Nodes are stored in depth-first order: the descendants
  /// of node i are i + 1 ... end - 1. Node 0 is the root.
  struct Node {
    uint32_t end;
    uint32_t firstToken; ///< Its tokens end where those of the next node begin.
    uint32_t depth;      ///< Bytes from the root.
    uint8_t byte;
  };
  size_t nodeCount() const { return nodes.size() - 1; }
  const Node &node(uint32_t i) const { return nodes[i]; }
  bool hasChildren(uint32_t i) const { return nodes[i].end > i + 1; }
  std::span<const TokenId> tokensAt(uint32_t i) const {
    return std::span<const TokenId>(tokens).subspan(nodes[i].firstToken, nodes[i + 1].firstToken - nodes[i].firstToken);
  }

private:
  void build();

  std::vector<std::string> pieces;
  std::vector<TokenId> ends;
  std::vector<Node> nodes; ///< And one sentinel.
  std::vector<TokenId> tokens;
  uint32_t longestPiece = 0;
};

} // namespace fusec::grammar
