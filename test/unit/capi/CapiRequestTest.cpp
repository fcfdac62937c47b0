//===- CapiRequestTest.cpp - one request through the C interface -----------------===//

#include "test/unit/capi/CapiFixture.h"

#include <map>

namespace fusec::capi::test {

namespace {

/// The texts of a request, by choice, as fusec_request_next gives them.
std::map<int32_t, std::string> poll(const RequestPointer &request, fusec_status *end = nullptr) {
  std::map<int32_t, std::string> texts;
  auto event = sized<fusec_event>();
  fusec_status status;
  while ((status = fusec_request_next(request.get(), patience, &event)) == FUSEC_OK) {
    EXPECT_EQ(event.text[event.text_length], '\0');
    texts[event.choice].append(event.text, event.text_length);
  }
  (end ? *end : status) = status;
  EXPECT_TRUE(end || status == FUSEC_END) << fusec_status_name(status);
  return texts;
}

/// What callbacks hear.
struct Heard {
  std::map<int32_t, std::string> texts;
  std::vector<int32_t> ids;
  int ends = 0;
  int cancelAfter = -1; ///< Events; -1 = never.
};

int32_t hear(void *user, fusec_request *, const fusec_event *event) {
  auto &heard = *static_cast<Heard *>(user);
  EXPECT_EQ(heard.ends, 0) << "an event after the end";
  heard.texts[event->choice].append(event->text, event->text_length);
  heard.ids.push_back(event->id);
  return static_cast<int>(heard.ids.size()) == heard.cancelAfter;
}

fusec_request_options heardBy(Heard &heard, fusec_request_options options) {
  options.on_token = hear;
  options.on_done = [](void *user, fusec_request *) { ++static_cast<Heard *>(user)->ends; };
  options.user = &heard;
  return options;
}

} // namespace

TEST(CapiRequest, StreamsByPolling) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  RequestPointer request = submit(engine, greedy(5));
  EXPECT_EQ(poll(request)[0], "bcdef");
  EXPECT_EQ(poll(request)[0], "") << "the end stays the end";
  const fusec_result result = resultOf(request);
  EXPECT_EQ(result.status, FUSEC_OK);
  EXPECT_STREQ(result.message, "");
  EXPECT_EQ(result.choice_count, 1);
  EXPECT_EQ(result.prompt_tokens, 1);
  EXPECT_EQ(result.generated_tokens, 5);
  EXPECT_GT(result.total_seconds, 0);
  EXPECT_GE(result.total_seconds, result.first_token_seconds);
  const fusec_choice choice = choiceOf(request);
  EXPECT_STREQ(choice.text, "bcdef");
  EXPECT_EQ(choice.text_length, 5u);
  EXPECT_EQ(choice.finish_reason, FUSEC_FINISH_LENGTH);
  EXPECT_EQ(choice.stop_id, -1);
  EXPECT_EQ(choice.stop_string, -1);
  EXPECT_THAT(std::vector<int32_t>(choice.ids, choice.ids + choice.id_count), ElementsAre(1, 2, 3, 4, 5));
}

TEST(CapiRequest, CallbackAndPollGiveTheSame) {
  ToyArtifact files(ToyRule::Checksum);
  EnginePointer engine = load(files);
  fusec_request_options options = greedy(20);
  options.n = 2;
  options.temperature = 5;
  options.seed = 7;
  const auto polled = poll(submit(engine, options));
  Heard heard;
  RequestPointer request = submit(engine, heardBy(heard, options));
  ASSERT_EQ(fusec_request_wait(request.get(), patience), FUSEC_OK);
  EXPECT_EQ(heard.ends, 1);
  EXPECT_EQ(heard.texts, polled);
  EXPECT_EQ(polled.size(), 2u);
  for (int32_t i = 0; i < 2; ++i)
    EXPECT_EQ(choiceOf(request, i).text, polled.at(i));
}

TEST(CapiRequest, SeveralTexts) {
  ToyArtifact files(ToyRule::Checksum);
  EnginePointer engine = load(files);
  fusec_request_options options = greedy(12);
  options.temperature = 5; // The toy model is sure of itself.
  RequestPointer alone = submit(engine, options);
  options.n = 2;
  RequestPointer both = submit(engine, options);
  ASSERT_EQ(fusec_request_wait(alone.get(), patience), FUSEC_OK);
  ASSERT_EQ(fusec_request_wait(both.get(), patience), FUSEC_OK);
  EXPECT_EQ(resultOf(both).choice_count, 2);
  EXPECT_STREQ(choiceOf(both, 0).text, choiceOf(alone).text);
  EXPECT_STRNE(choiceOf(both, 0).text, choiceOf(both, 1).text);
  auto choice = sized<fusec_choice>();
  for (int32_t index : {-1, 2}) {
    EXPECT_EQ(fusec_request_choice(both.get(), index, &choice), FUSEC_INVALID_ARGUMENT);
    EXPECT_EQ(fusec_last_error(), "index: found " + std::to_string(index) + ", but the request has 2 texts");
  }
}

TEST(CapiRequest, StopsWhereItIsTold) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  fusec_request_options options = greedy(10);
  const char *stops[] = {"zz", "de"};
  options.stop = stops;
  options.stop_count = 2;
  RequestPointer byText = submit(engine, options);
  EXPECT_EQ(poll(byText)[0], "bc");
  EXPECT_EQ(choiceOf(byText).finish_reason, FUSEC_FINISH_STOP);
  EXPECT_EQ(choiceOf(byText).stop_string, 1);
  options = greedy(10);
  const int32_t id = 4;
  options.stop_token_ids = &id;
  options.stop_token_id_count = 1;
  RequestPointer byId = submit(engine, options);
  EXPECT_EQ(poll(byId)[0], "bcd");
  EXPECT_EQ(choiceOf(byId).stop_id, 4);
  options = greedy(-1);
  options.ignore_eos = 0;
  EXPECT_EQ(poll(submit(engine, options, "k"))[0], "\xc3\xa9mn") << "the two bytes of a character come together";
}

TEST(CapiRequest, BiasAndLogprobs) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  fusec_request_options options = greedy(1);
  const int32_t id = 7;
  const float bias = 50;
  options.logit_bias_ids = &id;
  options.logit_bias_values = &bias;
  options.logit_bias_count = 1;
  options.logprobs = 3;
  RequestPointer request = submit(engine, options);
  auto event = sized<fusec_event>();
  ASSERT_EQ(fusec_request_next(request.get(), patience, &event), FUSEC_OK);
  EXPECT_EQ(event.id, 7);
  ASSERT_EQ(event.top_count, 3u);
  EXPECT_EQ(event.top[0].id, 1) << "log-probabilities are the model's own";
  EXPECT_GE(event.top[0].logprob, event.top[1].logprob);
  EXPECT_LT(event.logprob, event.top[0].logprob);
}

TEST(CapiRequest, TextsMatchTheirGrammar) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  struct Case {
    int32_t kind;
    const char *grammar, *text;
  };
  // The toy model would go on with "bcde...".
  const Case cases[] = {
      {FUSEC_GRAMMAR_REGEX, "bc?[e-g]", "bce"},
      {FUSEC_GRAMMAR_CHOICE, R"(["cab", "bad"])", "bad"},
      {FUSEC_GRAMMAR_GBNF, "root ::= \"b\" tail\ntail ::= \"cd\" \"k\"", "bcdk"},
  };
  for (const Case &one : cases)
    for (int again = 0; again < 2; ++again) {
      fusec_request_options options = greedy(-1);
      options.ignore_eos = 0;
      options.grammar_kind = one.kind;
      options.grammar = one.grammar;
      RequestPointer request = submit(engine, options);
      EXPECT_EQ(poll(request)[0], one.text) << one.grammar;
      EXPECT_EQ(choiceOf(request).finish_reason, FUSEC_FINISH_STOP);
    }
}

TEST(CapiRequest, DefaultsAreTheModels) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  fusec_request_options options;
  ASSERT_EQ(fusec_request_options_init(engine.get(), &options, sizeof options), FUSEC_OK);
  EXPECT_EQ(options.temperature, 0.5f);
  EXPECT_EQ(options.top_k, 7);
  EXPECT_EQ(options.top_p, 1);
  fusec_request *request = nullptr;
  ASSERT_EQ(fusec_engine_submit_text(engine.get(), "a", 1, nullptr, &request), FUSEC_OK) << fusec_last_error();
  EXPECT_EQ(fusec_request_wait(request, patience), FUSEC_OK);
  fusec_request_free(request);
}

TEST(CapiRequest, RefusesByName) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  struct Case {
    void (*change)(fusec_request_options &);
    const char *message;
  };
  static const char *const noText[] = {nullptr};
  static const char *const emptyText[] = {""};
  static const int32_t badId[] = {99};
  const Case cases[] = {
      {[](auto &o) { o.max_tokens = 0; }, "max_tokens: expected a positive number or -1"},
      {[](auto &o) { o.min_tokens = -1; }, "min_tokens: "},
      {[](auto &o) { o.temperature = -1; }, "temperature: expected a number from 0"},
      {[](auto &o) { o.top_p = 2; }, "top_p: expected a number from 0 to 1"},
      {[](auto &o) { o.repetition_penalty = 0; }, "repetition_penalty: "},
      {[](auto &o) { o.n = 5; }, "n: expected 1 to 4"},
      {[](auto &o) { o.best_of = 9; }, "best_of: "},
      {[](auto &o) { o.logprobs = 21; }, "logprobs: "},
      {[](auto &o) { o.stop_count = 1; }, "stop: expected a pointer, found NULL"},
      {[](auto &o) { o.stop = noText, o.stop_count = 1; }, "stop[0]: expected a pointer, found NULL"},
      {[](auto &o) { o.stop = emptyText, o.stop_count = 1; }, "stop: a stop string must not be empty"},
      {[](auto &o) { o.stop_token_id_count = 1; }, "stop_token_ids: expected a pointer, found NULL"},
      {[](auto &o) { o.stop_token_ids = badId, o.stop_token_id_count = 1; }, "stop_token_ids[0]: "},
      {[](auto &o) { o.logit_bias_ids = badId, o.logit_bias_count = 1; }, "logit_bias_values: expected a pointer"},
      {[](auto &o) { o.grammar = "a"; }, "grammar_kind: expected the kind of the grammar"},
      {[](auto &o) { o.grammar_kind = FUSEC_GRAMMAR_REGEX; }, "grammar: expected a pointer, found NULL"},
      {[](auto &o) { o.grammar = "{}", o.grammar_kind = FUSEC_GRAMMAR_JSON_OBJECT; }, "grammar: expected NULL"},
      {[](auto &o) { o.grammar = "a", o.grammar_kind = 77; }, "grammar_kind: 77 is none of"},
      {[](auto &o) { o.grammar = "(", o.grammar_kind = FUSEC_GRAMMAR_REGEX; }, "grammar: "},
      {[](auto &o) { o.reserved = 1; }, "reserved: expected 0, found 1"},
      {[](auto &o) { o.struct_size = 0; }, "request options: struct_size is 0"},
  };
  for (const Case &one : cases) {
    fusec_request_options options = greedy(5);
    one.change(options);
    fusec_request *request = nullptr;
    EXPECT_EQ(fusec_engine_submit_text(engine.get(), "a", 1, &options, &request), FUSEC_INVALID_ARGUMENT)
        << one.message;
    EXPECT_THAT(fusec_last_error(), HasSubstr(one.message));
    EXPECT_EQ(request, nullptr);
  }
}

TEST(CapiRequest, RefusesPromptsByName) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  const fusec_request_options options = greedy(5);
  fusec_request *request = nullptr;
  auto refused = [&](const int32_t *ids, size_t count) {
    EXPECT_EQ(fusec_engine_submit(engine.get(), ids, count, &options, &request), FUSEC_INVALID_ARGUMENT);
    EXPECT_EQ(request, nullptr);
    return std::string(fusec_last_error());
  };
  const std::vector<int32_t> bad = {0, 77}, tooLong(64, 0);
  EXPECT_THAT(refused(nullptr, 0), HasSubstr("the prompt is empty"));
  EXPECT_THAT(refused(nullptr, 3), HasSubstr("ids: expected a pointer, found NULL"));
  EXPECT_THAT(refused(bad.data(), bad.size()), HasSubstr("prompt[1]: expected a token id"));
  EXPECT_THAT(refused(tooLong.data(), tooLong.size()), HasSubstr("the context holds 64"));
}

TEST(CapiRequest, MoreThanTheContextEndsWithIt) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  for (int64_t most : {int64_t(-1), int64_t(1000), INT64_MAX}) {
    RequestPointer request = submit(engine, greedy(most));
    EXPECT_EQ(fusec_request_wait(request.get(), patience), FUSEC_OK) << fusec_last_error();
    EXPECT_EQ(choiceOf(request).finish_reason, FUSEC_FINISH_LENGTH);
    EXPECT_EQ(choiceOf(request).id_count, 63u);
  }
}

TEST(CapiRequest, FourTextsInAPoolForOne) {
  ToyArtifact files(ToyRule::Checksum);
  fusec_engine_options small = engineOptions();
  small.kv_tokens = 64;
  EnginePointer roomy = load(files), tight = load(files, small);
  fusec_request_options options = greedy(40);
  options.n = 4;
  options.temperature = 5;
  RequestPointer expected = submit(roomy, options), found = submit(tight, options);
  ASSERT_EQ(fusec_request_wait(expected.get(), patience), FUSEC_OK) << fusec_last_error();
  ASSERT_EQ(fusec_request_wait(found.get(), patience), FUSEC_OK) << fusec_last_error();
  EXPECT_GT(resultOf(found).preemptions, 0);
  for (int32_t i = 0; i < 4; ++i)
    EXPECT_STREQ(choiceOf(found, i).text, choiceOf(expected, i).text);
}

TEST(CapiRequest, ACallbackCanCancel) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  Heard heard;
  heard.cancelAfter = 3;
  RequestPointer request = submit(engine, heardBy(heard, greedy(40)));
  EXPECT_EQ(fusec_request_wait(request.get(), patience), FUSEC_OK) << "cancelled is no error";
  EXPECT_EQ(choiceOf(request).finish_reason, FUSEC_FINISH_CANCELLED);
  EXPECT_LE(heard.ids.size(), 5u) << "within one step";
  EXPECT_EQ(heard.ends, 1);
}

TEST(CapiRequest, EventsGoOneWay) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  Heard heard;
  RequestPointer request = submit(engine, heardBy(heard, greedy(3)));
  auto event = sized<fusec_event>();
  EXPECT_EQ(fusec_request_next(request.get(), 0, &event), FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(fusec_last_error(), "the events of this request go to its on_token");
  EXPECT_EQ(fusec_request_wait(request.get(), patience), FUSEC_OK);
  event.struct_size = 1;
  RequestPointer polled = submit(engine, greedy(3));
  EXPECT_EQ(fusec_request_next(polled.get(), 0, &event), FUSEC_INVALID_ARGUMENT);
  EXPECT_EQ(poll(polled)[0], "bcd") << "a refused call takes no event";
}

} // namespace fusec::capi::test
