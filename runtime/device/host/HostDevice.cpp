//===- HostDevice.cpp --------------------------------------------------------===//

#include "runtime/device/host/HostDevice.h"

#include <cassert>

namespace fusec::runtime {

namespace {
/// Threads' scratch starts on pages of its own; the rest of the page is slack for vector over-reads.
constexpr int64_t scratchAlignment = 4096;
constexpr int64_t slackBytes = 64;
} // namespace

Result<HostDevice> HostDevice::create(int threads) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<ThreadTeam> team, ThreadTeam::create(threads > 0 ? threads : physicalCores()));
  return HostDevice(std::move(team));
}

Status HostDevice::reserveScratch(int64_t bytesPerThread) {
  if (bytesPerThread == 0)
    return {};
  int64_t stride = (bytesPerThread + slackBytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
  FUSEC_ASSIGN_OR_RETURN(scratch, allocate(stride * threads(), "scratch"));
  for (int thread = 0; thread < threads(); ++thread)
    threadScratch[thread] = scratch.data() + thread * stride;
  return {};
}

void HostDevice::run(std::span<const Launch> launches, std::span<const int64_t> symbols, std::span<double> seconds) {
  assert((seconds.empty() || seconds.size() == launches.size()) && "one slot per launch");
  team->run(launches, symbols.data(), threadScratch, seconds.empty() ? nullptr : seconds.data());
}

} // namespace fusec::runtime
