//===- SamplingParamsTest.cpp - what a request may ask for ---------------------------===//

#include "runtime/engine/SamplingParams.h"
#include "runtime/engine/Request.h"
#include "runtime/exec/ModelInfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

using namespace fusec;
using namespace fusec::runtime;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

} // namespace

TEST(SamplingParams, NamesTheIllegalValue) {
  struct Case {
    void (*set)(SamplingParams &);
    const char *message;
  };
  const Case cases[] = {
      {[](SamplingParams &p) { p.temperature = -1; }, "temperature: expected a number from 0, found -1"},
      {[](SamplingParams &p) { p.temperature = notANumber; }, "temperature"},
      {[](SamplingParams &p) { p.temperature = inf; }, "temperature"},
      {[](SamplingParams &p) { p.topP = 1.01f; }, "top_p: expected a number from 0 to 1, found 1.01"},
      {[](SamplingParams &p) { p.topP = -0.1f; }, "top_p"},
      {[](SamplingParams &p) { p.minP = 2; }, "min_p"},
      {[](SamplingParams &p) { p.topK = -2; }, "top_k"},
      {[](SamplingParams &p) { p.repetitionPenalty = 0; }, "repetition_penalty: expected a number above 0"},
      {[](SamplingParams &p) { p.repetitionPenalty = -1; }, "repetition_penalty"},
      {[](SamplingParams &p) { p.presencePenalty = 2.5f; }, "presence_penalty"},
      {[](SamplingParams &p) { p.frequencyPenalty = notANumber; }, "frequency_penalty"},
      {[](SamplingParams &p) { p.logprobs = 21; }, "logprobs: expected -1 (off) to 20, found 21"},
      {[](SamplingParams &p) { p.logitBias = {{10, 1}}; }, "logit_bias: expected token ids from 0 to 9, found 10"},
      {[](SamplingParams &p) { p.logitBias = {{-1, 1}}; }, "logit_bias"},
      {[](SamplingParams &p) { p.logitBias = {{3, 100.5f}}; }, "logit_bias of token 3"},
      {[](SamplingParams &p) { p.logitBias = {{3, notANumber}}; }, "logit_bias of token 3"},
  };
  for (const Case &row : cases) {
    SamplingParams params;
    row.set(params);
    Status status = params.validate(10);
    EXPECT_EQ(status.code(), ErrorCode::InvalidArgument) << row.message;
    EXPECT_THAT(status.message(), testing::HasSubstr(row.message));
  }
  EXPECT_TRUE(SamplingParams().validate(10).ok());
}

TEST(SamplingParams, TakesTheModelsDefaults) {
  ModelInfo model;
  model.generation.temperature = 0.6f;
  model.generation.topK = 20;
  SamplingParams params = SamplingParams::defaultsFor(model);
  EXPECT_FLOAT_EQ(params.temperature, 0.6f);
  EXPECT_EQ(params.topK, 20);
  EXPECT_EQ(params.topP, 1);
}

TEST(Request, IsValidatedAgainstVocabularyAndContext) {
  auto message = [](Request request) { return request.validate(10, 8).message(); };
  EXPECT_EQ(message({.prompt = {1}}), "");
  EXPECT_THAT(message({.prompt = {}}), testing::HasSubstr("the prompt is empty"));
  EXPECT_EQ(message({.prompt = std::vector<TokenId>(7, 1)}), "");
  EXPECT_THAT(message({.prompt = std::vector<TokenId>(8, 1)}),
              testing::HasSubstr("the prompt has 8 tokens, the context holds 8"));
  EXPECT_THAT(message({.prompt = {1, 10}}), testing::HasSubstr("prompt[1]: expected a token id from 0 to 9, found 10"));
  EXPECT_THAT(message({.prompt = {-1}}), testing::HasSubstr("prompt[0]"));
  EXPECT_THAT(message({.prompt = {1}, .stopIds = {10}}), testing::HasSubstr("stop_token_ids[0]"));
  EXPECT_THAT(message({.prompt = {1}, .maxTokens = 0}), testing::HasSubstr("max_tokens"));
  EXPECT_THAT(message({.prompt = {1}, .stopStrings = {""}}), testing::HasSubstr("must not be empty"));
  EXPECT_THAT(message({.prompt = {1}, .stopStrings = std::vector<std::string>(17, "x")}),
              testing::HasSubstr("at most 16 strings, found 17"));
}
