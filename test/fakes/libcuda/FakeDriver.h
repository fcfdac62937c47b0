//===- FakeDriver.h - the parts of the fake driver --------------------------------===//
//
// Every function of CudaFunctions.def, and what their implementations share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/fakes/libcuda/FakeObjects.h"

#include "runtime/base/Status.h"

#include <string>

namespace fake {

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::cuda;

#define FUSEC_CUDA_FUNCTION(name, version, parameters) CallResult name parameters;
#include "runtime/device/cuda/CudaFunctions.def"

inline constexpr CallResult invalidContext = static_cast<CallResult>(201);

// From the environment.
int driverVersion();
int deviceCount();
std::string targetName();

/// Contexts on the calling thread's stack.
int contextDepth();
/// The calling thread's context; null without one.
Context current();

/// How the driver would put it. What a kernel did wrong is a fault of its.
CallResult codeOf(const Status &status);

/// Calls `work(context)` with the current context, which must exist.
template <typename Work> CallResult withContext(Work work) {
  Context context = current();
  return context ? work(*context) : invalidContext;
}

/// An object that the context's device makes, as a new handle.
template <typename Handle, typename Made> CallResult give(Result<Made> made, Made Handle::*member, Handle **out) {
  if (!made)
    return codeOf(made.status());
  auto handle = std::make_unique<Handle>();
  (*handle).*member = std::move(*made);
  *out = handle.release();
  return Success;
}

template <typename Handle> CallResult destroy(Handle *handle) {
  return withContext([&](ContextHandle &) {
    delete handle;
    return Success;
  });
}

/// Does `work(stream)`.
CallResult onStream(Stream stream, auto work) {
  return withContext([&](ContextHandle &) { return codeOf(work(*stream->stream)); });
}

} // namespace fake
