//===- CapiFixture.h - handles of the C interface that free themselves -----------===//
#pragma once

#include "runtime/capi/fusec.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace fusec::capi::test {

using runtime::test::ToyArtifact;
using runtime::test::ToyRule;
using testing::ElementsAre;
using testing::HasSubstr;

struct Free {
  void operator()(fusec_engine *engine) const { EXPECT_EQ(fusec_engine_free(engine), FUSEC_OK); }
  void operator()(fusec_request *request) const { fusec_request_free(request); }
};
using EnginePointer = std::unique_ptr<fusec_engine, Free>;
using RequestPointer = std::unique_ptr<fusec_request, Free>;

inline fusec_engine_options engineOptions() {
  fusec_engine_options options;
  EXPECT_EQ(fusec_engine_options_init(&options, sizeof options), FUSEC_OK);
  options.level = "avx2";
  options.threads = 1;
  options.max_sequences = 4;
  return options;
}

inline EnginePointer load(const ToyArtifact &files, const fusec_engine_options &options = engineOptions()) {
  fusec_engine *engine = nullptr;
  EXPECT_EQ(fusec_engine_load(files.directory().c_str(), &options, &engine), FUSEC_OK) << fusec_last_error();
  return EnginePointer(engine);
}

/// Greedy; the toy model never samples its end id before `maxTokens`.
inline fusec_request_options greedy(int64_t maxTokens) {
  fusec_request_options options;
  EXPECT_EQ(fusec_request_options_init(nullptr, &options, sizeof options), FUSEC_OK);
  options.temperature = 0;
  options.max_tokens = maxTokens;
  options.ignore_eos = 1;
  return options;
}

inline RequestPointer submit(const EnginePointer &engine, const fusec_request_options &options,
                             const std::string &prompt = "a") {
  fusec_request *request = nullptr;
  EXPECT_EQ(fusec_engine_submit_text(engine.get(), prompt.data(), prompt.size(), &options, &request), FUSEC_OK)
      << fusec_last_error();
  return RequestPointer(request);
}

/// A struct for the library to fill.
template <typename T> T sized() {
  T out{};
  out.struct_size = sizeof(T);
  return out;
}

inline fusec_result resultOf(const RequestPointer &request) {
  auto result = sized<fusec_result>();
  EXPECT_EQ(fusec_request_result(request.get(), &result), FUSEC_OK) << fusec_last_error();
  return result;
}

inline fusec_choice choiceOf(const RequestPointer &request, int32_t index = 0) {
  auto choice = sized<fusec_choice>();
  EXPECT_EQ(fusec_request_choice(request.get(), index, &choice), FUSEC_OK) << fusec_last_error();
  return choice;
}

/// Long enough for a slow machine, and not for ever.
inline constexpr int64_t patience = 30'000;

} // namespace fusec::capi::test
