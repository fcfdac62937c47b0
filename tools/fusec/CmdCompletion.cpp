//===- CmdCompletion.cpp - fusec completion: a shell completion script -----===//
//
// Written from the verbs' own declarations, so it cannot go stale.
//
//===----------------------------------------------------------------------===//
#include "tools/fusec/Command.h"
#include "tools/fusec/Commands.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace fusec {

namespace {

std::string optionNames(const CommandRow &row) {
  std::unique_ptr<Command> command = row.make();
  CLI::App app;
  command->declare(app);
  std::string names;
  for (const CLI::Option *option : app.get_options()) {
    for (const std::string &name : option->get_lnames())
      names += (names.empty() ? "--" : " --") + name;
    for (const std::string &name : option->get_snames())
      names += (names.empty() ? "-" : " -") + name;
  }
  return names;
}

std::string bashScript() {
  std::string verbs, cases;
  for (const CommandRow &row : commandTable()) {
    const std::string name(row.name);
    const bool isPair = name.find(' ') != std::string::npos;
    const std::string line = "    \"" + name + (isPair ? "\"" : " \"*") + ") words='" + optionNames(row) + "' ;;\n";
    if (isPair) {
      cases.insert(0, line); // Before the verb of its first word, which matches as well.
    } else {
      verbs += name + ' ';
      cases += line;
    }
  }
  return "# bash completion of fusec: source <(fusec completion bash)\n"
         "_fusec() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words=\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         verbs +
         "help --help --version' -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n" +
         cases +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _fusec fusec\n";
}

class CompletionCommand final : public Command {
public:
  void declare(CLI::App &app) override {
    app.add_option("SHELL", shell, "bash, or zsh (which uses the bash script)")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
    app.footer("Examples:\n"
               "  source <(fusec completion bash)\n"
               "  fusec completion bash > ~/.local/share/bash-completion/completions/fusec");
  }

  int execute(const Environment &) override {
    if (shell == "zsh")
      std::fputs("autoload -U +X bashcompinit && bashcompinit\n", stdout);
    std::fputs(bashScript().c_str(), stdout);
    return ExitOk;
  }

private:
  std::string shell;
};

} // namespace

std::unique_ptr<Command> makeCompletion() { return std::make_unique<CompletionCommand>(); }

} // namespace fusec
