//===- PageFile.cpp - host memory that can be mapped at several addresses -----===//

#include "runtime/device/PageFile.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace fusec::runtime {

int64_t PageFile::granularity() { return sysconf(_SC_PAGESIZE); }

int64_t PageFile::mappingLimit() {
  int64_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  return limit;
}

Result<PageFile> PageFile::create(int64_t bytes, std::string_view owner) {
  PageFile file(memfd_create("fusec", MFD_CLOEXEC), owner);
  if (file.descriptor < 0 || ftruncate(file.descriptor, bytes) != 0)
    return resourceExhausted(file.owner + ": cannot create " + std::to_string(bytes) +
                             " bytes of memory to map: " + std::strerror(errno));
  return file;
}

PageFile::~PageFile() {
  if (descriptor >= 0)
    close(descriptor);
}

PageFile::PageFile(PageFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), owner(std::move(other.owner)) {}

PageFile &PageFile::operator=(PageFile &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(owner, other.owner);
  return *this;
}

Status PageFile::mapAt(std::byte *at, int64_t offset, int64_t bytes) const {
  void *mapped =
      mmap(at, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, offset);
  if (mapped != MAP_FAILED)
    return {};
  return resourceExhausted(owner + ": cannot map " + std::to_string(bytes) + " bytes: " + std::strerror(errno) +
                           (errno == ENOMEM ? " (vm.max_map_count limits the mappings of a process)" : ""));
}

} // namespace fusec::runtime
