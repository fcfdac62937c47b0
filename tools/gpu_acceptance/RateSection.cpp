//===- RateSection.cpp - what this GPU can do at best -----------------------------===//
//
// Times by events on one stream, after warm-up. Nothing here is a check: a GPU may be shared
// or throttled. Sizes that do not fit the L2 cache are streamed, so caches are cold
// where the note says so.
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/EventTimer.h"
#include "tools/gpu_acceptance/Section.h"

#include "runtime/device/gpu/OpenGpuDevice.h"

#include <functional>

namespace fusec::acceptance {

using namespace fusec::runtime;

namespace {

class Rates {
public:
  Rates(const Settings &settings, Report &report) : settings(settings), report(report), quick(settings.quick) {}
  Status run();

private:
  /// Milliseconds of `work`, one per repeat.
  Result<std::vector<double>> time(const std::function<Status()> &work) {
    return timeByEvents(*device, *stream, quick, [&](int) { return work(); });
  }
  Result<GpuLaunch> launchOf(const char *kernel, uint32_t blocks, uint32_t threads);
  Status measureCopy();
  Status measureRead();
  Status measureMma();
  Status measureWgmma();
  Status measureLaunches();

  const Settings &settings;
  Report &report;
  bool quick;
  std::unique_ptr<GpuDevice> device;
  std::unique_ptr<GpuModule> module;
  std::unique_ptr<GpuStream> stream;
};

Result<GpuLaunch> Rates::launchOf(const char *kernel, uint32_t blocks, uint32_t threads) {
  GpuLaunch launch;
  FUSEC_ASSIGN_OR_RETURN(launch.function, module->function(kernel));
  launch.grid.x = blocks;
  launch.block.x = threads;
  return launch;
}

/// The driver's own copy: every byte is read once and written once.
Status Rates::measureCopy() {
  const int64_t bytes = quick ? 1 << 16 : int64_t(1) << 30;
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer from, device->allocate(bytes, "copy source"));
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer to, device->allocate(bytes, "copy target"));
  FUSEC_RETURN_IF_ERROR(stream->fill(from.address(), 0x5a, bytes));
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> ms,
                         time([&] { return stream->copyOnDevice(to.address(), from.address(), bytes); }));
  report.measure({"device copy", "GB/s", ratesOf(ms, 2.0 * double(bytes), 1e9),
                  std::to_string(bytes >> 10) + " KiB, read + written bytes, L2 cold"});
  return {};
}

/// What a kernel that only reads reaches: the bound of a decode step.
Status Rates::measureRead() {
  const int64_t bytes = quick ? 1 << 16 : int64_t(2) << 30;
  const uint32_t blocks = quick ? 2 : static_cast<uint32_t>(device->info().multiprocessors) * 8;
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer from, device->allocate(bytes, "read source"));
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer sums, device->allocate(int64_t(blocks) * 256 * 4, "sums"));
  FUSEC_ASSIGN_OR_RETURN(GpuLaunch fill, launchOf("random_bytes", blocks, 256));
  const uint64_t fillParameters[] = {from.address(), static_cast<uint64_t>(bytes / 4), 1};
  fill.parameters = fillParameters;
  FUSEC_RETURN_IF_ERROR(stream->launch(fill));
  FUSEC_ASSIGN_OR_RETURN(GpuLaunch read, launchOf("read_bytes", blocks, 256));
  const uint64_t parameters[] = {from.address(), sums.address(), static_cast<uint64_t>(bytes / 16)};
  read.parameters = parameters;
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> ms, time([&] { return stream->launch(read); }));
  report.measure({"device read", "GB/s", ratesOf(ms, double(bytes), 1e9),
                  std::to_string(bytes >> 10) + " KiB of random bytes, L2 cold"});
  return {};
}

Status Rates::measureMma() {
  const uint32_t blocks = quick ? 1 : static_cast<uint32_t>(device->info().multiprocessors) * 2;
  const int64_t steps = quick ? 4 : 4096;
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer out, device->allocate(int64_t(blocks) * 256 * 4, "mma sums"));
  FUSEC_ASSIGN_OR_RETURN(GpuLaunch launch, launchOf("mma_peak", blocks, 256));
  const uint64_t parameters[] = {out.address(), static_cast<uint64_t>(steps)};
  launch.parameters = parameters;
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> ms, time([&] { return stream->launch(launch); }));
  const double flops = double(blocks) * 8 * double(steps) * 8 * (2.0 * 16 * 8 * 16); // 8 warps, 8 chains
  report.measure(
      {"mma.sync bf16 peak", "TFLOP/s", ratesOf(ms, flops, 1e12), "m16n8k16 from registers, 16 warps per SM"});
  return {};
}

/// Where there is one: four products of 64 x 128 x 16 per step and warpgroup, two warpgroups per block.
Status Rates::measureWgmma() {
  if (device->info().computeCapability != 90)
    return {};
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuModule> hopper, loadCarried(*device, settings, "Rates.sm_90a.ptx"));
  const uint32_t blocks = quick ? 1 : static_cast<uint32_t>(device->info().multiprocessors) * 2;
  const int64_t steps = quick ? 2 : 2048;
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer out, device->allocate(int64_t(blocks) * 256 * 4, "wgmma sums"));
  GpuLaunch launch;
  FUSEC_ASSIGN_OR_RETURN(launch.function, hopper->function("wgmma_peak"));
  launch.grid.x = blocks;
  launch.block.x = 256;
  const uint64_t parameters[] = {out.address(), static_cast<uint64_t>(steps)};
  launch.parameters = parameters;
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> ms, time([&] { return stream->launch(launch); }));
  const double flops = double(blocks) * 2 * double(steps) * 4 * (2.0 * 64 * 128 * 16);
  report.measure(
      {"wgmma bf16 peak", "TFLOP/s", ratesOf(ms, flops, 1e12), "m64n128k16, A from registers, B from shared"});
  return {};
}

/// Empty kernels, one after the other: launched each, and replayed from one graph.
Status Rates::measureLaunches() {
  const int count = quick ? 8 : 500;
  FUSEC_ASSIGN_OR_RETURN(GpuLaunch launch, launchOf("empty", 1, 32));
  const auto launchAll = [&]() -> Status {
    for (int i = 0; i < count; ++i)
      FUSEC_RETURN_IF_ERROR(stream->launch(launch));
    return {};
  };
  const auto perLaunch = [&](std::vector<double> ms) {
    for (double &sample : ms)
      sample *= 1000.0 / count;
    return ms;
  };
  const std::string note = std::to_string(count) + " empty kernels of 1 warp in a row";
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> eager, time(launchAll));
  report.measure({"launch, kernel by kernel", "us", perLaunch(eager), note});
  FUSEC_RETURN_IF_ERROR(stream->beginCapture());
  FUSEC_RETURN_IF_ERROR(launchAll());
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuGraph> graph, stream->endCapture());
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> replayed, time([&] { return stream->launchGraph(*graph); }));
  report.measure({"launch, in a graph", "us", perLaunch(replayed), note});
  return {};
}

Status Rates::run() {
  FUSEC_ASSIGN_OR_RETURN(device, openGpuDevice(settings.device));
  FUSEC_ASSIGN_OR_RETURN(module, loadCarried(*device, settings, "Rates.sm_80.ptx"));
  FUSEC_ASSIGN_OR_RETURN(stream, device->createStream());
  struct Step {
    const char *name;
    Status (Rates::*measure)();
  };
  constexpr Step steps[] = {{"copy", &Rates::measureCopy},
                            {"read", &Rates::measureRead},
                            {"mma", &Rates::measureMma},
                            {"wgmma", &Rates::measureWgmma},
                            {"launches", &Rates::measureLaunches}};
  for (const Step &step : steps)
    if (Status status = (this->*step.measure)(); !status.ok())
      report.note(std::string(step.name) + " not measured: " + status.message());
  return {};
}

} // namespace

Status runRates(const Settings &settings, Report &report) {
  if (Status status = Rates(settings, report).run(); !status.ok())
    report.note("nothing measured: " + status.message());
  return {};
}

} // namespace fusec::acceptance
