//===- WaitingQueue.cpp ------------------------------------------------------===//

#include "runtime/sched/WaitingQueue.h"

namespace fusec::runtime {

void WaitingQueue::add(Entry &entry) {
  entry.patience = started + ordered.size() + static_cast<uint64_t>(maxPassed);
  ordered.insert(&entry);
  byPatience.insert(&entry);
}

void WaitingQueue::remove(Entry &entry) {
  ordered.erase(&entry);
  byPatience.erase(&entry);
}

void WaitingQueue::start(Entry &entry) {
  remove(entry);
  ++started;
}

Entry *WaitingQueue::urgent() const {
  return !byPatience.empty() && (*byPatience.begin())->patience < started ? *byPatience.begin() : nullptr;
}

void WaitingQueue::first(size_t count, std::vector<Entry *> &into) const {
  for (Entry *entry : ordered) {
    if (count-- == 0)
      return;
    into.push_back(entry);
  }
}

} // namespace fusec::runtime
