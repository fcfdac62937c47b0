//===- Status.h - errors as values -----------------------------------------===//
//
// Everything outside the MLIR half reports failure through these two types.
// A message says what was expected, what was found and where (file, tensor,
// key); libraries neither print nor abort.
//
//   Result<Gguf> file = Gguf::open(path);
//   if (!file) return file.status();
//   FUSEC_ASSIGN_OR_RETURN(auto header, parseHeader(bytes));
//
// Threading: values; no shared state.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace fusec {

enum class ErrorCode {
  Ok,
  InvalidArgument,   ///< The caller asked for something meaningless (bad flag, bad parameter).
  NotFound,          ///< A named file, tensor, key or kernel does not exist.
  CorruptData,       ///< A file contradicts its own format.
  Unsupported,       ///< Valid input that fusec does not handle (yet).
  ResourceExhausted, ///< Memory, pages or a stated limit ran out.
  Cancelled,         ///< The user or the caller stopped the work.
  Unavailable,       ///< Not now: a queue is full, a service is ending or has failed.
  Internal,          ///< A broken invariant of fusec itself.
};

/// Success, or an error code with a one-line message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(ErrorCode code, std::string message) : errorCode(code), text(std::move(message)) {
    assert(code != ErrorCode::Ok && "an error needs an error code");
  }
  bool ok() const { return errorCode == ErrorCode::Ok; }
  ErrorCode code() const { return errorCode; }
  const std::string &message() const { return text; }
  /// The same error with `context + ": "` before its message.
  Status withContext(const std::string &context) const {
    return ok() ? *this : Status(errorCode, context + ": " + text);
  }

private:
  ErrorCode errorCode = ErrorCode::Ok;
  std::string text;
};

inline Status invalidArgument(std::string m) { return {ErrorCode::InvalidArgument, std::move(m)}; }
inline Status notFound(std::string m) { return {ErrorCode::NotFound, std::move(m)}; }
inline Status corruptData(std::string m) { return {ErrorCode::CorruptData, std::move(m)}; }
inline Status unsupported(std::string m) { return {ErrorCode::Unsupported, std::move(m)}; }
inline Status resourceExhausted(std::string m) { return {ErrorCode::ResourceExhausted, std::move(m)}; }
inline Status cancelled(std::string m) { return {ErrorCode::Cancelled, std::move(m)}; }
inline Status unavailable(std::string m) { return {ErrorCode::Unavailable, std::move(m)}; }
inline Status internalError(std::string m) { return {ErrorCode::Internal, std::move(m)}; }

/// A value or the Status that explains its absence.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T v) : content(std::move(v)) {}
  Result(Status s) : error(std::move(s)) { assert(!error.ok() && "a Result without value needs an error"); }
  bool ok() const { return content.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return error; }
  T &value() & {
    assert(ok());
    return *content;
  }
  const T &value() const & {
    assert(ok());
    return *content;
  }
  T &&value() && {
    assert(ok());
    return std::move(*content);
  }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

private:
  std::optional<T> content;
  Status error;
};

} // namespace fusec

#define FUSEC_CONCAT_INNER(a, b) a##b
#define FUSEC_CONCAT(a, b) FUSEC_CONCAT_INNER(a, b)

/// Returns the Status of `expr` from the enclosing function when it is an error.
#define FUSEC_RETURN_IF_ERROR(expr)                                                                                    \
  do {                                                                                                                 \
    if (::fusec::Status fusecStatus = (expr); !fusecStatus.ok())                                                       \
      return fusecStatus;                                                                                              \
  } while (false)

/// `FUSEC_ASSIGN_OR_RETURN(auto x, f())`: binds the value, or returns the error.
#define FUSEC_ASSIGN_OR_RETURN(decl, expr) FUSEC_ASSIGN_OR_RETURN_IMPL(FUSEC_CONCAT(fusecResult, __LINE__), decl, expr)
#define FUSEC_ASSIGN_OR_RETURN_IMPL(tmp, decl, expr)                                                                   \
  auto tmp = (expr);                                                                                                   \
  if (!tmp)                                                                                                            \
    return tmp.status();                                                                                               \
  decl = std::move(tmp).value()
