//===- FakeStreams.cpp - streams, events, launches and graphs ---------------------===//

#include "test/fakes/libcuda/FakeDriver.h"

#include <algorithm>

namespace fake {

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

CallResult cuStreamCreate(Stream *stream, unsigned) {
  return withContext(
      [&](ContextHandle &context) { return give(context.device->createStream(), &StreamHandle::stream, stream); });
}

CallResult cuStreamDestroy(Stream stream) { return destroy(stream); }

CallResult cuStreamSynchronize(Stream stream) {
  if (stream->isCapturing)
    return StreamCaptureUnsupported;
  return onStream(stream, [&](GpuStream &s) { return s.synchronize(); });
}

CallResult cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  return onStream(stream, [&](GpuStream &s) { return s.wait(*event->event); });
}

CallResult cuEventCreate(Event *event, unsigned) {
  return withContext(
      [&](ContextHandle &context) { return give(context.device->createEvent(), &EventHandle::event, event); });
}

CallResult cuEventDestroy(Event event) { return destroy(event); }

CallResult cuEventRecord(Event event, Stream stream) {
  return onStream(stream, [&](GpuStream &s) { return s.record(*event->event); });
}

CallResult cuEventSynchronize(Event event) {
  return withContext([&](ContextHandle &) { return codeOf(event->event->synchronize()); });
}

CallResult cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  return withContext([&](ContextHandle &) {
    Result<double> elapsed = end->event->millisecondsSince(*start->event);
    if (!elapsed)
      return codeOf(elapsed.status());
    *milliseconds = static_cast<float>(*elapsed);
    return Success;
  });
}

static std::unique_ptr<GraphNodeHandle> nodeOf(const LaunchConfig &config, Function function, const GpuLaunch &launch) {
  auto node = std::make_unique<GraphNodeHandle>();
  node->values.assign(launch.parameters.begin(), launch.parameters.end());
  for (uint64_t &value : node->values)
    node->pointers.push_back(&value);
  node->cluster = launch.cluster;
  node->params = {function,      config.gridX,       config.gridY,          config.gridZ, config.blockX, config.blockY,
                  config.blockZ, config.sharedBytes, node->pointers.data(), nullptr,      nullptr,       nullptr};
  return node;
}

CallResult cuLaunchKernelEx(const LaunchConfig *config, Function function, void **parameters, void **) {
  if (static_cast<int>(config->sharedBytes) > function->allowedSharedBytes)
    return InvalidValue;
  std::vector<uint64_t> values;
  for (size_t i = 0; i < function->parameters; ++i)
    values.push_back(*static_cast<const uint64_t *>(parameters[i]));
  GpuLaunch launch;
  launch.function = function->function;
  launch.grid = {config->gridX, config->gridY, config->gridZ};
  launch.block = {config->blockX, config->blockY, config->blockZ};
  for (unsigned i = 0; i < config->numAttributes; ++i)
    if (const LaunchAttribute &attribute = config->attributes[i]; attribute.id == ClusterDimension)
      launch.cluster = {attribute.value.cluster.x, attribute.value.cluster.y, attribute.value.cluster.z};
  launch.sharedBytes = config->sharedBytes;
  launch.parameters = values;
  const CallResult result = onStream(config->stream, [&](GpuStream &s) { return s.launch(launch); });
  if (result == Success && config->stream->isCapturing)
    config->stream->captured.push_back(nodeOf(*config, function, launch));
  return result;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

CallResult cuStreamBeginCapture(Stream stream, CaptureMode) {
  const CallResult result = onStream(stream, [&](GpuStream &s) { return s.beginCapture(); });
  stream->isCapturing |= result == Success;
  return result;
}

CallResult cuStreamEndCapture(Stream stream, Graph *out) {
  return withContext([&](ContextHandle &) {
    if (!stream->isCapturing)
      return StreamCaptureUnmatched;
    stream->isCapturing = false;
    auto nodes = std::move(stream->captured);
    stream->captured.clear();
    Result<std::unique_ptr<GpuGraph>> graph = stream->stream->endCapture();
    if (!graph)
      return codeOf(graph.status());
    auto handle = std::make_unique<GraphHandle>();
    handle->graph = std::move(*graph);
    handle->nodes = std::move(nodes);
    *out = handle.release();
    return Success;
  });
}

CallResult cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long) {
  return withContext([&](ContextHandle &) {
    auto handle = std::make_unique<GraphExecHandle>();
    handle->graph = graph->graph;
    *exec = handle.release();
    return Success;
  });
}

CallResult cuGraphLaunch(GraphExec exec, Stream stream) {
  return onStream(stream, [&](GpuStream &s) { return s.launchGraph(*exec->graph); });
}

CallResult cuGraphExecDestroy(GraphExec exec) { return destroy(exec); }
CallResult cuGraphDestroy(Graph graph) { return destroy(graph); }

CallResult cuGraphGetNodes(Graph graph, GraphNode *nodes, size_t *count) {
  const size_t all = graph->nodes.size();
  for (size_t i = 0; nodes && i < std::min(*count, all); ++i)
    nodes[i] = graph->nodes[all - 1 - i].get();
  *count = all;
  return Success;
}

CallResult cuGraphGetEdges(Graph graph, GraphNode *from, GraphNode *to, size_t *count) {
  const size_t all = graph->nodes.empty() ? 0 : graph->nodes.size() - 1;
  for (size_t i = 0; from && to && i < std::min(*count, all); ++i) {
    from[i] = graph->nodes[i].get();
    to[i] = graph->nodes[i + 1].get();
  }
  *count = all;
  return Success;
}

CallResult cuGraphNodeGetType(GraphNode, NodeType *type) {
  *type = KernelNode;
  return Success;
}

CallResult cuGraphKernelNodeGetParams(GraphNode node, KernelNodeParams *params) {
  *params = node->params;
  return Success;
}

CallResult cuGraphKernelNodeGetAttribute(GraphNode node, LaunchAttributeId, LaunchAttributeValue *value) {
  value->cluster = {node->cluster.x, node->cluster.y, node->cluster.z};
  return Success;
}

} // namespace fake
