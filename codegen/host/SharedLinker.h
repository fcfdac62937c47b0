//===- SharedLinker.h - objects to a shared library, in process ------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fusec::codegen {

/// Links object files (their bytes, in order) into the shared library `output`.
/// Temporary files live beside it. Thread-safe: calls run one after another.
Status linkShared(const std::vector<std::string> &objects, const std::filesystem::path &output);

} // namespace fusec::codegen
