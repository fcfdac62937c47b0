//===- Access.h - who may ask --------------------------------------------------===//
//
// API keys, the admin key, and which web pages a browser may send here. A page
// of any site can make a browser post to 127.0.0.1; such requests carry an
// Origin, and one that is neither allowed nor this server's own is refused.
//
// Threading: immutable; any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/http/Message.h"
#include "serve/openai/ApiError.h"
#include "serve/openai/ApiOptions.h"

#include <string>
#include <string_view>

namespace fusec::serve {

/// What a route asks of who calls it.
enum class Guard {
  Open,  ///< Nothing.
  User,  ///< An API key, where the server has any.
  Admin, ///< The admin key.
};

/// Who was let in.
struct Caller {
  std::string tenant; ///< Separates prefix caches; empty without keys. Not for logs.
  int keyIndex = -1;  ///< Which of the API keys; -1 = none.
};

class Access {
public:
  explicit Access(const ApiOptions &options) : options(options) {}

  Failure admit(const http::Request &request, Guard guard, Caller &caller) const;

  /// The origin to allow in the answer; empty when the request has none.
  std::string allowedOrigin(const http::Request &request) const;

private:
  Failure checkOrigin(const http::Request &request) const;

  const ApiOptions &options;
};

/// Equality that takes the same time wherever the texts differ.
bool equalInConstantTime(std::string_view a, std::string_view b);

} // namespace fusec::serve
