//===- MappedFile.h - a read-only memory-mapped file -----------------------===//
//
// Model files and artifacts are read through this one class, so that weights
// are paged in on demand and shared between processes.
//
//   FUSEC_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open("model.gguf"));
//   std::span<const std::byte> bytes = file.bytes();
//
// Ownership: move-only; the mapping (and every span taken from it) lives until
// the object is destroyed and does not move when the object is moved.
// Threading: immutable after open; any number of readers.
// A file that another process shortens while it is mapped raises SIGBUS on
// access, as with every mmap; fusec never writes through a mapping.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <filesystem>
#include <span>

namespace fusec {

class MappedFile {
public:
  /// Maps the whole of regular file `path`. Errors: NotFound when it cannot be
  /// opened (message holds the system's reason), InvalidArgument when it is a
  /// directory or device, ResourceExhausted when mapping fails. An empty file
  /// gives an empty span.
  static Result<MappedFile> open(const std::filesystem::path &path);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {address, length}; }
  size_t size() const { return length; }
  const std::filesystem::path &path() const { return filePath; }

private:
  void unmap();

  const std::byte *address = nullptr;
  size_t length = 0;
  std::filesystem::path filePath;
};

} // namespace fusec
