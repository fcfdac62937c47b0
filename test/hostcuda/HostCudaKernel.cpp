//===- HostCudaKernel.cpp - a compiled text whose kernels run on the host ---------===//
#include "test/hostcuda/HostCudaKernel.h"

#include <cstdio>
#include <dlfcn.h>
#include <set>

namespace fusec::hostcuda {

Result<std::unique_ptr<HostCudaKernels>> HostCudaKernels::create(const HostCudaInput &input) {
  FUSEC_ASSIGN_OR_RETURN(std::filesystem::path path, compileHostCuda(input));
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return internalError(std::string("cannot load a kernel's library: ") + dlerror());
  return std::unique_ptr<HostCudaKernels>(new HostCudaKernels(std::move(path), library));
}

HostCudaKernels::~HostCudaKernels() { dlclose(library); }

/// Runs a command and gives its output's lines.
static std::vector<std::string> linesOf(const std::string &command) {
  std::vector<std::string> lines;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return lines;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe))
    lines.emplace_back(line).pop_back();
  pclose(pipe);
  return lines;
}

/// "reduce.cuh:113, in norm_kernel.cu:41": the line that did it and the kernel's that called it.
std::string HostCudaKernels::placeOf(uint64_t codeOffset) const {
  std::vector<std::string> files;
  if (*FUSEC_HOSTCUDA_SYMBOLIZER)
    for (const std::string &line : linesOf(std::string(FUSEC_HOSTCUDA_SYMBOLIZER) + " --obj='" + path.string() +
                                           "' --functions=none " + std::to_string(codeOffset)))
      if (std::string file = line.substr(line.find_last_of('/') + 1); !file.empty())
        files.push_back(file.substr(0, file.find_last_of(':')));
  if (files.empty())
    return "byte " + std::to_string(codeOffset) + " of " + path.string();
  return files.front() + (files.back() == files.front() ? "" : ", in " + files.back());
}

Status HostCudaKernels::launch(const std::string &entry, const HostCudaLaunch &launch) {
  ::hostcuda::HostLaunch host{};
  const auto run = reinterpret_cast<int (*)(::hostcuda::HostLaunch *)>(dlsym(library, "fusecHostLaunch"));
  host.call = reinterpret_cast<decltype(host.call)>(dlsym(library, ("fusecCall_" + entry).c_str()));
  if (!run || !host.call)
    return notFound("no kernel '" + entry + "' in " + path.string());
  std::vector<unsigned long long> parameters(launch.parameters.begin(), launch.parameters.end());
  host.parameters = parameters.data();
  host.grid = launch.grid;
  host.threads = launch.threads;
  host.sharedBytes = launch.sharedBytes;
  host.memory = launch.memory.data();
  host.memoryCount = launch.memory.size();
  host.seed = launch.seed;
  if (run(&host) == 0)
    return {};
  return internalError(std::string(host.message) + (host.codeOffset ? ", " + placeOf(host.codeOffset) : "") +
                       ", kernel '" + entry + "', block " + std::to_string(host.failedBlock) + ", thread " +
                       std::to_string(host.failedThread));
}

} // namespace fusec::hostcuda
