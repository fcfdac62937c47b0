//===- Covering.cpp - few cases that meet every pair of options -----------------===//
#include "test/unit/passes/Covering.h"

#include <random>
#include <set>
#include <tuple>

namespace fusec::differential {

namespace {

using Row = std::vector<int>;

class Cover {
public:
  Cover(llvm::ArrayRef<int> values, uint32_t seed) : values(values), random(seed) {
    for (size_t f = 0; f < values.size(); ++f)
      for (size_t g = f + 1; g < values.size(); ++g)
        for (int a = 0; a < values[f]; ++a)
          for (int b = 0; b < values[g]; ++b)
            open.emplace(f, g, a, b);
  }

  bool isComplete() const { return open.empty(); }

  /// The best of a few rows, each grown from a pair that no row has yet.
  Row next() {
    Row best;
    size_t bestCount = 0;
    for (int attempt = 0; attempt < 20 && !open.empty(); ++attempt) {
      Row row = grow();
      if (size_t count = newPairs(row); best.empty() || count > bestCount) {
        best = row;
        bestCount = count;
      }
    }
    if (best.empty())
      for (int n : values)
        best.push_back(draw(n));
    forEachPair(best, [&](const auto &pair) { open.erase(pair); });
    return best;
  }

private:
  using Pair = std::tuple<size_t, size_t, int, int>;

  int draw(int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }

  Row grow() {
    Row row(values.size(), -1);
    auto it = open.begin();
    std::advance(it, draw(static_cast<int>(open.size())));
    auto [f, g, a, b] = *it;
    row[f] = a;
    row[g] = b;
    for (size_t h = 0; h < values.size(); ++h)
      if (row[h] < 0)
        row[h] = bestValue(row, h);
    return row;
  }

  /// The value that meets most open pairs with the factors set so far; ties by chance.
  int bestValue(Row &row, size_t factor) {
    int best = draw(values[factor]);
    size_t bestCount = 0;
    for (int i = 0, start = best; i < values[factor]; ++i) {
      row[factor] = (start + i) % values[factor];
      if (size_t count = newPairs(row); count > bestCount) {
        best = row[factor];
        bestCount = count;
      }
    }
    return best;
  }

  size_t newPairs(const Row &row) const {
    size_t count = 0;
    forEachPair(row, [&](const Pair &pair) { count += open.count(pair); });
    return count;
  }

  template <typename Visit> static void forEachPair(const Row &row, Visit visit) {
    for (size_t f = 0; f < row.size(); ++f)
      for (size_t g = f + 1; g < row.size(); ++g)
        if (row[f] >= 0 && row[g] >= 0)
          visit(Pair(f, g, row[f], row[g]));
  }

  llvm::ArrayRef<int> values;
  std::mt19937 random;
  std::set<Pair> open; ///< Ordered: the draw must not depend on addresses or hashing.
};

} // namespace

std::vector<std::vector<int>> coveringRows(llvm::ArrayRef<int> values, size_t atLeast, uint32_t seed) {
  Cover cover(values, seed);
  std::vector<Row> rows;
  while (!cover.isComplete() || rows.size() < atLeast)
    rows.push_back(cover.next());
  return rows;
}

} // namespace fusec::differential
