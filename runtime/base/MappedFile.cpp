//===- MappedFile.cpp - a read-only memory-mapped file ---------------------===//

#include "runtime/base/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fusec {
namespace {

/// Closes a descriptor on every way out of `open`.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

std::string describe(const std::filesystem::path &path, const char *what) {
  return path.string() + ": " + what + ": " + std::strerror(errno);
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path &path) {
  // O_NONBLOCK: opening a FIFO must fail below instead of waiting for a writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0)
    return notFound(describe(path, "cannot be opened"));
  struct stat facts;
  if (::fstat(file.fd, &facts) != 0)
    return notFound(describe(path, "cannot be examined"));
  if (!S_ISREG(facts.st_mode))
    return invalidArgument(path.string() + ": expected a regular file, found a " +
                           (S_ISDIR(facts.st_mode) ? "directory" : "device or pipe"));
  MappedFile mapped;
  mapped.filePath = path;
  mapped.length = static_cast<size_t>(facts.st_size);
  if (mapped.length == 0)
    return mapped;
  void *address = ::mmap(nullptr, mapped.length, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) {
    mapped.length = 0;
    return resourceExhausted(describe(path, "cannot be mapped"));
  }
  mapped.address = static_cast<const std::byte *>(address);
  return mapped;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : address(std::exchange(other.address, nullptr)), length(std::exchange(other.length, 0)),
      filePath(std::move(other.filePath)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  if (this != &other) {
    unmap();
    address = std::exchange(other.address, nullptr);
    length = std::exchange(other.length, 0);
    filePath = std::move(other.filePath);
  }
  return *this;
}

MappedFile::~MappedFile() { unmap(); }

void MappedFile::unmap() {
  if (address)
    ::munmap(const_cast<std::byte *>(address), length);
}

} // namespace fusec
