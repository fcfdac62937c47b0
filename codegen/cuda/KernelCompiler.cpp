//===- KernelCompiler.cpp - many kernel texts to cubins --------------------===//
#include "codegen/cuda/KernelCompiler.h"

#include "runtime/base/AtomicFile.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace fusec::codegen {

namespace {

/// "registers 168 (allowed 128), spill bytes 24 (allowed 0)".
std::string joined(const std::vector<std::string> &parts) {
  std::string all;
  for (const std::string &part : parts)
    all += (all.empty() ? "" : ", ") + part;
  return all;
}

/// The text with `__launch_bounds__(threads, blocks)`; empty when it has other bounds.
std::optional<CudaKernelText> withMinimumBlocks(CudaKernelText source, int blocks) {
  const std::string bounds = "__launch_bounds__(" + std::to_string(source.threads);
  const size_t at = source.text.find(bounds + ")");
  if (at == std::string::npos)
    return std::nullopt;
  source.text.replace(at, bounds.size(), bounds + ", " + std::to_string(blocks));
  return source;
}

/// Blocks per multiprocessor to ask for instead of those that ptxas chose: fewer when it spilled to have as many,
/// more when it took more registers than the budget allows.
std::vector<int> otherBlocks(const CudaKernel &kernel, const KernelBudget &budget) {
  const KernelResources &used = kernel.resources;
  const int threads = kernel.source.threads, chosen = kernel.occupancy.blocks;
  const bool spills = used.spillStores + used.spillLoads > 0;
  if (!spills && used.registers > budget.registers)
    return {CudaTarget::registersPerMultiprocessor / (budget.registers * threads)};
  // With all registers that a thread can have, fewer blocks do not help.
  constexpr int granule = CudaTarget::registerGranule / CudaTarget::warpThreads;
  const int most = std::min(CudaTarget::registersPerThread, CudaTarget::registersPerMultiprocessor / threads);
  std::vector<int> blocks;
  for (int fewer : {chosen - 1, chosen / 2, 1})
    if (spills && used.registers + granule <= most && fewer > 0 && fewer < (blocks.empty() ? chosen : blocks.back()))
      blocks.push_back(fewer);
  return blocks;
}

/// Runs `work(i)` for i below `count` on several threads, in order of i, until one returns false; `report` is called
/// on this thread as work is done.
void runOnThreads(size_t count, size_t threads, const std::function<bool(size_t)> &work,
                  const std::function<void(size_t done)> &report) {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<size_t> next = 0;
  std::atomic<bool> stop = false;
  size_t done = 0, running = std::min(threads, count);
  auto loop = [&] {
    for (size_t i; !stop && (i = next++) < count;) {
      if (!work(i))
        stop = true;
      std::lock_guard lock(mutex);
      ++done;
      changed.notify_one();
    }
    std::lock_guard lock(mutex);
    --running;
    changed.notify_one();
  };
  std::vector<std::thread> team;
  for (size_t t = running; t > 0; --t)
    team.emplace_back(loop);
  std::unique_lock lock(mutex);
  for (size_t reported = 0; running > 0 || reported < done;) {
    changed.wait(lock, [&] { return running == 0 || done > reported; });
    if (done == reported)
      continue;
    reported = done;
    lock.unlock();
    report(reported);
    lock.lock();
  }
  lock.unlock();
  for (std::thread &thread : team)
    thread.join();
}

} // namespace

Result<KernelCompiler> KernelCompiler::create(KernelCompilerOptions options) {
  FUSEC_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::load(options.nvrtc));
  return KernelCompiler(std::move(options), std::move(nvrtc));
}

Status KernelCompiler::dump(const CudaTarget &target, const CudaKernelText &source, const NvrtcOutput &output) const {
  if (options.dumpTo.empty())
    return {};
  const std::string stem = source.entry + "." + std::string(target.name);
  FUSEC_RETURN_IF_ERROR(writeFileAtomically(options.dumpTo / (stem + ".cu"), source.text));
  FUSEC_RETURN_IF_ERROR(writeFileAtomically(options.dumpTo / (stem + ".ptx"), output.ptx));
  return writeFileAtomically(options.dumpTo / (stem + ".log"), output.log);
}

Result<NvrtcOutput> KernelCompiler::build(const CudaTarget &target, const CudaKernelText &source, bool &cached) const {
  const NvrtcInput input{.name = source.entry + ".cu",
                         .text = source.text,
                         .target = &target,
                         .headers = options.headers,
                         .options = options.options};
  const KernelKey key{source.text, library, compiler.optionsFor(input), std::string(target.name), compiler.identity()};
  const KernelCache cache(options.cache);
  cached = false;
  if (!options.cache.empty())
    if (std::optional<NvrtcOutput> found = cache.find(key)) {
      cached = true;
      return std::move(*found);
    }
  std::string failureLog;
  Result<NvrtcOutput> output = compiler.compile(input, &failureLog);
  if (!output) {
    FUSEC_RETURN_IF_ERROR(dump(target, source, {.ptx = {}, .cubin = {}, .log = failureLog}));
    return output.status();
  }
  // A cache that cannot be written costs time, not the compilation.
  if (!options.cache.empty())
    (void)cache.store(key, *output).ok();
  return output;
}

Result<KernelCompiler::Attempt> KernelCompiler::attempt(const CudaTarget &target, const CudaKernelText &source) const {
  FUSEC_ASSIGN_OR_RETURN(const KernelBudget *budget, kernelBudgetOf(source.family));
  Attempt tried;
  CudaKernel &kernel = tried.kernel;
  kernel.source = source;
  FUSEC_ASSIGN_OR_RETURN(kernel.code, build(target, source, kernel.cached));
  FUSEC_ASSIGN_OR_RETURN(kernel.resources, parseCompileLog(kernel.code.log, source.entry));
  FUSEC_RETURN_IF_ERROR(dump(target, source, kernel.code));
  tried.excess = excessOf(kernel.resources, *budget, {source.threads, source.sharedBytes}, target);
  kernel.occupancy =
      occupancyOf(target, {source.threads, kernel.resources.registers,
                           kernel.resources.sharedBytes + source.sharedBytes, kernel.resources.barriers});
  return tried;
}

Result<KernelCompiler::Attempt> KernelCompiler::attemptWithBounds(const CudaTarget &target,
                                                                  const CudaKernelText &source) const {
  FUSEC_ASSIGN_OR_RETURN(const KernelBudget *budget, kernelBudgetOf(source.family));
  FUSEC_ASSIGN_OR_RETURN(Attempt tried, attempt(target, source));
  if (tried.excess.empty())
    return tried;
  for (int blocks : otherBlocks(tried.kernel, *budget)) {
    const std::optional<CudaKernelText> bounded = withMinimumBlocks(source, blocks);
    if (!bounded)
      break;
    FUSEC_ASSIGN_OR_RETURN(Attempt next, attempt(target, *bounded));
    if (next.excess.empty())
      return next;
  }
  return tried;
}

Result<CudaKernel> KernelCompiler::compileOne(const CudaTarget &target, const KernelLadder &ladder) const {
  std::vector<std::string> excess;
  for (size_t rung = 0; rung < ladder.size(); ++rung) {
    FUSEC_ASSIGN_OR_RETURN(Attempt tried, attemptWithBounds(target, ladder[rung]));
    tried.kernel.rung = rung;
    if (tried.excess.empty())
      return std::move(tried.kernel);
    excess = std::move(tried.excess);
  }
  if (ladder.empty())
    return internalError("a kernel without any text");
  const CudaKernelText &last = ladder.back();
  return resourceExhausted(
      "kernel '" + last.entry + "' (" + last.family + ") for " + std::string(target.name) + " exceeds its budget: " +
      joined(excess) + (ladder.size() > 1 ? "; it is the last of " + std::to_string(ladder.size()) + " tiles" : ""));
}

std::vector<Result<CudaKernel>> KernelCompiler::compileEach(const CudaTarget &target,
                                                            std::span<const KernelLadder> ladders) const {
  std::vector<Result<CudaKernel>> results(ladders.size(), Result<CudaKernel>(cancelled("not compiled")));
  const size_t threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  // Ladders start in order, so the first one with an error is the same in every run.
  runOnThreads(
      ladders.size(), threads,
      [&](size_t i) {
        results[i] = compileOne(target, ladders[i]);
        return results[i].ok() || results[i].status().code() == ErrorCode::ResourceExhausted;
      },
      [&](size_t done) {
        if (options.progress)
          options.progress(done, ladders.size());
      });
  return results;
}

Result<std::vector<CudaKernel>> KernelCompiler::compile(const CudaTarget &target,
                                                        std::span<const KernelLadder> ladders) const {
  std::vector<CudaKernel> kernels;
  for (Result<CudaKernel> &result : compileEach(target, ladders)) {
    if (!result)
      return result.status();
    kernels.push_back(std::move(*result));
  }
  return kernels;
}

} // namespace fusec::codegen
