//===- TemporaryDirectory.h - a directory that lives as long as its test ---===//
#pragma once

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>

namespace fusec::test {

class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fusec-test-XXXXXX").string();
    place = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(place); }
  const std::filesystem::path &path() const { return place; }

  /// Writes a file below the directory, dated an hour back: no longer "just changed".
  std::filesystem::path write(const std::string &name, const std::string &content) const {
    const std::filesystem::path file = place / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    const auto hourAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(file, hourAgo);
    return file;
  }

private:
  std::filesystem::path place;
};

} // namespace fusec::test
