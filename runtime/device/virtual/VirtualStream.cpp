//===- VirtualStream.cpp - work in order on the virtual device ---------------===//

#include "runtime/device/virtual/VirtualStream.h"
#include "runtime/device/virtual/VirtualDevice.h"
#include "runtime/device/virtual/VirtualModule.h"

#include <cstring>

namespace fusec::virtualgpu {
namespace {

std::string text(const runtime::GpuDim3 &size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}
uint64_t product(const runtime::GpuDim3 &size) { return uint64_t(size.x) * size.y * size.z; }

} // namespace

// --- events and graphs -----------------------------------------------------------------

Status VirtualEvent::synchronize() {
  if (!at && stream)
    FUSEC_RETURN_IF_ERROR(stream->synchronize());
  return at ? Status() : invalidArgument("waits for an event that was never recorded");
}

Result<double> VirtualEvent::millisecondsSince(const runtime::GpuEvent &start) const {
  const auto &from = static_cast<const VirtualEvent &>(start);
  if (!at || !from.at)
    return invalidArgument("the time between events of which one has not happened");
  return std::chrono::duration<double, std::milli>(*at - *from.at).count();
}

Result<std::vector<runtime::GpuGraphLaunch>> VirtualGraph::launches() const {
  std::vector<runtime::GpuGraphLaunch> found;
  for (const VirtualWork &piece : work)
    if (piece.launch)
      found.push_back(*piece.launch);
  return found;
}

// --- work ------------------------------------------------------------------------------

Status VirtualStream::submit(VirtualWork work) {
  if (capture) {
    capture->work.push_back(std::move(work));
    return {};
  }
  FUSEC_RETURN_IF_ERROR(device.error());
  if (device.settings().deferred) {
    queue.push_back(std::move(work));
    return {};
  }
  Status status = work.act();
  return status.ok() ? status : device.fail(status);
}

Status VirtualStream::copyToDevice(runtime::GpuAddress to, const void *from, int64_t bytes) {
  FUSEC_RETURN_IF_ERROR(device.deviceMemory().checkRange(to, bytes, "a copy to the device"));
  if (bytes == 0) // memcpy takes no null pointer, however few bytes.
    return {};
  return submit({[this, to, from, bytes] {
                   DeviceMemory &memory = device.deviceMemory();
                   std::memcpy(memory.host(to), from, static_cast<size_t>(bytes));
                   memory.markWritten(to, bytes);
                   return Status();
                 },
                 {}});
}

Status VirtualStream::copyToHost(void *to, runtime::GpuAddress from, int64_t bytes) {
  FUSEC_RETURN_IF_ERROR(device.deviceMemory().checkRange(from, bytes, "a copy to the host"));
  if (bytes == 0)
    return {};
  return submit({[this, to, from, bytes] {
                   std::memcpy(to, device.deviceMemory().host(from), static_cast<size_t>(bytes));
                   return Status();
                 },
                 {}});
}

Status VirtualStream::copyOnDevice(runtime::GpuAddress to, runtime::GpuAddress from, int64_t bytes) {
  FUSEC_RETURN_IF_ERROR(device.deviceMemory().checkRange(to, bytes, "the destination of a device copy"));
  FUSEC_RETURN_IF_ERROR(device.deviceMemory().checkRange(from, bytes, "the source of a device copy"));
  return submit({[this, to, from, bytes] {
                   device.deviceMemory().copy(to, from, bytes);
                   return Status();
                 },
                 {}});
}

Status VirtualStream::fill(runtime::GpuAddress to, uint8_t value, int64_t bytes) {
  FUSEC_RETURN_IF_ERROR(device.deviceMemory().checkRange(to, bytes, "a fill"));
  return submit({[this, to, value, bytes] {
                   DeviceMemory &memory = device.deviceMemory();
                   std::memset(memory.host(to), value, static_cast<size_t>(bytes));
                   memory.markWritten(to, bytes);
                   return Status();
                 },
                 {}});
}

// --- launches --------------------------------------------------------------------------

Status VirtualStream::checkLaunch(const VirtualFunction &function, const runtime::GpuLaunch &launch) const {
  const Program &program = function.program;
  const uint64_t threads = product(launch.block);
  auto refuse = [&](const std::string &what) { return invalidArgument("launch of '" + program.name + "': " + what); };
  if (product(launch.grid) == 0 || threads == 0)
    return refuse("an empty grid or block (" + text(launch.grid) + ", " + text(launch.block) + ")");
  if (threads > 1024 || launch.block.z > 64)
    return refuse("a block of " + text(launch.block) + " threads; at most 1024, and 64 in z");
  if (program.maxThreads && threads > static_cast<uint64_t>(program.maxThreads))
    return refuse("a block of " + std::to_string(threads) + " threads, but .maxntid is " +
                  std::to_string(program.maxThreads));
  if (program.requiredThreads && threads != static_cast<uint64_t>(program.requiredThreads))
    return refuse("a block of " + std::to_string(threads) + " threads, but .reqntid is " +
                  std::to_string(program.requiredThreads));
  if (launch.grid.x > 0x7fffffffu || launch.grid.y > 65535 || launch.grid.z > 65535)
    return refuse("a grid of " + text(launch.grid) + " blocks; at most 2147483647 x 65535 x 65535");
  const int64_t shared = program.staticSharedBytes + launch.sharedBytes;
  if (shared > device.info().sharedBytesPerBlock)
    return refuse(std::to_string(shared) + " bytes of shared memory (" + std::to_string(program.staticSharedBytes) +
                  " static), but a block of " + device.info().name + " has at most " +
                  std::to_string(device.info().sharedBytesPerBlock));
  if (product(launch.cluster) > 1)
    return unsupported("launch of '" + program.name + "': clusters");
  if (launch.parameters.size() != program.parameters.size())
    return refuse(std::to_string(launch.parameters.size()) + " parameters, but the kernel has " +
                  std::to_string(program.parameters.size()));
  for (const Program::Parameter &parameter : program.parameters)
    if (parameter.bytes > 8)
      return refuse("parameter '" + parameter.name + "' has " + std::to_string(parameter.bytes) + " bytes, expected 8");
  return {};
}

Status VirtualStream::launch(const runtime::GpuLaunch &launch) {
  if (!launch.function)
    return invalidArgument("a launch without a function");
  const auto &function = static_cast<const VirtualFunction &>(*launch.function);
  FUSEC_RETURN_IF_ERROR(checkLaunch(function, launch));
  runtime::GpuGraphLaunch made{function.name(),    launch.grid,
                               launch.block,       launch.cluster,
                               launch.sharedBytes, {launch.parameters.begin(), launch.parameters.end()}};
  return submit({[this, &function, made] { return device.run(function.program, made); }, made});
}

// --- order -----------------------------------------------------------------------------

Status VirtualStream::record(runtime::GpuEvent &event) {
  auto &virtualEvent = static_cast<VirtualEvent &>(event);
  virtualEvent.at.reset();
  virtualEvent.stream = this;
  return submit({[&virtualEvent] {
                   virtualEvent.happen();
                   return Status();
                 },
                 {}});
}

Status VirtualStream::wait(runtime::GpuEvent &event) {
  return submit({[&event] { return event.synchronize(); }, {}});
}

Status VirtualStream::synchronize() {
  if (capture)
    return invalidArgument("synchronize() while the stream is captured");
  std::vector<VirtualWork> work = std::move(queue);
  queue.clear();
  for (const VirtualWork &piece : work) {
    FUSEC_RETURN_IF_ERROR(device.error());
    Status status = piece.act();
    if (!status.ok())
      return device.fail(status);
  }
  return device.error();
}

Status VirtualStream::beginCapture() {
  if (capture)
    return invalidArgument("beginCapture() while the stream is captured already");
  capture = std::make_unique<VirtualGraph>();
  return {};
}

Result<std::unique_ptr<runtime::GpuGraph>> VirtualStream::endCapture() {
  if (!capture)
    return invalidArgument("endCapture() without beginCapture()");
  return std::unique_ptr<runtime::GpuGraph>(std::move(capture));
}

Status VirtualStream::launchGraph(runtime::GpuGraph &graph) {
  if (capture)
    return unsupported("a graph inside a captured graph");
  for (const VirtualWork &piece : static_cast<VirtualGraph &>(graph).work)
    FUSEC_RETURN_IF_ERROR(submit(piece));
  return {};
}

} // namespace fusec::virtualgpu
