//===- Nvrtc.cpp - CUDA C++ text to PTX and cubin --------------------------===//
#include "codegen/cuda/Nvrtc.h"

#include "codegen/cuda/CompileLog.h"

#include <algorithm>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

namespace fusec::codegen {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {

/// nvrtcProgram and nvrtcResult as the library's ABI has them.
using Program = void *;
constexpr int success = 0, compilationError = 6;
/// The first version that compiles C++20.
constexpr int oldestVersion = 12000;
/// The first that keeps a cache of its own in the home directory, and can be told not to.
constexpr int firstWithCache = 12090;

constexpr const char *usualPlaces[] = {
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so",
    "/usr/local/cuda/lib64/libnvrtc.so",
    "/usr/local/cuda/lib64/libnvrtc.so.13",
    "/usr/local/cuda/lib64/libnvrtc.so.12",
};

constexpr const char *howToGet =
    "compiling for CUDA needs NVRTC 12.0 or newer (libnvrtc.so): install the CUDA toolkit, or "
    "`pip install nvidia-cuda-nvrtc` and set FUSEC_NVRTC to its libnvrtc.so file";

} // namespace

struct NvrtcFunctions {
  const char *(*errorString)(int);
  int (*version)(int *major, int *minor);
  int (*numSupportedArchs)(int *count);
  int (*supportedArchs)(int *architectures);
  int (*create)(Program *program, const char *text, const char *name, int headers, const char *const *headerTexts,
                const char *const *headerNames);
  int (*destroy)(Program *program);
  int (*compile)(Program program, int options, const char *const *optionTexts);
  int (*ptxSize)(Program, size_t *), (*ptx)(Program, char *);
  int (*cubinSize)(Program, size_t *), (*cubin)(Program, char *);
  int (*logSize)(Program, size_t *), (*log)(Program, char *);
  fs::path path; ///< Of the library, as the loader found it.

  /// Empty when all are there, else the name of the first missing.
  std::string bind(void *library) {
    auto find = [library](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
#define FUSEC_BIND(member, name)                                                                                       \
  if (!find(member, name))                                                                                             \
    return name;
    FUSEC_BIND(errorString, "nvrtcGetErrorString")
    FUSEC_BIND(version, "nvrtcVersion")
    FUSEC_BIND(numSupportedArchs, "nvrtcGetNumSupportedArchs")
    FUSEC_BIND(supportedArchs, "nvrtcGetSupportedArchs")
    FUSEC_BIND(create, "nvrtcCreateProgram")
    FUSEC_BIND(destroy, "nvrtcDestroyProgram")
    FUSEC_BIND(compile, "nvrtcCompileProgram")
    FUSEC_BIND(ptxSize, "nvrtcGetPTXSize")
    FUSEC_BIND(ptx, "nvrtcGetPTX")
    FUSEC_BIND(cubinSize, "nvrtcGetCUBINSize")
    FUSEC_BIND(cubin, "nvrtcGetCUBIN")
    FUSEC_BIND(logSize, "nvrtcGetProgramLogSize")
    FUSEC_BIND(log, "nvrtcGetProgramLog")
#undef FUSEC_BIND
    return {};
  }
};

namespace {

std::string textOfVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<void *> openLibrary(const fs::path &asked) {
  if (!asked.empty()) {
    if (void *library = dlopen(asked.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    return notFound("FUSEC_NVRTC: '" + asked.string() + "' cannot be loaded: " + std::string(dlerror()));
  }
  for (const char *place : usualPlaces)
    if (void *library = dlopen(place, RTLD_NOW | RTLD_LOCAL))
      return library;
  return notFound(std::string("no NVRTC found; ") + howToGet);
}

} // namespace

Result<Nvrtc> Nvrtc::load(const NvrtcSearch &search) {
  static std::mutex mutex;
  static std::map<fs::path, std::unique_ptr<NvrtcFunctions>> loaded; // Never unloaded, like the libraries.
  std::lock_guard lock(mutex);
  std::unique_ptr<NvrtcFunctions> &functions = loaded[search.library];
  if (!functions) {
    FUSEC_ASSIGN_OR_RETURN(void *library, openLibrary(search.library));
    auto bound = std::make_unique<NvrtcFunctions>();
    if (std::string missing = bound->bind(library); !missing.empty())
      return notFound("the NVRTC found lacks " + missing + "; " + howToGet);
    Dl_info info{};
    if (dladdr(reinterpret_cast<void *>(bound->version), &info) && info.dli_fname)
      bound->path = info.dli_fname;
    functions = std::move(bound);
  }
  int major = 0, minor = 0, count = 0;
  functions->version(&major, &minor);
  const int version = 1000 * major + 10 * minor;
  if (version < oldestVersion)
    return unsupported("'" + functions->path.string() + "' is NVRTC " + textOfVersion(version) + "; " + howToGet);
  functions->numSupportedArchs(&count);
  std::vector<int> architectures(std::max(count, 0));
  functions->supportedArchs(architectures.data());
  return Nvrtc(*functions, version, std::move(architectures));
}

std::string Nvrtc::versionText() const { return textOfVersion(versionNumber); }

std::string Nvrtc::identity() const {
  // nvrtcVersion() hides the build number; builds of one version differ in size.
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(functions->path, error);
  return versionText() + "/" + std::to_string(error ? 0 : bytes);
}

bool Nvrtc::supports(const CudaTarget &target) const {
  return versionNumber >= target.minimumNvrtc &&
         std::find(architectures.begin(), architectures.end(), target.computeCapability) != architectures.end();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

std::span<const std::string_view> nvrtcOptions() {
  static constexpr std::string_view options[] = {
      "-std=c++20",
      "-lineinfo",          // PTX, and so profilers and the virtual device, knows the lines of the text.
      "--fmad=false",       // a * b + c rounds twice where the text does not say fma: as on the host.
      "--ptxas-options=-v", // Registers and spills go into the log.
  };
  return options;
}

namespace {

std::vector<const char *> pointersTo(const std::vector<std::string> &strings) {
  std::vector<const char *> pointers;
  for (const std::string &string : strings)
    pointers.push_back(string.c_str());
  return pointers;
}

/// Where texts and headers seem to lie. A relative name would put the working directory into line tables, and so into
/// PTX and cubin.
const std::string textFolder = "/fusec/", libraryFolder = "/fusec/device/";

/// A log as people want it: file names alone.
std::string withoutFolders(std::string log) {
  for (const std::string &folder : {libraryFolder, textFolder})
    for (size_t at; (at = log.find(folder)) != std::string::npos;)
      log.erase(at, folder.size());
  return log;
}

/// One nvrtcProgram.
class ProgramHandle {
public:
  explicit ProgramHandle(const NvrtcFunctions &functions) : functions(functions) {}
  ProgramHandle(const ProgramHandle &) = delete;
  ProgramHandle &operator=(const ProgramHandle &) = delete;
  ~ProgramHandle() {
    if (program)
      functions.destroy(&program);
  }

  Status create(const NvrtcInput &input) {
    const std::string text(input.text), name = textFolder + input.name;
    std::vector<std::string> names, texts;
    for (const CudaHeader &header : input.headers) {
      names.emplace_back(header.name);
      texts.push_back("#line 1 \"" + (libraryFolder + std::string(header.name)) + "\"\n" + std::string(header.text));
    }
    return check(functions.create(&program, text.c_str(), name.c_str(), static_cast<int>(names.size()),
                                  pointersTo(texts).data(), pointersTo(names).data()),
                 "nvrtcCreateProgram");
  }

  /// NVRTC's code.
  int compile(const std::vector<std::string> &options) {
    return functions.compile(program, static_cast<int>(options.size()), pointersTo(options).data());
  }

  Result<std::string> log() const {
    Result<std::string> text = read(functions.logSize, functions.log, "nvrtcGetProgramLog", true);
    return text ? Result<std::string>(withoutFolders(*text)) : text;
  }
  Result<std::string> ptx() const { return read(functions.ptxSize, functions.ptx, "nvrtcGetPTX", true); }
  Result<std::string> cubin() const { return read(functions.cubinSize, functions.cubin, "nvrtcGetCUBIN", false); }

private:
  Status check(int code, const char *call) const {
    return code == success ? Status() : internalError(std::string(call) + ": " + functions.errorString(code));
  }

  /// Text comes with its terminating zero; ptxas adds another.
  Result<std::string> read(int (*size)(Program, size_t *), int (*get)(Program, char *), const char *call,
                           bool isText) const {
    size_t bytes = 0;
    FUSEC_RETURN_IF_ERROR(check(size(program, &bytes), call));
    std::string content(bytes, '\0');
    FUSEC_RETURN_IF_ERROR(check(get(program, content.data()), call));
    while (isText && content.ends_with('\0'))
      content.pop_back();
    return content;
  }

  const NvrtcFunctions &functions;
  Program program = nullptr;
};

} // namespace

std::vector<std::string> Nvrtc::optionsFor(const NvrtcInput &input) const {
  std::vector<std::string> options(nvrtcOptions().begin(), nvrtcOptions().end());
  options.push_back("-arch=" + std::string(input.ptxOnly ? input.target->ptxName : input.target->name));
  if (versionNumber >= firstWithCache)
    options.push_back("--no-cache"); // Ours is keyed, and lies where the user expects it.
  options.insert(options.end(), input.options.begin(), input.options.end());
  return options;
}

Result<NvrtcOutput> Nvrtc::compile(const NvrtcInput &input, std::string *failureLog) const {
  if (!supports(*input.target))
    return unsupported("NVRTC " + versionText() + " cannot compile for " + std::string(input.target->name) +
                       "; expected NVRTC " + textOfVersion(input.target->minimumNvrtc) +
                       " or a later one that still has it");
  ProgramHandle program(*functions);
  FUSEC_RETURN_IF_ERROR(program.create(input));
  const int code = program.compile(optionsFor(input));
  NvrtcOutput output;
  FUSEC_ASSIGN_OR_RETURN(output.log, program.log());
  if (code != success) {
    if (failureLog)
      *failureLog = output.log;
    const std::string message = input.name + " for " + std::string(input.target->name) + ": " + firstError(output.log);
    return code == compilationError ? invalidArgument(message)
                                    : internalError(message + " (" + functions->errorString(code) + ")");
  }
  FUSEC_ASSIGN_OR_RETURN(output.ptx, program.ptx());
  if (!input.ptxOnly) {
    FUSEC_ASSIGN_OR_RETURN(output.cubin, program.cubin());
  }
  return output;
}

} // namespace fusec::codegen
