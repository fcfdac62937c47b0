//===- KernelCompiler.h - many kernel texts to cubins ----------------------===//
//
// Each kernel comes as a ladder of texts, the preferred tile first. The first
// rung that compiles within its family's budget is taken; a rung that spills, or
// asks for more shared memory than the target has, is passed over. Before that it is
// compiled again with other launch bounds, where those can help. The last one
// must fit. Kernels are compiled by several threads, through the cache.
//
//   KernelCompilerOptions options{.cache = environment.cacheRoot};
//   FUSEC_ASSIGN_OR_RETURN(KernelCompiler compiler, KernelCompiler::create(options));
//   FUSEC_ASSIGN_OR_RETURN(std::vector<CudaKernel> kernels, compiler.compile(target, ladders));
//
// Threading: compile() may be called by several threads at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaKernelText.h"
#include "codegen/cuda/KernelBudget.h"
#include "codegen/cuda/KernelCache.h"
#include "codegen/cuda/Occupancy.h"

#include <functional>

namespace fusec::codegen {

/// The same kernel with ever smaller tiles; not empty.
using KernelLadder = std::vector<CudaKernelText>;

/// A kernel that fits its budget.
struct CudaKernel {
  CudaKernelText source; ///< The rung taken.
  size_t rung = 0;       ///< Its place in the ladder.
  NvrtcOutput code;
  KernelResources resources;
  Occupancy occupancy;
  bool cached = false; ///< Found rather than compiled.
};

struct KernelCompilerOptions {
  NvrtcSearch nvrtc = {};
  std::filesystem::path cache = {};      ///< Directory; empty = no cache.
  std::vector<std::string> options = {}; ///< Further ones of NVRTC.
  unsigned threads = 0;                  ///< 0 = one per core.
  std::span<const CudaHeader> headers = deviceLibrary();
  std::filesystem::path dumpTo = {}; ///< If set, an existing folder for <entry>.<sm>.{cu,ptx,log}, also of failures.
  /// Called on the calling thread when kernels are done; may be empty.
  std::function<void(size_t done, size_t all)> progress = {};
};

class KernelCompiler {
public:
  /// Loads NVRTC; the errors are Nvrtc::load's.
  static Result<KernelCompiler> create(KernelCompilerOptions options);

  /// Compiles every ladder; the result is in their order. The error is that of the first ladder that has one:
  /// a text that does not compile, or a last rung that does not fit (ResourceExhausted: kernel, found, allowed).
  Result<std::vector<CudaKernel>> compile(const CudaTarget &target, std::span<const KernelLadder> ladders) const;

  /// The same, with a result for each: one that does not fit (ResourceExhausted) keeps no other from being compiled.
  /// Any other error does: what was not begun is Cancelled.
  std::vector<Result<CudaKernel>> compileEach(const CudaTarget &target, std::span<const KernelLadder> ladders) const;

  /// Compiles one ladder.
  Result<CudaKernel> compileOne(const CudaTarget &target, const KernelLadder &ladder) const;

  const Nvrtc &nvrtc() const { return compiler; }

private:
  KernelCompiler(KernelCompilerOptions options, Nvrtc compiler)
      : options(std::move(options)), compiler(std::move(compiler)), library(digestHeaders(this->options.headers)) {}
  /// A compiled text, and what of it exceeds the budget.
  struct Attempt {
    CudaKernel kernel;
    std::vector<std::string> excess;
  };
  Result<Attempt> attempt(const CudaTarget &target, const CudaKernelText &source) const;
  /// ptxas decides how many blocks share a multiprocessor; a text that does not fit is compiled again for fewer
  /// (it spilled a register to have one more) or more of them.
  Result<Attempt> attemptWithBounds(const CudaTarget &target, const CudaKernelText &source) const;
  Result<NvrtcOutput> build(const CudaTarget &target, const CudaKernelText &source, bool &cached) const;
  Status dump(const CudaTarget &target, const CudaKernelText &source, const NvrtcOutput &output) const;

  KernelCompilerOptions options;
  Nvrtc compiler;
  std::string library; ///< Digest of the headers.
};

} // namespace fusec::codegen
