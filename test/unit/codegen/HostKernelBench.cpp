//===- HostKernelBench.cpp - rates of product kernels on this CPU -----------===//
//
// Prints GB/s of the streaming kernels beside a plain read of as many bytes,
// and GFLOP/s of the register-tiled ones beside the multiply-add peak, one
// thread, best of several runs. The machine may be shared: compare within one
// run only.
//
//   HostKernelBench [level]
//
//===----------------------------------------------------------------------===//
#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/KernelTexts.h"
#include "test/unit/codegen/MachineLimits.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <sys/mman.h>

using namespace fusec;
using namespace fusec::codegen;

/// CPU time of this thread: other processes on the machine do not count.
static double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

static double bestSeconds(int runs, const std::function<void()> &work) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    double start = threadSeconds();
    work();
    best = std::min(best, threadSeconds() - start);
  }
  return best;
}

/// Enough copies of a packed matrix to leave every cache.
struct Copies {
  Copies(const GuardedBuffer &one, int64_t atLeast) : bytes((one.size() + 127) / 64 * 64), count(atLeast / bytes + 1) {
    size = count * bytes + 4096;
    data = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(data, size, MADV_HUGEPAGE);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(data + i * bytes, one.as(), one.size());
  }
  ~Copies() { munmap(data, size); }
  char *data;
  int64_t bytes, count, size;
};

struct Shape {
  StorageType type;
  int64_t n, k;
};

static void benchGemv(const std::string &level, Shape s, int64_t lanes, int64_t step, int64_t spread) {
  auto start = std::chrono::steady_clock::now();
  LoadedKernels kernels(gemvText(s.type, s.n, s.k, lanes, step), level);
  double compile = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!kernels.error().empty()) {
    std::printf("%s\n", kernels.error().c_str());
    return;
  }
  TestWeights w(s.type, s.n, s.k, 1);
  Copies copies(w.packed, spread);
  GuardedBuffer x(s.k * 4), y(s.n * 4);
  for (int64_t i = 0; i < s.k; ++i)
    x.as<float>()[i] = noise(i);
  int64_t symbols[] = {1, 1, 1, 1, 64};
  auto entry = kernels.entry("gemv");
  double seconds = bestSeconds(15, [&] {
    for (int64_t c = 0; c < copies.count; ++c) {
      void *args[] = {x.as(), copies.data + c * copies.bytes, y.as(), y.as()};
      entry(args, symbols, 0, (s.n + lanes - 1) / lanes, nullptr);
    }
  });
  double read = 1e9;
  for (int streams : {1, 4, 8})
    read = std::min(read, bestSeconds(7, [&] {
                      volatile float sink =
                          readAll(copies.data, copies.count * copies.bytes, streams, level == "avx512");
                      (void)sink;
                    }));
  double bytes = static_cast<double>(copies.count) * static_cast<double>(w.packed.size());
  std::printf("gemv %-5s %5ld x %4ld tile %3ld step %3ld, %6.1f MB: %6.1f GB/s, read %6.1f GB/s (%3.0f %%), %5.1f "
              "GFLOP/s, compile %3.0f ms\n",
              std::string(info(s.type).name).c_str(), s.n, s.k, lanes, step, bytes / 1e6, bytes / seconds / 1e9,
              bytes / read / 1e9, 100 * read / seconds,
              2.0 * static_cast<double>(s.n * s.k * copies.count) / seconds / 1e9, compile * 1e3);
}

static void benchGemm(const std::string &level, Shape s, int64_t rows, int64_t lanes, int64_t step, int64_t t) {
  auto start = std::chrono::steady_clock::now();
  LoadedKernels kernels(gemmText(s.type, s.n, s.k, rows, lanes, step), level);
  double compile = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!kernels.error().empty()) {
    std::printf("%s\n", kernels.error().c_str());
    return;
  }
  TestWeights w(s.type, s.n, s.k, 1);
  GuardedBuffer x(t * s.k * 4), y(t * s.n * 4), scratch(kernels.scratchBytes("gemm") + 64);
  for (int64_t i = 0; i < t * s.k; ++i)
    x.as<float>()[i] = noise(i);
  int64_t symbols[] = {t, 1, 1, 1, 64};
  auto entry = kernels.entry("gemm");
  void *args[] = {x.as(), w.packed.as(), y.as(), y.as()};
  void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(scratch.as()) + 63) / 64 * 64);
  double seconds = bestSeconds(9, [&] { entry(args, symbols, 0, (s.n + lanes - 1) / lanes, aligned); });
  double flops = 0;
  double peakSeconds = bestSeconds(9, [&] { flops = multiplyAdd(1 << 20, level == "avx512"); });
  double rate = 2.0 * static_cast<double>(s.n * s.k * t) / seconds / 1e9, peak = flops / peakSeconds / 1e9;
  std::printf("gemm %-5s %5ld x %4ld, T %3ld, tile %2ldx%2ld step %2ld: %6.1f GFLOP/s, peak %6.1f (%3.0f %%), compile "
              "%3.0f ms\n",
              std::string(info(s.type).name).c_str(), s.n, s.k, t, rows, lanes, step, rate, peak, 100 * rate / peak,
              compile * 1e3);
}

int main(int argc, char **argv) {
  constexpr int64_t cached = 1 << 18, streamed = 1 << 27;
  for (const std::string &level : runnableLevels()) {
    if (argc > 1 && level != argv[1])
      continue;
    std::printf("%s\n", level.c_str());
    for (int64_t spread : {cached, streamed}) {
      benchGemv(level, {StorageType::Q4_1, 576, 1536}, 64, 16, spread);
      benchGemv(level, {StorageType::Q4_1, 1536, 576}, 64, 16, spread);
      benchGemv(level, {StorageType::Q4_1, 1536, 576}, 64, 32, spread);
      benchGemv(level, {StorageType::Q8_0, 49152, 576}, 64, 16, spread);
    }
    for (const StorageTypeInfo &type : weightTypes)
      benchGemv(level, {type.type, 1536, 768}, 64, 16, streamed);
    for (auto [rows, lanes] : {std::pair{12, 32}, {6, 64}, {6, 16}, {4, 16}})
      for (auto [n, k] : {std::pair{1536, 576}, {576, 1536}})
        benchGemm(level, {StorageType::Q4_1, n, k}, rows, lanes, 8, 256);
  }
  return 0;
}
