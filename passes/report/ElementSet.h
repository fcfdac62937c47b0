//===- ElementSet.h - which elements of a buffer were reached ---------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace fusec {

/// Elements by their row-major number, from 0; emptied and filled again for every program of a kernel. A set of bits in
/// chunks, of which only those that are used exist: programs reach small parts of large buffers.
class ElementSet {
public:
  /// False if it was there.
  bool insert(int64_t element) {
    uint64_t &word = chunkOf(static_cast<size_t>(element) / chunkElements)[element % chunkElements / 64];
    const uint64_t bit = uint64_t(1) << (element % 64);
    const bool isNew = !(word & bit);
    word |= bit;
    return isNew;
  }
  void clear() {
    for (size_t number : used)
      places[number] = 0;
    used.clear();
  }

private:
  static constexpr int64_t chunkElements = 4096;
  using Chunk = std::array<uint64_t, chunkElements / 64>;

  Chunk &chunkOf(size_t number) {
    if (number >= places.size())
      places.resize(number + 1);
    if (places[number] == 0) {
      if (used.size() == chunks.size())
        chunks.emplace_back();
      chunks[used.size()].fill(0);
      used.push_back(number);
      places[number] = static_cast<uint32_t>(used.size());
    }
    return chunks[places[number] - 1];
  }

  std::vector<uint32_t> places; ///< By number of a chunk: 1 + its place in `chunks`, or 0.
  std::vector<size_t> used;     ///< Numbers of the chunks in use.
  std::vector<Chunk> chunks;    ///< In the order of `used`; those behind are kept for the next program.
};

} // namespace fusec
