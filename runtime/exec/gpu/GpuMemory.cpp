//===- GpuMemory.cpp -----------------------------------------------------------===//

#include "runtime/exec/gpu/GpuMemory.h"

#include <algorithm>

namespace fusec::runtime {

namespace {

constexpr int64_t alignment = 256;
/// Kernels may load whole vectors behind the last page and the last weight.
constexpr int64_t slackBytes = 256;
/// A piece per progress report.
constexpr int64_t uploadPiece = 64 << 20;

std::string inMiB(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

} // namespace

Result<GpuMemory> GpuMemory::reserve(GpuDevice &device, const Artifact &artifact, const SymbolValues &maxima,
                                     int64_t numPages, int64_t virtualPages) {
  GpuMemory memory(maxima, artifact.manifest);
  FUSEC_RETURN_IF_ERROR(memory.lay(artifact, maxima, numPages, virtualPages > 0));
  FUSEC_RETURN_IF_ERROR(memory.checkFree(device));
  const int64_t weightBytes = static_cast<int64_t>(artifact.weights.size()) + slackBytes;
  FUSEC_ASSIGN_OR_RETURN(memory.weights, device.allocate(weightBytes, "weights"));
  FUSEC_ASSIGN_OR_RETURN(memory.pool, device.allocate(memory.poolBytes, "kv cache and activations"));
  if (virtualPages > 0)
    FUSEC_RETURN_IF_ERROR(memory.mapCache(device, numPages, virtualPages));
  return memory;
}

Status GpuMemory::mapCache(GpuDevice &device, int64_t numPages, int64_t virtualPages) {
  FUSEC_ASSIGN_OR_RETURN(mapped, device.reserveMapped({stride, numPages, virtualPages}, "kv cache"));
  // The pages in order, and the sink wherever a sequence has none yet: kernels may read there.
  for (int64_t at = 0; at < virtualPages; ++at)
    FUSEC_RETURN_IF_ERROR(mapped->map(at, at < numPages ? at : toIndex(sinkBlock)));
  return {};
}

Status GpuMemory::lay(const Artifact &artifact, const SymbolValues &maxima, int64_t numPages, bool isMapped) {
  const Manifest &manifest = artifact.manifest;
  int64_t offset = 0;
  for (int64_t bytes : manifest.cachePageBytes()) {
    cacheOffsets.push_back(offset);
    offset += bytes;
  }
  stride = manifest.kv.pageStride;
  if (__builtin_mul_overflow(stride, numPages, &cacheBytes) || cacheBytes > int64_t{1} << 50)
    return resourceExhausted("kv cache: " + std::to_string(numPages) + " pages of " + std::to_string(stride) +
                             " bytes exceed the address space");
  cacheBytes = (cacheBytes + slackBytes + alignment - 1) / alignment * alignment;
  FUSEC_ASSIGN_OR_RETURN(slots, SlotLayout::create(manifest, maxima, alignment));
  slotOffset = isMapped ? 0 : cacheBytes;
  stepOffset = slotOffset + slots.bytes();
  poolBytes = stepOffset + step.bytes;
  int64_t logitBytes = 0;
  if (std::optional<size_t> output = manifest.findOutput(OutputKind::Logits))
    logitBytes = slots.slotBytes(manifest.buffers[*output].slot);
  rows.rows = {{"weights (GPU)", static_cast<int64_t>(artifact.weights.size()) + slackBytes},
               {"kv cache (" + manifest.kv.describe() + ", GPU)", cacheBytes},
               {"activations (GPU)", slots.bytes() - logitBytes},
               {"logits (GPU)", logitBytes},
               {"step inputs (GPU)", step.bytes}};
  return {};
}

Status GpuMemory::checkFree(GpuDevice &device) const {
  FUSEC_ASSIGN_OR_RETURN(int64_t free, device.freeBytes());
  const int64_t needed = rows.totalBytes();
  if (needed <= free)
    return {};
  std::string sum;
  for (const MemoryPlan::Row &row : rows.rows)
    sum += (sum.empty() ? "" : " + ") + row.name.substr(0, row.name.find(" (")) + " " + inMiB(row.bytes);
  return resourceExhausted("the model does not fit " + device.info().name + ": " + sum + " = " + inMiB(needed) + ", " +
                           inMiB(free) + " of " + inMiB(device.info().memoryBytes) +
                           " are free; choose a smaller context or a smaller kv dtype");
}

Status GpuMemory::fill(GpuStream &stream, const Artifact &artifact, const Progress &progress) {
  FUSEC_RETURN_IF_ERROR(stream.fill(pool.address(), 0, pool.bytes()));
  if (mapped)
    FUSEC_RETURN_IF_ERROR(stream.fill(mapped->address(), 0, cacheBytes));
  const auto total = static_cast<int64_t>(artifact.weights.size());
  FUSEC_RETURN_IF_ERROR(stream.fill(weights.address() + total, 0, weights.bytes() - total));
  for (int64_t done = 0; done < total; done += uploadPiece) {
    const int64_t bytes = std::min(uploadPiece, total - done);
    FUSEC_RETURN_IF_ERROR(stream.copyToDevice(weights.address() + done, artifact.weights.bytes().data() + done, bytes));
    FUSEC_RETURN_IF_ERROR(stream.synchronize());
    if (progress)
      progress("copying weights to the GPU", static_cast<double>(done + bytes) / static_cast<double>(total));
  }
  return stream.synchronize();
}

std::vector<GpuAddress> GpuMemory::addresses(const Manifest &manifest) const {
  std::vector<GpuAddress> list;
  size_t nextCache = 0;
  for (const BufferInfo &buffer : manifest.buffers) {
    switch (buffer.kind) {
    case BufferKind::Input:
      list.push_back(stepAddress() + step.offsets[static_cast<size_t>(buffer.input)]);
      break;
    case BufferKind::Weight:
      list.push_back(weights.address() + buffer.offset);
      break;
    case BufferKind::Cache:
      list.push_back(cacheAddress() + cacheOffsets[nextCache++]);
      break;
    case BufferKind::Activation:
    case BufferKind::Output:
      list.push_back(pool.address() + slotOffset + slots.offset(buffer.slot));
      break;
    }
  }
  return list;
}

} // namespace fusec::runtime
