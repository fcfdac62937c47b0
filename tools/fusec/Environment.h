//===- Environment.h - what the process was given --------------------------===//
//
// Read once in main and handed down; nothing else reads environment variables
// or asks what standard output is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <filesystem>
#include <string>

namespace fusec {

struct Environment {
  std::string program;             ///< How fusec was called (argv[0]).
  std::filesystem::path cacheRoot; ///< $XDG_CACHE_HOME/fusec; empty when there is no home either.
  std::filesystem::path nvrtc;     ///< $FUSEC_NVRTC: libnvrtc.so, where it is not in a usual place; else empty.
  std::string apiKey,
      adminKey; ///< $FUSEC_API_KEY and $FUSEC_ADMIN_KEY, of `fusec serve`: not seen in a list of processes.
  bool stdoutIsTerminal = false;
  bool stderrIsTerminal = false;
  int terminalColumns = 80; ///< Of standard error, where progress is drawn.
};

/// Exit codes of every verb.
enum ExitCode : int {
  ExitOk = 0,
  ExitFailure = 1,      ///< The work failed; one line on standard error says why.
  ExitUsage = 2,        ///< The command line makes no sense.
  ExitInterrupted = 130 ///< Ctrl-C.
};

} // namespace fusec
