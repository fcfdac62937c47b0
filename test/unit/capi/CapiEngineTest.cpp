//===- CapiEngineTest.cpp - engines and text through the C interface -------------===//

#include "test/unit/capi/CapiFixture.h"

#include <algorithm>
#include <thread>

namespace fusec::capi::test {

namespace {

/// Two turns, each between <eos> and a letter.
constexpr const char *chatTemplate = "{% for m in messages %}{{ eos_token }}{{ m['role'][0] }}{{ m['content'] }}"
                                     "{% endfor %}{% if add_generation_prompt %}{{ eos_token }}a{% endif %}";

fusec_status loadFails(const char *artifact, const fusec_engine_options &options) {
  fusec_engine *engine = nullptr;
  const fusec_status status = fusec_engine_load(artifact, &options, &engine);
  EXPECT_EQ(engine, nullptr);
  return status;
}

std::vector<int32_t> take(int32_t *ids, size_t count) {
  std::vector<int32_t> copy(ids, ids + count);
  fusec_free(ids);
  return copy;
}

std::string take(char *text, size_t length) {
  EXPECT_EQ(text[length], '\0');
  std::string copy(text, length);
  fusec_free(text);
  return copy;
}

} // namespace

TEST(CapiEngine, SaysWhatItLoaded) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  auto info = sized<fusec_model_info>();
  ASSERT_EQ(fusec_engine_model_info(engine.get(), &info), FUSEC_OK);
  EXPECT_STREQ(info.name, "toy");
  EXPECT_STREQ(info.architecture, "toy");
  EXPECT_STREQ(info.kv_dtype, "f32");
  EXPECT_STREQ(info.device, "host");
  EXPECT_STREQ(info.level, "avx2");
  EXPECT_EQ(info.context_tokens, 64);
  EXPECT_EQ(info.max_sequences, 4);
  EXPECT_EQ(info.bos_id, -1);
  ASSERT_EQ(info.end_id_count, 1u);
  EXPECT_EQ(info.end_ids[0], 15);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_EQ(info.has_chat_template, 0);
  EXPECT_EQ(info.threads, 1);
}

TEST(CapiEngine, LoadsWithoutOptions) {
  ToyArtifact files;
  fusec_engine *engine = nullptr;
  ASSERT_EQ(fusec_engine_load(files.directory().c_str(), nullptr, &engine), FUSEC_OK) << fusec_last_error();
  EXPECT_EQ(fusec_engine_free(engine), FUSEC_OK);
}

TEST(CapiEngine, RefusesByName) {
  ToyArtifact files;
  const char *artifact = files.directory().c_str();
  EXPECT_EQ(loadFails("/nonexistent/model.fusec", engineOptions()), FUSEC_NOT_FOUND);
  EXPECT_THAT(fusec_last_error(), HasSubstr("/nonexistent/model.fusec"));

  struct Case {
    void (*change)(fusec_engine_options &);
    fusec_status status;
    const char *message;
  };
  const Case cases[] = {
      {[](auto &o) { o.policy = "random"; }, FUSEC_INVALID_ARGUMENT, "policy: expected one of 'fcfs', "},
      {[](auto &o) { o.max_sequences = 0; }, FUSEC_INVALID_ARGUMENT, "max_sequences: expected a number from 1"},
      {[](auto &o) { o.max_requests = -1; }, FUSEC_INVALID_ARGUMENT, "max_requests: expected a number from 1"},
      {[](auto &o) { o.step_tokens = 0; }, FUSEC_INVALID_ARGUMENT, "step_tokens: expected a number from 1"},
      {[](auto &o) { o.threads = -1; }, FUSEC_INVALID_ARGUMENT, "threads: expected a number from 0, found -1"},
      {[](auto &o) { o.context_tokens = 100; }, FUSEC_INVALID_ARGUMENT, "64"},
      {[](auto &o) { o.device = "abacus"; }, FUSEC_INVALID_ARGUMENT, "abacus"},
      {[](auto &o) { o.reserved = 1; }, FUSEC_INVALID_ARGUMENT, "reserved: expected 0, found 1"},
      {[](auto &o) { o.struct_size = 3; }, FUSEC_INVALID_ARGUMENT, "engine options: struct_size is 3"},
  };
  for (const Case &one : cases) {
    fusec_engine_options options = engineOptions();
    one.change(options);
    EXPECT_EQ(loadFails(artifact, options), one.status) << one.message;
    EXPECT_THAT(fusec_last_error(), HasSubstr(one.message));
  }
}

TEST(CapiEngine, DamagedFilesAreErrors) {
  ToyArtifact files;
  files.write("manifest.json", "{");
  EXPECT_EQ(loadFails(files.directory().c_str(), engineOptions()), FUSEC_CORRUPT_DATA);
  EXPECT_THAT(fusec_last_error(), HasSubstr("manifest.json"));
}

TEST(CapiEngine, MessagesBelongToTheirThread) {
  EXPECT_EQ(fusec_engine_health(nullptr), FUSEC_INVALID_ARGUMENT);
  const std::string before = fusec_last_error();
  std::thread([] {
    EXPECT_STREQ(fusec_last_error(), "");
    EXPECT_EQ(fusec_request_cancel(nullptr), FUSEC_INVALID_ARGUMENT);
    EXPECT_STREQ(fusec_last_error(), "request: expected a pointer, found NULL");
  }).join();
  EXPECT_EQ(fusec_last_error(), before);
}

TEST(CapiEngine, TokenizesAndBack) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  int32_t *ids = nullptr;
  size_t count = 0;
  ASSERT_EQ(fusec_tokenize(engine.get(), "cab", 3, FUSEC_ADD_SPECIAL, &ids, &count), FUSEC_OK);
  EXPECT_THAT(take(ids, count), ElementsAre(2, 0, 1));
  ASSERT_EQ(fusec_tokenize(engine.get(), "a<eos>", 6, FUSEC_PARSE_SPECIAL, &ids, &count), FUSEC_OK);
  EXPECT_THAT(take(ids, count), ElementsAre(0, 15));
  ASSERT_EQ(fusec_tokenize(engine.get(), nullptr, 0, 0, &ids, &count), FUSEC_OK);
  EXPECT_TRUE(take(ids, count).empty());

  const int32_t given[] = {0, 11, 12, 15, -7, 1000};
  char *text = nullptr;
  size_t length = 0;
  ASSERT_EQ(fusec_detokenize(engine.get(), given, 6, 0, &text, &length), FUSEC_OK);
  EXPECT_EQ(take(text, length), "a\xc3\xa9");
  ASSERT_EQ(fusec_detokenize(engine.get(), given, 4, FUSEC_KEEP_SPECIAL, &text, &length), FUSEC_OK);
  EXPECT_EQ(take(text, length), "a\xc3\xa9<eos>");

  EXPECT_EQ(fusec_tokenize(engine.get(), "a", 1, FUSEC_ANSWER, &ids, &count), FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(fusec_last_error(), "flags: 16 means nothing to fusec_tokenize");
  EXPECT_EQ(fusec_tokenize(engine.get(), nullptr, 1, 0, &ids, &count), FUSEC_INVALID_ARGUMENT);
  EXPECT_EQ(fusec_detokenize(engine.get(), given, 1, 0, nullptr, &length), FUSEC_INVALID_ARGUMENT);
}

TEST(CapiEngine, RendersChats) {
  ToyArtifact files;
  files.write("chat_template.jinja", chatTemplate);
  EnginePointer engine = load(files);
  const char *roles[] = {"e", "f"}, *contents[] = {"<eos>b", "c"};
  char *text = nullptr;
  int32_t *ids = nullptr;
  size_t length = 0, count = 0;
  ASSERT_EQ(fusec_chat_text(engine.get(), roles, contents, 2, FUSEC_ANSWER, &text, &length), FUSEC_OK)
      << fusec_last_error();
  EXPECT_EQ(take(text, length), "<eos>e<eos>b<eos>fc<eos>a");
  ASSERT_EQ(fusec_chat_text(engine.get(), roles + 1, contents + 1, 1, 0, &text, &length), FUSEC_OK);
  EXPECT_EQ(take(text, length), "<eos>fc");
  // Three control tokens of the template; the one that the user typed is only letters, some not in the vocabulary.
  ASSERT_EQ(fusec_chat_tokens(engine.get(), roles, contents, 2, FUSEC_ANSWER, &ids, &count), FUSEC_OK)
      << fusec_last_error();
  const std::vector<int32_t> found = take(ids, count);
  EXPECT_EQ(std::count(found.begin(), found.end(), 15), 3);
  contents[1] = nullptr;
  EXPECT_EQ(fusec_chat_tokens(engine.get(), roles, contents, 2, 0, &ids, &count), FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(fusec_last_error(), "contents[1]: expected a pointer, found NULL");
}

TEST(CapiEngine, InvalidTextIsReplaced) {
  ToyArtifact files;
  files.write("chat_template.jinja", "{{ messages[0]['content'] | tojson }}");
  EnginePointer engine = load(files);
  const char *roles[] = {"user"}, *contents[] = {"a\xff"};
  char *text = nullptr;
  int32_t *ids = nullptr;
  size_t length = 0, count = 0;
  ASSERT_EQ(fusec_chat_text(engine.get(), roles, contents, 1, 0, &text, &length), FUSEC_OK) << fusec_last_error();
  EXPECT_EQ(take(text, length), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(fusec_tokenize(engine.get(), "\xff\0a", 3, 0, &ids, &count), FUSEC_OK) << fusec_last_error();
  take(ids, count);
}

TEST(CapiEngine, ATemplateThatRefusesIsQuoted) {
  ToyArtifact files;
  files.write("chat_template.jinja", "{{ raise_exception('roles must alternate') }}");
  EnginePointer engine = load(files);
  char *text = nullptr;
  size_t length = 0;
  EXPECT_EQ(fusec_chat_text(engine.get(), nullptr, nullptr, 0, 0, &text, &length), FUSEC_INVALID_ARGUMENT);
  EXPECT_THAT(fusec_last_error(), HasSubstr("roles must alternate"));
}

TEST(CapiEngine, ChatsNeedATemplate) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  const char *roles[] = {"user"}, *contents[] = {"a"};
  char *text = nullptr;
  size_t length = 0;
  EXPECT_EQ(fusec_chat_text(engine.get(), roles, contents, 1, 0, &text, &length), FUSEC_UNSUPPORTED);
  EXPECT_STREQ(fusec_last_error(), "model 'toy' has no chat template");
}

TEST(CapiEngine, CountsAndItsLedgerBalances) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  RequestPointer request = submit(engine, greedy(9));
  ASSERT_EQ(fusec_request_wait(request.get(), patience), FUSEC_OK);
  ASSERT_EQ(fusec_engine_drain(engine.get(), patience), FUSEC_OK);
  auto stats = sized<fusec_stats>();
  ASSERT_EQ(fusec_engine_stats(engine.get(), &stats), FUSEC_OK);
  EXPECT_EQ(stats.prompt_tokens, 1);
  EXPECT_EQ(stats.generated_tokens, 9);
  EXPECT_EQ(stats.ended_length, 1);
  EXPECT_EQ(stats.running + stats.waiting + stats.queued, 0);
  EXPECT_EQ(stats.pages_live + stats.pages_cached + stats.pages_parked + stats.pages_free + stats.pages_sink,
            stats.pages_total);
  EXPECT_EQ(stats.page_tokens, 4);
  EXPECT_EQ(stats.tokens_held + stats.tokens_tail + stats.tokens_reserved, stats.pages_live * stats.page_tokens);
  EXPECT_GE(stats.steps, 9);
  EXPECT_GE(stats.step_seconds, stats.kernel_seconds);
  EXPECT_EQ(fusec_engine_health(engine.get()), FUSEC_OK);
  EXPECT_EQ(fusec_engine_flush_prefix_cache(engine.get()), FUSEC_OK);
  auto tooSmall = sized<fusec_stats>();
  tooSmall.struct_size = 16;
  EXPECT_EQ(fusec_engine_stats(engine.get(), &tooSmall), FUSEC_INVALID_ARGUMENT);
}

TEST(CapiEngine, DrainedTakesNoMore) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  EXPECT_EQ(fusec_engine_drain(engine.get(), -1), FUSEC_OK);
  fusec_request *request = nullptr;
  EXPECT_EQ(fusec_engine_submit_text(engine.get(), "a", 1, nullptr, &request), FUSEC_UNAVAILABLE);
  EXPECT_EQ(request, nullptr);
}

TEST(CapiEngine, ReportsProgressOfALoad) {
  ToyArtifact files;
  fusec_engine_options options = engineOptions();
  double last = 1;
  options.on_progress = [](void *user, const char *stage, double fraction) {
    EXPECT_NE(stage, nullptr);
    *static_cast<double *>(user) = fraction;
  };
  options.user = &last;
  EnginePointer engine = load(files, options); // The host has nothing to report; a GPU does.
  EXPECT_GE(last, 0);
  EXPECT_LE(last, 1);
}

} // namespace fusec::capi::test
