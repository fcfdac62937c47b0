//===- WorkerPool.cpp - threads for work that the event loop must not do ---------===//
#include "serve/openai/WorkerPool.h"

namespace fusec::serve {

WorkerPool::WorkerPool(int count) {
  for (int i = 0; i < count; ++i)
    threads.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  arrived.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerPool::run(std::function<void()> task) {
  {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(task));
  }
  arrived.notify_one();
}

void WorkerPool::work() {
  while (true) {
    std::unique_lock lock(mutex);
    arrived.wait(lock, [this] { return stopping || !queue.empty(); });
    if (stopping)
      return;
    std::function<void()> task = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    task();
  }
}

} // namespace fusec::serve
