//===- Report.h - what a section found, on disk after every row ----------------------===//
//
//   Report report("probes", "out/probes.json");
//   report.check("mma_bf16", words == expected, "word 7 of lane 3: expected ..., found ...");
//   report.measure({.name = "copy", .unit = "GB/s", .samples = {...}, .note = "1 GiB, L2 cold"});
//
// A section runs in a process of its own, which a GPU fault may end at any time:
// what was reported until then is in the file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace fusec::acceptance {

struct Measurement {
  std::string name;
  std::string unit;            ///< "GB/s", "us", "TFLOP/s".
  std::vector<double> samples; ///< One per repeat.
  std::string note;            ///< Sizes, and whether caches were warm.
};

class Report {
public:
  Report(std::string section, std::filesystem::path file);

  /// `detail` is shown for failures and kept for both.
  void check(const std::string &name, bool passed, const std::string &detail = {});
  /// A check that passes when `status` is ok.
  void check(const std::string &name, const Status &status) { check(name, status.ok(), status.message()); }
  /// A check that could not be made here, and why.
  void skip(const std::string &name, const std::string &reason);
  void measure(const Measurement &measurement);
  void note(const std::string &text);
  /// A fact about the machine, for the result's context.
  void fact(const std::string &name, nlohmann::ordered_json value);
  int failures() const { return failed; }

private:
  void save() const;
  std::filesystem::path file;
  nlohmann::ordered_json rows;
  int failed = 0;
};

} // namespace fusec::acceptance
