//===- GpuConformanceTest.cpp - what every GPU device does alike --------------------===//
//
// The contract of runtime/device/gpu/GpuDevice.h, once for all devices. The
// kernels are those of fixtures/Conformance.ptx.
//
//===----------------------------------------------------------------------===//

#include "test/unit/gpu/GpuTestDevices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <thread>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

using Words = std::vector<uint32_t>;

template <typename T> T require(Result<T> result) {
  if (!result)
    ADD_FAILURE() << result.status().message();
  return result ? std::move(result).value() : T();
}

class GpuConformance : public testing::TestWithParam<TestDevice> {
protected:
  void SetUp() override {
    device = require(GetParam().open());
    ASSERT_TRUE(device);
    stream = require(device->createStream());
    const std::string ptx = readFixture("Conformance.ptx");
    module = require(device->loadModule(std::as_bytes(std::span(ptx.data(), ptx.size())), "Conformance.ptx"));
    ASSERT_TRUE(stream && module);
  }

  GpuBuffer allocate(int64_t bytes) { return require(device->allocate(bytes, "test")); }

  GpuBuffer upload(const Words &words) {
    GpuBuffer buffer = allocate(static_cast<int64_t>(words.size() * 4));
    EXPECT_TRUE(stream->copyToDevice(buffer.address(), words.data(), buffer.bytes()).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    return buffer;
  }

  Words download(const GpuBuffer &buffer) {
    Words words(static_cast<size_t>(buffer.bytes() / 4));
    EXPECT_TRUE(stream->copyToHost(words.data(), buffer.address(), buffer.bytes()).ok());
    Status status = stream->synchronize();
    EXPECT_TRUE(status.ok()) << status.message();
    return words;
  }

  /// One thread per element in blocks of 32.
  GpuLaunch launchOf(const std::string &kernel, uint32_t blocks, std::span<const uint64_t> parameters) {
    GpuLaunch launch;
    launch.function = require(module->function(kernel));
    launch.grid.x = blocks;
    launch.block.x = 32;
    launch.parameters = parameters;
    return launch;
  }

  void run(const GpuLaunch &launch) {
    Status status = stream->launch(launch);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  std::unique_ptr<GpuDevice> device;
  std::unique_ptr<GpuStream> stream;
  std::unique_ptr<GpuModule> module;
};

Words indices(size_t count, uint32_t factor = 1) {
  Words words(count);
  for (size_t i = 0; i < count; ++i)
    words[i] = static_cast<uint32_t>(i) * factor;
  return words;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Devices, GpuConformance, testing::ValuesIn(testDevices()),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_P(GpuConformance, SaysWhatItIs) {
  const GpuInfo &info = device->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.computeCapability, 80);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memoryBytes, 0);
  EXPECT_GE(info.sharedBytesPerBlock, 96 << 10);
}

// Two places show one page, a third another; what kernels and copies do through one address shows at the others.
TEST_P(GpuConformance, PagesShowWhereTheyAreMapped) {
  constexpr int64_t pageBytes = int64_t{2} << 20;
  auto pages = require(device->reserveMapped({pageBytes, 2, 4}, "test"));
  ASSERT_TRUE(pages);
  const std::pair<int64_t, int64_t> places[] = {{0, 1}, {1, 0}, {3, 1}};
  for (auto [at, page] : places)
    ASSERT_TRUE(pages->map(at, page).ok());
  auto put = [&](int64_t at, uint32_t value) {
    EXPECT_TRUE(stream->copyToDevice(pages->address() + at * pageBytes + 512, &value, 4).ok());
    EXPECT_TRUE(stream->synchronize().ok());
  };
  auto get = [&](int64_t at) {
    uint32_t value = 0;
    EXPECT_TRUE(stream->copyToHost(&value, pages->address() + at * pageBytes + 512, 4).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    return value;
  };
  put(0, 7);
  put(1, 8);
  EXPECT_EQ(get(3), 7u);
  EXPECT_EQ(get(1), 8u);
  ASSERT_TRUE(pages->map(3, 0).ok()) << "mapped anew";
  EXPECT_EQ(get(3), 8u);
  EXPECT_EQ(get(0), 7u);
  EXPECT_THAT(device->reserveMapped({4096, 2, 4}, "small pages").status().message(), testing::HasSubstr("small pages"));
}

TEST_P(GpuConformance, AllocationsAreAlignedAndApart) {
  std::vector<GpuBuffer> buffers;
  for (int64_t bytes : {1, 4, 255, 256, 257, 4096, 100000})
    buffers.push_back(allocate(bytes));
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_NE(buffers[i].address(), 0u);
    EXPECT_EQ(buffers[i].address() % 256, 0u);
    for (size_t j = 0; j < i; ++j)
      EXPECT_TRUE(buffers[i].address() + static_cast<uint64_t>(buffers[i].bytes()) <= buffers[j].address() ||
                  buffers[j].address() + static_cast<uint64_t>(buffers[j].bytes()) <= buffers[i].address());
  }
}

TEST_P(GpuConformance, MemoryComesBack) {
  const int64_t before = require(device->freeBytes()), size = int64_t{8} << 20;
  EXPECT_LE(before, device->info().memoryBytes);
  GpuBuffer buffer = allocate(size);
  EXPECT_LE(require(device->freeBytes()), before - size);
  GpuBuffer moved = std::move(buffer);
  EXPECT_EQ(buffer.address(), 0u);
  moved.reset();
  EXPECT_EQ(require(device->freeBytes()), before);
}

TEST_P(GpuConformance, ExhaustionNamesTheOwnerAndTheSizes) {
  const int64_t bytes = device->info().memoryBytes + (1 << 20);
  Result<GpuBuffer> buffer = device->allocate(bytes, "kv cache");
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.status().code(), ErrorCode::ResourceExhausted);
  EXPECT_THAT(buffer.status().message(), testing::HasSubstr("kv cache"));
  EXPECT_THAT(buffer.status().message(), testing::HasSubstr(std::to_string(bytes)));
  EXPECT_THAT(buffer.status().message(), testing::HasSubstr(std::to_string(require(device->freeBytes()))));
  EXPECT_TRUE(device->allocate(256, "after it")) << "the device works on";
}

TEST_P(GpuConformance, EmptyBuffersHaveAnAddress) {
  GpuBuffer empty = allocate(0);
  EXPECT_NE(empty.address(), 0u);
  EXPECT_EQ(empty.bytes(), 0);
  EXPECT_FALSE(device->allocate(-1, "less"));
  EXPECT_TRUE(device->allocatePinned(0, "nothing"));
  EXPECT_FALSE(device->allocatePinned(-1, "less"));
}

TEST_P(GpuConformance, CopiesInAllDirections) {
  const Words words = indices(1000, 3);
  GpuBuffer a = upload(words), b = allocate(a.bytes());
  ASSERT_TRUE(stream->fill(b.address(), 0xff, b.bytes()).ok());
  ASSERT_TRUE(stream->copyOnDevice(b.address() + 16, a.address() + 8, 3984).ok());
  Words expected(1000, 0xffffffff);
  std::copy(words.begin() + 2, words.begin() + 998, expected.begin() + 4);
  EXPECT_EQ(download(b), expected);
  EXPECT_EQ(download(a), words);
}

TEST_P(GpuConformance, FillsBytes) {
  GpuBuffer buffer = upload(Words(8, 0x01020304));
  ASSERT_TRUE(stream->fill(buffer.address() + 3, 0xab, 6).ok());
  EXPECT_EQ(download(buffer),
            (Words{0xab020304, 0xabababab, 0x010203ab, 0x01020304, 0x01020304, 0x01020304, 0x01020304, 0x01020304}));
}

TEST_P(GpuConformance, EmptyCopiesDoNothing) {
  GpuBuffer buffer = upload({1, 2});
  EXPECT_TRUE(stream->copyToDevice(buffer.address(), nullptr, 0).ok());
  EXPECT_TRUE(stream->copyToHost(nullptr, buffer.address(), 0).ok());
  EXPECT_TRUE(stream->copyOnDevice(buffer.address(), buffer.address(), 0).ok());
  EXPECT_TRUE(stream->fill(buffer.address(), 9, 0).ok());
  EXPECT_EQ(download(buffer), (Words{1, 2}));
}

TEST_P(GpuConformance, PinnedMemoryWorksBothWays) {
  std::span<std::byte> pinned = require(device->allocatePinned(4096, "staging"));
  ASSERT_EQ(pinned.size(), 4096u);
  std::span<uint32_t> words(reinterpret_cast<uint32_t *>(pinned.data()), 1024);
  std::iota(words.begin(), words.end(), 5);
  GpuBuffer buffer = allocate(4096);
  ASSERT_TRUE(stream->copyToDevice(buffer.address(), pinned.data(), 4096).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  std::fill(words.begin(), words.end(), 0);
  ASSERT_TRUE(stream->copyToHost(pinned.data(), buffer.address(), 4096).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_EQ(words[0], 5u);
  EXPECT_EQ(words[1023], 1028u);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST_P(GpuConformance, RunsEveryThread) {
  GpuBuffer out = upload(Words(32 * 37, 9));
  const uint64_t parameters[] = {out.address()};
  run(launchOf("iota", 37, parameters));
  EXPECT_EQ(download(out), indices(32 * 37));
}

TEST_P(GpuConformance, PassesParametersInOrder) {
  GpuBuffer in = upload(indices(64, 10)), out = upload(Words(64, 0));
  std::vector<uint64_t> parameters = {out.address(), in.address()};
  run(launchOf("add_index", 2, parameters));
  std::fill(parameters.begin(), parameters.end(), 0); // They were copied.
  EXPECT_EQ(download(out), indices(64, 11));
}

TEST_P(GpuConformance, KernelsSeeTheirGrid) {
  GpuBuffer out = upload(Words(12, 0));
  const uint64_t parameters[] = {out.address()};
  GpuLaunch launch = launchOf("geometry", 3, parameters);
  launch.block.x = 96;
  run(launch);
  EXPECT_EQ(download(out), (Words{3, 96, 0, 77, 3, 96, 1, 77, 3, 96, 2, 77}));
}

TEST_P(GpuConformance, GivesDynamicSharedMemory) {
  Words words = indices(128);
  GpuBuffer in = upload(words), out = upload(Words(128, 0));
  const uint64_t parameters[] = {out.address(), in.address()};
  GpuLaunch launch = launchOf("reverse", 2, parameters);
  launch.block.x = 64;
  // Also beyond the 48 KiB that need no opt-in.
  for (uint32_t bytes : {256u, 64u << 10}) {
    launch.sharedBytes = bytes;
    run(launch);
    std::reverse(words.begin(), words.begin() + 64);
    std::reverse(words.begin() + 64, words.end());
    EXPECT_EQ(download(out), words);
    std::reverse(words.begin(), words.begin() + 64);
    std::reverse(words.begin() + 64, words.end());
  }
}

TEST_P(GpuConformance, RefusesMoreSharedMemoryThanThereIs) {
  GpuBuffer out = upload(Words(32, 0));
  const uint64_t parameters[] = {out.address(), out.address()};
  GpuLaunch launch = launchOf("reverse", 1, parameters);
  launch.sharedBytes = static_cast<uint32_t>(device->info().sharedBytesPerBlock) + 16;
  Status status = stream->launch(launch);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr("reverse"));
}

TEST_P(GpuConformance, RefusesTheWrongNumberOfParameters) {
  GpuBuffer out = upload(Words(32, 0));
  const uint64_t parameters[] = {out.address(), out.address(), out.address()};
  for (size_t count : {0, 1, 3}) {
    Status status = stream->launch(launchOf("add_index", 1, std::span(parameters).first(count)));
    EXPECT_FALSE(status.ok()) << count;
    EXPECT_THAT(status.message(), testing::HasSubstr("add_index"));
  }
}

TEST_P(GpuConformance, AStreamRunsInOrder) {
  GpuBuffer a = upload(Words(64, 1)), b = upload(Words(64, 0)), factor = upload({2});
  const uint64_t scale[] = {a.address(), factor.address()}, add[] = {b.address(), a.address()};
  const uint32_t three = 3;
  run(launchOf("scale", 2, scale)); // a = 2
  ASSERT_TRUE(stream->copyToDevice(factor.address(), &three, 4).ok());
  run(launchOf("scale", 2, scale));   // a = 6
  run(launchOf("add_index", 2, add)); // b = 6 + i
  ASSERT_TRUE(stream->fill(a.address(), 0, a.bytes()).ok());
  Words expected = indices(64);
  for (uint32_t &word : expected)
    word += 6;
  EXPECT_EQ(download(b), expected);
  EXPECT_EQ(download(a), Words(64, 0));
}

TEST_P(GpuConformance, ManyStreamsAtOnce) {
  constexpr size_t count = 12;
  std::vector<std::unique_ptr<GpuStream>> streams;
  std::vector<GpuBuffer> buffers;
  GpuBuffer factor = upload({3});
  for (size_t i = 0; i < count; ++i) {
    streams.push_back(require(device->createStream()));
    buffers.push_back(upload(Words(32, static_cast<uint32_t>(i))));
  }
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < count; ++i) {
      const uint64_t parameters[] = {buffers[i].address(), factor.address()};
      ASSERT_TRUE(streams[i]->launch(launchOf("scale", 1, parameters)).ok());
    }
  for (size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(streams[i]->synchronize().ok());
    EXPECT_EQ(download(buffers[i]), Words(32, static_cast<uint32_t>(i) * 27));
  }
}

TEST_P(GpuConformance, SeveralThreadsUseOneDevice) {
  std::vector<std::thread> threads;
  GpuFunction *iota = require(module->function("iota"));
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto own = require(device->createStream());
      for (int round = 0; round < 5; ++round) {
        GpuBuffer out = require(device->allocate(32 * 4, "thread"));
        const uint64_t parameters[] = {out.address()};
        GpuLaunch launch;
        launch.function = iota;
        launch.block.x = 32;
        launch.parameters = parameters;
        Words words(32);
        EXPECT_TRUE(own->launch(launch).ok());
        EXPECT_TRUE(own->copyToHost(words.data(), out.address(), 128).ok());
        EXPECT_TRUE(own->synchronize().ok());
        EXPECT_EQ(words, indices(32));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

TEST_P(GpuConformance, EventsOrderStreamsAndTellTime) {
  auto other = require(device->createStream());
  auto start = require(device->createEvent()), done = require(device->createEvent());
  GpuBuffer a = upload(Words(64, 7)), b = upload(Words(64, 0)), factor = upload({5});
  const uint64_t scale[] = {a.address(), factor.address()}, add[] = {b.address(), a.address()};
  ASSERT_TRUE(stream->record(*start).ok());
  run(launchOf("scale", 2, scale));
  ASSERT_TRUE(stream->record(*done).ok());
  ASSERT_TRUE(other->wait(*done).ok());
  ASSERT_TRUE(other->launch(launchOf("add_index", 2, add)).ok());
  ASSERT_TRUE(other->synchronize().ok());
  Words expected = indices(64);
  for (uint32_t &word : expected)
    word += 35;
  EXPECT_EQ(download(b), expected);
  ASSERT_TRUE(done->synchronize().ok());
  EXPECT_GE(require(done->millisecondsSince(*start)), 0.0);
}

TEST_P(GpuConformance, AnEventThatNeverHappenedHasNoTime) {
  auto start = require(device->createEvent()), done = require(device->createEvent());
  ASSERT_TRUE(stream->record(*start).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_FALSE(done->millisecondsSince(*start));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

TEST_P(GpuConformance, ModulesNameWhatIsWrong) {
  const std::string bad =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n  add.s32 %r1, ;\n}\n";
  auto result = device->loadModule(std::as_bytes(std::span(bad.data(), bad.size())), "kernels/k.ptx");
  ASSERT_FALSE(result);
  // The virtual device does not know every instruction, and does not claim that an unknown one is wrong.
  EXPECT_THAT(result.status().code(), testing::AnyOf(ErrorCode::CorruptData, ErrorCode::Unsupported));
  EXPECT_THAT(result.status().message(), testing::HasSubstr("kernels/k.ptx"));
  const std::string noise = "this is not PTX";
  result = device->loadModule(std::as_bytes(std::span(noise.data(), noise.size())), "noise");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().code(), ErrorCode::CorruptData) << result.status().message();
  EXPECT_THAT(result.status().message(), testing::HasSubstr("noise"));
}

TEST_P(GpuConformance, ModulesListTheirKernels) {
  Result<GpuFunction *> function = module->function("missing");
  ASSERT_FALSE(function);
  EXPECT_EQ(function.status().code(), ErrorCode::NotFound);
  EXPECT_THAT(function.status().message(), testing::HasSubstr("missing"));
  EXPECT_THAT(function.status().message(), testing::HasSubstr("iota"));
  EXPECT_EQ(require(module->function("iota")), require(module->function("iota")));
  EXPECT_EQ(require(module->function("iota"))->name(), "iota");
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST_P(GpuConformance, ReplaysWhatWasCaptured) {
  GpuBuffer a = upload(Words(64, 1)), b = upload(Words(64, 9)), factor = upload({2});
  const uint64_t scale[] = {a.address(), factor.address()}, add[] = {b.address(), a.address()};
  ASSERT_TRUE(stream->beginCapture().ok());
  run(launchOf("scale", 2, scale));
  run(launchOf("add_index", 2, add));
  std::unique_ptr<GpuGraph> graph = require(stream->endCapture());
  ASSERT_TRUE(graph);
  EXPECT_EQ(download(b), Words(64, 9)) << "capturing runs nothing";
  uint32_t value = 1;
  // The same graph, other data under the same addresses.
  for (uint32_t next : {2u, 3u, 5u}) {
    ASSERT_TRUE(stream->copyToDevice(factor.address(), &next, 4).ok());
    ASSERT_TRUE(stream->launchGraph(*graph).ok());
    value *= next;
    Words expected = indices(64);
    for (uint32_t &word : expected)
      word += value;
    EXPECT_EQ(download(b), expected);
  }
  ASSERT_TRUE(stream->launchGraph(*graph).ok());
  ASSERT_TRUE(stream->launchGraph(*graph).ok());
  EXPECT_EQ(download(a), Words(64, value * 25)) << "twice without waiting in between";
}

TEST_P(GpuConformance, AGraphListsItsLaunches) {
  GpuBuffer a = upload(Words(96, 1)), factor = upload({2});
  const uint64_t scale[] = {a.address(), factor.address()}, one[] = {a.address()};
  GpuLaunch reverse = launchOf("reverse", 1, scale);
  reverse.sharedBytes = 50 << 10;
  const std::vector<GpuLaunch> launches = {launchOf("scale", 3, scale), launchOf("iota", 2, one),
                                           launchOf("scale", 1, scale), reverse};
  ASSERT_TRUE(stream->beginCapture().ok());
  for (const GpuLaunch &launch : launches)
    run(launch);
  std::unique_ptr<GpuGraph> graph = require(stream->endCapture());
  ASSERT_TRUE(graph);
  const std::vector<GpuGraphLaunch> list = require(graph->launches());
  ASSERT_EQ(list.size(), launches.size());
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].function, launches[i].function->name());
    EXPECT_EQ(list[i].grid, launches[i].grid);
    EXPECT_EQ(list[i].block, launches[i].block);
    EXPECT_EQ(list[i].cluster, launches[i].cluster);
    EXPECT_EQ(list[i].sharedBytes, launches[i].sharedBytes);
    EXPECT_EQ(list[i].parameters, std::vector<uint64_t>(launches[i].parameters.begin(), launches[i].parameters.end()));
  }
}

TEST_P(GpuConformance, AnEmptyGraphIsAGraph) {
  ASSERT_TRUE(stream->beginCapture().ok());
  std::unique_ptr<GpuGraph> graph = require(stream->endCapture());
  ASSERT_TRUE(graph);
  EXPECT_TRUE(require(graph->launches()).empty());
  EXPECT_TRUE(stream->launchGraph(*graph).ok());
  EXPECT_TRUE(stream->synchronize().ok());
}

TEST_P(GpuConformance, CaptureMustBeBegunAndNotWaitedFor) {
  EXPECT_FALSE(stream->endCapture());
  auto other = require(device->createStream());
  ASSERT_TRUE(other->beginCapture().ok());
  EXPECT_FALSE(other->synchronize().ok());
  (void)other->endCapture(); // May be an error now; the stream is free again.
  EXPECT_TRUE(stream->synchronize().ok());
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

TEST_P(GpuConformance, AFaultIsReportedAndStays) {
  GpuBuffer out = upload(Words(32, 0));
  Status status = stream->launch(launchOf("stray", 1, {}));
  if (status.ok())
    status = stream->synchronize();
  ASSERT_FALSE(status.ok());
  EXPECT_FALSE(status.message().empty());
  const uint64_t parameters[] = {out.address()};
  Status later = stream->launch(launchOf("iota", 1, parameters));
  if (later.ok())
    later = stream->synchronize();
  EXPECT_FALSE(later.ok()) << "the device is unusable";
  auto other = device->createStream();
  if (other) {
    later = (*other)->launch(launchOf("iota", 1, parameters));
    if (later.ok())
      later = (*other)->synchronize();
    EXPECT_FALSE(later.ok()) << "on every stream";
  }
}
