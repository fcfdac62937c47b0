//===- HostDevice.h - the CPU as a device ------------------------------------===//
//
// What the Executor asks of a device: memory, modules, and to run a list of
// launches in order. Owns the thread team and each thread's scratch memory. A
// GPU device comes beside it with the same verbs.
//
// Threading: one owner, one call at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Buffer.h"
#include "runtime/device/Launch.h"
#include "runtime/device/host/HostModule.h"
#include "runtime/device/host/ThreadTeam.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace fusec::runtime {

class HostDevice {
public:
  /// `threads` >= 1; 0 = one per physical core. ResourceExhausted when the system
  /// refuses them.
  static Result<HostDevice> create(int threads);

  int threads() const { return team->size(); }

  Result<Buffer> allocate(int64_t bytes, std::string_view owner) const { return Buffer::allocate(bytes, owner); }
  Result<HostModule> loadModule(const std::filesystem::path &library) const { return HostModule::load(library); }

  /// Gives every thread at least `bytesPerThread` (0 = none) of scratch memory.
  Status reserveScratch(int64_t bytesPerThread);
  int64_t scratchBytes() const { return scratch.bytes(); }

  /// Runs the launches in order and waits for the last. `seconds`: empty, or one
  /// slot per launch to which its wall time is added.
  void run(std::span<const Launch> launches, std::span<const int64_t> symbols, std::span<double> seconds);

private:
  explicit HostDevice(std::unique_ptr<ThreadTeam> team) : team(std::move(team)), threadScratch(this->team->size()) {}

  std::unique_ptr<ThreadTeam> team;
  Buffer scratch;
  std::vector<void *> threadScratch; ///< One per thread; null without scratch.
};

} // namespace fusec::runtime
