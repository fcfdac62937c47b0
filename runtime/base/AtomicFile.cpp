//===- AtomicFile.cpp - whole files, read and published --------------------===//
#include "runtime/base/AtomicFile.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace fusec {

namespace fs = std::filesystem;

Result<std::string> readWholeFile(const fs::path &path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return notFound("'" + path.string() + "': no such file");
  if (!fs::is_regular_file(path, error))
    return invalidArgument("'" + path.string() + "': expected a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return notFound("'" + path.string() + "': cannot open for reading");
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad())
    return corruptData("'" + path.string() + "': cannot read");
  return content;
}

fs::path uniqueTemporary(const fs::path &directory) {
  static std::atomic<uint64_t> counter = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return directory / (".tmp-" + std::to_string(getpid()) + '-' + std::to_string(counter++) + '-' + std::to_string(now));
}

Status writeFileAtomically(const fs::path &path, std::string_view content) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path temporary = uniqueTemporary(path.parent_path());
  std::ofstream file(temporary, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (file)
    fs::rename(temporary, path, error);
  if (!file || error) {
    const std::string reason = error ? ": " + error.message() : "";
    fs::remove(temporary, error);
    return notFound("'" + path.string() + "': cannot write" + reason);
  }
  return {};
}

} // namespace fusec
