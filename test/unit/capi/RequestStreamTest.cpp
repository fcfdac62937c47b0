//===- RequestStreamTest.cpp - what a program sees of requests that fail ----------===//
//
// Linked with the objects behind the interface, so that the test can be the engine.
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Handles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::capi;
using namespace fusec::runtime;

namespace {

TokenEvent event(TokenId id, std::string text) {
  TokenEvent out;
  out.id = id;
  out.textDelta = std::move(text);
  return out;
}

RequestOutcome failure(std::string message) {
  RequestOutcome out;
  out.status = internalError(std::move(message));
  out.choices.emplace_back();
  out.choices[0].text = "ab";
  out.choices[0].reason = FinishReason::Error;
  return out;
}

} // namespace

TEST(RequestStream, AFailureComesAfterTheEvents) {
  fusec_request request;
  request.stream = std::make_shared<RequestStream>(&request, StreamCallbacks());
  request.stream->onToken(event(1, "a"));
  request.stream->onToken(event(2, "b"));
  request.stream->onDone(failure("the device is gone"));
  fusec_event found{};
  found.struct_size = sizeof found;
  EXPECT_EQ(fusec_request_next(&request, -1, &found), FUSEC_OK);
  EXPECT_STREQ(found.text, "a");
  EXPECT_EQ(fusec_request_next(&request, -1, &found), FUSEC_OK);
  EXPECT_STREQ(found.text, "b");
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(fusec_request_next(&request, -1, &found), FUSEC_INTERNAL);
    EXPECT_STREQ(fusec_last_error(), "the device is gone");
  }
  EXPECT_EQ(fusec_request_wait(&request, -1), FUSEC_INTERNAL);
  fusec_result result{};
  result.struct_size = sizeof result;
  ASSERT_EQ(fusec_request_result(&request, &result), FUSEC_OK) << "what is known of it";
  EXPECT_EQ(result.status, FUSEC_INTERNAL);
  EXPECT_STREQ(result.message, "the device is gone");
  fusec_choice choice{};
  choice.struct_size = sizeof choice;
  ASSERT_EQ(fusec_request_choice(&request, 0, &choice), FUSEC_OK);
  EXPECT_STREQ(choice.text, "ab");
  EXPECT_EQ(choice.finish_reason, FUSEC_FINISH_ERROR);
}

TEST(RequestStream, LongMessagesAreCut) {
  fusec_request request;
  request.stream = std::make_shared<RequestStream>(&request, StreamCallbacks());
  request.stream->onDone(failure(std::string(5000, 'x')));
  EXPECT_EQ(fusec_request_wait(&request, 0), FUSEC_INTERNAL);
  EXPECT_EQ(std::string(fusec_last_error()), std::string(1023, 'x'));
}

TEST(RequestStream, TimesAreBounded) {
  using std::chrono::milliseconds;
  EXPECT_EQ(RequestStream::waitTime(0), milliseconds(0));
  EXPECT_EQ(RequestStream::waitTime(250), milliseconds(250));
  EXPECT_EQ(RequestStream::waitTime(INT64_MAX), RequestStream::waitTime(-1));
  EXPECT_LT(std::chrono::steady_clock::now() + RequestStream::waitTime(-1),
            std::chrono::steady_clock::time_point::max());
}
