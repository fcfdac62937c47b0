//===- ProbeSection.cpp - instructions against the virtual device -----------------===//
//
// Every probe runs on the device under test and, in this process, on a virtual
// device of the architecture of its PTX; the words must agree as its row says.
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/ProbeTable.h"
#include "tools/gpu_acceptance/Section.h"

#include "runtime/device/gpu/OpenGpuDevice.h"
#include "runtime/device/virtual/VirtualDevice.h"

namespace fusec::acceptance {

using namespace fusec::runtime;

namespace {

using Words = std::vector<uint32_t>;

Result<Words> runProbe(GpuDevice &device, const Settings &settings, const Probe &probe) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuModule> module,
                         loadCarried(device, settings, "Probes." + std::string(probe.target) + ".ptx"));
  FUSEC_ASSIGN_OR_RETURN(GpuFunction * function, module->function(probe.kernel));
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuStream> stream, device.createStream());
  const Words input = probeInput(probe);
  Words output(probe.outWords);
  const auto inBytes = static_cast<int64_t>(input.size() * 4), outBytes = static_cast<int64_t>(output.size() * 4);
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer in, device.allocate(inBytes, "probe input"));
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer out, device.allocate(outBytes, "probe output"));
  FUSEC_RETURN_IF_ERROR(stream->copyToDevice(in.address(), input.data(), inBytes));
  FUSEC_RETURN_IF_ERROR(stream->fill(out.address(), 0, outBytes));
  const uint64_t parameters[] = {in.address(), out.address()};
  GpuLaunch launch;
  launch.function = function;
  launch.block.x = probe.threads;
  launch.parameters = parameters;
  FUSEC_RETURN_IF_ERROR(stream->launch(launch));
  FUSEC_RETURN_IF_ERROR(stream->copyToHost(output.data(), out.address(), outBytes));
  FUSEC_RETURN_IF_ERROR(stream->synchronize());
  return output;
}

Result<Words> expectedOf(const Settings &settings, const Probe &probe) {
  // Another schedule than the one `--device virtual` uses, so that CI compares two runs.
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<virtualgpu::VirtualDevice> device,
                         virtualgpu::VirtualDevice::create({.target = probe.target, .seed = 5}));
  return runProbe(*device, settings, probe);
}

Status checkProbe(GpuDevice &device, const Settings &settings, const Probe &probe, const std::string &name,
                  Report &report) {
  FUSEC_ASSIGN_OR_RETURN(Words expected, expectedOf(settings, probe));
  FUSEC_ASSIGN_OR_RETURN(Words found, runProbe(device, settings, probe));
  std::string summary;
  const std::string failure = compareProbe(probe, found, expected, summary);
  report.check(name, failure.empty(), failure.empty() ? summary : failure + " " + summary);
  return {};
}

} // namespace

Status runProbes(const Settings &settings, Report &report) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> device, openGpuDevice(settings.device));
  for (const Probe &probe : probes()) {
    const std::string name = std::string(probe.kernel) + " (" + probe.inputs + ")";
    const int cc = device->info().computeCapability;
    if (cc < probe.from || cc >= probe.below) {
      report.skip(name, "for " + std::string(probe.target) + ", this is " + std::to_string(cc));
      continue;
    }
    if (Status status = checkProbe(*device, settings, probe, name, report); !status.ok()) {
      report.check(name, status);
      device.reset(); // A fault made it unusable; the next probe gets a new one.
      FUSEC_ASSIGN_OR_RETURN(device, openGpuDevice(settings.device));
    }
  }
  return {};
}

} // namespace fusec::acceptance
