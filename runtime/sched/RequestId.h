//===- RequestId.h - the name of a request -------------------------------------===//
#pragma once

#include <cstdint>

namespace fusec::runtime {

/// Given by the engine in the order of arrival; never reused.
enum class RequestId : uint64_t {};

} // namespace fusec::runtime
