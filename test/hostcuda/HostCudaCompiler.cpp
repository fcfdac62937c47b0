//===- HostCudaCompiler.cpp - a kernel's CUDA text as a library of the host -------===//
#include "test/hostcuda/HostCudaCompiler.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Digest.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <unistd.h>

namespace fusec::hostcuda {

namespace fs = std::filesystem;

namespace {

/// Compiler and flags of every kernel. -O1 costs less than what it saves when running, and keeps lines meaningful.
const char *const flags = " -x c++ -std=c++20 -fPIC -shared -fuse-ld=lld -fvisibility=hidden -fno-exceptions -fno-rtti"
                          // Arithmetic as NVRTC is told to do it.
                          " -ffp-contract=off -fno-math-errno"
                          // A kernel has a parameter for every argument of its plan, read or not.
                          " -Wall -Wextra -Werror -Wno-unused-parameter"
                          " -fsanitize=undefined,local-bounds,float-cast-overflow"
                          // Every access calls the runtime; its functions stand in for ThreadSanitizer's.
                          " -fsanitize=thread -mllvm -tsan-instrument-func-entry-exit=0"
                          // What is read before it is written is NaN, or a pointer that faults.
                          " -ftrivial-auto-var-init=pattern -include cuda_environment.h";

std::string optimisation() { return std::getenv("FUSEC_HOSTCUDA_DEBUG") ? " -O0 -g" : " -O1 -gline-tables-only"; }

/// What NVRTC defines for a target.
std::string macrosOf(const std::string &target) {
  return target == "sm_90a" ? " -D__CUDA_ARCH__=900 -D__CUDA_ARCH_FEAT_SM90_ALL" : " -D__CUDA_ARCH__=800";
}

std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string quoted(const std::string &text) { return "'" + text + "'"; }

/// The device library with the host's headers in place of those of inline PTX, by name.
std::map<std::string, std::string> headersOf(std::span<const codegen::CudaHeader> library) {
  std::map<std::string, std::string> headers;
  for (const codegen::CudaHeader &header : library) {
    const std::string name(header.name);
    headers[name] =
        header.text.find("asm(") == std::string_view::npos && header.text.find("asm volatile") == std::string_view::npos
            ? std::string(header.text)
            : "#error \"" + name + " is inline PTX that has no host form (test/hostcuda/device)\"\n";
  }
  for (const fs::directory_entry &entry : fs::directory_iterator(FUSEC_HOSTCUDA_DEVICE))
    headers[entry.path().filename()] = readFile(entry.path());
  return headers;
}

/// A folder with these files, named by their content.
Result<fs::path> folderOf(const std::map<std::string, std::string> &headers) {
  std::string all;
  for (auto &[name, text] : headers)
    all += name + ":" + std::to_string(text.size()) + ":" + text;
  const fs::path folder = fs::path(FUSEC_HOSTCUDA_CACHE) / ("headers-" + digestText(all));
  if (fs::exists(folder / "complete"))
    return folder;
  fs::create_directories(folder);
  for (auto &[name, text] : headers)
    FUSEC_RETURN_IF_ERROR(writeFileAtomically(folder / name, text));
  FUSEC_RETURN_IF_ERROR(writeFileAtomically(folder / "complete", ""));
  return folder;
}

/// The text as it is compiled: the runtime has the dynamic shared memory, and launches find the kernels. No line moves.
std::string hostText(std::string text) {
  const std::string dynamic = "extern __shared__";
  for (size_t at = text.find(dynamic); at != std::string::npos; at = text.find(dynamic, at + 1))
    text.replace(at, dynamic.size(), "extern __dynamic__");
  static const std::regex kernel(R"(__global__\s+void\s+(?:__launch_bounds__\(.*\)\s+)?(\w+)\()");
  std::string result;
  std::smatch match;
  while (std::regex_search(text, match, kernel)) {
    const size_t signature = static_cast<size_t>(match.position() + match.length()), end = text.find("\n}", signature);
    if (end == std::string::npos)
      break;
    result += text.substr(0, end + 2) + " FUSEC_HOST_ENTRY(" + match[1].str() + ")";
    text.erase(0, end + 2);
  }
  return result + text;
}

/// The first lines of a compiler's log, which name files in the cache, by file names alone.
std::string firstMessages(std::string log) {
  const std::string cache = FUSEC_HOSTCUDA_CACHE;
  for (size_t at; (at = log.find(cache)) != std::string::npos;)
    log.erase(at, log.find_first_of("/", at + cache.size() + 1) + 1 - at);
  size_t end = 0;
  for (int lines = 0; lines < 12 && end < log.size(); ++lines)
    end = log.find('\n', end) == std::string::npos ? log.size() : log.find('\n', end) + 1;
  return log.substr(0, end);
}

} // namespace

std::string whyNoHostCuda() {
#ifndef __x86_64__
  return "the host front end switches stacks on x86-64 only";
#else
  return std::string(FUSEC_HOSTCUDA_CLANG).empty() ? "no clang++ 22 was found when this was configured" : "";
#endif
}

Result<fs::path> compileHostCuda(const HostCudaInput &input) {
  if (std::string why = whyNoHostCuda(); !why.empty())
    return unsupported(why);
  if (input.target != "sm_80" && input.target != "sm_90a")
    return unsupported("the host front end has sm_80 and sm_90a, not " + input.target);
  FUSEC_ASSIGN_OR_RETURN(fs::path headers, folderOf(headersOf(input.headers)));
  std::string options = flags + optimisation() + macrosOf(input.target) + " -I" + quoted(headers);
  for (const std::string &definition : input.definitions)
    options += " " + quoted(definition);
  static const std::string runtimeDigest = digestText(readFile(FUSEC_HOSTCUDA_RUNTIME));
  const std::string text = hostText(input.text);
  const fs::path folder =
      fs::path(FUSEC_HOSTCUDA_CACHE) / (input.name + "-" + digestText(options + "|" + runtimeDigest + "|" + text));
  const fs::path source = folder / (input.name + ".cu"), library = folder / "kernel.so";
  if (fs::exists(library))
    return library;
  fs::create_directories(folder);
  FUSEC_RETURN_IF_ERROR(writeFileAtomically(source, text));
  const std::string own = std::to_string(getpid()); // Two processes may compile the same.
  const fs::path unfinished = folder / ("kernel.so." + own), log = folder / ("log." + own);
  const std::string command = std::string(FUSEC_HOSTCUDA_CLANG) + options + " " + quoted(source) + " -x none " +
                              FUSEC_HOSTCUDA_RUNTIME + " -Wl,-u,fusecHostLaunch -o " + quoted(unfinished) + " > " +
                              quoted(log) + " 2>&1";
  const int code = std::system(command.c_str());
  const std::string messages = readFile(log);
  fs::remove(log);
  if (code != 0 || !messages.empty())
    return invalidArgument("kernel '" + input.name + "' as host C++: " + firstMessages(messages));
  fs::rename(unfinished, library);
  return library;
}

} // namespace fusec::hostcuda
