//===- OwnedDirectory.h - temporary directories that show whether they are in use -===//
//
//   FUSEC_ASSIGN_OR_RETURN(OwnedDirectory owned, OwnedDirectory::create(parent));
//   build(owned.path() / "artifact");
//   ...                                        // gone with `owned`
//   OwnedDirectory::removeAbandoned(parent);   // those of processes that were killed
//
// The owner holds a lock on the directory (flock), which ends with its process
// however that ends. Where the file system has no locks, a directory counts as
// abandoned when it is a day old.
//
// Ownership: removes the directory when destroyed. Threading: any, and several
// processes at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>

namespace fusec {

class OwnedDirectory {
public:
  /// A new one in `parent`, which exists. NotFound with the path and the reason.
  static Result<OwnedDirectory> create(const std::filesystem::path &parent);
  ~OwnedDirectory();
  OwnedDirectory(OwnedDirectory &&other) noexcept;
  OwnedDirectory(const OwnedDirectory &) = delete;
  OwnedDirectory &operator=(OwnedDirectory &&) = delete;

  const std::filesystem::path &path() const { return directory; }

  /// Moves `entry` to such a directory that nobody owns, in one step, and removes it.
  static void moveAwayAndRemove(const std::filesystem::path &entry);
  /// Removes what no living process owns from `parent`; other temporaries of uniqueTemporary when they are a day old.
  static void removeAbandoned(const std::filesystem::path &parent);

private:
  OwnedDirectory(std::filesystem::path path, int lock) : directory(std::move(path)), lock(lock) {}

  std::filesystem::path directory; ///< Empty when moved from.
  int lock;                        ///< File descriptor.
};

} // namespace fusec
