//===- AtomicFile.h - whole files, read and published ----------------------===//
//
// A reader sees a published file or directory complete or not at all: it is
// written beside its place under a unique name and renamed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace fusec {

/// The content of a regular file. Errors name the path.
Result<std::string> readWholeFile(const std::filesystem::path &path);

/// Writes `content` to `path`, creating parent directories.
Status writeFileAtomically(const std::filesystem::path &path, std::string_view content);

/// A name in `directory` that no other process or call uses: ".tmp-<pid>-<n>-<time>".
std::filesystem::path uniqueTemporary(const std::filesystem::path &directory);

} // namespace fusec
