//===- TempDirectory.h - a directory that a test fills and forgets ---------===//
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace fusec {

class TempDirectory {
public:
  TempDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fusec-test-XXXXXX").string();
    if (const char *made = ::mkdtemp(pattern.data()))
      folder = made;
  }
  TempDirectory(const TempDirectory &) = delete;
  TempDirectory &operator=(const TempDirectory &) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    if (!folder.empty())
      std::filesystem::remove_all(folder, ignored);
  }
  const std::filesystem::path &path() const { return folder; }
  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }

private:
  std::filesystem::path folder;
};

} // namespace fusec
