//===- CudaStream.cpp - streams and events --------------------------------------===//

#include "runtime/device/cuda/CudaStream.h"

#include "runtime/device/cuda/CudaModule.h"

namespace fusec::runtime::cuda {

//===----------------------------------------------------------------------===//
// CudaEvent
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<CudaEvent>> CudaEvent::create(std::shared_ptr<CudaContext> context) {
  Event event = nullptr;
  ContextScope scope(*context);
  FUSEC_RETURN_IF_ERROR(context->api->check(context->api->cuEventCreate(&event, 0), "creating an event"));
  return std::unique_ptr<CudaEvent>(new CudaEvent(std::move(context), event));
}

CudaEvent::~CudaEvent() {
  ContextScope scope(*context);
  (void)context->api->cuEventDestroy(event);
}

Status CudaEvent::synchronize() {
  ContextScope scope(*context);
  return context->api->check(context->api->cuEventSynchronize(event), "waiting for an event");
}

Result<double> CudaEvent::millisecondsSince(const GpuEvent &start) const {
  float milliseconds = 0;
  ContextScope scope(*context);
  FUSEC_RETURN_IF_ERROR(context->api->check(
      context->api->cuEventElapsedTime(&milliseconds, static_cast<const CudaEvent &>(start).event, event),
      "measuring the time between two events"));
  return static_cast<double>(milliseconds);
}

//===----------------------------------------------------------------------===//
// CudaStream
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<CudaStream>> CudaStream::create(std::shared_ptr<CudaContext> context) {
  Stream stream = nullptr;
  ContextScope scope(*context);
  // Not ordered with the legacy default stream, which other libraries of the process may use.
  FUSEC_RETURN_IF_ERROR(
      context->api->check(context->api->cuStreamCreate(&stream, streamNonBlocking), "creating a stream"));
  return std::unique_ptr<CudaStream>(new CudaStream(std::move(context), stream));
}

CudaStream::~CudaStream() {
  ContextScope scope(*context);
  (void)context->api->cuStreamDestroy(stream);
}

static std::string sized(const char *doing, int64_t bytes) {
  return std::string(doing) + " (" + std::to_string(bytes) + " bytes)";
}

Status CudaStream::copyToDevice(GpuAddress to, const void *from, int64_t bytes) {
  if (bytes == 0)
    return {};
  ContextScope scope(*context);
  return context->api->check(context->api->cuMemcpyHtoDAsync(to, from, static_cast<size_t>(bytes), stream),
                             sized("copying to the GPU", bytes));
}

Status CudaStream::copyToHost(void *to, GpuAddress from, int64_t bytes) {
  if (bytes == 0)
    return {};
  ContextScope scope(*context);
  return context->api->check(context->api->cuMemcpyDtoHAsync(to, from, static_cast<size_t>(bytes), stream),
                             sized("copying from the GPU", bytes));
}

Status CudaStream::copyOnDevice(GpuAddress to, GpuAddress from, int64_t bytes) {
  if (bytes == 0)
    return {};
  ContextScope scope(*context);
  return context->api->check(context->api->cuMemcpyDtoDAsync(to, from, static_cast<size_t>(bytes), stream),
                             sized("copying on the GPU", bytes));
}

Status CudaStream::fill(GpuAddress to, uint8_t value, int64_t bytes) {
  if (bytes == 0)
    return {};
  ContextScope scope(*context);
  return context->api->check(context->api->cuMemsetD8Async(to, value, static_cast<size_t>(bytes), stream),
                             sized("filling memory of the GPU", bytes));
}

Status CudaStream::launch(const GpuLaunch &launch) {
  auto &function = static_cast<CudaFunction &>(*launch.function);
  ContextScope scope(*context);
  FUSEC_RETURN_IF_ERROR(function.prepare(launch.parameters.size(), launch.sharedBytes));
  std::vector<void *> parameters;
  for (const uint64_t &parameter : launch.parameters)
    parameters.push_back(const_cast<uint64_t *>(&parameter));
  LaunchAttribute cluster{ClusterDimension, {}, {}};
  cluster.value.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  const bool isClustered = launch.cluster != GpuDim3();
  const LaunchConfig config{launch.grid.x,  launch.grid.y,      launch.grid.z, launch.block.x, launch.block.y,
                            launch.block.z, launch.sharedBytes, stream,        &cluster,       isClustered ? 1u : 0u};
  return context->api->check(context->api->cuLaunchKernelEx(&config, function.handle(), parameters.data(), nullptr),
                             "launching kernel '" + function.name() + "' with a grid of " +
                                 std::to_string(launch.grid.x) + " and blocks of " + std::to_string(launch.block.x));
}

Status CudaStream::record(GpuEvent &event) {
  ContextScope scope(*context);
  return context->api->check(context->api->cuEventRecord(static_cast<CudaEvent &>(event).handle(), stream),
                             "recording an event");
}

Status CudaStream::wait(GpuEvent &event) {
  ContextScope scope(*context);
  return context->api->check(context->api->cuStreamWaitEvent(stream, static_cast<CudaEvent &>(event).handle(), 0),
                             "making a stream wait for an event");
}

Status CudaStream::synchronize() {
  ContextScope scope(*context);
  return context->api->check(context->api->cuStreamSynchronize(stream), "running on the GPU");
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

Status CudaStream::beginCapture() {
  ContextScope scope(*context);
  // Thread-local: what other threads of the process do with the driver does not spoil the capture.
  return context->api->check(context->api->cuStreamBeginCapture(stream, CaptureThreadLocal),
                             "starting to capture a graph");
}

Result<std::unique_ptr<GpuGraph>> CudaStream::endCapture() {
  Graph graph = nullptr;
  ContextScope scope(*context);
  FUSEC_RETURN_IF_ERROR(context->api->check(context->api->cuStreamEndCapture(stream, &graph), "capturing a graph"));
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<CudaGraph> captured, CudaGraph::instantiate(context, graph));
  return std::unique_ptr<GpuGraph>(std::move(captured));
}

Status CudaStream::launchGraph(GpuGraph &graph) {
  ContextScope scope(*context);
  return context->api->check(context->api->cuGraphLaunch(static_cast<CudaGraph &>(graph).handle(), stream),
                             "launching a graph");
}

} // namespace fusec::runtime::cuda
