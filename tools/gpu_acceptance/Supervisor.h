//===- Supervisor.h - one process per section ------------------------------------===//
//
// A fault makes a GPU unusable for the process it happens in, and a kernel that
// never ends blocks its process for good. So the runner starts itself once per
// section and goes on with the next, whatever happened.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/gpu_acceptance/Section.h"

namespace fusec::acceptance {

/// Runs the section as `<this program> --section NAME ...` and returns its report with "status" (passed, failed,
/// crashed or timeout) and "seconds" added.
nlohmann::ordered_json superviseSection(const Settings &settings, const Section &section);

/// In the child: runs the section and writes its report. Exit code 0 when all checks passed.
int runSection(const Settings &settings, const Section &section);

} // namespace fusec::acceptance
