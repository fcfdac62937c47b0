//===- FakeBackend.cpp - an engine that says what a test wants ---------------------===//
#include "test/unit/serve/FakeBackend.h"

#include "runtime/grammar/Compile.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace fusec::serve::test {

using runtime::FinishReason;

static text::Tokenizer makeTokenizer() {
  nlohmann::json vocab;
  for (int c = '!'; c <= '~'; ++c)
    vocab[std::string(1, static_cast<char>(c))] = c;
  vocab["\xC4\x8A"] = 10; // Newline and space in the byte-level alphabet.
  vocab["\xC4\xA0"] = 32;
  vocab["\xC3\xA2"] = 140; // The three bytes of the euro sign.
  vocab["\xC4\xA4"] = 141;
  vocab["\xC2\xAC"] = 142;
  auto added = [](text::TokenId id, const char *content, bool special) {
    return nlohmann::json{{"id", id},        {"content", content},  {"special", special},  {"lstrip", false},
                          {"rstrip", false}, {"normalized", false}, {"single_word", false}};
  };
  const nlohmann::json byteLevel = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}, {"trim_offsets", true}};
  const nlohmann::json document = {
      {"version", "1.0"},
      {"added_tokens",
       {added(imStart, "<|im_start|>", true), added(imEnd, "<|im_end|>", true), added(think, "<think>", false),
        added(toolCalls, "[TOOL_CALLS]", true), added(pythonTag, "<|python_tag|>", true)}},
      {"normalizer", nullptr},
      {"pre_tokenizer", byteLevel},
      {"post_processor", nullptr},
      {"decoder", byteLevel},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::json::array()}}},
      {"fusec", {{"eos_id", imEnd}, {"end_ids", {imEnd}}}}};
  Result<text::Tokenizer> parsed = text::Tokenizer::parse(document.dump());
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return *parsed;
}

static constexpr const char *chatMl =
    "{% if tools %}{{ tools | tojson }}\n{% endif %}"
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

static text::ChatTemplate makeTemplate(const std::string &source) {
  Result<text::ChatTemplate> compiled = text::ChatTemplate::compile(source);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  return std::move(*compiled);
}

static std::string lastLine(const std::string &prompt) {
  const size_t end = prompt.rfind('\n');
  return end == std::string::npos ? prompt : prompt.substr(end + 1);
}

FakeBackend::FakeBackend() : answer(lastLine), words(makeTokenizer()), chat(makeTemplate(chatMl)) {
  info.name = "fake";
  info.architecture = "none";
  info.digest = "0123456789abcdef0123456789abcdef";
  info.vocabSize = 256; // More rows than the tokenizer has ids, as real models do.
  info.contextLength = 512;
  thread = std::thread([this] { work(); });
}

void FakeBackend::useTemplate(const std::string &source) { chat = makeTemplate(source); }

FakeBackend::~FakeBackend() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  thread.join();
}

int64_t FakeBackend::open() const {
  std::lock_guard lock(mutex);
  return static_cast<int64_t>(running.size());
}

Result<runtime::RequestId> FakeBackend::submit(runtime::Request request,
                                               std::shared_ptr<runtime::RequestListener> listener) {
  FUSEC_RETURN_IF_ERROR(request.validate(info.vocabSize, contextTokens(), /*maxChoices=*/8));
  std::lock_guard lock(mutex);
  last = request;
  Running entry{runtime::RequestId(nextId++), request, std::move(listener), {}, false};
  if (request.embed != info.embedding.has_value())
    return unsupported("the fake serves the other thing");
  const std::string text = answer(words.decode(request.prompt, /*skipSpecial=*/false));
  const auto planned = words.encode(text, {.addSpecial = false, .parseSpecial = spellsMarkers});
  for (int i = 0; i < request.n && !request.embed; ++i)
    entry.choices.push_back(
        {*planned, *runtime::TextStream::create(words, request.prompt, request.stopStrings), {}, 0, false});
  const runtime::RequestId id = entry.id;
  running.push_back(std::move(entry));
  wake.notify_all();
  return id;
}

void FakeBackend::cancel(runtime::RequestId id) {
  std::lock_guard lock(mutex);
  for (Running &entry : running)
    if (entry.id == id)
      entry.cancelled = true;
  wake.notify_all();
}

void FakeBackend::work() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    wake.wait_for(lock, std::chrono::milliseconds(5), [this] { return stopping || !running.empty(); });
    for (auto entry = running.begin(); entry != running.end();)
      entry = step(*entry) ? running.erase(entry) : std::next(entry);
    if (tokenMilliseconds > 0 || stalled) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(std::max<int>(1, tokenMilliseconds)));
      lock.lock();
    }
  }
}

/// One token of each text; true when the request has ended.
bool FakeBackend::step(Running &entry) {
  if (entry.cancelled) {
    ++numCancelled;
    for (Choice &choice : entry.choices)
      choice.result.reason = choice.done ? choice.result.reason : FinishReason::Cancelled;
    finish(entry, {});
    return true;
  }
  if (stalled)
    return false;
  bool done = true;
  for (size_t i = 0; i < entry.choices.size(); ++i) {
    if (!entry.choices[i].done)
      stepChoice(entry, entry.choices[i], static_cast<int>(i));
    done = done && entry.choices[i].done;
  }
  if (failing && (entry.request.embed || entry.choices[0].next >= 2)) {
    finish(entry, internalError("the fake fails"));
    return true;
  }
  if (done)
    finish(entry, {});
  return done;
}

void FakeBackend::stepChoice(Running &entry, Choice &choice, int index) {
  runtime::TokenEvent event;
  event.choice = index;
  const bool limit = entry.request.maxTokens >= 0 && static_cast<int64_t>(choice.next) >= entry.request.maxTokens;
  if (choice.next == choice.planned.size() || limit || choice.stream.stopped()) {
    choice.done = true;
    choice.result.reason = limit && !choice.stream.stopped() && choice.next < choice.planned.size()
                               ? FinishReason::Length
                               : FinishReason::Stop;
    event.textDelta = choice.stream.finish();
  } else {
    event.id = choice.planned[choice.next++];
    event.textDelta = choice.stream.push(event.id);
    event.logprob = -0.5f * static_cast<float>(choice.next);
    if (entry.request.sampling.logprobs > 0)
      event.topLogprobs = {{event.id, event.logprob}, {'z', -std::numeric_limits<float>::infinity()}};
    choice.result.ids.push_back(event.id);
    if (entry.request.sampling.logprobs >= 0)
      choice.result.reports.push_back({event.id, event.logprob, event.topLogprobs});
  }
  choice.result.text += event.textDelta;
  entry.listener->onToken(event);
}

/// What serveEmbeddings promises.
static std::vector<float> fakeEmbedding(const std::vector<text::TokenId> &ids) {
  std::vector<float> values = {static_cast<float>(ids.size()), static_cast<float>(ids.front()),
                               static_cast<float>(ids.back()), 1};
  float squares = 0;
  for (float value : values)
    squares += value * value;
  for (float &value : values)
    value /= std::sqrt(squares);
  return values;
}

void FakeBackend::finish(Running &entry, Status status) {
  runtime::RequestOutcome outcome;
  outcome.status = std::move(status);
  for (Choice &choice : entry.choices)
    outcome.choices.push_back(choice.result);
  if (entry.request.embed && outcome.status.ok() && !entry.cancelled)
    outcome.embedding = fakeEmbedding(entry.request.prompt);
  outcome.explanation.promptTokens = static_cast<int64_t>(entry.request.prompt.size());
  outcome.explanation.queueSeconds = 0.001;
  if (entry.request.promptLogprobs >= 0)
    for (text::TokenId id : entry.request.prompt)
      outcome.promptLogprobs.push_back({id, -1, {}});
  entry.listener->onDone(outcome);
}

runtime::EngineStats FakeBackend::stats() const {
  runtime::EngineStats stats;
  stats.running = open();
  if (figures)
    figures(stats);
  return stats;
}

runtime::EngineHealth FakeBackend::health() const {
  runtime::EngineHealth health;
  health.hasWork = open() > 0;
  health.secondsSinceProgress = stalled && health.hasWork ? 1000 : 0;
  return health;
}

namespace {
class FakeGrammar final : public grammar::CompiledGrammar {
public:
  std::unique_ptr<grammar::Constraint> start() const override { return nullptr; }
  size_t bytes() const override { return 0; }
};
} // namespace

Result<std::shared_ptr<const grammar::CompiledGrammar>>
FakeBackend::compileGrammar(const grammar::GrammarText &wanted) const {
  if (wanted.text.find("bad") != std::string::npos)
    return invalidArgument("#/properties/bad: no such keyword");
  std::lock_guard lock(mutex);
  grammarSeen = std::to_string(static_cast<int>(wanted.kind)) + " " + wanted.text;
  return std::shared_ptr<const grammar::CompiledGrammar>(std::make_shared<FakeGrammar>());
}

} // namespace fusec::serve::test
