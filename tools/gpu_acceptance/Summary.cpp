//===- Summary.cpp ----------------------------------------------------------------===//
#include "tools/gpu_acceptance/Summary.h"

#include "runtime/base/AtomicFile.h"
#include "tools/fusec/HostContext.h"

#include <cstdio>

namespace fusec::acceptance {

using Json = nlohmann::ordered_json;

namespace {

Json hostJson() {
  const HostContext host = readHostContext();
  Json block = {{"cpu", host.cpu},
                {"allowed_cores", host.allowedCores},
                {"memory_bytes", host.memoryBytes},
                {"system", host.system},
                {"date", host.date},
                {"load_average", nullptr}};
  if (host.loadAverage)
    block["load_average"] = *host.loadAverage;
  return block;
}

int countOf(const Json &checks, const char *result) {
  int count = 0;
  for (const Json &check : checks)
    count += check["result"] == result;
  return count;
}

void printChecks(const Json &checks) {
  for (const Json &check : checks)
    if (check["result"] != "passed")
      std::printf("    %-8s %s: %.600s\n", check["result"].get<std::string>().c_str(),
                  check["name"].get<std::string>().c_str(), check["detail"].get<std::string>().c_str());
}

void printMeasurements(const Json &rows) {
  for (const Json &row : rows)
    std::printf("    %-38s %12.4g %-8s (%.4g .. %.4g, %d)  %s\n", row["name"].get<std::string>().c_str(),
                row["median"].get<double>(), row["unit"].get<std::string>().c_str(), row["min"].get<double>(),
                row["max"].get<double>(), row["repeats"].get<int>(), row["note"].get<std::string>().c_str());
}

} // namespace

Summary::Summary(const Settings &settings) : settings(settings) {
  results = {{"program", "fusec-gpu-acceptance"},
             {"device", settings.device},
             {"quick", settings.quick},
             {"host", hostJson()},
             {"passed", false},
             {"sections", Json::array()}};
}

void Summary::add(const Section &section, Json result) {
  const Json &checks = result["checks"];
  std::printf("%-12s %-8s %6.1f s  %3d passed %3d failed %3d skipped   %s\n", section.name,
              result["status"].get<std::string>().c_str(), result["seconds"].get<double>(), countOf(checks, "passed"),
              countOf(checks, "failed"), countOf(checks, "skipped"), section.proves);
  for (const auto &[name, value] : result["facts"].items())
    std::printf("    %-24s %s\n", name.c_str(), value.dump().c_str());
  printChecks(checks);
  printMeasurements(result["measurements"]);
  for (const Json &note : result["notes"])
    std::printf("    note: %s\n", note.get<std::string>().c_str());
  std::fflush(stdout);
  result["decides"] = section.decides;
  results["sections"].push_back(std::move(result));
}

int Summary::finish() {
  bool passed = !results["sections"].empty();
  double seconds = 0;
  for (const Json &section : results["sections"]) {
    passed &= section["status"] == "passed" || !section["decides"].get<bool>();
    seconds += section["seconds"].get<double>();
  }
  results["passed"] = passed;
  results["seconds"] = seconds;
  const std::filesystem::path file = settings.out / "acceptance.json";
  if (Status status = writeFileAtomically(file, results.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
      !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  std::printf("%s in %.1f s; %s\n", passed ? "PASSED" : "FAILED", seconds, file.c_str());
  return passed ? 0 : 1;
}

} // namespace fusec::acceptance
