//===- SizedStruct.h - structs that may be older or newer than the library -------===//
//
// The program says in struct_size, the first field, how much of a struct it knows.
// Less than firstSize was never valid, so it means that nobody initialised the struct.
//
//   FUSEC_ASSIGN_OR_RETURN(fusec_engine_options known, readSized(*options, defaults, "options"));
//   FUSEC_RETURN_IF_ERROR(checkSized(stats, "stats"));
//   writeSized(*stats, values);
//
// fusec.h says the rules to programs. For us they also mean that no struct has padding,
// which an appended field would fill without changing the size.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

namespace fusec::capi {

/// The size of a struct when it was added to the interface (StructSizes.h).
template <typename T> inline constexpr size_t firstSize = 0;

/// More is no struct of any release, but memory that was not initialised.
inline constexpr size_t maxStructSize = 4096;

template <typename T> Status checkSize(size_t size, const char *what) {
  static_assert(std::is_trivially_copyable_v<T> && offsetof(T, struct_size) == 0 && firstSize<T> > 0);
  if (size >= firstSize<T> && size <= maxStructSize)
    return {};
  return invalidArgument(std::string(what) + ": struct_size is " + std::to_string(size) + ", expected at least " +
                         std::to_string(firstSize<T>) + "; was it initialised?");
}

/// For a struct that the library fills.
template <typename T> Status checkSized(const T *out, const char *what) {
  if (!out)
    return invalidArgument(std::string(what) + ": expected a pointer, found NULL");
  return checkSize<T>(out->struct_size, what);
}

/// `known` overwritten with what the program gave. Unsupported when it set a field
/// that this library does not have: to ignore it would be to do something else than asked.
template <typename T> Result<T> readSized(const T &given, T known, const char *what) {
  const size_t size = given.struct_size;
  FUSEC_RETURN_IF_ERROR(checkSize<T>(size, what));
  std::memcpy(&known, &given, std::min(size, sizeof(T)));
  const char *bytes = reinterpret_cast<const char *>(&given);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      return unsupported(std::string(what) + ": byte " + std::to_string(i) + " is set, but this library knows " +
                         std::to_string(sizeof(T)) + "; it is older than the program's fusec.h");
  known.struct_size = sizeof(T);
  return known;
}

/// Fills as much as both know, and the rest with zeros. checkSized() came before.
template <typename T> void writeSized(T &out, T values) {
  const size_t size = out.struct_size;
  values.struct_size = size;
  char *bytes = reinterpret_cast<char *>(&out);
  std::memcpy(bytes, &values, std::min(size, sizeof(T)));
  for (size_t i = sizeof(T); i < size; ++i)
    bytes[i] = 0;
}

/// The same for a struct that is being initialised: `size` is what the program knows.
template <typename T> Status initSized(T *out, size_t size, T values, const char *what) {
  if (!out)
    return invalidArgument(std::string(what) + ": expected a pointer, found NULL");
  FUSEC_RETURN_IF_ERROR(checkSize<T>(size, what));
  out->struct_size = size;
  writeSized(*out, values);
  return {};
}

} // namespace fusec::capi
