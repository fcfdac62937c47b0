//===- CudaMappedPages.cpp ------------------------------------------------------===//

#include "runtime/device/cuda/CudaMappedPages.h"

namespace fusec::runtime::cuda {

Result<std::unique_ptr<CudaMappedPages>> CudaMappedPages::create(std::shared_ptr<CudaContext> context,
                                                                 const GpuMappedPagesShape &shape,
                                                                 std::string_view owner) {
  std::unique_ptr<CudaMappedPages> made(new CudaMappedPages(std::move(context), shape, owner));
  ContextScope scope(*made->context);
  FUSEC_RETURN_IF_ERROR(made->checkGranularity());
  FUSEC_RETURN_IF_ERROR(made->reserve());
  return made;
}

Status CudaMappedPages::check(CallResult result, const char *doing) const {
  if (result == OutOfMemory)
    return resourceExhausted(owner + ": no memory for " + std::to_string(shape.numPages) + " pages of " +
                             std::to_string(shape.pageBytes) + " bytes (" + doing + ")");
  return context->api->check(result, owner + ": " + doing);
}

MemoryProperties CudaMappedPages::properties() const {
  MemoryProperties wanted;
  wanted.location = location();
  return wanted;
}

Status CudaMappedPages::checkGranularity() const {
  size_t unit = 0;
  const MemoryProperties wanted = properties();
  FUSEC_RETURN_IF_ERROR(check(context->api->cuMemGetAllocationGranularity(&unit, &wanted, MinimumGranularity),
                              "asking what can be mapped"));
  if (unit != 0 && pageBytes() % unit == 0)
    return {};
  return unsupported(owner + ": this GPU maps memory in units of " + std::to_string(unit) + " bytes, pages are " +
                     std::to_string(shape.pageBytes) + "; compile the model with --kv-layout paged");
}

Status CudaMappedPages::reserve() {
  const MemoryProperties wanted = properties();
  for (int64_t i = 0; i < shape.numPages; ++i) {
    MemoryHandle page = 0;
    FUSEC_RETURN_IF_ERROR(check(context->api->cuMemCreate(&page, pageBytes(), &wanted, 0), "allocating a page"));
    pages.push_back(page);
  }
  const size_t bytes = pageBytes() * static_cast<size_t>(shape.rangePages);
  return check(context->api->cuMemAddressReserve(&range, bytes, 0, 0, 0), "reserving addresses");
}

Status CudaMappedPages::map(int64_t at, int64_t page) {
  ContextScope scope(*context);
  const size_t place = static_cast<size_t>(at);
  if (mapped[place]) {
    FUSEC_RETURN_IF_ERROR(check(context->api->cuMemUnmap(addressOf(at), pageBytes()), "unmapping a page"));
    mapped[place] = false;
  }
  FUSEC_RETURN_IF_ERROR(check(
      context->api->cuMemMap(addressOf(at), pageBytes(), 0, pages[static_cast<size_t>(page)], 0), "mapping a page"));
  mapped[place] = true;
  const MemoryAccess access{location(), ReadWriteAccess};
  return check(context->api->cuMemSetAccess(addressOf(at), pageBytes(), &access, 1), "allowing access to a page");
}

CudaMappedPages::~CudaMappedPages() {
  ContextScope scope(*context);
  for (size_t at = 0; at < mapped.size(); ++at)
    if (mapped[at])
      (void)context->api->cuMemUnmap(addressOf(static_cast<int64_t>(at)), pageBytes());
  if (range != 0)
    (void)context->api->cuMemAddressFree(range, pageBytes() * mapped.size());
  for (MemoryHandle page : pages)
    (void)context->api->cuMemRelease(page);
}

} // namespace fusec::runtime::cuda
