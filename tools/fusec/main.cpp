//===- main.cpp - the fusec tool --------------------------------------------===//
//
// Reads the environment, installs Ctrl-C handling and dispatches to a verb.
//
//===----------------------------------------------------------------------===//
#include "tools/fusec/Commands.h"
#include "tools/fusec/Interrupt.h"

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

std::filesystem::path cacheRoot() {
  if (const char *xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg == '/')
    return std::filesystem::path(xdg) / "fusec";
  if (const char *home = std::getenv("HOME"); home && *home == '/')
    return std::filesystem::path(home) / ".cache" / "fusec";
  return {};
}

fusec::Environment readEnvironment(const char *program) {
  fusec::Environment environment;
  environment.program = program;
  environment.cacheRoot = cacheRoot();
  if (const char *nvrtc = std::getenv("FUSEC_NVRTC"))
    environment.nvrtc = nvrtc;
  if (const char *key = std::getenv("FUSEC_API_KEY"))
    environment.apiKey = key;
  if (const char *key = std::getenv("FUSEC_ADMIN_KEY"))
    environment.adminKey = key;
  environment.stdoutIsTerminal = isatty(STDOUT_FILENO);
  environment.stderrIsTerminal = isatty(STDERR_FILENO);
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    environment.terminalColumns = size.ws_col;
  return environment;
}

} // namespace

int main(int argc, char **argv) {
  fusec::installInterruptHandler();
  return fusec::dispatch(readEnvironment(argc > 0 ? argv[0] : "fusec"),
                         std::vector<std::string>(argv + (argc > 0), argv + argc));
}
