//===- main.cpp - fusec-gpu-acceptance: what is run once on a machine with a GPU ------===//
//
//   fusec-gpu-acceptance                             the first GPU, everything
//   fusec-gpu-acceptance --device virtual --quick    no GPU: that the runner itself works
//   fusec-gpu-acceptance --only probes,rates --out results
//
// docs/cuda/acceptance.md says what each section proves.
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/ModelOracle.h"
#include "tools/gpu_acceptance/Summary.h"
#include "tools/gpu_acceptance/Supervisor.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

using namespace fusec;
using namespace fusec::acceptance;

namespace {

struct CommandLine {
  Settings settings;
  std::string section;             ///< Set in a child.
  std::vector<std::string> oracle; ///< --store-oracle ARTIFACT FILE [IDS].
  bool isValid = true, wantsHelp = false;
};

constexpr const char *usage =
    "fusec-gpu-acceptance [--device cuda|cuda:N|virtual[:sm_NN]] [--data DIR] [--out DIR] [--only A,B] [--quick]\n"
    "  --device  what to test; default cuda, the first GPU\n"
    "  --data    the carried files; default: the folder 'data' beside this program\n"
    "  --out     where results go; default: gpu-acceptance-results\n"
    "  --only    these sections; default: all\n"
    "  --quick   tiny sizes, few repeats\n"
    "  --store-oracle ARTIFACT FILE   (when preparing) runs the artifact on the CPU and stores what it gives\n"
    "Exit code 0: every check passed. Timings never fail.\n";

CommandLine parse(int argc, char **argv) {
  CommandLine line;
  line.settings.out = "gpu-acceptance-results";
  std::error_code ignored;
  line.settings.data = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "data";
  const std::map<std::string, std::function<void(const char *)>> withValue = {
      {"--device", [&](const char *v) { line.settings.device = v; }},
      {"--data", [&](const char *v) { line.settings.data = v; }},
      {"--out", [&](const char *v) { line.settings.out = v; }},
      {"--only", [&](const char *v) { line.settings.only = v; }},
      {"--section", [&](const char *v) { line.section = v; }}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (auto row = withValue.find(word); row != withValue.end() && i + 1 < argc)
      row->second(argv[++i]);
    else if (word == "--quick")
      line.settings.quick = true;
    else if (word == "--store-oracle" && i + 2 < argc) {
      line.oracle = {argv[i + 1], argv[i + 2]};
      i += 2;
    } else
      line.wantsHelp = line.isValid = word == "--help" || word == "-h";
    if (!line.isValid)
      break;
  }
  return line;
}

int reportError(const Status &status) {
  std::fprintf(stderr, "fusec-gpu-acceptance: %s\n", status.message().c_str());
  return 1;
}

/// "a,b" names `name`; everything does when it is empty.
bool isWanted(const std::string &only, const std::string &name) {
  return only.empty() || ("," + only + ",").find("," + name + ",") != std::string::npos;
}

int runAll(const Settings &settings) {
  Summary summary(settings);
  for (const Section &section : sections())
    if (isWanted(settings.only, section.name))
      summary.add(section, superviseSection(settings, section));
  return summary.finish();
}

} // namespace

int main(int argc, char **argv) {
  const CommandLine line = parse(argc, argv);
  if (line.wantsHelp || !line.isValid) {
    std::fputs(usage, line.wantsHelp ? stdout : stderr);
    return line.wantsHelp ? 0 : 2;
  }
  if (!line.oracle.empty()) {
    Status status = storeOracle(line.oracle[0], line.oracle[1]);
    return status.ok() ? 0 : reportError(status);
  }
  if (line.section.empty())
    return runAll(line.settings);
  for (const Section &section : sections())
    if (line.section == section.name)
      return runSection(line.settings, section);
  return reportError(invalidArgument("no section '" + line.section + "'"));
}
