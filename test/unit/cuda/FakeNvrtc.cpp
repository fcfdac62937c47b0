//===- FakeNvrtc.cpp - a library with NVRTC's functions and no compiler ----===//
//
// For tests of what surrounds the compiler, on machines without one. A text's
// line "//used REGISTERS SPILL" (else 32 and 0) becomes the log of a kernel that used so much; a
// line "//used(128, 2) ..." says it for these launch bounds;
// "//fail MESSAGE" fails with that message. fakeNvrtcCompilations() counts.
//
//===----------------------------------------------------------------------===//
#include <atomic>
#include <cstring>
#include <string>

namespace {

struct FakeProgram {
  std::string text, log;
};

std::atomic<int> compilations = 0;

/// What follows "//<key> " up to the end of its line; empty when there is none.
std::string line(const std::string &text, const std::string &key) {
  const size_t at = text.find("//" + key + " ");
  if (at == std::string::npos)
    return {};
  const size_t begin = at + key.size() + 3;
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// The kernel's name: what "//entry" says, else what stands before the parameters of the first __global__ function.
std::string entryOf(const std::string &text) {
  if (std::string name = line(text, "entry"); !name.empty())
    return name;
  const size_t kernel = text.find("__global__"), bounds = text.find("__launch_bounds__(", kernel);
  const size_t begin = text.find(") ", bounds) + 2;
  return kernel == std::string::npos ? std::string() : text.substr(begin, text.find('(', begin) - begin);
}

/// "(128, 2)" of "__launch_bounds__(128, 2)"; empty when there is none.
std::string boundsOf(const std::string &text) {
  const size_t at = text.find("__launch_bounds__(");
  const size_t begin = at + std::strlen("__launch_bounds__");
  return at == std::string::npos ? std::string() : text.substr(begin, text.find(')', begin) + 1 - begin);
}

int copy(const std::string &from, char *to) {
  std::memcpy(to, from.c_str(), from.size() + 1);
  return 0;
}

FakeProgram *of(void *program) { return static_cast<FakeProgram *>(program); }

} // namespace

extern "C" {

int fakeNvrtcCompilations() { return compilations; }

const char *nvrtcGetErrorString(int) { return "fake error"; }

int nvrtcVersion(int *major, int *minor) {
  *major = FAKE_VERSION / 1000;
  *minor = FAKE_VERSION % 1000 / 10;
  return 0;
}

int nvrtcGetNumSupportedArchs(int *count) {
  *count = 2;
  return 0;
}

int nvrtcGetSupportedArchs(int *architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return 0;
}

int nvrtcCreateProgram(void **program, const char *text, const char *, int, const char *const *, const char *const *) {
  *program = new FakeProgram{text, {}};
  return 0;
}

int nvrtcDestroyProgram(void **program) {
  delete of(*program);
  return 0;
}

int nvrtcCompileProgram(void *program, int, const char *const *) {
  ++compilations;
  FakeProgram &p = *of(program);
  if (const std::string message = line(p.text, "fail"); !message.empty()) {
    p.log = "k.cu(1): error: " + message + "\n";
    return 6;
  }
  const std::string entry = entryOf(p.text);
  std::string used = line(p.text, "used" + boundsOf(p.text));
  if (used.empty())
    used = line(p.text, "used");
  if (used.empty())
    used = "32 0";
  const size_t space = used.find(' ');
  p.log = "ptxas info    : Compiling entry function '" + entry + "' for 'sm_80'\n" +
          "ptxas         .     0 bytes stack frame, " + used.substr(space + 1) +
          " bytes spill stores, 0 bytes spill loads\n" + "ptxas info    : Used " + used.substr(0, space) +
          " registers, used 1 barriers, 360 bytes cmem[0]\n";
  return 0;
}

int nvrtcGetPTXSize(void *program, size_t *size) {
  *size = of(program)->text.size() + 1;
  return 0;
}
int nvrtcGetPTX(void *program, char *to) { return copy(of(program)->text, to); }
int nvrtcGetCUBINSize(void *, size_t *size) {
  *size = 5;
  return 0;
}
int nvrtcGetCUBIN(void *, char *to) { return copy("CUBI", to); }
int nvrtcGetProgramLogSize(void *program, size_t *size) {
  *size = of(program)->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void *program, char *to) { return copy(of(program)->log, to); }

} // extern "C"
