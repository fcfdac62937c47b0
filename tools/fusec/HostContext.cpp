//===- HostContext.cpp - the machine behind a measurement ------------------===//
#include "tools/fusec/HostContext.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <set>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace fusec {

static std::string readProc(const char *path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The value of a "name<tab>: value" line, or empty.
static std::string valueOf(const std::string &line, std::string_view name) {
  const size_t colon = line.find(": ");
  if (!line.starts_with(name) || colon == std::string::npos)
    return {};
  return line.substr(colon + 2);
}

void parseCpuInfo(const std::string &text, HostContext &context) {
  std::istringstream lines(text);
  std::set<std::string> cores;
  std::string line, package;
  while (std::getline(lines, line)) {
    if (line.starts_with("processor"))
      ++context.logicalCores;
    if (std::string name = valueOf(line, "model name"); !name.empty())
      context.cpu = name;
    if (std::string id = valueOf(line, "physical id"); !id.empty())
      package = id;
    if (std::string id = valueOf(line, "core id"); !id.empty())
      cores.insert(package + '/' + id);
  }
  context.physicalCores = static_cast<int>(cores.size());
}

static std::string utcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

static std::string systemName() {
  utsname name{};
  if (uname(&name) != 0)
    return {};
  return std::string(name.sysname) + ' ' + name.release + ' ' + name.machine;
}

HostContext readHostContext() {
  HostContext context;
  parseCpuInfo(readProc("/proc/cpuinfo"), context);
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    context.allowedCores = CPU_COUNT(&allowed);
  context.memoryBytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  context.system = systemName();
  context.date = utcNow();
  double load[1];
  if (getloadavg(load, 1) == 1)
    context.loadAverage = load[0];
  return context;
}

std::vector<std::string> HostContext::missing() const {
  std::vector<std::string> names;
  auto need = [&names](bool known, const char *name) {
    if (!known)
      names.push_back(name);
  };
  need(!cpu.empty(), "cpu");
  need(physicalCores > 0, "physical_cores");
  need(logicalCores > 0, "logical_cores");
  need(allowedCores > 0, "allowed_cores");
  need(memoryBytes > 0, "memory_bytes");
  need(!system.empty(), "system");
  need(loadAverage.has_value(), "load_average");
  return names;
}

} // namespace fusec
