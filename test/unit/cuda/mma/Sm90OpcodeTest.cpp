//===- Sm90OpcodeTest.cpp - mbarrier, bulk copies, wgmma on the virtual device ----===//
//
// Small PTX texts against tables written from the PTX ISA. Needs no NVRTC.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Float16.h"
#include "runtime/device/virtual/VirtualDevice.h"

#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::runtime;
using testing::HasSubstr;

namespace {

/// One launch of the only kernel, `k`, with buffers `in` and `out`.
struct Outcome {
  Status status;
  std::vector<float> out;
};

Outcome runKernel(const std::string &body, int threads, std::span<const std::byte> in, size_t outputs,
                  virtualgpu::AsyncPolicy policy = virtualgpu::AsyncPolicy::Late) {
  const std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                           ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                           ".reg .b64 %in, %out, %a, %b;\n.reg .b32 %tid, %lane, %warp, %x, %y, %z;\n"
                           ".shared .align 1024 .b8 data[8192];\n.shared .align 8 .b8 bar[16];\n"
                           "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %tid, %tid.x;\n"
                           "and.b32 %lane, %tid, 31;\nshr.u32 %warp, %tid, 5;\n" +
                           body + "\nret;\n}\n";
  auto device = virtualgpu::VirtualDevice::create({.target = "sm_90a", .asyncPolicy = policy});
  EXPECT_TRUE(device) << device.status().message();
  auto module = (*device)->loadModule(std::as_bytes(std::span<const char>(text)), "test");
  if (!module)
    return {module.status(), {}};
  auto stream = std::move((*device)->createStream().value());
  GpuBuffer from = std::move((*device)->allocate(std::max<int64_t>(in.size(), 16), "in").value());
  GpuBuffer to = std::move((*device)->allocate(outputs * 4, "out").value());
  std::vector<float> found(outputs, -1);
  EXPECT_TRUE(stream->copyToDevice(from.address(), in.data(), in.size()).ok());
  EXPECT_TRUE(stream->copyToDevice(to.address(), found.data(), outputs * 4).ok());
  GpuLaunch launch;
  launch.function = (*module)->function("k").value();
  launch.block.x = static_cast<uint32_t>(threads);
  const uint64_t parameters[] = {from.address(), to.address()};
  launch.parameters = parameters;
  Status status = stream->launch(launch);
  if (status.ok())
    status = stream->synchronize();
  if (status.ok())
    EXPECT_TRUE(stream->copyToHost(found.data(), to.address(), outputs * 4).ok() && stream->synchronize().ok());
  return {status, found};
}

const std::string initBarrier = "{ .reg .pred p; setp.ne.u32 p, %tid, 0; @p bra past;\n"
                                "mbarrier.init.shared::cta.b64 [bar], ARRIVALS;\n"
                                "fence.mbarrier_init.release.cluster;\npast: bar.sync 0; }\n";
std::string barrierFor(int arrivals) {
  std::string text = initBarrier;
  return text.replace(text.find("ARRIVALS"), 8, std::to_string(arrivals));
}
const std::string waitParity = "{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], PARITY;\n"
                               "@!p bra again; }\n";
std::string waitFor(int parity) {
  std::string text = waitParity;
  return text.replace(text.find("PARITY"), 6, std::to_string(parity));
}
const std::string storeOut = "mul.wide.u32 %a, %tid, 4;\nadd.u64 %a, %a, %out;\nst.global.b32 [%a], %x;\n";

const std::string readBack = "shl.b32 %y, %lane, 2;\n{ .reg .b32 base; mov.u32 base, data; add.u32 base, base, %y; "
                             "ld.shared.b32 %x, [base]; }\n" +
                             storeOut;

TEST(Mbarrier, AWaitEndsWhenAllHaveArrived) {
  // Warp 1 writes and arrives; warp 0, which runs first, waits and reads.
  const std::string body =
      barrierFor(32) +
      "{ .reg .pred w; setp.eq.u32 w, %warp, 0; @w bra reader;\n"
      "mov.b32 %x, 0f40400000;\nshl.b32 %y, %lane, 2;\n{ .reg .b32 base; mov.u32 base, data; add.u32 "
      "base, base, %y; st.shared.b32 [base], %x; }\n"
      "mbarrier.arrive.shared::cta.b64 _, [bar];\nret;\nreader: }\n" +
      waitFor(0) +
      "shl.b32 %y, %lane, 2;\n{ .reg .b32 base; mov.u32 base, data; add.u32 base, base, %y; "
      "ld.shared.b32 %x, [base]; }\n" +
      storeOut;
  Outcome o = runKernel(body, 64, {}, 32);
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_THAT(o.out, testing::Each(3.0f));
}

TEST(Mbarrier, WhoDoesNotWaitRaces) {
  const std::string body = barrierFor(32) +
                           "{ .reg .pred w; setp.eq.u32 w, %warp, 0; @w bra reader;\nshl.b32 %y, %lane, 2;\n"
                           "{ .reg .b32 base; mov.u32 base, data; add.u32 base, base, %y; st.shared.b32 [base], %y; }\n"
                           "mbarrier.arrive.shared::cta.b64 _, [bar];\nret;\nreader: }\n" +
                           readBack;
  EXPECT_THAT(runKernel(body, 64, {}, 64).status.message(), HasSubstr("data race inside a block"));
}

TEST(Mbarrier, ItsInitialisationHasToBeSeen) {
  std::string body = barrierFor(64);
  body.replace(body.find("bar.sync 0;"), 11, "");
  EXPECT_THAT(runKernel(body + "mbarrier.arrive.shared::cta.b64 _, [bar];\n", 64, {}, 1).status.message(),
              HasSubstr("is used with no barrier after its initialisation"));
}

TEST(Mbarrier, WithoutTheLastArrivalNobodyGoesOn) {
  Outcome o = runKernel(barrierFor(33) + "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + waitFor(0), 32, {}, 1);
  ASSERT_FALSE(o.status.ok());
  EXPECT_THAT(o.status.message(), HasSubstr("phase 0, 1 of 33 arrivals and 0 bytes missing"));
}

TEST(Mbarrier, TheWrongParityWaitsForAPhaseThatNeverComes) {
  Outcome o = runKernel(barrierFor(32) + "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + waitFor(1), 32, {}, 1);
  ASSERT_FALSE(o.status.ok());
  EXPECT_THAT(o.status.message(), HasSubstr("phase 1, 32 of 32 arrivals"));
}

TEST(Mbarrier, MisuseIsNamed) {
  const std::pair<std::string, const char *> cases[] = {
      {"mbarrier.arrive.shared::cta.b64 _, [bar];\n", "was not initialised"},
      {barrierFor(16) + "mbarrier.arrive.shared::cta.b64 _, [bar];\n", ""},
      {barrierFor(24) + "mbarrier.arrive.shared::cta.b64 _, [bar], 13;\n",
       "expects 24 arrivals per phase, but more came"},
      {barrierFor(0), "expects 0 arrivals"},
      {barrierFor(32) + barrierFor(32), "initialised again"},
      {"mbarrier.init.shared::cta.b64 [bar + 4], 1;\n", "is not 8 aligned bytes"},
  };
  for (const auto &[body, expected] : cases) {
    Outcome o = runKernel("{" + body + "}", 32, {}, 1);
    EXPECT_EQ(o.status.ok(), *expected == 0) << body;
    EXPECT_THAT(o.status.message(), HasSubstr(expected));
  }
}

const std::string askForCopy =
    "{ .reg .pred p; setp.ne.u32 p, %tid, 0; @p bra past;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], BYTES;\n{ .reg .b32 d, m; mov.u32 d, data; mov.u32 m, bar;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [%in], 128, [m]; }\npast: }\n";
std::string copyOf(int announced) {
  std::string text = askForCopy;
  return text.replace(text.find("BYTES"), 5, std::to_string(announced));
}
TEST(BulkCopy, DeliversItsBytesToTheBarrier) {
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i)
    values[i] = static_cast<float>(i);
  for (auto policy :
       {virtualgpu::AsyncPolicy::Late, virtualgpu::AsyncPolicy::AtIssue, virtualgpu::AsyncPolicy::Random}) {
    Outcome o = runKernel(barrierFor(1) + copyOf(128) + waitFor(0) + readBack, 32, std::as_bytes(std::span(values)), 32,
                          policy);
    ASSERT_TRUE(o.status.ok()) << o.status.message();
    EXPECT_EQ(o.out, values);
  }
}

TEST(BulkCopy, MisuseIsNamed) {
  const std::vector<float> values(32, 1.0f);
  Outcome o = runKernel(barrierFor(1) + copyOf(256) + waitFor(0) + readBack, 32, std::as_bytes(std::span(values)), 32);
  EXPECT_THAT(o.status.message(), HasSubstr("0 of 1 arrivals and 128 bytes missing"));
  std::string odd = barrierFor(1) + copyOf(128);
  odd.replace(odd.find("128, [m]"), 3, "120");
  o = runKernel(odd, 32, std::as_bytes(std::span(values)), 32);
  EXPECT_THAT(o.status.message(), HasSubstr("expected a multiple of 16"));
  std::string far = barrierFor(1) + copyOf(128);
  far.replace(far.find("[d], [%in], 128"), 15, "[d], [%in], 9216");
  o = runKernel(far, 32, std::as_bytes(std::span(values)), 32);
  EXPECT_THAT(o.status.message(), HasSubstr("past the end of the block's shared memory"));
}

TEST(BulkCopy, WhoDoesNotWaitIsToldSo) {
  const std::vector<float> values(32, 1.0f);
  const auto in = std::as_bytes(std::span(values));
  EXPECT_THAT(runKernel(barrierFor(1) + copyOf(128) + readBack, 32, in, 32).status.message(),
              HasSubstr("is still writing"));
  EXPECT_THAT(runKernel(barrierFor(1) + copyOf(128), 32, in, 32).status.message(),
              HasSubstr("the block ends with 1 bulk copies nobody waited for"));
}

TEST(BulkCopy, MayNotOverwriteWhatOthersStillRead) {
  const std::vector<float> values(32, 1.0f);
  const std::string twice = barrierFor(1) + copyOf(128) + waitFor(0) + "{" + readBack + "}" + copyOf(128) + waitFor(1);
  EXPECT_THAT(runKernel(twice, 32, std::as_bytes(std::span(values)), 32).status.message(),
              HasSubstr("data race inside a block"));
}

/// B[16 k x 16 n] in one of wgmma's layouts: byte of element (k, n), as the ISA's tables give it.
struct MatrixLayout {
  const char *name;
  int transposed;      ///< The instruction's operand: 1 = n lies side by side.
  uint64_t descriptor; ///< Without the address.
  int (*byte)(int k, int n);
};

const MatrixLayout layouts[] = {
    // 8 x 8 matrices of 128 bytes, 16 per n; the other 8 k 128 bytes on, the other 8 n 256.
    {"K-major", 0, uint64_t(128 >> 4) << 16 | uint64_t(256 >> 4) << 32,
     [](int k, int n) { return n / 8 * 256 + k / 8 * 128 + n % 8 * 16 + k % 8 * 2; }},
    // Rows of 128 bytes per n, the unit of 16 bytes exchanged by n mod 8; 8 n are 1024 bytes.
    {"K-major, 128 bytes", 0, uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62,
     [](int k, int n) { return n * 128 + (k / 8 ^ n % 8) * 16 + k % 8 * 2; }},
    // Rows of 128 bytes per k.
    {"N-major, 128 bytes", 1, uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62,
     [](int k, int n) { return k * 128 + (n / 8 ^ k % 8) * 16 + n % 8 * 2; }},
    // Rows of 64 and 32 bytes: fewer units, exchanged by k / 2 mod 4 and k / 4 mod 2.
    {"N-major, 64 bytes", 1, uint64_t(512 >> 4) << 32 | uint64_t(2) << 62,
     [](int k, int n) { return k * 64 + (n / 8 ^ k / 2 % 4) * 16 + n % 8 * 2; }},
    {"N-major, 32 bytes", 1, uint64_t(256 >> 4) << 32 | uint64_t(3) << 62,
     [](int k, int n) { return k * 32 + (n / 8 ^ k / 4 % 2) * 16 + n % 8 * 2; }},
};

int valueA(int row, int k) { return (row * 7 + k * 5) % 13 - 6; }
int valueB(int k, int n) { return (k * 3 + n * 11) % 9 - 4; }

/// D = A B + 1 with A in registers; every thread stores its 8 sums.
std::string wgmmaText(const MatrixLayout &layout) {
  std::string text = ".reg .b32 %a<4>, %t;\n.reg .f32 %d<8>;\n.reg .b64 %desc;\n.reg .pred %keep;\n";
  // A: register r holds row 16 warp + lane / 4 + 8 (r & 1), k 2 (lane % 4) + 8 (r >> 1) and the next; the host puts
  // them in `in` after 8192 bytes of B.
  text += "mul.wide.u32 %a, %tid, 16;\nadd.u64 %a, %a, %in;\nld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%a + 8192];\n";
  text += barrierFor(1) + copyOf(8192);
  text.replace(text.find("[%in], 128"), 10, "[%in], 8192");
  text += waitFor(0);
  for (int i = 0; i < 8; ++i)
    text += "mov.f32 %d" + std::to_string(i) + ", 0f3f800000;\n";
  text += "{ .reg .b32 base; .reg .b64 wide; mov.u32 base, data; shr.u32 base, base, 4; cvt.u64.u32 wide, base;\n"
          "or.b64 %desc, wide, " +
          std::to_string(layout.descriptor) +
          "; }\n"
          "setp.eq.u32 %keep, %tid, %tid;\nwgmma.fence.sync.aligned;\n"
          "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%d0,%d1,%d2,%d3,%d4,%d5,%d6,%d7}, {%a0,%a1,%a2,%a3}, "
          "%desc, %keep, 1, 1, " +
          std::to_string(layout.transposed) +
          ";\n"
          "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
          "mul.wide.u32 %b, %tid, 32;\nadd.u64 %b, %b, %out;\n";
  for (int i = 0; i < 8; ++i)
    text += "st.global.f32 [%b + " + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
  return text;
}

TEST(Wgmma, EveryElementLiesWhereTheTablesSay) {
  for (const MatrixLayout &layout : layouts)
    for (auto policy : {virtualgpu::AsyncPolicy::Late, virtualgpu::AsyncPolicy::AtIssue}) {
      SCOPED_TRACE(layout.name);
      std::vector<uint16_t> in(4096 + 128 * 8);
      for (int k = 0; k < 16; ++k)
        for (int n = 0; n < 16; ++n)
          in[layout.byte(k, n) / 2] = floatToBfloat(static_cast<float>(valueB(k, n)));
      for (int thread = 0; thread < 128; ++thread)
        for (int e = 0; e < 8; ++e) {
          const int r = e / 2, lane = thread % 32;
          const int row = thread / 32 * 16 + lane / 4 + 8 * (r & 1), k = 2 * (lane % 4) + 8 * (r >> 1) + e % 2;
          in[4096 + thread * 8 + e] = floatToBfloat(static_cast<float>(valueA(row, k)));
        }
      Outcome o = runKernel(wgmmaText(layout), 128, std::as_bytes(std::span(in)), 128 * 8, policy);
      ASSERT_TRUE(o.status.ok()) << o.status.message();
      for (int thread = 0; thread < 128; ++thread)
        for (int i = 0; i < 8; ++i) {
          const int lane = thread % 32, row = thread / 32 * 16 + lane / 4 + 8 * (i / 2 % 2);
          const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
          int sum = 1;
          for (int k = 0; k < 16; ++k)
            sum += valueA(row, k) * valueB(k, column);
          ASSERT_EQ(o.out[thread * 8 + i], static_cast<float>(sum)) << "thread " << thread << " sum " << i;
        }
    }
}

TEST(Wgmma, SumsReadBeforeTheWaitAreNoNumbers) {
  std::string text = wgmmaText(layouts[0]);
  text.erase(text.find("wgmma.wait_group"), std::string("wgmma.wait_group.sync.aligned 0;\n").size());
  const std::vector<uint16_t> in(4096 + 128 * 8);
  Outcome o = runKernel(text, 128, std::as_bytes(std::span(in)), 128 * 8);
  EXPECT_TRUE(!o.status.ok() || std::isnan(o.out[0]));
}

TEST(Wgmma, StoresNeedAProxyFence) {
  // B is stored by the threads instead of copied.
  const std::string storing = "{ .reg .b32 base, at; mov.u32 base, data; shl.b32 at, %tid, 6; add.u32 base, base, at;\n"
                              "mov.b32 %x, 0;\n";
  std::string text = wgmmaText(layouts[0]);
  const size_t first = text.find("mbarrier.init"), begin = text.rfind('{', first), end = text.find("mov.f32 %d0");
  std::string stores = storing;
  for (int i = 0; i < 64; i += 4)
    stores += "st.shared.b32 [base + " + std::to_string(i) + "], %x;\n";
  const std::vector<uint16_t> in(4096 + 128 * 8);
  for (bool fenced : {false, true}) {
    std::string whole = text;
    whole.replace(begin, end - begin,
                  stores + "}\n" + (fenced ? "fence.proxy.async.shared::cta;\n" : "") + "bar.sync 0;\n");
    Status status = runKernel(whole, 128, std::as_bytes(std::span(in)), 128 * 8).status;
    EXPECT_EQ(status.ok(), fenced) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(fenced ? "" : "stored without a fence.proxy.async"));
  }
}

TEST(Wgmma, NeedsAWholeWarpgroupAndSharedMemory) {
  const std::vector<uint16_t> in(4096 + 128 * 8);
  Outcome o = runKernel(wgmmaText(layouts[0]), 96, std::as_bytes(std::span(in)), 128 * 8);
  EXPECT_THAT(o.status.message(), HasSubstr("no whole warpgroup"));
  MatrixLayout far = layouts[0];
  far.descriptor = uint64_t(0x3fff) << 32;
  o = runKernel(wgmmaText(far), 128, std::as_bytes(std::span(in)), 128 * 8);
  EXPECT_THAT(o.status.message(), HasSubstr("leads past the end of the block's shared memory"));
}

TEST(SetMaxRegisters, TakesMultiplesOfEight) {
  EXPECT_TRUE(runKernel("setmaxnreg.dec.sync.aligned.u32 40;\n", 128, {}, 1).status.ok());
  EXPECT_THAT(runKernel("setmaxnreg.inc.sync.aligned.u32 260;\n", 128, {}, 1).status.message(),
              HasSubstr("expected a multiple of 8"));
}

} // namespace
