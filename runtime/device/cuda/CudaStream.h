//===- CudaStream.h - queues of work, events, captured graphs -------------------===//
//
// Each object owns one handle of the driver and keeps the context alive.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/gpu/GpuDevice.h"

#include <memory>
#include <string>
#include <vector>

namespace fusec::runtime::cuda {

class CudaEvent final : public GpuEvent {
public:
  static Result<std::unique_ptr<CudaEvent>> create(std::shared_ptr<CudaContext> context);
  ~CudaEvent() override;

  Status synchronize() override;
  Result<double> millisecondsSince(const GpuEvent &start) const override;
  Event handle() const { return event; }

private:
  CudaEvent(std::shared_ptr<CudaContext> context, Event event) : context(std::move(context)), event(event) {}

  std::shared_ptr<CudaContext> context;
  Event event;
};

class CudaGraph final : public GpuGraph {
public:
  /// Takes over `graph`, also on error.
  static Result<std::unique_ptr<CudaGraph>> instantiate(std::shared_ptr<CudaContext> context, Graph graph);
  ~CudaGraph() override;

  Result<std::vector<GpuGraphLaunch>> launches() const override;
  GraphExec handle() const { return exec; }

private:
  CudaGraph(std::shared_ptr<CudaContext> context, Graph graph) : context(std::move(context)), graph(graph) {}
  Result<std::vector<GraphNode>> nodesInOrder() const;
  Result<GpuGraphLaunch> launchOf(GraphNode node) const;

  std::shared_ptr<CudaContext> context;
  Graph graph;
  GraphExec exec = nullptr;
};

class CudaStream final : public GpuStream {
public:
  static Result<std::unique_ptr<CudaStream>> create(std::shared_ptr<CudaContext> context);
  ~CudaStream() override;

  Status copyToDevice(GpuAddress to, const void *from, int64_t bytes) override;
  Status copyToHost(void *to, GpuAddress from, int64_t bytes) override;
  Status copyOnDevice(GpuAddress to, GpuAddress from, int64_t bytes) override;
  Status fill(GpuAddress to, uint8_t value, int64_t bytes) override;
  Status launch(const GpuLaunch &launch) override;
  Status record(GpuEvent &event) override;
  Status wait(GpuEvent &event) override;
  Status synchronize() override;
  Status beginCapture() override;
  Result<std::unique_ptr<GpuGraph>> endCapture() override;
  Status launchGraph(GpuGraph &graph) override;
  void *nativeHandle() const override { return stream; }

private:
  CudaStream(std::shared_ptr<CudaContext> context, Stream stream) : context(std::move(context)), stream(stream) {}

  std::shared_ptr<CudaContext> context;
  Stream stream;
};

} // namespace fusec::runtime::cuda
