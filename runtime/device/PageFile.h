//===- PageFile.h - host memory that can be mapped at several addresses -------===//
//
// Memory without an address of its own: parts of it are mapped into reserved
// address space, the same part as often as needed, and all mappings show the same
// bytes. Zero until written; resident once touched. Freed when the object and
// every mapping are gone.
//
//   FUSEC_ASSIGN_OR_RETURN(PageFile pages, PageFile::create(16 * 4096, "kv cache"));
//   FUSEC_RETURN_IF_ERROR(pages.mapAt(range + 8192, 4096, 4096)); // page 1 of the file
//
// Move-only. Threading: mapAt may be called from several threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fusec::runtime {

class PageFile {
public:
  /// What addresses, offsets and sizes of mappings are multiples of.
  static int64_t granularity();
  /// How many mappings the kernel allows this process at once; 0 when it does not say.
  static int64_t mappingLimit();

  PageFile() = default;
  /// `owner` names the memory in error messages.
  static Result<PageFile> create(int64_t bytes, std::string_view owner);
  ~PageFile();
  PageFile(PageFile &&other) noexcept;
  PageFile &operator=(PageFile &&other) noexcept;
  PageFile(const PageFile &) = delete;
  PageFile &operator=(const PageFile &) = delete;

  /// From here on [at, at + bytes), which the caller has reserved, shows the file's bytes from `offset` on, in place of
  /// what was mapped there. ResourceExhausted when the kernel has no more mappings; the range then shows what it did.
  Status mapAt(std::byte *at, int64_t offset, int64_t bytes) const;

private:
  PageFile(int descriptor, std::string_view owner) : descriptor(descriptor), owner(owner) {}

  int descriptor = -1;
  std::string owner;
};

} // namespace fusec::runtime
