//===- Supervisor.cpp -------------------------------------------------------------===//
#include "tools/gpu_acceptance/Supervisor.h"

#include "runtime/base/AtomicFile.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fusec::acceptance {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

std::filesystem::path resultFile(const Settings &settings, const Section &section) {
  return settings.out / "sections" / (std::string(section.name) + ".json");
}

/// Becomes the child; its own output goes to a log beside the result.
[[noreturn]] void becomeSection(const Settings &settings, const Section &section, const std::string &log) {
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
  }
  std::vector<std::string> words = {"fusec-gpu-acceptance", "--section", section.name,           "--device",
                                    settings.device,        "--data",    settings.data.string(), "--out",
                                    settings.out.string()};
  if (settings.quick)
    words.push_back("--quick");
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

/// "exited 1", "signal 11", or empty when the limit passed and the child was killed.
std::string waitFor(pid_t child, int limitSeconds) {
  const auto end = Clock::now() + std::chrono::seconds(limitSeconds);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return WIFEXITED(status) ? "exited " + std::to_string(WEXITSTATUS(status))
                           : "signal " + std::to_string(WTERMSIG(status));
}

Json readResult(const std::filesystem::path &file, const Section &section) {
  Result<std::string> text = readWholeFile(file);
  Json result = text ? Json::parse(*text, nullptr, false) : Json();
  if (result.is_object())
    return result;
  return {{"section", section.name},
          {"checks", Json::array()},
          {"measurements", Json::array()},
          {"notes", Json::array()},
          {"facts", Json::object()}};
}

bool hasFailure(const Json &result) {
  for (const Json &check : result["checks"])
    if (check["result"] == "failed")
      return true;
  return false;
}

} // namespace

Json superviseSection(const Settings &settings, const Section &section) {
  const std::filesystem::path file = resultFile(settings, section);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::filesystem::create_directories(file.parent_path(), ignored);
  std::string log = file;
  log.replace(log.size() - 5, 5, ".log");
  const auto start = Clock::now();
  const pid_t child = fork();
  if (child == 0)
    becomeSection(settings, section, log);
  const std::string end = child < 0 ? "not started" : waitFor(child, section.limitSeconds);
  Json result = readResult(file, section);
  result["seconds"] = std::chrono::duration<double>(Clock::now() - start).count();
  if (end.empty())
    result["status"] = "timeout";
  else if (end == "exited 0")
    result["status"] = hasFailure(result) ? "failed" : "passed";
  else
    result["status"] = end == "exited 1" ? "failed" : "crashed";
  if (result["status"] == "crashed" || result["status"] == "timeout")
    result["notes"].push_back((end.empty() ? "killed after " + std::to_string(section.limitSeconds) + " s" : end) +
                              "; see " + log);
  return result;
}

int runSection(const Settings &settings, const Section &section) {
  Report report(section.name, resultFile(settings, section));
  if (Status status = section.run(settings, report); !status.ok())
    report.check("section", status);
  return report.failures() == 0 ? 0 : 1;
}

} // namespace fusec::acceptance
