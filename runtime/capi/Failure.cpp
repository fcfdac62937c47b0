//===- Failure.cpp - the thread's last message --------------------------------===//

#include "runtime/capi/Failure.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace fusec::capi {

namespace {

/// A fixed buffer: keeping a message must not fail, and a thread's end has nothing to free.
thread_local char message[1024];

struct StatusRow {
  fusec_status status;
  ErrorCode code; ///< Internal where no ErrorCode becomes this.
  const char *name;
};

/// By number.
constexpr StatusRow statusTable[] = {
    {FUSEC_OK, ErrorCode::Ok, "ok"},
    {FUSEC_INVALID_ARGUMENT, ErrorCode::InvalidArgument, "invalid argument"},
    {FUSEC_NOT_FOUND, ErrorCode::NotFound, "not found"},
    {FUSEC_CORRUPT_DATA, ErrorCode::CorruptData, "corrupt data"},
    {FUSEC_UNSUPPORTED, ErrorCode::Unsupported, "unsupported"},
    {FUSEC_RESOURCE_EXHAUSTED, ErrorCode::ResourceExhausted, "resource exhausted"},
    {FUSEC_CANCELLED, ErrorCode::Cancelled, "cancelled"},
    {FUSEC_UNAVAILABLE, ErrorCode::Unavailable, "unavailable"},
    {FUSEC_INTERNAL, ErrorCode::Internal, "internal error"},
    {FUSEC_TIMEOUT, ErrorCode::Internal, "timeout"},
    {FUSEC_END, ErrorCode::Internal, "end"},
};

constexpr bool isInOrder() {
  for (size_t i = 0; i < std::size(statusTable); ++i)
    if (statusTable[i].status != static_cast<fusec_status>(i))
      return false;
  return true;
}
static_assert(isInOrder(), "statusTable is indexed by the status");

} // namespace

fusec_status statusOf(ErrorCode code) {
  for (const StatusRow &row : statusTable)
    if (row.code == code)
      return row.status;
  return FUSEC_INTERNAL;
}

fusec_status fail(fusec_status status, const char *text) {
  const size_t length = std::min(std::strlen(text), sizeof(message) - 1);
  std::memcpy(message, text, length);
  message[length] = '\0';
  return status;
}

fusec_status fail(const Status &status) { return fail(statusOf(status.code()), status.message().c_str()); }

const char *lastError() { return message; }

} // namespace fusec::capi

using namespace fusec::capi;

const char *fusec_last_error(void) { return lastError(); }

const char *fusec_status_name(int32_t status) {
  return status >= 0 && static_cast<size_t>(status) < std::size(statusTable) ? statusTable[status].name : "unknown";
}
