//===- Nvtx.cpp -----------------------------------------------------------------===//

#include "runtime/device/cuda/Nvtx.h"

#include <dlfcn.h>

namespace fusec::runtime::cuda {

Nvtx::Nvtx() {
  void *handle = dlopen("libnvToolsExt.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return;
  rangePush = reinterpret_cast<int (*)(const char *)>(dlsym(handle, "nvtxRangePushA"));
  rangePop = reinterpret_cast<int (*)()>(dlsym(handle, "nvtxRangePop"));
}

void Nvtx::push(const char *name) const {
  if (rangePush && rangePop)
    rangePush(name);
}

void Nvtx::pop() const {
  if (rangePush && rangePop)
    rangePop();
}

} // namespace fusec::runtime::cuda
