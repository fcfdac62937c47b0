//===- Failure.h - Status to fusec_status, and nothing else gets out -----------===//
//
// Every function of the C interface that can fail is one call of guarded():
//
//   fusec_status fusec_x(fusec_engine *engine) {
//     return guarded([&]() -> Status {
//       FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
//       ...
//     });
//   }
//
// Threading: the message is the calling thread's own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/capi/fusec.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace fusec::capi {

/// The number of an ErrorCode in the C interface.
fusec_status statusOf(ErrorCode code);
/// Keeps the message for fusec_last_error, and returns the number. Allocates nothing.
fusec_status fail(fusec_status status, const char *message);
fusec_status fail(const Status &status);
const char *lastError();

template <typename T> Status notNull(T *pointer, const char *name) {
  return pointer ? Status() : invalidArgument(std::string(name) + ": expected a pointer, found NULL");
}
/// An array may be NULL when it is empty.
template <typename T> Status arrayNotNull(T *pointer, size_t count, const char *name) {
  return count == 0 ? Status() : notNull(pointer, name);
}

/// What is reserved may mean something later; a program must not have set it by then.
inline Status isReserved(int32_t value) {
  return value == 0 ? Status() : invalidArgument("reserved: expected 0, found " + std::to_string(value));
}

/// Runs `body`, which returns a Status or, where there is more to say than success, a
/// fusec_status. Exceptions of the standard library (memory) and of libraries stop here.
template <typename Body> fusec_status guarded(Body body) noexcept {
  try {
    auto status = body();
    if constexpr (std::is_same_v<decltype(status), Status>)
      return status.ok() ? FUSEC_OK : fail(status);
    else
      return status;
  } catch (const std::bad_alloc &) {
    return fail(FUSEC_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::length_error &) {
    return fail(FUSEC_RESOURCE_EXHAUSTED, "out of memory: a length is beyond what can be addressed");
  } catch (const std::exception &error) {
    return fail(FUSEC_INTERNAL, error.what());
  } catch (...) {
    return fail(FUSEC_INTERNAL, "an unknown exception");
  }
}

} // namespace fusec::capi
