//===- RandomGraph.h - graphs drawn from a seed ---------------------------------===//
#pragma once

#include "test/unit/passes/GraphText.h"

#include <random>
#include <string>
#include <vector>

namespace fusec::differential {

/// A graph over the inputs "x" [T, width] and "rows" [T] (indices below T) whose
/// every operation rounds exactly, but for sums along rows and exp.
class RandomGraph {
public:
  explicit RandomGraph(uint32_t seed);
  /// Draws the graph; once per object.
  std::string text();
  int64_t width() const { return inputWidth; }
  /// Whether some sum leaves its order open.
  bool hasSums() const { return sums; }
  /// Whether some result depends on an exp; only every third graph may.
  bool hasExp() const { return exps; }

private:
  struct Value {
    Node node;
    int64_t columns = 0; ///< 0: one element per row.
  };

  uint32_t draw(uint32_t n) { return static_cast<uint32_t>(random() % n); }
  const Value &pick(); ///< Recent values more often.
  const Value &pickWide();
  void keep(Node node, int64_t columns) { values.push_back({std::move(node), columns}); }
  std::string indexMap(const Value &from, int64_t columns);
  void addStep();
  void addMap();
  void addProduct();
  void addGatedProducts();
  void addNorm();
  void addReduction();
  void addView();
  void addHeads();
  void addHeadReduction();
  void addGather();
  void addSoftmax();
  Node scaled(const Node &x, int64_t columns, double factor);
  Node product(const Value &x, int64_t columns, const std::string &storage);

  std::mt19937 random;
  GraphText graph;
  std::vector<Value> values;
  Node rows;
  int64_t inputWidth;
  int weights = 0;
  bool sums = false, exps = false;
  const bool mayUseExp;
};

} // namespace fusec::differential
