//===- Summary.h - one JSON file and one table of a run --------------------------===//
#pragma once

#include "tools/gpu_acceptance/Section.h"

#include <vector>

namespace fusec::acceptance {

/// Collects sections, printing each as it comes.
class Summary {
public:
  explicit Summary(const Settings &settings);
  void add(const Section &section, nlohmann::ordered_json result);
  /// Writes `<out>/acceptance.json`, prints the totals. The exit code: 0 when every section passed and there was one.
  int finish();

private:
  const Settings &settings;
  nlohmann::ordered_json results;
};

} // namespace fusec::acceptance
