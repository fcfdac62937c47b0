//===- ModelFiles.cpp - where the end-to-end tests find their models --------===//
#include "test/e2e/ModelFiles.h"

#include <cstdlib>
#include <fstream>

namespace fusec::e2e {

fs::path sharedData() { return fs::path(FUSEC_SOURCE_DIR).parent_path() / "shared" / "data"; }

fs::path storiesGguf() { return sharedData() / "models" / "stories260K" / "stories260K-f32.gguf"; }

fs::path storiesVariant(const std::string &name) {
  return fs::path(FUSEC_BINARY_DIR) / "test-models" / "stories" / name;
}

fs::path smolLM2() {
  if (const char *path = std::getenv("FUSEC_SMOLLM2"))
    return path;
  const fs::path folder = fs::path(FUSEC_SOURCE_DIR) / ".cache" / "models";
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find("SmolLM2") != std::string::npos && name.ends_with(".gguf"))
      return entry.path();
  }
  return folder / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

nlohmann::json readJson(const fs::path &path) {
  std::ifstream stream(path);
  nlohmann::json document = nlohmann::json::parse(stream, nullptr, false);
  return document.is_discarded() ? nlohmann::json() : document;
}

nlohmann::json golden(const std::string &name) {
  return readJson(fs::path(FUSEC_SOURCE_DIR) / "test" / "golden" / "e2e" / name);
}

} // namespace fusec::e2e
