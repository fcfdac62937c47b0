//===- FaultyDevice.cpp ------------------------------------------------------------===//

#include "test/unit/gpu/FaultyDevice.h"

#include "runtime/device/gpu/GpuProducts.h"

namespace fusec::runtime::test {

namespace {

class FaultyGraph final : public GpuGraph {
public:
  FaultyGraph(std::unique_ptr<GpuGraph> graph, const Faults &faults) : graph(std::move(graph)), faults(faults) {}
  Result<std::vector<GpuGraphLaunch>> launches() const override {
    FUSEC_ASSIGN_OR_RETURN(std::vector<GpuGraphLaunch> list, graph->launches());
    if (faults.changeCapture)
      faults.changeCapture(list);
    return list;
  }
  std::unique_ptr<GpuGraph> graph;
  const Faults &faults;
};

class FaultyStream final : public GpuStream {
public:
  FaultyStream(std::unique_ptr<GpuStream> stream, const Faults &faults) : stream(std::move(stream)), faults(faults) {}
  Status copyToDevice(GpuAddress to, const void *from, int64_t bytes) override {
    return stream->copyToDevice(to, from, bytes);
  }
  Status copyToHost(void *to, GpuAddress from, int64_t bytes) override { return stream->copyToHost(to, from, bytes); }
  Status copyOnDevice(GpuAddress to, GpuAddress from, int64_t bytes) override {
    return stream->copyOnDevice(to, from, bytes);
  }
  Status fill(GpuAddress to, uint8_t value, int64_t bytes) override { return stream->fill(to, value, bytes); }
  Status launch(const GpuLaunch &launch) override {
    if (isCapturing && ++launchesOfCapture == 2 && faults.failsWhileCapturing)
      return internalError("no such launch today");
    return stream->launch(launch);
  }
  Status record(GpuEvent &event) override { return stream->record(event); }
  Status wait(GpuEvent &event) override { return stream->wait(event); }
  Status synchronize() override { return stream->synchronize(); }
  Status beginCapture() override {
    if (faults.refusesCapture)
      return unsupported("no captures today");
    isCapturing = true;
    launchesOfCapture = 0;
    return stream->beginCapture();
  }
  Result<std::unique_ptr<GpuGraph>> endCapture() override {
    isCapturing = false;
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuGraph> graph, stream->endCapture());
    return std::unique_ptr<GpuGraph>(std::make_unique<FaultyGraph>(std::move(graph), faults));
  }
  Status launchGraph(GpuGraph &graph) override { return stream->launchGraph(*static_cast<FaultyGraph &>(graph).graph); }
  void *nativeHandle() const override { return stream->nativeHandle(); }

private:
  std::unique_ptr<GpuStream> stream;
  const Faults &faults;
  bool isCapturing = false;
  int launchesOfCapture = 0;
};

class FaultyDevice final : public GpuDevice {
public:
  FaultyDevice(std::unique_ptr<GpuDevice> inner, const Faults &faults)
      : device(std::move(inner)), faults(faults), facts(device->info()) {
    facts.computeCapability = faults.computeCapability.value_or(facts.computeCapability);
  }
  const GpuInfo &info() const override { return facts; }
  Result<GpuBuffer> allocate(int64_t bytes, std::string_view owner) override { return device->allocate(bytes, owner); }
  Result<std::unique_ptr<GpuProducts>> openProducts() override { return device->openProducts(); }
  Result<int64_t> freeBytes() const override {
    return faults.freeBytes ? Result<int64_t>(*faults.freeBytes) : device->freeBytes();
  }
  Result<std::unique_ptr<GpuMappedPages>> reserveMapped(const GpuMappedPagesShape &shape,
                                                        std::string_view owner) override {
    return device->reserveMapped(shape, owner);
  }
  Result<std::unique_ptr<GpuModule>> loadModule(std::span<const std::byte> image, const std::string &name) override {
    return device->loadModule(image, name);
  }
  Result<std::unique_ptr<GpuStream>> createStream() override {
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuStream> stream, device->createStream());
    return std::unique_ptr<GpuStream>(std::make_unique<FaultyStream>(std::move(stream), faults));
  }
  Result<std::unique_ptr<GpuEvent>> createEvent() override { return device->createEvent(); }
  Result<std::span<std::byte>> allocatePinned(int64_t bytes, std::string_view owner) override {
    return device->allocatePinned(bytes, owner);
  }
  void pushRange(const char *name) override { device->pushRange(name); }
  void popRange() override { device->popRange(); }

private:
  void release(GpuAddress) override {} // Buffers belong to the inner device.

  std::unique_ptr<GpuDevice> device;
  const Faults &faults;
  GpuInfo facts;
};

} // namespace

std::unique_ptr<GpuDevice> makeFaulty(std::unique_ptr<GpuDevice> device, const Faults &faults) {
  return std::make_unique<FaultyDevice>(std::move(device), faults);
}

} // namespace fusec::runtime::test
