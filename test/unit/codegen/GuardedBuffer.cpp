//===- GuardedBuffer.cpp - memory that faults when left ---------------------===//
#include "test/unit/codegen/GuardedBuffer.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>

namespace fusec::codegen {

constexpr int64_t page = 4096, slack = 64;
constexpr std::byte pattern{0xa5};

static std::map<const void *, const GuardedBuffer *> &living() {
  static std::map<const void *, const GuardedBuffer *> buffers;
  return buffers;
}

const GuardedBuffer *GuardedBuffer::at(const void *address) {
  auto found = living().find(address);
  return found == living().end() ? nullptr : found->second;
}

GuardedBuffer::GuardedBuffer(int64_t size) : bytes(size) {
  int64_t middle = (size + slack + page - 1) / page * page;
  mappingBytes = middle + 2 * page;
  void *p = mmap(nullptr, mappingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    std::abort();
  mapping = static_cast<std::byte *>(p);
  mprotect(mapping, page, PROT_NONE);
  mprotect(mapping + page + middle, page, PROT_NONE);
  data = mapping + page + middle - slack - size;
  std::memset(data + size, static_cast<int>(pattern), slack);
  living()[data] = this;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&o) noexcept
    : mapping(o.mapping), data(o.data), mappingBytes(o.mappingBytes), bytes(o.bytes) {
  o.mapping = nullptr;
  living()[data] = this;
}

GuardedBuffer::~GuardedBuffer() {
  if (!mapping)
    return;
  living().erase(data);
  munmap(mapping, mappingBytes);
}

bool GuardedBuffer::slackIsUntouched() const {
  for (int64_t i = 0; i < slack; ++i)
    if (data[bytes + i] != pattern)
      return false;
  return true;
}

} // namespace fusec::codegen
