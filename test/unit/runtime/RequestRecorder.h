//===- RequestRecorder.h - a listener that keeps all it hears --------------------===//
//
// Checks what holds for every request: no event after the end, one end, deltas
// that concatenate to the texts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/RequestOutcome.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fusec::runtime::test {

class RequestRecorder final : public RequestListener {
public:
  void onToken(const TokenEvent &event) override {
    EXPECT_FALSE(outcome) << "an event after the end";
    events.push_back(event);
    streamed[event.choice] += event.textDelta;
    if (event.id != TokenEvent::noToken)
      ids[event.choice].push_back(event.id);
    if (onEvent)
      onEvent(event);
  }
  void onDone(const RequestOutcome &done) override {
    EXPECT_FALSE(outcome) << "a second end";
    outcome = done;
    for (size_t i = 0; i < done.choices.size() && !events.empty(); ++i) {
      EXPECT_EQ(streamed[static_cast<int>(i)], done.choices[i].text);
      EXPECT_EQ(ids[static_cast<int>(i)], done.choices[i].ids);
    }
  }

  std::function<void(const TokenEvent &)> onEvent;
  std::vector<TokenEvent> events;
  std::map<int, std::string> streamed;
  std::map<int, std::vector<TokenId>> ids;
  std::optional<RequestOutcome> outcome;
};

} // namespace fusec::runtime::test
