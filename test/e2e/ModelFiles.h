//===- ModelFiles.h - where the end-to-end tests find their models ----------===//
//
// None of these files is part of the repository; a test that lacks one skips
// and names it:
//
//   const fs::path model = storiesGguf();
//   FUSEC_NEEDS(model);
//
//===----------------------------------------------------------------------===//
#pragma once

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

/// Skips the running test when `path` does not exist.
#define FUSEC_NEEDS(path)                                                                                              \
  if (!std::filesystem::exists(path))                                                                                  \
  GTEST_SKIP() << "needs '" << (path).string() << "'"

namespace fusec::e2e {

namespace fs = std::filesystem;

/// Folder of data files beside the repository.
fs::path sharedData();
/// stories260K in F32, as GGUF.
fs::path storiesGguf();
/// A model that make_stories_models.py derives from it: "hf", "stories-f16.gguf", ...
fs::path storiesVariant(const std::string &name);
/// SmolLM2-135M-Instruct Q4_1: what FUSEC_SMOLLM2 names, else the one in .cache/models.
fs::path smolLM2();
/// Parses a JSON file; a null value when it is absent or broken.
nlohmann::json readJson(const fs::path &path);
/// A file of test/golden/e2e.
nlohmann::json golden(const std::string &name);

} // namespace fusec::e2e
