//===- RequestLog.cpp - one line of JSON per request -------------------------------===//
#include "serve/openai/RequestLog.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

namespace fusec::serve {

std::string timestamp() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(millis));
  return text;
}

std::string randomId(std::string_view prefix) {
  thread_local std::mt19937_64 generator(std::random_device{}());
  char digits[25];
  std::snprintf(digits, sizeof digits, "%016llx%08llx", static_cast<unsigned long long>(generator()),
                static_cast<unsigned long long>(generator() >> 32));
  return std::string(prefix) + digits;
}

std::string requestIdFor(std::string_view fromClient) {
  const bool plain =
      !fromClient.empty() && fromClient.size() <= 128 && std::all_of(fromClient.begin(), fromClient.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == ':';
      });
  return plain ? std::string(fromClient) : randomId("req-");
}

} // namespace fusec::serve
