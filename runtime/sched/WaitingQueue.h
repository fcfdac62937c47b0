//===- WaitingQueue.h - requests that wait to be started ------------------------===//
//
// In the order of the policy, with bounded waiting: whoever enters is patient
// while those already waiting, and a further `maxPassed` requests, are started;
// after that it is urgent. All operations O(log n).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sched/Entry.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace fusec::runtime {

class WaitingQueue {
public:
  explicit WaitingQueue(int64_t maxPassed) : maxPassed(maxPassed) {}

  void add(Entry &entry);
  void remove(Entry &entry);
  /// `entry` leaves because it starts.
  void start(Entry &entry);

  /// The one whose patience ended first, or null.
  Entry *urgent() const;
  /// Appends the first `count`.
  void first(size_t count, std::vector<Entry *> &into) const;
  size_t size() const { return ordered.size(); }
  bool empty() const { return ordered.empty(); }

private:
  struct LessPatient {
    bool operator()(const Entry *a, const Entry *b) const {
      return std::tie(a->patience, a->serial) < std::tie(b->patience, b->serial);
    }
  };
  int64_t maxPassed;
  uint64_t started = 0; ///< Requests started so far.
  std::set<Entry *, GoesBefore> ordered;
  std::set<Entry *, LessPatient> byPatience;
};

} // namespace fusec::runtime
