//===- GraphText.h - writes the text of a fuse graph --------------------------===//
//
//   GraphText g;
//   Node x = g.argument("x", "ragged(T), 64");
//   Node y = g.linear(x, g.weight("w", "96, 64", "q8_0"), "ragged(T), 96");
//   std::string text = g.finish(y);
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

namespace fusec::differential {

/// A value of the graph: its SSA name and type.
struct Node {
  std::string name, dims, element = "f32", storage = "";
  std::string type() const;
};

class GraphText {
public:
  Node argument(const std::string &name, const std::string &dims, const std::string &element = "f32",
                const std::string &storage = "");
  Node weight(const std::string &name, const std::string &dims, const std::string &storage);
  Node frequencies(int64_t pairs, double base = 10000.0);
  Node linear(const Node &x, const Node &w, const std::string &dims);
  Node linear(const Node &x, const Node &w, const Node &bias, const std::string &dims);
  /// Three maps over one iteration space: of lhs, rhs and the result.
  Node contract(const Node &lhs, const Node &rhs, const std::vector<std::string> &maps, const std::string &dims,
                const std::string &order = "sequential");
  Node rmsNorm(const Node &x, const Node &w, const std::string &epsilon = "1.0e-5");
  Node swiglu(const Node &gate, const Node &up);
  Node softmax(const Node &x);
  Node rope(const Node &x, const Node &positions, const Node &frequencies, const std::string &pairing);
  Node gather(const Node &table, const Node &indices, const std::string &dims);
  Node append(const Node &values, const Node &cache, const Node &sequences, const Node &positions);
  Node attention(const Node &q, const Node &k, const Node &v, const Node &positions, const Node &sequences,
                 const std::string &scale, int64_t window, const std::string &dims);
  Node view(const Node &x, const std::string &map, const std::string &dims);
  Node reshape(const Node &x, const std::string &dims);
  /// `body` computes %r from %a, %b, ... and is of f32 unless it says otherwise.
  Node map(const std::vector<Node> &inputs, const std::vector<std::string> &maps, const std::string &dims,
           const std::string &body, const std::string &element = "f32");
  /// One-component reduction over the last of `rank` dimensions; `combine` is an arith op name.
  Node reduce(const Node &x, int rank, const std::string &combine, const std::string &init, const std::string &dims,
              const std::string &order = "lanes");
  /// Index of the largest element over the last of `rank` dimensions, of equal ones the lowest, as f32.
  Node argmax(const Node &x, int rank, const std::string &dims);
  /// The whole module, returning `result`.
  std::string finish(const Node &result) const;

private:
  Node add(const std::string &text, const std::string &dims, const std::string &element = "f32",
           const std::string &storage = "");
  std::string arguments, body;
  int next = 0;
};

/// "affine_map<MAP>"
std::string affine(const std::string &map);
/// "(d0, ..) -> (d0, ..)" of a rank.
std::string identityMap(int rank);

} // namespace fusec::differential
