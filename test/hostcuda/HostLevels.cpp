//===- HostLevels.cpp - targets whose texts a test program runs ---------------------===//
#include "test/hostcuda/HostCudaCompiler.h"
#include "test/unit/codegen/KernelHarness.h"

#include <cstdlib>
#include <sstream>

/// The program's FUSEC_LEVELS, as CudaKernelsMain.cpp reads them.
std::vector<std::string> fusec::codegen::runnableLevels() {
  std::vector<std::string> levels;
  if (!hostcuda::whyNoHostCuda().empty())
    return levels;
  const char *given = std::getenv("FUSEC_LEVELS");
  std::stringstream list(given ? given : std::getenv("FUSEC_FULL") ? FUSEC_FULL_LEVELS : FUSEC_LEVELS);
  for (std::string level; std::getline(list, level, ',');)
    levels.push_back(level);
  return levels;
}
