//===- Artifact.h - an artifact directory, opened ----------------------------===//
//
// The verified manifest and the mapped weights. Owns the mapping; move-only.
// Immutable after open, safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/MappedFile.h"
#include "runtime/base/Status.h"
#include "runtime/exec/Manifest.h"

#include <filesystem>

namespace fusec::runtime {

struct Artifact {
  std::filesystem::path directory;
  Manifest manifest;
  MappedFile weights;

  /// Errors name the missing or damaged file.
  static Result<Artifact> open(const std::filesystem::path &directory);
};

} // namespace fusec::runtime
