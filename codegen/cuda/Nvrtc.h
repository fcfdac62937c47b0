//===- Nvrtc.h - CUDA C++ text to PTX and cubin ----------------------------===//
//
// NVRTC is NVIDIA's compiler as a library. It is loaded when the first kernel is
// compiled and never linked: fusec is built without it, and an artifact that has
// cubins for the GPU at hand runs without it. No driver and no GPU are needed.
//
//   FUSEC_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::load({}));
//   FUSEC_ASSIGN_OR_RETURN(NvrtcOutput out,
//                          nvrtc.compile({.name = "k0.cu", .text = text, .target = target, .headers =
//                          deviceLibrary()}));
//
// Errors: NotFound when there is no NVRTC (the message says how to get it),
// Unsupported when it is too old for a target, InvalidArgument when the text
// does not compile, with the first error of the log.
//
// Threading: compile() may be called by several threads at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/DeviceLibrary.h"

#include <filesystem>

namespace fusec::codegen {

/// Where NVRTC is. Empty: the usual places.
struct NvrtcSearch {
  std::filesystem::path library = {}; ///< libnvrtc.so itself, e.g. from pip's nvidia-cuda-nvrtc.
};

/// A program for one target.
struct NvrtcInput {
  std::string name;      ///< Of the text, in messages and line tables.
  std::string_view text; ///< CUDA C++.
  const CudaTarget *target = nullptr;
  std::span<const CudaHeader> headers = {}; ///< All that it may include; nothing of the toolkit's is there.
  std::vector<std::string> options = {};    ///< Further options, e.g. "-DSTAGES=3".
  bool ptxOnly = false;                     ///< No cubin: half the time.
};

struct NvrtcOutput {
  std::string ptx;   ///< Text.
  std::string cubin; ///< An ELF file; empty for ptxOnly.
  std::string log;   ///< Warnings, and ptxas' account of resources.
};

/// The options every kernel is compiled with, but for the target.
std::span<const std::string_view> nvrtcOptions();

struct NvrtcFunctions;

class Nvrtc {
public:
  /// Loads the library, once per path and process; it is never unloaded.
  static Result<Nvrtc> load(const NvrtcSearch &search);

  /// Compiles, or says what is wrong. `failureLog`, if given, receives the log of a failure.
  Result<NvrtcOutput> compile(const NvrtcInput &input, std::string *failureLog = nullptr) const;

  /// 1000 * major + 10 * minor, e.g. 13000.
  int version() const { return versionNumber; }
  /// "13.0".
  std::string versionText() const;
  /// The version and what tells builds of it apart; part of the key of every compiled kernel.
  std::string identity() const;
  /// The options that `input` is compiled with, in order.
  std::vector<std::string> optionsFor(const NvrtcInput &input) const;
  /// Whether it compiles for a target of the table.
  bool supports(const CudaTarget &target) const;

private:
  Nvrtc(const NvrtcFunctions &functions, int version, std::vector<int> architectures)
      : functions(&functions), versionNumber(version), architectures(std::move(architectures)) {}

  const NvrtcFunctions *functions;
  int versionNumber;
  std::vector<int> architectures; ///< Compute capabilities, as it lists them.
};

} // namespace fusec::codegen
