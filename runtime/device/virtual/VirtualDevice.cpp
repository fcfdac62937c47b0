//===- VirtualDevice.cpp - a GPU in software ---------------------------------===//

#include "runtime/device/virtual/VirtualDevice.h"
#include "runtime/device/virtual/VirtualMappedPages.h"
#include "runtime/device/virtual/VirtualModule.h"
#include "runtime/device/virtual/VirtualStream.h"

#include <cstring>

namespace fusec::virtualgpu {
namespace {

struct Target {
  std::string_view name;
  int computeCapability;
  int64_t sharedBytes; ///< The opt-in limit of a block.
  int multiprocessors; ///< Of the usual card: A100, RTX 3090, L4, H100, RTX 5090.
};
constexpr Target targets[] = {
    {"sm_80", 80, 163 * 1024, 108}, {"sm_86", 86, 99 * 1024, 82},    {"sm_89", 89, 99 * 1024, 58},
    {"sm_90", 90, 227 * 1024, 132}, {"sm_90a", 90, 227 * 1024, 132},
};

const Target *findTarget(std::string_view name) {
  for (const Target &target : targets)
    if (target.name == name)
      return &target;
  return nullptr;
}

Status checkProcessor() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c") ||
      !__builtin_cpu_supports("bmi2"))
    return unsupported("the virtual device needs a processor with AVX2, FMA, F16C and BMI2");
#endif
  return {};
}

} // namespace

Result<std::unique_ptr<VirtualDevice>> VirtualDevice::create(const VirtualOptions &options) {
  if (!findTarget(options.target)) {
    std::string known;
    for (const Target &target : targets)
      known += (known.empty() ? "" : ", ") + std::string(target.name);
    return invalidArgument("the virtual device does not know the target '" + options.target + "' (it knows " + known +
                           ")");
  }
  FUSEC_RETURN_IF_ERROR(checkProcessor());
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, DeviceMemory::create(options.memoryBytes));
  return std::unique_ptr<VirtualDevice>(new VirtualDevice(options, std::move(memory)));
}

VirtualDevice::VirtualDevice(const VirtualOptions &options, std::unique_ptr<DeviceMemory> memory)
    : options(options), memory(std::move(memory)) {
  const Target &target = *findTarget(options.target);
  deviceInfo.name = "virtual " + options.target;
  deviceInfo.computeCapability = target.computeCapability;
  deviceInfo.multiprocessors = target.multiprocessors;
  deviceInfo.memoryBytes = this->memory->bytes();
  deviceInfo.sharedBytesPerBlock = target.sharedBytes;
  deviceInfo.isVirtual = true;
}

VirtualDevice::~VirtualDevice() = default;

Result<runtime::GpuBuffer> VirtualDevice::allocate(int64_t bytes, std::string_view owner) {
  FUSEC_ASSIGN_OR_RETURN(uint64_t at, memory->allocate(bytes, owner));
  return runtime::GpuBuffer(*this, at, bytes);
}

Result<std::unique_ptr<runtime::GpuMappedPages>> VirtualDevice::reserveMapped(const runtime::GpuMappedPagesShape &shape,
                                                                              std::string_view owner) {
  return VirtualMappedPages::create(*memory, shape, owner);
}

Result<std::unique_ptr<runtime::GpuModule>> VirtualDevice::loadModule(std::span<const std::byte> image,
                                                                      const std::string &name) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<VirtualModule> module, VirtualModule::load(*this, image, name));
  return std::unique_ptr<runtime::GpuModule>(std::move(module));
}

Result<std::unique_ptr<runtime::GpuStream>> VirtualDevice::createStream() {
  return std::unique_ptr<runtime::GpuStream>(std::make_unique<VirtualStream>(*this));
}

Result<std::unique_ptr<runtime::GpuEvent>> VirtualDevice::createEvent() {
  return std::unique_ptr<runtime::GpuEvent>(std::make_unique<VirtualEvent>());
}

Result<std::span<std::byte>> VirtualDevice::allocatePinned(int64_t bytes, std::string_view owner) {
  if (bytes < 0)
    return invalidArgument("cannot pin " + std::to_string(bytes) + " bytes for '" + std::string(owner) + "'");
  std::lock_guard lock(mutex);
  pinned.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(bytes)));
  return std::span<std::byte>(pinned.back().get(), static_cast<size_t>(bytes));
}

// --- launches --------------------------------------------------------------------------

Status VirtualDevice::run(const Program &program, const runtime::GpuGraphLaunch &launch) {
  Grid grid(*memory, program,
            {.checked = options.checked,
             .allowUninitialised = options.allowUninitialised,
             .seed = options.seed,
             .asyncPolicy = options.asyncPolicy,
             .threads = options.threads,
             .instructionBudget = options.instructionBudget});
  const runtime::GpuDim3 *sizes[] = {&launch.grid, &launch.block};
  uint32_t *into[] = {grid.gridSize, grid.blockSize};
  for (int i = 0; i < 2; ++i) {
    into[i][0] = sizes[i]->x;
    into[i][1] = sizes[i]->y;
    into[i][2] = sizes[i]->z;
  }
  grid.dynamicSharedBytes = launch.sharedBytes;
  grid.parameters.resize(static_cast<size_t>(program.parameterBytes));
  for (size_t i = 0; i < program.parameters.size(); ++i)
    std::memcpy(grid.parameters.data() + program.parameters[i].offset, &launch.parameters[i],
                static_cast<size_t>(program.parameters[i].bytes));
  std::optional<Fault> found = grid.run();
  count(program, grid.counts);
  if (!found)
    return {};
  Status status(ErrorCode::Internal, found->message());
  std::lock_guard lock(mutex);
  fault = std::move(found);
  return status;
}

void VirtualDevice::count(const Program &program, const std::vector<InstrCounters> &counts) {
  std::lock_guard lock(mutex);
  VirtualCounters &sum = counted[program.name];
  ++sum.launches;
  if (sum.lines.size() != counts.size()) {
    sum.lines.assign(counts.size(), {});
    for (size_t i = 0; i < counts.size(); ++i) {
      const InstrOrigin &origin = program.origins[i];
      sum.lines[i].ptxLine = origin.line;
      sum.lines[i].opcode = origin.opcode;
      sum.lines[i].source = program.sourceText(i);
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    sum.lines[i].counters += counts[i];
    sum.total += counts[i];
  }
}

VirtualCounters VirtualDevice::counters(const std::string &kernel) const {
  std::lock_guard lock(mutex);
  auto found = counted.find(kernel);
  return found == counted.end() ? VirtualCounters() : found->second;
}

void VirtualDevice::resetCounters() {
  std::lock_guard lock(mutex);
  counted.clear();
}

std::optional<Fault> VirtualDevice::lastFault() const {
  std::lock_guard lock(mutex);
  return fault;
}

void VirtualDevice::clearError() {
  std::lock_guard lock(mutex);
  fault.reset();
  firstError = {};
}

Status VirtualDevice::error() const {
  std::lock_guard lock(mutex);
  return firstError;
}

Status VirtualDevice::fail(Status status) {
  std::lock_guard lock(mutex);
  if (firstError.ok())
    firstError = status;
  return status;
}

} // namespace fusec::virtualgpu

namespace fusec::runtime {

Result<std::unique_ptr<GpuDevice>> openVirtualDevice(const std::string &target) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<virtualgpu::VirtualDevice> device,
                         virtualgpu::VirtualDevice::create({.target = target}));
  return std::unique_ptr<GpuDevice>(std::move(device));
}

} // namespace fusec::runtime
