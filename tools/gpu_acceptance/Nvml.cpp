//===- Nvml.cpp -------------------------------------------------------------------===//
#include "tools/gpu_acceptance/Nvml.h"

#include <dlfcn.h>

namespace fusec::acceptance {

namespace {

using Device = void *;

template <typename... Arguments> int call(void *library, const char *name, Arguments... arguments) {
  auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return function ? function(arguments...) : -1;
}

struct Number {
  const char *fact;
  const char *function; ///< int f(device, unsigned *).
};
constexpr Number numbers[] = {{"power_limit_mW", "nvmlDeviceGetPowerManagementLimit"},
                              {"power_mW", "nvmlDeviceGetPowerUsage"}};

struct Clock {
  const char *fact;
  const char *function; ///< int f(device, kind, unsigned *).
  int kind;             ///< 1 = multiprocessors, 2 = memory.
};
constexpr Clock clocks[] = {{"clock_MHz", "nvmlDeviceGetClockInfo", 1},
                            {"clock_max_MHz", "nvmlDeviceGetMaxClockInfo", 1},
                            {"memory_clock_MHz", "nvmlDeviceGetClockInfo", 2},
                            {"memory_clock_max_MHz", "nvmlDeviceGetMaxClockInfo", 2},
                            {"temperature_C", "nvmlDeviceGetTemperature", 0}};

} // namespace

nlohmann::ordered_json readNvml(unsigned index) {
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  Device device = nullptr;
  if (!library || call(library, "nvmlInit_v2") != 0 ||
      call(library, "nvmlDeviceGetHandleByIndex_v2", index, &device) != 0)
    return facts;
  char text[128] = {};
  if (call(library, "nvmlDeviceGetName", device, static_cast<char *>(text), 96u) == 0)
    facts["nvml_name"] = text;
  if (call(library, "nvmlSystemGetDriverVersion", static_cast<char *>(text), 80u) == 0)
    facts["driver"] = text;
  unsigned value = 0;
  for (const Number &row : numbers)
    if (call(library, row.function, device, &value) == 0)
      facts[row.fact] = value;
  for (const Clock &row : clocks)
    if (call(library, row.function, device, row.kind, &value) == 0)
      facts[row.fact] = value;
  call(library, "nvmlShutdown");
  return facts;
}

} // namespace fusec::acceptance
