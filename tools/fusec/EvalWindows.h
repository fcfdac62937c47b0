//===- EvalWindows.h - how a long text is cut for perplexity ---------------===//
//
// Window k holds the tokens [k*stride, k*stride + length). A token is scored in
// the first window that holds it, given the tokens before it in that window;
// the first token of a window cannot be scored. So with stride == length each
// token but every length-th one is scored, with as little as one token of
// context; with a smaller stride every token but the text's first is scored,
// all but the first window's with at least length - stride tokens of context.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fusec {

struct EvalWindow {
  int64_t begin, end; ///< Tokens fed.
  int64_t scoreFrom;  ///< Tokens [scoreFrom, end) are scored; > begin.
};

/// Windows over `tokens` tokens. 1 <= stride <= length, length >= 2.
inline std::vector<EvalWindow> evalWindows(int64_t tokens, int64_t length, int64_t stride) {
  std::vector<EvalWindow> windows;
  int64_t scored = 1; // The first token has no context.
  for (int64_t begin = 0; scored < tokens; begin += stride) {
    const int64_t end = std::min(begin + length, tokens);
    const int64_t from = std::max(scored, begin + 1);
    if (from < end)
      windows.push_back({begin, end, from});
    scored = end;
  }
  return windows;
}

} // namespace fusec
