//===- HostContext.h - the machine behind a measurement --------------------===//
//
// A figure without its context cannot be compared. This block is written by the
// machine, never by hand; what could not be found out is listed as missing, and
// a result with missing context is marked as not comparable.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusec {

struct HostContext {
  std::string cpu;                   ///< "Intel(R) Xeon(R) ...".
  int physicalCores = 0;             ///< Of the machine.
  int logicalCores = 0;              ///< Of the machine.
  int allowedCores = 0;              ///< Logical cores this process may run on.
  int64_t memoryBytes = 0;           ///< Installed.
  std::string system;                ///< Kernel name, release and machine.
  std::string date;                  ///< UTC, ISO 8601.
  std::optional<double> loadAverage; ///< Of the last minute, when the context was taken.

  /// Names of the fields that could not be found out.
  std::vector<std::string> missing() const;
};

HostContext readHostContext();

/// The parts of /proc/cpuinfo that HostContext holds; separate for tests.
void parseCpuInfo(const std::string &text, HostContext &context);

} // namespace fusec
