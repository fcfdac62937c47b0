//===- CmdTokenize.cpp - fusec tokenize: text to ids and back --------------===//
#include "models/import/Gguf.h"
#include "models/import/TokenizerImport.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/text/Tokenizer.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/ModelDigest.h"
#include "tools/fusec/ModelOptions.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdio>
#include <iostream>

namespace fusec {

namespace {

/// The tokenizer of anything that has one; nothing is compiled.
Result<text::Tokenizer> loadTokenizer(const std::filesystem::path &model) {
  std::error_code error;
  if (model.extension() == ".json" && std::filesystem::is_regular_file(model, error))
    return text::Tokenizer::load(model);
  FUSEC_ASSIGN_OR_RETURN(ModelKind kind, detectModelKind(model));
  if (kind == ModelKind::Artifact)
    return text::Tokenizer::load(model / "tokenizer.json");
  if (kind == ModelKind::HuggingFace) {
    FUSEC_ASSIGN_OR_RETURN(nlohmann::json document, models::importTokenizer(model));
    return text::Tokenizer::parse(document.dump());
  }
  FUSEC_ASSIGN_OR_RETURN(models::Gguf gguf, models::Gguf::open(model));
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json document, models::importTokenizer(gguf));
  return text::Tokenizer::parse(document.dump());
}

/// Decimal numbers separated by anything that is no digit or sign, so a JSON array works too.
Result<std::vector<text::TokenId>> parseIds(const std::string &text) {
  std::vector<text::TokenId> ids;
  constexpr const char *numerals = "-0123456789";
  for (size_t at = text.find_first_of(numerals); at != std::string::npos; at = text.find_first_of(numerals, at)) {
    text::TokenId id = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
    if (error != std::errc())
      return invalidArgument("--decode: expected token ids, found '" +
                             text.substr(at, std::min<size_t>(20, text.size() - at)) + "'");
    ids.push_back(id);
    at = static_cast<size_t>(end - text.data());
  }
  return ids;
}

class TokenizeCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Result<std::string> inputText() const;
  Status encode(const text::Tokenizer &tokenizer, const std::string &input) const;
  Status decode(const text::Tokenizer &tokenizer, const std::string &input) const;

  std::string model, inputFile;
  std::vector<std::string> words;
  bool pieces = false, ids = false, decoding = false, json = false, special = false, noBos = false;
};

void TokenizeCommand::declare(CLI::App &app) {
  app.add_option("MODEL", model, "GGUF file, Hugging Face directory, artifact or tokenizer.json")->required();
  app.add_option("TEXT", words, "the text, or ids with --decode; default: standard input");
  app.add_option("-f,--file", inputFile, "read the text from a file");
  auto *idsFlag = app.add_flag("--ids", ids, "print ids on one line (the default)");
  app.add_flag("--pieces", pieces, "print each id with its text, one a line")->excludes(idsFlag);
  app.add_flag("--decode", decoding, "input is ids; print their text");
  app.add_flag("--json", json, "print one JSON object");
  app.add_flag("--special", special, "text that spells a control token becomes it; with --decode, print them");
  app.add_flag("--no-bos", noBos, "add no BOS or EOS");
  app.footer("Examples:\n"
             "  fusec tokenize model.gguf \"Hello world\"\n"
             "  fusec tokenize model.gguf --pieces -f text.txt\n"
             "  fusec tokenize model.gguf --decode 9707 1879\n"
             "  echo -n \"<|im_end|>\" | fusec tokenize model.gguf --special --json");
}

Result<std::string> TokenizeCommand::inputText() const {
  if (!inputFile.empty())
    return readWholeFile(inputFile);
  if (words.empty())
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  std::string joined;
  for (const std::string &word : words)
    joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

/// JSON holds Unicode; a piece may be part of a character, so its bytes are replaced where invalid.
std::string dumpJson(const nlohmann::json &value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status TokenizeCommand::encode(const text::Tokenizer &tokenizer, const std::string &input) const {
  FUSEC_ASSIGN_OR_RETURN(std::vector<text::TokenId> encoded,
                         tokenizer.encode(input, {.addSpecial = !noBos, .parseSpecial = special}));
  if (json) {
    nlohmann::json report = {{"ids", encoded}, {"pieces", nlohmann::json::array()}};
    for (text::TokenId id : encoded)
      report["pieces"].push_back(std::string(tokenizer.piece(id)));
    std::printf("%s\n", dumpJson(report).c_str());
  } else if (pieces) {
    for (text::TokenId id : encoded)
      std::printf("%8d  %s\n", id, dumpJson(std::string(tokenizer.piece(id))).c_str());
  } else {
    for (size_t i = 0; i < encoded.size(); ++i)
      std::printf("%s%d", i ? " " : "", encoded[i]);
    std::putchar('\n');
  }
  return {};
}

Status TokenizeCommand::decode(const text::Tokenizer &tokenizer, const std::string &input) const {
  FUSEC_ASSIGN_OR_RETURN(std::vector<text::TokenId> given, parseIds(input));
  for (text::TokenId id : given)
    if (id < 0 || id >= tokenizer.size())
      return invalidArgument("--decode: expected ids from 0 to " + std::to_string(tokenizer.size() - 1) + ", found " +
                             std::to_string(id));
  const std::string text = tokenizer.decode(given, /*skipSpecial=*/!special);
  if (json)
    std::printf("%s\n", dumpJson({{"text", text}}).c_str());
  else
    std::printf("%s\n", text.c_str());
  return {};
}

int TokenizeCommand::execute(const Environment &) {
  Result<text::Tokenizer> tokenizer = loadTokenizer(model);
  if (!tokenizer)
    return reportError(tokenizer.status());
  Result<std::string> input = inputText();
  if (!input)
    return reportError(input.status());
  const Status status = decoding ? decode(*tokenizer, *input) : encode(*tokenizer, *input);
  return status.ok() ? ExitOk : reportError(status);
}

} // namespace

std::unique_ptr<Command> makeTokenize() { return std::make_unique<TokenizeCommand>(); }

} // namespace fusec
