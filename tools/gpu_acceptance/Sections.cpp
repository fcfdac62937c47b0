//===- Sections.cpp - the table of sections -----------------------------------------===//
#include "tools/gpu_acceptance/Section.h"

#include "runtime/base/AtomicFile.h"

namespace fusec::acceptance {

namespace {

// Limits add up to less than six minutes; a section that works needs a small part of its own.
constexpr Section table[] = {
    {"device", "what GPU, driver and clocks the results are about", 20, true, runDeviceFacts},
    {"conformance", "the driver does what GpuDevice.h says", 60, true, runConformance},
    {"probes", "instructions do what the virtual device says", 40, true, runProbes},
    {"models", "whole models give the stored ids and logits", 90, true, runModels},
    {"rates", "bandwidth, matrix peak, launch cost (no checks)", 30, false, runRates},
    {"blas", "cuBLASLt's bf16 products, for comparison (no checks)", 30, false, runBlas},
    {"shapes", "our kernels at the sizes of 1B and 8B models (no checks)", 90, false, runShapes},
};

} // namespace

std::span<const Section> sections() { return table; }

Result<std::unique_ptr<runtime::GpuModule>> loadCarried(runtime::GpuDevice &device, const Settings &settings,
                                                        const std::string &name) {
  FUSEC_ASSIGN_OR_RETURN(std::string text, readWholeFile(settings.data / name));
  return device.loadModule(std::as_bytes(std::span(text.data(), text.size())), name);
}

} // namespace fusec::acceptance
