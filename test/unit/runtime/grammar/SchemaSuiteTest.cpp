//===- SchemaSuiteTest.cpp - the official JSON Schema test suite ------------===//
//
// For every schema that compiles: each valid instance is generable in several
// spellings, token by token, and each invalid one is refused. Schemas that are
// refused count, but prove nothing: their number is bounded from above.
//
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

#include <nlohmann/json.hpp>

namespace fusec::grammar::test {
namespace {

using Json = nlohmann::json;

struct Tally {
  int accepted = 0, impossible = 0, refused = 0, instances = 0;
};

class SchemaSuite : public testing::Test {
protected:
  void SetUp() override {
    folder = dataDirectory() / "json/JSON-Schema-Test-Suite/draft2020-12";
    if (!std::filesystem::exists(folder))
      GTEST_SKIP() << folder << " is not there";
    vocabulary = storiesVocabulary() ? storiesVocabulary() : smallVocabulary();
  }

  bool accepts(const GrammarPtr &grammar, const std::string &text) {
    std::unique_ptr<Constraint> constraint = grammar->start();
    for (TokenId id : greedyTokens(*vocabulary, text))
      if (!constraint->accept(id))
        return false;
    return constraint->mayEnd();
  }

  void runGroup(const Json &group, Tally &tally) {
    Result<GrammarPtr> grammar = compileJsonSchema(group["schema"].dump(), vocabulary);
    if (!grammar) {
      ++(isVerdict(group, grammar.status()) ? tally.impossible : tally.refused);
      if (std::getenv("FUSEC_VERBOSE"))
        std::cout << "refused: " << group["description"] << ": " << grammar.status().message() << '\n';
      return;
    }
    ++tally.accepted;
    for (const Json &test : group["tests"]) {
      ++tally.instances;
      for (const std::string &text : spellings(test["data"]))
        EXPECT_EQ(accepts(*grammar, text), test["valid"].get<bool>())
            << group["description"] << " / " << test["description"] << "\n  schema " << group["schema"].dump()
            << "\n  instance " << text;
    }
  }

  /// "No value satisfies it" is a verdict too.
  static bool isVerdict(const Json &group, const Status &status) {
    if (!std::string_view(status.message()).ends_with("no JSON value satisfies it"))
      return false;
    for (const Json &test : group["tests"])
      EXPECT_FALSE(test["valid"].get<bool>()) << group["description"] << " / " << test["description"];
    return true;
  }

  static std::vector<std::string> spellings(const Json &data) {
    // The library writes big integers with an exponent, which integers and numbers with bounds don't have.
    if (data.is_number_float() && data.dump().find('e') != std::string::npos) {
      if (std::abs(data.get<double>()) > 1e60)
        return {}; // Beyond Limits::digits when written out.
      char plain[100];
      std::snprintf(plain, sizeof plain, "%.1f", data.get<double>());
      return {plain};
    }
    return {data.dump(), data.dump(2), data.dump(-1, ' ', /*ensure_ascii=*/true), " " + data.dump(1, '\t')};
  }

  Tally runFile(const std::filesystem::path &file) {
    Tally tally;
    for (const Json &group : Json::parse(readFile(file)))
      runGroup(group, tally);
    std::cout << file.stem().string() << ": " << tally.accepted << " schemas accepted, " << tally.impossible
              << " impossible, " << tally.refused << " refused, " << tally.instances << " instances\n";
    return tally;
  }

  Tally runFolder(const std::filesystem::path &from) {
    Tally all;
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(from))
      if (entry.path().extension() == ".json")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path &file : files) {
      Tally tally = runFile(file);
      all.accepted += tally.accepted;
      all.impossible += tally.impossible;
      all.refused += tally.refused;
      all.instances += tally.instances;
    }
    std::cout << "all: " << all.accepted << " schemas accepted, " << all.impossible << " impossible, " << all.refused
              << " refused, " << all.instances << " instances\n";
    return all;
  }

  std::filesystem::path folder;
  VocabularyPtr vocabulary;
};

TEST_F(SchemaSuite, acceptedSchemasAreExact) {
  Tally all = runFolder(folder);
  EXPECT_GE(all.accepted, 235);
  EXPECT_GE(all.impossible, 11);
}

/// Texts drawn from the masks are in the language; FUSEC_GRAMMAR_SAMPLES names a
/// file for them (a JSON array [schema, text] per line) to check with a validator.
TEST_F(SchemaSuite, randomTextsOfItsSchemas) {
  std::ofstream samples;
  if (const char *path = std::getenv("FUSEC_GRAMMAR_SAMPLES"))
    samples.open(path);
  std::mt19937 random(5);
  int draws = samples.is_open() ? 20 : 1;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json")
      continue;
    for (const Json &group : Json::parse(readFile(entry.path()))) {
      Result<GrammarPtr> grammar = compileJsonSchema(group["schema"].dump(), vocabulary);
      for (int i = 0; i < draws && grammar.ok(); ++i) {
        std::optional<std::string> text = randomText(*grammar, *vocabulary, random, 15);
        if (!text)
          continue;
        EXPECT_TRUE(isJson(*text)) << *text;
        EXPECT_TRUE(matches(*grammar, *text)) << *text;
        if (samples.is_open())
          samples << Json::array({group["schema"], *text}).dump() << '\n';
      }
    }
  }
}

/// FUSEC_GRAMMAR_VERDICTS names a file with a JSON array [schema, text, valid] per
/// line, as another validator judged it.
TEST(SchemaVerdicts, agreeWithAnotherValidator) {
  const char *path = std::getenv("FUSEC_GRAMMAR_VERDICTS");
  if (!path)
    GTEST_SKIP() << "set FUSEC_GRAMMAR_VERDICTS";
  std::ifstream file(path);
  int judged = 0, refused = 0;
  for (std::string line; std::getline(file, line);) {
    Json verdict = Json::parse(line);
    Result<GrammarPtr> grammar = compileJsonSchema(verdict[0].dump(), smallVocabulary());
    bool impossible = !grammar && std::string_view(grammar.status().message()).ends_with("no JSON value satisfies it");
    if (!grammar && !impossible) {
      ++refused;
      continue;
    }
    ++judged;
    bool matched = grammar.ok() && matches(*grammar, verdict[1].get<std::string>());
    EXPECT_EQ(matched, verdict[2].get<bool>()) << line;
  }
  std::cout << judged << " verdicts compared, " << refused << " schemas refused\n";
}

TEST_F(SchemaSuite, optionalFilesAreExactOrRefused) { runFolder(folder / "optional"); }

} // namespace
} // namespace fusec::grammar::test
