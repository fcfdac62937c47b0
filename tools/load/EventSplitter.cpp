//===- EventSplitter.cpp ----------------------------------------------------===//
#include "tools/load/EventSplitter.h"

namespace fusec::load {

/// The first character of the string value of `key`, or 0 when there is none. Spaces after the colon are allowed.
static char firstOfString(std::string_view event, std::string_view key) {
  size_t at = event.find(key);
  if (at == std::string_view::npos)
    return 0;
  at = event.find_first_not_of(": ", at + key.size());
  return at != std::string_view::npos && event[at] == '"' && at + 1 < event.size() ? event[at + 1] : '\0';
}

bool bringsText(std::string_view event) {
  for (std::string_view key : {"\"text\"", "\"content\""})
    if (char first = firstOfString(event, key); first != 0 && first != '"')
      return true;
  return false;
}

bool mayReportUsage(std::string_view event) {
  const size_t at = event.find("\"usage\"");
  return at != std::string_view::npos && event.find('{', at) != std::string_view::npos;
}

bool reportsError(std::string_view event) { return event.starts_with("{\"error\""); }

} // namespace fusec::load
