//===- Nvtx.h - names on a profiler's time line ---------------------------------===//
//
// NVIDIA's range library, loaded when it is there (Nsight brings it along); else
// nothing happens. Threading: safe from any thread; ranges nest per thread.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec::runtime::cuda {

class Nvtx {
public:
  Nvtx();
  void push(const char *name) const;
  void pop() const;

private:
  int (*rangePush)(const char *) = nullptr;
  int (*rangePop)() = nullptr;
};

} // namespace fusec::runtime::cuda
