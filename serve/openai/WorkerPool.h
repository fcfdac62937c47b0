//===- WorkerPool.h - threads for work that the event loop must not do -----------===//
//
// Ownership: owns its threads; the destructor finishes the work that is running
// and drops the rest. Threading: run from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fusec::serve {

class WorkerPool {
public:
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  void run(std::function<void()> work);

private:
  void work();

  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::function<void()>> queue;
  bool stopping = false;
  std::vector<std::thread> threads;
};

} // namespace fusec::serve
