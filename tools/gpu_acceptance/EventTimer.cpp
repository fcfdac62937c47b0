//===- EventTimer.cpp -------------------------------------------------------------===//
#include "tools/gpu_acceptance/EventTimer.h"

#include <algorithm>

namespace fusec::acceptance {

using namespace fusec::runtime;

Result<std::vector<double>> timeByEvents(GpuDevice &device, GpuStream &stream, bool quick, const TimedWork &work) {
  const int repeats = quick ? 2 : 25, warmups = quick ? 1 : 5;
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuEvent> start, device.createEvent());
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuEvent> end, device.createEvent());
  std::vector<double> samples;
  for (int i = 0; i < warmups + repeats; ++i) {
    FUSEC_RETURN_IF_ERROR(stream.record(*start));
    FUSEC_RETURN_IF_ERROR(work(i));
    FUSEC_RETURN_IF_ERROR(stream.record(*end));
    FUSEC_RETURN_IF_ERROR(stream.synchronize());
    FUSEC_ASSIGN_OR_RETURN(double milliseconds, end->millisecondsSince(*start));
    if (i >= warmups)
      samples.push_back(milliseconds);
  }
  return samples;
}

std::vector<double> ratesOf(const std::vector<double> &milliseconds, double amount, double unit) {
  std::vector<double> rates;
  for (double ms : milliseconds)
    rates.push_back(amount / (std::max(ms, 1e-6) * 1e-3) / unit);
  return rates;
}

} // namespace fusec::acceptance
