//===- Section.h - the parts of the acceptance run -------------------------------===//
//
// One row per section in Sections.cpp: adding one is a function and a row. Each
// runs in a process of its own with a time limit (Supervisor.h), opens the device
// itself, and reports checks that decide about success and measurements that do
// not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/gpu_acceptance/Report.h"

#include "runtime/device/gpu/GpuDevice.h"

#include <filesystem>
#include <span>
#include <string>

namespace fusec::acceptance {

struct Settings {
  std::string device = "cuda"; ///< For openGpuDevice.
  std::filesystem::path data;  ///< The carried files.
  std::filesystem::path out;   ///< Where results go.
  bool quick = false;          ///< Tiny sizes and few repeats, for the virtual device.
  std::string only;            ///< Names of the sections to run, separated by commas; empty = all.
};

struct Section {
  const char *name;
  const char *proves; ///< One line for the table.
  int limitSeconds;   ///< Killed after this.
  bool decides;       ///< False: times only, which never fail the run, whatever happens.
  /// An error is a failed check named "section".
  Status (*run)(const Settings &settings, Report &report);
};

std::span<const Section> sections();

Status runDeviceFacts(const Settings &settings, Report &report);
Status runConformance(const Settings &settings, Report &report);
Status runProbes(const Settings &settings, Report &report);
Status runModels(const Settings &settings, Report &report);
Status runRates(const Settings &settings, Report &report);
Status runBlas(const Settings &settings, Report &report);
Status runShapes(const Settings &settings, Report &report);

/// A carried PTX file for the device's architecture: "Probes.sm_80.ptx". Errors name the file.
Result<std::unique_ptr<runtime::GpuModule>> loadCarried(runtime::GpuDevice &device, const Settings &settings,
                                                        const std::string &name);

} // namespace fusec::acceptance
