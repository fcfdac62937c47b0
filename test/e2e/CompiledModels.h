//===- CompiledModels.h - models compiled once per test program -------------===//
//
//   Result<std::unique_ptr<runtime::Engine>> engine = openModel(storiesGguf(), {.threads = 1});
//
// Artifacts hold kernels for every level this machine runs. They lie in a
// temporary directory that the program removes at its end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Engine.h"
#include "runtime/schema/KvLayout.h"
#include "runtime/schema/StorageType.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fusec::e2e {

/// CPU levels that this machine runs, best first.
std::vector<std::string> hostLevels();

/// The artifact of a model file or directory, its KV cache stored and laid out as asked; compiled on first use.
Result<std::filesystem::path> artifactOf(const std::filesystem::path &model, StorageType kvDtype = StorageType::F32,
                                         KvLayout kvLayout = KvLayout::Paged);

/// Opens it; `options.artifact` is filled in.
Result<std::unique_ptr<runtime::Engine>>
openModel(const std::filesystem::path &model, runtime::EngineOptions options = {}, KvLayout kvLayout = KvLayout::Paged);

/// `count` ids of greatest probability after `prompt`, end ids included. A test failure on error.
std::vector<runtime::TokenId> greedy(runtime::Engine &engine, const std::vector<runtime::TokenId> &prompt,
                                     int64_t count);

/// Index of the first difference; the common length when one is a prefix of the other.
size_t firstDifference(const std::vector<runtime::TokenId> &a, const std::vector<runtime::TokenId> &b);

} // namespace fusec::e2e
