//===- SpecialRegisters.h - %tid and friends ---------------------------------===//
#pragma once

#include "runtime/device/virtual/exec/Program.h"

#include <optional>
#include <string_view>

namespace fusec::virtualgpu {

/// "%tid.x" -> Special::TidX, if its value is fixed when a warp starts.
std::optional<Special> specialNamed(std::string_view name);
void fillSpecialRegisters(Warp &warp);

} // namespace fusec::virtualgpu
