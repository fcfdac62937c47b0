//===- Commands.cpp - the table of verbs and its dispatch ------------------===//
#include "tools/fusec/Commands.h"

#include "tools/fusec/Version.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace fusec {

static constexpr CommandRow table[] = {
    {"run", "generate text: one answer with -p, a chat without", makeRun},
    {"serve", "answer HTTP requests in the form of OpenAI's API", makeServe},
    {"compile", "compile a model file into an artifact directory", makeCompile},
    {"inspect", "show what a model file or artifact holds", makeInspect},
    {"explain", "show kernels, the ops fused into each, and their bytes", makeExplain},
    {"bench", "measure prefill and decode rates on this machine", makeBench},
    {"bench serve", "put load on a running server and report its latencies", makeBenchServe},
    {"eval", "measure the perplexity of a text file", makeEval},
    {"verify", "compare a model with itself: fused, chunked, on more threads, ...", makeVerify},
    {"simulate", "replay a trace of requests against the scheduler, without a model", makeSimulate},
    {"tokenize", "turn text into token ids, or ids into text", makeTokenize},
    {"opt", "run passes on textual IR (fusec's mlir-opt)", makeOpt},
    {"completion", "print a shell completion script", makeCompletion},
};

std::span<const CommandRow> commandTable() { return table; }

const CommandRow *findCommand(std::string_view name) {
  auto row = std::find_if(std::begin(table), std::end(table),
                          [&](const CommandRow &candidate) { return candidate.name == name; });
  return row == std::end(table) ? nullptr : row;
}

std::string overviewText() {
  std::string text = "fusec compiles language models into fused kernels and runs them.\n\n"
                     "Usage: fusec VERB [OPTIONS]\n\nVerbs:\n";
  for (const CommandRow &row : table) {
    std::string name(row.name);
    name.resize(12, ' ');
    text += "  " + name + std::string(row.summary) + "\n";
  }
  text += "\n`fusec VERB --help` shows options and examples; `fusec --version` the version.\n\n"
          "Examples:\n"
          "  fusec run model.gguf -p \"Why is the sky blue?\"\n"
          "  fusec run model/                     # chat with a Hugging Face directory\n"
          "  fusec serve model.gguf --port 8000\n"
          "  fusec bench model.gguf --json\n"
          "  fusec explain model.gguf\n";
  return text;
}

static int usageError(const std::string &message, const std::string &hint) {
  std::fprintf(stderr, "fusec: %s\nTry `%s`.\n", message.c_str(), hint.c_str());
  return ExitUsage;
}

/// The verb whose name is closest to a mistyped one, or null when none is close.
static const CommandRow *closestCommand(std::string_view word) {
  auto distance = [](std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
      row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = row[0]++;
      for (size_t j = 1; j <= b.size(); ++j) {
        size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    return row[b.size()];
  };
  auto best = std::min_element(std::begin(table), std::end(table), [&](const auto &a, const auto &b) {
    return distance(word, a.name) < distance(word, b.name);
  });
  return distance(word, best->name) <= 2 ? best : nullptr;
}

/// Parses the verb's own words and runs it. CLI11 reports by exceptions, which end here.
static int runCommand(const CommandRow &row, const Environment &environment, std::vector<std::string> words) {
  std::unique_ptr<Command> command = row.make();
  const std::string name = "fusec " + std::string(row.name);
  CLI::App app(std::string(row.summary), name);
  command->declare(app);
  std::reverse(words.begin(), words.end()); // CLI11 takes them last word first.
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return ExitOk;
  } catch (const CLI::ParseError &error) {
    return usageError(std::string(row.name) + ": " + error.what(), name + " --help");
  }
  return command->execute(environment);
}

int dispatch(const Environment &environment, const std::vector<std::string> &arguments) {
  if (arguments.empty()) {
    std::fputs(overviewText().c_str(), stderr);
    return ExitUsage;
  }
  const std::string &first = arguments.front();
  if (first == "--version" || first == "-V") {
    std::printf("fusec %s\n", FUSEC_VERSION);
    return ExitOk;
  }
  if (first == "--help" || first == "-h" || (first == "help" && arguments.size() == 1)) {
    std::fputs(overviewText().c_str(), stdout);
    return ExitOk;
  }
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  std::string verb = first;
  if (first == "help") {
    verb = rest.front();
    rest.erase(rest.begin());
    rest.push_back("--help");
  }
  if (const CommandRow *row = rest.empty() ? nullptr : findCommand(verb + ' ' + rest.front())) {
    rest.erase(rest.begin());
    return runCommand(*row, environment, std::move(rest));
  }
  if (const CommandRow *row = findCommand(verb))
    return runCommand(*row, environment, std::move(rest));
  const CommandRow *closest = closestCommand(verb);
  return usageError("unknown verb '" + verb + "'" +
                        (closest ? "; did you mean '" + std::string(closest->name) + "'?" : ""),
                    "fusec --help");
}

} // namespace fusec
