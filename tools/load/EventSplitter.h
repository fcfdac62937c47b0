//===- EventSplitter.h - server-sent events from a byte stream ------------------===//
//
// Takes pieces as they arrive, however they are cut, and gives each `data:` line.
// Looks for what a load test needs of an event without parsing most of them: the
// client must not take time that the server under test could use.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace fusec::load {

class EventSplitter {
public:
  /// Calls `visit(std::string_view data)` for each complete `data:` line.
  template <typename Visit> void push(std::string_view bytes, Visit visit) {
    pending += bytes;
    size_t begin = 0;
    for (size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
      std::string_view line = std::string_view(pending).substr(begin, end - begin);
      if (line.ends_with('\r'))
        line.remove_suffix(1);
      if (line.starts_with("data:"))
        visit(line.substr(line.starts_with("data: ") ? 6 : 5));
    }
    pending.erase(0, begin);
  }

private:
  std::string pending;
};

/// The event brings text: a non-empty "text" or "content".
bool bringsText(std::string_view event);
/// The event may report usage, so it is worth parsing.
bool mayReportUsage(std::string_view event);
/// The event reports an error after the stream has begun.
bool reportsError(std::string_view event);

} // namespace fusec::load
