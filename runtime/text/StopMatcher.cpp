//===- StopMatcher.cpp - stop strings over token borders -------------------===//
#include "runtime/text/StopMatcher.h"

#include <algorithm>
#include <utility>

namespace fusec::text {

Result<StopMatcher> StopMatcher::create(std::vector<std::string> stopStrings) {
  for (size_t i = 0; i < stopStrings.size(); ++i)
    if (stopStrings[i].empty())
      return invalidArgument("stop[" + std::to_string(i) + "]: a stop string must not be empty");
  return StopMatcher(std::move(stopStrings));
}

/// Leftmost match in `held`; of several there, the first listed.
StopMatcher::Match StopMatcher::earliestMatch() const {
  Match best{std::string::npos, -1};
  for (size_t i = 0; i < stops.size(); ++i)
    if (size_t at = held.find(stops[i]); at < best.begin)
      best = {at, static_cast<int>(i)};
  return best;
}

/// Where the longest suffix of `held` begins that is a proper prefix of a stop
/// string; held.size() when there is none.
size_t StopMatcher::earliestOpenPrefix() const {
  size_t longest = 0;
  for (const std::string &stop : stops)
    longest = std::max(longest, stop.size() - 1);
  for (size_t at = held.size() - std::min(longest, held.size()); at < held.size(); ++at) {
    std::string_view suffix = std::string_view(held).substr(at);
    for (const std::string &stop : stops)
      if (stop.size() > suffix.size() && stop.starts_with(suffix))
        return at;
  }
  return held.size();
}

std::string StopMatcher::takeUpTo(size_t end) {
  std::string out = held.substr(0, end);
  held.erase(0, end);
  return out;
}

std::string StopMatcher::push(std::string_view delta) {
  if (stopped())
    return {};
  held += delta;
  Match match = earliestMatch();
  size_t open = earliestOpenPrefix();
  if (match.index < 0 || open < match.begin) // Something earlier may still come true.
    return takeUpTo(open);
  matchIndex = match.index;
  std::string out = takeUpTo(match.begin);
  held.clear();
  return out;
}

std::string StopMatcher::finish() {
  if (stopped())
    return {};
  Match match = earliestMatch();
  matchIndex = match.index;
  std::string out = takeUpTo(std::min(match.begin, held.size()));
  held.clear();
  return out;
}

} // namespace fusec::text
