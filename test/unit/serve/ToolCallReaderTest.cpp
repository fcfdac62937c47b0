//===- ToolCallReaderTest.cpp - text of a model to content and calls ----------------===//
#include "serve/openai/ToolCallReader.h"

#include "runtime/base/AtomicFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

using namespace fusec::serve;

namespace {

using Kind = AnswerPiece::Kind;

const ToolFormat &format(std::string_view name) {
  for (const ToolFormat &row : toolFormats())
    if (row.name == name)
      return row;
  ADD_FAILURE() << "no format " << name;
  return toolFormats().front();
}

ToolUse use(std::string_view name) {
  return {.format = &format(name), .names = {"add", "now"}, .forced = false, .parallel = true, .grammar = {}};
}

/// "text{name|arguments}text": what came out, in order. Checks that a call's pieces are in order.
struct Shown {
  std::string text;
  bool called = false;
  size_t pieces = 0;
  int open = -1;

  void add(const std::vector<AnswerPiece> &list) {
    for (const AnswerPiece &piece : list) {
      ++pieces;
      if (piece.kind == Kind::Call) {
        EXPECT_EQ(piece.call, open + 1) << "calls count up";
        EXPECT_FALSE(piece.id.empty());
        open = piece.call;
        text += "{" + piece.text + "|";
      } else if (piece.kind == Kind::Arguments) {
        EXPECT_EQ(piece.call, open) << "arguments belong to the last call";
        text += piece.text;
      } else {
        text += "/" + piece.text;
      }
    }
  }
};

/// The answer in pieces of `lengths` bytes, in turn.
Shown read(const ToolUse &use, std::string_view answer, const std::vector<size_t> &lengths) {
  ToolCallReader reader(use);
  Shown shown;
  for (size_t at = 0, turn = 0; at < answer.size(); ++turn) {
    const size_t length = lengths[turn % lengths.size()];
    shown.add(reader.push(answer.substr(at, length)));
    at += length;
  }
  shown.add(reader.finish());
  shown.called = reader.called();
  return shown;
}

std::string withoutSeams(std::string text) {
  std::erase(text, '/');
  return text;
}

struct Case {
  std::string_view format, answer, expected;
  bool called;
};

constexpr Case cases[] = {
    // Hermes
    {"hermes", "Just text.", "Just text.", false},
    {"hermes", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": [1, 2]}}\n</tool_call>", "{add|{\"a\": [1, 2]}",
     true},
    {"hermes", "Let me see.\n<tool_call>{\"arguments\":{},\"name\":\"now\"}</tool_call>\n", "Let me see.{now|{}", true},
    {"hermes",
     "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", "
     "\"arguments\": {\"z\": 1.50}}\n</tool_call>",
     "{add|{}{now|{\"z\": 1.50}", true},
    {"hermes", "<tool_call>\n{\"name\": \"now\"}\n</tool_call>", "{now|{}", true},
    {"hermes", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"t\": \"</tool_call> } \\\" {\"}}", // No end marker.
     "{add|{\"t\": \"</tool_call> } \\\" {\"}", true},
    {"hermes", "a < b <tool <tool_cal", "a < b <tool <tool_cal", false},
    {"hermes", "ends in space \n ", "ends in space \n ", false},
    {"hermes", "<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call> and more", "{add|{} and more", true},
    // No calls, though they look like some.
    {"hermes", "<tool_call>\nnot json\n</tool_call>", "<tool_call>\nnot json\n</tool_call>", false},
    {"hermes", "x <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 01}}</tool_call>",
     "x <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 01}}</tool_call>", false},
    {"hermes", "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>",
     "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>", false},
    {"hermes", "<tool_call>{\"name\": \"add\", \"arguments\": \"{}\"}</tool_call>",
     "<tool_call>{\"name\": \"add\", \"arguments\": \"{}\"}</tool_call>", false},
    {"hermes", "<tool_call>{\"name\": \"add\", \"name\": \"now\", \"arguments\": {}}",
     "<tool_call>{\"name\": \"add\", \"name\": \"now\", \"arguments\": {}}", false},
    {"hermes", "so <tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1",
     "so <tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1", false},
    {"hermes", "<tool_call>[1]</tool_call>", "<tool_call>[1]</tool_call>", false},
    // Mistral
    {"mistral", "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 1}, \"id\": \"abcdefghi\"}]",
     "{add|{\"a\": 1}", true},
    {"mistral", "Sure. [TOOL_CALLS] [{\"name\":\"add\",\"arguments\":{}}, {\"name\":\"now\",\"arguments\":{\"x\":[]}}]",
     "Sure.{add|{}{now|{\"x\":[]}", true},
    {"mistral", "[TOOL_CALLS][]", "[TOOL_CALLS][]", false},
    {"mistral", "[TOOL_CALLS][1, {\"name\":\"add\"}]", "[TOOL_CALLS][1, {\"name\":\"add\"}]", false},
    {"mistral", "[TOOL", "[TOOL", false},
    // Llama
    {"llama", "{\"name\": \"add\", \"parameters\": {\"a\": \"b\"}}", "{add|{\"a\": \"b\"}", true},
    {"llama", "<|python_tag|>{\"name\": \"now\", \"parameters\": {}}", "{now|{}", true},
    {"llama", " {\"name\": \"add\", \"parameters\": {}}; {\"name\": \"now\", \"parameters\": {}}", "{add|{}{now|{}",
     true},
    {"llama", "{\"name\": \"Bob\", \"age\": 3}", "{\"name\": \"Bob\", \"age\": 3}", false},
    {"llama", "As JSON: {\"name\": \"add\", \"parameters\": {}}", "As JSON: {\"name\": \"add\", \"parameters\": {}}",
     false},
    {"llama", "{x} is a set", "{x} is a set", false},
};

TEST(ToolCallReader, TellsCallsFromTextWhereverTheTextIsCut) {
  std::mt19937 random(7);
  for (const Case &test : cases) {
    for (int cut = 0; cut < 40; ++cut) {
      std::vector<size_t> lengths = {cut == 0 ? test.answer.size() : size_t(1)};
      if (cut > 1)
        for (size_t &length : lengths = std::vector<size_t>(17))
          length = 1 + random() % 9;
      const Shown shown = read(use(test.format), test.answer, lengths);
      // The seams between pieces of content depend on the cuts, a '/' of the text itself does not occur but in markers.
      EXPECT_EQ(withoutSeams(shown.text), withoutSeams(std::string(test.expected))) << test.answer;
      EXPECT_EQ(shown.called, test.called) << test.answer;
    }
  }
}

/// Whatever a model writes: the cuts decide nothing, and an answer without calls is its text.
TEST(ToolCallReader, RandomAnswersAreReadAlikeHoweverTheyAreCut) {
  constexpr std::string_view parts[] = {"<tool_call>",
                                        "</tool_call>",
                                        "<tool",
                                        "[TOOL_CALLS]",
                                        "<|python_tag|>",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        "\\",
                                        "\"name\"",
                                        ":",
                                        ",",
                                        "\"add\"",
                                        "\"arguments\"",
                                        "\"parameters\"",
                                        "1",
                                        " ",
                                        "\n",
                                        ";",
                                        "x",
                                        "{\"name\":\"now\"}",
                                        "{\"name\":\"add\",\"arguments\":{},\"parameters\":{}}"};
  std::mt19937 random(11);
  int calls = 0;
  for (int round = 0; round < 12000; ++round) {
    const ToolUse wanted = use(toolFormats()[random() % toolFormats().size()].name);
    std::string answer;
    for (size_t count = random() % 14; count > 0; --count)
      answer += parts[random() % std::size(parts)];
    const Shown whole = read(wanted, answer, {answer.size() + 1}), bytes = read(wanted, answer, {1});
    EXPECT_EQ(withoutSeams(whole.text), withoutSeams(bytes.text)) << wanted.format->name << ": " << answer;
    EXPECT_EQ(whole.called, bytes.called) << answer;
    calls += whole.called;
    if (!whole.called)
      EXPECT_EQ(withoutSeams(whole.text), withoutSeams(answer));
  }
  EXPECT_GT(calls, 300) << "too few calls among them to test anything";
}

TEST(ToolCallReader, ReleasesTextAsSoonAsItIsNoMarker) {
  const ToolUse hermes = use("hermes");
  ToolCallReader reader(hermes);
  EXPECT_EQ(reader.push("a <tool").front().text, "a");
  EXPECT_TRUE(reader.push("_ca").empty());
  EXPECT_EQ(reader.push("r").front().text, " <tool_car");
  EXPECT_EQ(reader.push("!").front().text, "!");
}

TEST(ToolCallReader, GivesNothingOfACallBeforeItIsWhole) {
  const ToolUse hermes = use("hermes");
  ToolCallReader reader(hermes);
  EXPECT_TRUE(reader.push("<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}").empty());
  const auto pieces = reader.push("}");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].text, "add");
  EXPECT_THAT(pieces[0].id, testing::StartsWith("call_"));
  EXPECT_EQ(pieces[1].text, "{\"a\": 1}");
}

TEST(ToolCallReader, GivesRequiredCallsAsTheyCome) {
  ToolUse forced = use("hermes");
  forced.forced = true;
  ToolCallReader reader(forced);
  EXPECT_TRUE(reader.push("{\"name\": \"a").empty());
  auto pieces = reader.push("dd\", \"arguments\": {\"a");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].kind, Kind::Call);
  EXPECT_EQ(pieces[1].text, "{\"a");
  EXPECT_FALSE(reader.called()) << "cut here, it would be half a call";
  pieces = reader.push("\": \"\\u00e9}\"}}");
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].text, "\": \"\\u00e9}\"}");
  pieces = reader.push("\n</tool_call>\n<tool_call>\n{\"\\u006eame\":\"n\\u006fw\",\"arguments\":{}}\n</tool_call>");
  ASSERT_EQ(pieces.size(), 2u) << "names may be spelled with escapes";
  EXPECT_EQ(pieces[0].text, "now");
  EXPECT_EQ(pieces[1].call, 1);
  EXPECT_TRUE(reader.finish().empty());
  EXPECT_TRUE(reader.called());
}

TEST(ToolCallReader, ARequiredCallThatIsCutOffLeaksNoText) {
  ToolUse forced = use("mistral");
  forced.forced = true;
  for (std::string_view part : {"[{\"na", "[{\"name\": \"add\", \"argu", "[{\"name\": \"add\", \"arguments\": {\"x"}) {
    const Shown shown = read(forced, part, {3});
    EXPECT_EQ(shown.text.find('/'), std::string::npos) << shown.text;
    EXPECT_FALSE(shown.called);
  }
}

TEST(ToolCallReader, OneCallWhereOnlyOneIsWanted) {
  ToolUse single = use("mistral");
  single.parallel = false;
  const std::string_view two = "[TOOL_CALLS][{\"name\":\"add\",\"arguments\":{}},{\"name\":\"now\",\"arguments\":{}}]";
  EXPECT_EQ(read(single, two, {5}).text, "{add|{}");
}

TEST(ToolCallReader, IdsAreOfTheFormThatTheTemplateTakes) {
  EXPECT_EQ(format("mistral").newId().size(), 9u);
  EXPECT_NE(format("mistral").newId(), format("mistral").newId());
}

TEST(ToolFormats, OfRealTemplates) {
  const std::filesystem::path folder = std::filesystem::path(FUSEC_SOURCE_DIR) / "../shared/data/templates";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "needs the collection of chat templates in " << folder;
  const std::map<std::string, std::string_view> known = {
      {"MiMo-VL", "hermes"},
      {"Qwen-QwQ-32B", "hermes"},
      {"Qwen-Qwen2.5-7B-Instruct", "hermes"},
      {"Qwen-Qwen3-0.6B", "hermes"},
      {"ibm-granite-granite-4.0", "hermes"},
      {"mistralai-Mistral-Nemo-Instruct-2407", "mistral"},
      {"v3", "mistral"},
      {"v7", "mistral"},
      {"v2_spm", "mistral with spaces"},
      {"v3_spm", "mistral with spaces"},
  };
  size_t found = 0;
  for (const auto &file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".jinja")
      continue;
    const ToolFormat *format = toolFormatOf(*fusec::readWholeFile(file.path()));
    const auto row = known.find(file.path().stem().string());
    EXPECT_EQ(format ? format->name : "", row == known.end() ? "" : row->second) << file.path();
    found += format != nullptr;
  }
  EXPECT_EQ(found, known.size());
}

TEST(ToolFormats, AreToldByTheTemplate) {
  EXPECT_EQ(toolFormatOf("{{ messages }}"), nullptr);
  EXPECT_EQ(toolFormatOf("<tool_call>\n<function=x>...arguments"), nullptr);
  EXPECT_EQ(toolFormatOf("'[TOOL_CALLS]' + name + '[ARGS]'"), nullptr);
  EXPECT_EQ(toolFormatOf("<tool_call>{\"name\": .., \"arguments\": ..}")->name, "hermes");
}

} // namespace
