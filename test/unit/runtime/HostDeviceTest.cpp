//===- HostDeviceTest.cpp - threads, modules, levels, memory -------------------===//

#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/CpuLevel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

using namespace fusec;
using namespace fusec::runtime;

namespace {

KernelEntry toyKernel(const char *name) {
  static Result<HostModule> module = HostModule::load(FUSEC_TOY_KERNELS);
  EXPECT_TRUE(module);
  return *module->entry(name);
}

} // namespace

// Every program of every launch runs exactly once, for any number of threads and programs.
TEST(ThreadTeam, RunsEachProgramOnce) {
  KernelEntry count = toyKernel("toy_count");
  for (int threads : {1, 2, 3, 8}) {
    HostDevice device = *HostDevice::create(threads);
    const int64_t sizes[] = {1, 0, 2, 7, 64, 1000, 0};
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<std::vector<int64_t>> hits;
      std::vector<void *> args;
      for (int64_t size : sizes)
        hits.emplace_back(size + 1, 0);
      for (auto &line : hits)
        args.push_back(line.data());
      std::vector<Launch> launches;
      for (size_t i = 0; i < std::size(sizes); ++i)
        launches.push_back({count, &args[i], sizes[i]});
      device.run(launches, {}, {});
      for (size_t i = 0; i < std::size(sizes); ++i) {
        EXPECT_EQ(std::accumulate(hits[i].begin(), hits[i].end(), int64_t{0}), sizes[i]);
        EXPECT_EQ(hits[i].back(), 0) << "beyond the last program";
      }
    }
  }
}

// Programs of a launch see all writes of the launch before: counters of one array grow in step.
TEST(ThreadTeam, LaunchesAreOrdered) {
  static std::atomic<bool> disorder;
  disorder = false;
  KernelEntry follow = [](void *const *args, const int64_t *, int64_t begin, int64_t end, void *) {
    auto *mine = static_cast<int64_t *>(args[0]), *all = static_cast<int64_t *>(args[1]);
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t other = 0; other < 16; ++other)
        if (all[other] != mine[p])
          disorder = true;
      mine[p] += 1;
    }
  };
  std::vector<int64_t> a(16, 1), b(16, 1);
  // Launches alternate: each reads one array in full and adds to the other.
  void *forward[] = {a.data(), b.data()}, *backward[] = {b.data(), a.data()};
  KernelEntry catchUp = [](void *const *args, const int64_t *, int64_t begin, int64_t end, void *) {
    auto *mine = static_cast<int64_t *>(args[0]), *all = static_cast<int64_t *>(args[1]);
    for (int64_t p = begin; p < end; ++p)
      mine[p] = *std::max_element(all, all + 16);
  };
  std::vector<Launch> launches;
  for (int i = 0; i < 200; ++i) {
    launches.push_back({follow, forward, 16});
    launches.push_back({catchUp, backward, 16});
  }
  HostDevice device = *HostDevice::create(3);
  device.run(launches, {}, {});
  EXPECT_FALSE(disorder);
  EXPECT_EQ(a[0], 201);
}

TEST(ThreadTeam, SleepsAndWakes) {
  KernelEntry count = toyKernel("toy_count");
  HostDevice device = *HostDevice::create(2);
  std::vector<int64_t> hits(4, 0);
  void *args[] = {hits.data()};
  Launch launch{count, args, 4};
  for (int i = 0; i < 5; ++i) {
    device.run({&launch, 1}, {}, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(5)); // Longer than workers spin and yield.
  }
  EXPECT_EQ(hits, std::vector<int64_t>(4, 5));
}

TEST(ThreadTeam, ScratchIsPerThreadAndTimesAreAdded) {
  HostDevice device = *HostDevice::create(2);
  ASSERT_TRUE(device.reserveScratch(1000).ok());
  EXPECT_GE(device.scratchBytes(), 2000);
  KernelEntry useScratch = [](void *const *, const int64_t *symbols, int64_t begin, int64_t end, void *scratch) {
    auto *bytes = static_cast<volatile unsigned char *>(scratch);
    for (int64_t i = 0; i < 1000; ++i)
      bytes[i] = static_cast<unsigned char>(begin);
    for (int64_t i = 0; i < 1000; ++i)
      if (bytes[i] != static_cast<unsigned char>(begin))
        ++*reinterpret_cast<int64_t *>(symbols[0]);
  };
  int64_t mixed = 0;
  std::vector<int64_t> symbols = {reinterpret_cast<int64_t>(&mixed)};
  Launch launches[] = {{useScratch, nullptr, 64}, {useScratch, nullptr, 0}};
  std::vector<double> seconds(2, 0);
  device.run(launches, symbols, seconds);
  EXPECT_EQ(mixed, 0);
  EXPECT_GT(seconds[0], 0);
  EXPECT_EQ(seconds[1], 0);
}

TEST(PhysicalCores, IsBetweenOneAndTheCpus) {
  EXPECT_GE(physicalCores(), 1);
  EXPECT_LE(physicalCores(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(HostModule, NamesFileAndSymbol) {
  Result<HostModule> missing = HostModule::load("/nonexistent/toy.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().message(), "/nonexistent/toy.so: kernel library not found");
  std::string path = testing::TempDir() + "fusec-not-a-library.so";
  std::ofstream(path) << "text";
  Result<HostModule> broken = HostModule::load(path);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.status().code(), ErrorCode::CorruptData);
  EXPECT_THAT(broken.status().message(), testing::HasSubstr("cannot load the kernel library"));
  Result<HostModule> module = HostModule::load(FUSEC_TOY_KERNELS);
  ASSERT_TRUE(module);
  Result<KernelEntry> entry = module->entry("toy_nothing");
  ASSERT_FALSE(entry);
  EXPECT_THAT(entry.status().message(), testing::HasSubstr("no kernel named 'toy_nothing'"));
}

TEST(CpuLevel, ChoosesTheBestAndExplainsARefusal) {
  std::vector<std::string> both = {"avx2", "avx512"}, other = {"amx9"};
  EXPECT_EQ(cpuLevels().front(), "avx512");
  EXPECT_FALSE(cpuSupports("amx9"));
  if (cpuSupports("avx2")) {
    EXPECT_EQ(*chooseCpuLevel(both, ""), cpuSupports("avx512") ? "avx512" : "avx2");
    EXPECT_EQ(*chooseCpuLevel(both, "avx2"), "avx2");
  }
  Result<std::string> none = chooseCpuLevel(other, "");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.status().message(), testing::HasSubstr("the artifact has: amx9; this CPU runs: "));
  EXPECT_EQ(chooseCpuLevel(both, "sse").status().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(chooseCpuLevel(other, "avx2").status().code(), ErrorCode::NotFound);
}

TEST(CpuLevel, AgreesWithTheCompilersBuiltin) {
  __builtin_cpu_init();
  EXPECT_EQ(cpuSupports("avx2"), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(cpuSupports("avx512"), __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"));
}

TEST(Buffer, IsZeroedMovableAndRefusesNonsense) {
  Result<Buffer> buffer = Buffer::allocate(100000, "test");
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->data()[99999], std::byte{0});
  Buffer moved = std::move(*buffer);
  EXPECT_EQ(moved.bytes(), 100000);
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_FALSE(Buffer::allocate(0, "test"));
  Result<Buffer> huge = Buffer::allocate(int64_t{1} << 60, "test");
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.status().code(), ErrorCode::ResourceExhausted);
}
