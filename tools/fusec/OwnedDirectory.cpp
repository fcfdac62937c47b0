//===- OwnedDirectory.cpp - temporary directories that show whether they are in use -===//
#include "tools/fusec/OwnedDirectory.h"

#include "runtime/base/AtomicFile.h"

#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fusec {

namespace fs = std::filesystem;

static constexpr std::string_view suffix = ".owned";

static fs::path ownedName(const fs::path &parent) {
  fs::path path = uniqueTemporary(parent);
  path += suffix;
  return path;
}

static int openDirectory(const fs::path &path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

/// Whether `path` still is what was opened: somebody may have removed it before it was locked.
static bool isStill(const fs::path &path, int descriptor) {
  struct stat named{}, opened{};
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_ino == opened.st_ino;
}

Result<OwnedDirectory> OwnedDirectory::create(const fs::path &parent) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const fs::path path = ownedName(parent);
    if (mkdir(path.c_str(), 0777) != 0)
      return notFound("'" + path.string() + "': cannot create: " + std::strerror(errno));
    const int lock = openDirectory(path);
    if (lock < 0)
      continue;
    (void)flock(lock, LOCK_EX); // A file system without locks: see removeAbandoned.
    if (isStill(path, lock))
      return OwnedDirectory(path, lock);
    close(lock);
  }
  return internalError("'" + parent.string() + "': new temporary directories vanish");
}

OwnedDirectory::OwnedDirectory(OwnedDirectory &&other) noexcept
    : directory(std::exchange(other.directory, {})), lock(std::exchange(other.lock, -1)) {}

OwnedDirectory::~OwnedDirectory() {
  std::error_code ignored;
  if (!directory.empty())
    fs::remove_all(directory, ignored);
  if (lock >= 0)
    close(lock);
}

void OwnedDirectory::moveAwayAndRemove(const fs::path &entry) {
  const fs::path trash = ownedName(entry.parent_path());
  std::error_code error;
  fs::rename(entry, trash, error);
  fs::remove_all(trash, error);
}

static bool isOld(const fs::path &path) {
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  return !error && written < fs::file_time_type::clock::now() - std::chrono::hours(24);
}

/// Removes it when its lock can be had; the lock keeps others from the same while it lasts.
static bool removeUnlocked(const fs::path &path) {
  const int lock = openDirectory(path);
  if (lock < 0)
    return false;
  const bool mine = flock(lock, LOCK_EX | LOCK_NB) == 0;
  const bool taken = !mine && errno == EWOULDBLOCK;
  std::error_code ignored;
  if (mine)
    fs::remove_all(path, ignored);
  close(lock);
  return mine || taken;
}

void OwnedDirectory::removeAbandoned(const fs::path &parent) {
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".tmp-") || (name.ends_with(suffix) && removeUnlocked(entry.path())))
      continue;
    if (isOld(entry.path()))
      fs::remove_all(entry.path(), error);
  }
}

} // namespace fusec
