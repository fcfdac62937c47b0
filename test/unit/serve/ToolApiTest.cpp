//===- ToolApiTest.cpp - calls of functions, over HTTP ------------------------------===//
//
// With the chat templates of real models, and a backend that answers what such
// models answer.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AtomicFile.h"
#include "test/unit/serve/ApiFixture.h"

using namespace fusec;
using namespace fusec::serve;
using namespace fusec::serve::test;
using nlohmann::json;
using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr const char *chat = "/v1/chat/completions";

/// How Llama 3.1 and 3.2 show tools and calls, in short.
constexpr const char *llamaTemplate =
    R"({%- if tools %}{{- '<|start_header_id|>user<|end_header_id|>\n\nRespond in the format {"name": function name, )"
    R"("parameters": dictionary of argument name and its value}.' }}{%- for t in tools %}{{- t | tojson }}{%- endfor %}{%- endif %})"
    R"({%- for m in messages %}{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }})"
    R"({%- if m.tool_calls %}{%- set f = m.tool_calls[0].function %}{{- '{"name": "' + f.name + '", "parameters": ' + (f.arguments | tojson) + '}' }})"
    R"({%- else %}{{- m.content }}{%- endif %}{{- '<|eot_id|>' }}{%- endfor %})"
    R"({%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %})";

json body() {
  return json::parse(R"({"messages":[{"role":"user","content":"2+3?"}],"tools":[
    {"type":"function","function":{"name":"add","description":"Adds","strict":true,"parameters":{"type":"object",
      "properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/n"}},"required":["a","b"],
      "$defs":{"n":{"type":"integer"}}}}},
    {"type":"function","function":{"name":"now"}}]})");
}

json with(json object, const json &more) {
  object.update(more);
  return object;
}

class ToolApi : public ApiTest {
protected:
  /// A template of the collection, or false.
  bool useFile(const std::string &name) {
    auto text = readWholeFile(std::filesystem::path(FUSEC_SOURCE_DIR) / "../shared/data/templates" / name);
    if (!text)
      return false;
    use(*text);
    return true;
  }
  void use(const std::string &source) {
    backend.useTemplate(source);
    backend.spellsMarkers = true;
    backend.context = 20000;
    start();
  }
  void answerWith(std::string text) {
    backend.answer = [text = std::move(text)](const std::string &) { return text; };
  }
  std::string prompt() { return backend.tokenizer().decode(backend.last->prompt, /*skipSpecial=*/false); }

  /// The same answer whole and streamed; ids are checked and taken out.
  json message(const json &request, const std::string &finish);
  json streamedMessage(const json &request, const std::string &finish);
};

void takeIds(json &calls) {
  for (json &call : calls) {
    EXPECT_FALSE(call["id"].get<std::string>().empty());
    EXPECT_EQ(call["type"], "function");
    call.erase("id");
    call.erase("type");
  }
}

json ToolApi::message(const json &request, const std::string &finish) {
  json choice = ok(chat, request)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], finish);
  json message = choice["message"];
  EXPECT_EQ(message["role"], "assistant");
  message.erase("role");
  message.erase("refusal");
  if (message.contains("tool_calls"))
    takeIds(message["tool_calls"]);
  EXPECT_EQ(streamedMessage(request, finish), message);
  return message;
}

/// What OpenAI's clients make of a stream: deltas joined, calls by their index.
json ToolApi::streamedMessage(const json &request, const std::string &finish) {
  std::string content, reason;
  json calls = json::array();
  for (const std::string &event : events(stream(chat, request))) {
    if (event == "[DONE]")
      continue;
    const json choice = json::parse(event)["choices"][0], &delta = choice["delta"];
    EXPECT_EQ(reason, "") << "nothing follows the finish_reason";
    if (!choice["finish_reason"].is_null())
      reason = choice["finish_reason"];
    if (delta.contains("content") && delta["content"].is_string())
      content += delta["content"].get<std::string>();
    for (const json &call : delta.value("tool_calls", json::array())) {
      const auto index = call["index"].get<size_t>();
      if (call.contains("id")) {
        EXPECT_EQ(index, calls.size());
        EXPECT_EQ(call["function"]["arguments"], "") << "the name comes first";
        calls.push_back(call);
        calls[index].erase("index");
        continue;
      }
      EXPECT_LT(index, calls.size());
      EXPECT_FALSE(call["function"].contains("name"));
      calls[index]["function"]["arguments"].get_ref<std::string &>() += call["function"]["arguments"];
    }
  }
  EXPECT_EQ(reason, finish);
  takeIds(calls);
  json message = {{"content", content}};
  if (calls.empty())
    return message;
  if (content.empty())
    message["content"] = nullptr;
  message["tool_calls"] = calls;
  return message;
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

struct Model {
  const char *file; ///< Null = llamaTemplate.
  std::string one, two, wrong;
};

const Model models[] = {
    {"llama.cpp/Qwen-Qwen2.5-7B-Instruct.jinja",
     "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>\n<tool_call>\n{\"name\": "
     "\"now\", \"arguments\": {}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2,, \"b\": 3}}\n</tool_call>"},
    {"llama.cpp/Qwen-Qwen3-0.6B.jinja",
     "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>\n<tool_call>\n{\"name\": "
     "\"now\", \"arguments\": {}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}\n</tool_call>"},
    {"llama.cpp/mistralai-Mistral-Nemo-Instruct-2407.jinja",
     "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}]",
     "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}, {\"name\": \"now\", \"arguments\": {}}]",
     "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {2}}]"},
    {nullptr, "{\"name\": \"add\", \"parameters\": {\"a\": 2, \"b\": 3}}",
     "<|python_tag|>{\"name\": \"add\", \"parameters\": {\"a\": 2, \"b\": 3}}; {\"name\": \"now\", \"parameters\": {}}",
     "{\"name\": \"add\", \"parameters\": {\"a\": 2, \"b\": three}}"},
};

TEST_F(ToolApi, CallsComeBackAsOpenAiWritesThem) {
  const json add = {{"function", {{"name", "add"}, {"arguments", "{\"a\": 2, \"b\": 3}"}}}};
  const json now = {{"function", {{"name", "now"}, {"arguments", "{}"}}}};
  for (const Model &model : models) {
    SCOPED_TRACE(model.file ? model.file : "llama");
    if (!model.file)
      use(llamaTemplate);
    else if (!useFile(model.file))
      GTEST_SKIP() << "needs the collection of chat templates";
    answerWith(model.one);
    EXPECT_EQ(message(body(), "tool_calls"), (json{{"content", nullptr}, {"tool_calls", {add}}}));
    answerWith(model.two);
    EXPECT_EQ(message(body(), "tool_calls"), (json{{"content", nullptr}, {"tool_calls", {add, now}}}));
    EXPECT_EQ(message(with(body(), {{"parallel_tool_calls", false}}), "tool_calls")["tool_calls"], json::array({add}));
    for (const std::string &text : {model.wrong, std::string("No tool is needed: a < b.")}) {
      answerWith(text);
      EXPECT_EQ(message(body(), "stop"), (json{{"content", text}}));
    }
    TearDown();
  }
}

TEST_F(ToolApi, TextBeforeACallIsContent) {
  if (!useFile("llama.cpp/Qwen-Qwen2.5-7B-Instruct.jinja"))
    GTEST_SKIP() << "needs the collection of chat templates";
  answerWith("I'll look.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(message(body(), "tool_calls")["content"], "I'll look.");
  answerWith("I'll look.\n<tool_call>\n{\"name\": \"now\", \"argum");
  EXPECT_EQ(message(with(body(), {{"max_tokens", 30}}), "length")["content"], "I'll look.\n<tool_call>\n{\"name\"");
  // Where nothing may be called, nothing is taken for a call.
  answerWith(models[0].one);
  EXPECT_EQ(message(with(body(), {{"tool_choice", "none"}}), "stop")["content"], models[0].one);
  EXPECT_EQ(message({{"messages", body()["messages"]}}, "stop")["content"], models[0].one);
}

TEST_F(ToolApi, EachTextOfARequestHasItsCalls) {
  if (!useFile("llama.cpp/Qwen-Qwen2.5-7B-Instruct.jinja"))
    GTEST_SKIP() << "needs the collection of chat templates";
  answerWith(models[0].one);
  const json reply = ok(chat, with(body(), {{"n", 2}, {"logprobs", true}}));
  std::set<std::string> ids;
  for (const json &choice : reply["choices"]) {
    EXPECT_EQ(choice["finish_reason"], "tool_calls");
    ids.insert(choice["message"]["tool_calls"][0]["id"]);
    EXPECT_EQ(choice["logprobs"]["content"].size(), models[0].one.size()) << "of every token, markers included";
  }
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 2 * models[0].one.size());
  size_t rows = 0;
  for (const std::string &event : events(stream(chat, with(body(), {{"logprobs", true}}))))
    if (event != "[DONE]")
      if (const json logprobs = json::parse(event)["choices"][0]["logprobs"]; logprobs.is_object())
        rows += logprobs["content"].size();
  EXPECT_EQ(rows, models[0].one.size()) << "a stream has them as well, each once";
}

TEST_F(ToolApi, AStreamSaysNothingOfACallAsContent) {
  if (!useFile("llama.cpp/Qwen-Qwen2.5-7B-Instruct.jinja"))
    GTEST_SKIP() << "needs the collection of chat templates";
  answerWith(models[0].two);
  EXPECT_THAT(joinedText(stream(chat, body())), "");
}

//===----------------------------------------------------------------------===//
// Required calls
//===----------------------------------------------------------------------===//

TEST_F(ToolApi, RequiredCallsBeginInThePromptAndAreBoundByTheSchemas) {
  if (!useFile("llama.cpp/Qwen-Qwen2.5-7B-Instruct.jinja"))
    GTEST_SKIP() << "needs the collection of chat templates";
  answerWith("{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}");
  const json required = message(with(body(), {{"tool_choice", "required"}}), "tool_calls");
  EXPECT_TRUE(required["content"].is_null());
  EXPECT_EQ(required["tool_calls"].size(), 1u);
  EXPECT_THAT(prompt(), testing::EndsWith("<|im_start|>assistant\n<tool_call>\n"));
  EXPECT_TRUE(backend.last->constraint);
  EXPECT_THAT(backend.grammarSeen, testing::StartsWith("5 {\"schema\":{\"anyOf\":["));
  EXPECT_THAT(backend.grammarSeen, HasSubstr(R"("const":"add")"));
  EXPECT_THAT(backend.grammarSeen, HasSubstr(R"("const":"now")"));
  EXPECT_THAT(backend.grammarSeen, HasSubstr(R"("next":"\n<tool_call>\n")"));
  const json named = json::parse(R"({"type":"function","function":{"name":"add"}})");
  message(with(body(), {{"tool_choice", named}}), "tool_calls");
  EXPECT_THAT(backend.grammarSeen, Not(HasSubstr(R"("const":"now")")));
  EXPECT_THAT(backend.grammarSeen, HasSubstr(R"("next":"")"));
  // Cut off, there is half a call, and the reason says so.
  EXPECT_EQ(message(with(body(), {{"tool_choice", named}, {"max_tokens", 38}}),
                    "length")["tool_calls"][0]["function"]["arguments"],
            "{\"a\": 2, ");
}

TEST_F(ToolApi, MistralsMarkerIsItsControlToken) {
  if (!useFile("llama.cpp/mistralai-Mistral-Nemo-Instruct-2407.jinja"))
    GTEST_SKIP() << "needs the collection of chat templates";
  answerWith("[{\"name\": \"now\", \"arguments\": {}}]");
  message(with(body(), {{"tool_choice", "required"}, {"parallel_tool_calls", false}}), "tool_calls");
  EXPECT_EQ(backend.last->prompt.back(), toolCalls);
  EXPECT_THAT(backend.grammarSeen, HasSubstr(R"("minItems":1,"maxItems":1)"));
}

//===----------------------------------------------------------------------===//
// Conversations with calls in them
//===----------------------------------------------------------------------===//

/// What a client sends after a call: the message it got, and the result.
json continued(const json &reply) {
  json next = body();
  next["messages"].push_back(reply["choices"][0]["message"]);
  next["messages"].push_back(
      {{"role", "tool"}, {"tool_call_id", reply["choices"][0]["message"]["tool_calls"][0]["id"]}, {"content", "five"}});
  return next;
}

TEST_F(ToolApi, CallsAndResultsGoBackThroughTheTemplate) {
  const std::vector<std::string> shown = {
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>",
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>",
      "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}",
      "{\"name\": \"add\", \"parameters\": {\"a\": 2, \"b\": 3}}"};
  for (size_t i = 0; i < std::size(models); ++i) {
    SCOPED_TRACE(models[i].file ? models[i].file : "llama");
    if (!models[i].file)
      use(llamaTemplate);
    else if (!useFile(models[i].file))
      GTEST_SKIP() << "needs the collection of chat templates";
    answerWith(models[i].one);
    const json next = continued(ok(chat, body()));
    answerWith("It is five.");
    EXPECT_EQ(message(next, "stop")["content"], "It is five.");
    EXPECT_THAT(prompt(), HasSubstr(shown[i]));
    EXPECT_THAT(prompt(), HasSubstr("five"));
    TearDown();
  }
}

/// Functionary's puts arguments together with text, for which they must be a string.
TEST_F(ToolApi, ArgumentsAreAStringForTemplatesThatWantOne) {
  use("{% for m in messages %}{% if m.tool_calls %}{{ '>>>' + m.tool_calls[0].function.arguments }}{% else %}"
      "{{ m.content }}{% endif %}{% endfor %}{{ tools }}");
  answerWith("ok");
  json next = body();
  next["messages"].push_back(
      json::parse(R"({"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function",
    "function":{"name":"add","arguments":"{\"a\":1}"}}]})"));
  EXPECT_EQ(message(next, "stop")["content"], "ok");
  EXPECT_THAT(prompt(), HasSubstr(R"(>>>{"a":1})"));
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(ToolApi, MalformedToolsAreRefusedByTheirPlace) {
  if (!useFile("llama.cpp/Qwen-Qwen2.5-7B-Instruct.jinja"))
    GTEST_SKIP() << "needs the collection of chat templates";
  const auto refuse = [&](const char *tools, const char *param, const char *message) {
    expectError(chat, with(body(), {{"tools", json::parse(tools)}}), 400, param, message);
  };
  refuse(R"([7])", "tools[0]", "expected {");
  refuse(R"([{"function":{"name":"f"}}])", "tools[0].type", "expected \"function\"");
  refuse(R"([{"type":"retrieval"}])", "tools[0].type", "expected \"function\"");
  refuse(R"([{"type":"function"}])", "tools[0].function", "expected an object");
  refuse(R"([{"type":"function","function":{"name":"f"},"x":1}])", "tools[0].x", "Unrecognized");
  refuse(R"([{"type":"function","function":{}}])", "tools[0].function.name", "found nothing");
  refuse(R"([{"type":"function","function":{"name":"a b"}}])", "tools[0].function.name", "letters");
  refuse(R"([{"type":"function","function":{"name":7}}])", "tools[0].function.name", "expected a string");
  refuse(R"([{"type":"function","function":{"name":"f","parameters":[]}}])", "tools[0].function.parameters", "array");
  refuse(R"([{"type":"function","function":{"name":"f","strict":1}}])", "tools[0].function.strict", "boolean");
  refuse(R"([{"type":"function","function":{"name":"f","y":1}}])", "tools[0].function.y", "Unrecognized");
  refuse(R"([{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}])",
         "tools[1].function.name", "twice");
  refuse(R"("x")", "tools", "expected an array");
}

TEST_F(ToolApi, ChoicesThatMeanNothingAreRefused) {
  if (!useFile("llama.cpp/Qwen-Qwen2.5-7B-Instruct.jinja"))
    GTEST_SKIP() << "needs the collection of chat templates";
  const auto refuse = [&](const char *choice, const char *param, const char *message) {
    expectError(chat, with(body(), {{"tool_choice", json::parse(choice)}}), 400, param, message);
  };
  refuse(R"("any")", "tool_choice", "found \"any\"");
  refuse(R"({"type":"function"})", "tool_choice", "expected {");
  refuse(R"({"type":"function","function":{"name":"sub"}})", "tool_choice.function.name", "no function \"sub\"");
  refuse(R"({"type":"allowed_tools"})", "tool_choice.type", "not supported");
  const json bare = {{"messages", body()["messages"]}, {"tool_choice", "required"}};
  expectError(chat, bare, 400, "tool_choice", "`tools` has no function");
  expectError(chat, with(body(), {{"tool_choice", "required"}, {"response_format", {{"type", "json_object"}}}}), 400,
              "tool_choice", "response_format");
  // A schema that the grammars do not take: the function is named.
  const json bad = json::parse(R"([{"type":"function","function":{"name":"ok"}},
    {"type":"function","function":{"name":"f","parameters":{"bad":1}}}])");
  expectError(chat, with(body(), {{"tools", bad}, {"tool_choice", "required"}}), 400, "tools[1].function.parameters",
              "no such keyword");
}

TEST_F(ToolApi, TemplatesWithoutAKnownFormat) {
  use("{{ messages[0].content }}");
  expectError(chat, body(), 400, "tools", "has no tools");
  TearDown();
  use("{{ tools }}{{ messages[0].content }}");
  expectError(chat, with(body(), {{"tool_choice", "required"}}), 400, "tool_choice", "hermes, mistral");
  answerWith("<call>whatever</call>");
  EXPECT_EQ(message(body(), "stop")["content"], "<call>whatever</call>") << "under auto it is text";
}

} // namespace
