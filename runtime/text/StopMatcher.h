//===- StopMatcher.h - stop strings over token borders ---------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(StopMatcher stops, StopMatcher::create({"\n\n", "User:"}));
//   out += stops.push(delta);      // text that cannot be part of a stop string
//   if (stops.stopped()) break;    // out ends right before the earliest match
//   ...
//   out += stops.finish();         // no stop came: release what was held back
//
// Among all matches the one that begins earliest ends the text, so with stops
// "ab" and "abc" (or "bc" and "abc") the result does not depend on how the text
// was cut into deltas. Only a suffix that is a proper prefix of some stop
// string is held back.
//
// Ownership: value. Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusec::text {

class StopMatcher {
public:
  /// No stop strings is fine (push returns its input). InvalidArgument for an
  /// empty stop string.
  static Result<StopMatcher> create(std::vector<std::string> stopStrings);

  /// Appends `delta`; returns the bytes now certain to be output. Returns ""
  /// once stopped.
  std::string push(std::string_view delta);
  /// End of the text without further input: decides a match that was waiting
  /// for an earlier-starting longer one, and releases the rest.
  std::string finish();

  bool stopped() const { return matchIndex >= 0; }
  /// Index of the stop string that ended the text; -1 before that.
  int matchedStop() const { return matchIndex; }

private:
  struct Match {
    size_t begin;
    int index;
  };
  explicit StopMatcher(std::vector<std::string> stopStrings) : stops(std::move(stopStrings)) {}
  Match earliestMatch() const;
  size_t earliestOpenPrefix() const;
  std::string takeUpTo(size_t end);

  std::vector<std::string> stops;
  std::string held;
  int matchIndex = -1;
};

} // namespace fusec::text
