//===- GpuPartsTest.cpp - targets, buckets, and the block of a step ------------------===//

#include "runtime/device/gpu/OpenGpuDevice.h"
#include "runtime/exec/gpu/DecodeBuckets.h"
#include "runtime/exec/gpu/GpuTarget.h"
#include "runtime/exec/gpu/GraphCache.h"
#include "runtime/exec/gpu/StepBlock.h"
#include "test/unit/gpu/ToyGpuArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

SymbolValues symbols(int64_t t, int64_t s, int64_t b, int64_t r, int64_t c, int64_t w = 0) {
  SymbolValues values;
  values.values = {t, s, b, r, c, w};
  return values;
}

} // namespace

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

namespace {

struct Build {
  const char *level;
  bool image, ptx;
};

Manifest manifestWith(const std::vector<Build> &builds) {
  Manifest manifest;
  for (const Build &build : builds) {
    TargetInfo target;
    target.kind = TargetKind::Cuda;
    target.level = build.level;
    KernelVariant variant;
    variant.image = build.image ? "k.cubin" : "";
    variant.ptx = build.ptx ? "k.ptx" : "";
    target.kernels["k"] = {variant};
    manifest.targets.push_back(target);
  }
  return manifest;
}

/// "sm_80 image", "sm_80 ptx", "sm_80 ptx noted", or "none".
std::string choose(const std::vector<Build> &builds, int capability, bool isVirtual = false) {
  GpuInfo info;
  info.name = "GPU";
  info.computeCapability = capability;
  info.isVirtual = isVirtual;
  const Manifest manifest = manifestWith(builds);
  Result<GpuTargetChoice> choice = chooseGpuTarget(manifest, info);
  if (!choice)
    return "none";
  return choice->target->level + (choice->usesPtx ? " ptx" : " image") + (choice->note.empty() ? "" : " noted");
}

} // namespace

TEST(GpuTarget, PrefersTheExactOne) {
  const std::vector<Build> all = {{"sm_80", true, true}, {"sm_90", true, true}, {"sm_90a", true, true}};
  EXPECT_EQ(choose(all, 80), "sm_80 image");
  EXPECT_EQ(choose(all, 90), "sm_90a image");
  EXPECT_EQ(choose({{"sm_90a", true, true}, {"sm_90", true, true}}, 90), "sm_90a image");
  EXPECT_EQ(choose(all, 80, true), "sm_80 ptx");
  EXPECT_EQ(choose(all, 90, true), "sm_90a ptx");
  EXPECT_EQ(choose({{"sm_80", true, false}}, 80, true), "none") << "the virtual device needs PTX";
}

TEST(GpuTarget, TakesOlderOnes) {
  const std::vector<Build> all = {{"sm_80", true, true}, {"sm_89", true, true}, {"sm_90a", true, true}};
  EXPECT_EQ(choose(all, 86), "sm_80 image") << "code runs on later GPUs of the same major number";
  EXPECT_EQ(choose(all, 86, true), "sm_80 ptx");
  EXPECT_EQ(choose(all, 100), "sm_89 ptx noted") << "not sm_90a, which runs on 9.0 only";
  EXPECT_EQ(choose({{"sm_80", true, false}}, 90), "none");
  EXPECT_EQ(choose({{"sm_80", true, false}, {"sm_75", true, true}}, 90), "sm_75 ptx noted");
  EXPECT_EQ(choose(all, 75), "none");
  EXPECT_EQ(choose({}, 80), "none");
}

TEST(GpuTarget, DescribesAnArtifact) {
  EXPECT_EQ(describeTargets(manifestWith({})), "no kernels");
  EXPECT_EQ(describeTargets(manifestWith({{"sm_80", true, true}, {"sm_90a", true, true}})),
            "CUDA kernels for sm_80, sm_90a");
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

namespace {

/// The bucket of a step with these sequences in order, or the reason.
std::string bucketOf(const DecodeBuckets &buckets, std::vector<int32_t> sequences, const SymbolValues &values) {
  StepInput input;
  input.sequences = sequences;
  const DecodeBuckets::Choice choice = buckets.choose(input, values);
  if (!choice.bucket)
    return std::string(eagerReasons[static_cast<size_t>(choice.reason)]);
  std::string text;
  for (int64_t value : choice.bucket->values)
    text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

} // namespace

TEST(DecodeBuckets, RoundsUpToPowersOfTwo) {
  const DecodeBuckets buckets(symbols(256, 6, 10, 40, 640), 64, 256);
  EXPECT_EQ(bucketOf(buckets, {0}, symbols(1, 1, 1, 1, 64)), "1 1 1 1 64 0");
  EXPECT_EQ(bucketOf(buckets, {1, 0}, symbols(2, 2, 9, 2, 128)), "2 2 2 2 128 0")
      << "B comes from C, not from the input";
  EXPECT_EQ(bucketOf(buckets, {0, 1, 2}, symbols(3, 3, 5, 3, 320)), "4 4 8 4 512 0");
  EXPECT_EQ(bucketOf(buckets, {0, 1, 2}, symbols(3, 3, 5, 3, 320, 3)), "4 4 8 4 512 4") << "a query tile per token";
  EXPECT_EQ(bucketOf(buckets, {0, 1, 2, 3, 4}, symbols(5, 5, 9, 5, 576)), "6 6 10 6 640 0") << "at most the maxima";
}

TEST(DecodeBuckets, SaysWhyNot) {
  const DecodeBuckets buckets(symbols(256, 6, 10, 2, 640), 64, 256);
  EXPECT_EQ(bucketOf(buckets, {0, 0}, symbols(2, 1, 1, 1, 64)), "prefill");
  EXPECT_EQ(bucketOf(buckets, {0}, symbols(1, 1, 1, 0, 64)), "prefill");
  EXPECT_EQ(bucketOf(buckets, {0}, symbols(1, 2, 1, 1, 64)), "prefill");
  EXPECT_EQ(bucketOf(buckets, {1, 1}, symbols(2, 2, 1, 2, 64)), "prefill") << "one sequence twice, one not at all";
  EXPECT_EQ(bucketOf(buckets, {0, 1, 2}, symbols(3, 3, 1, 3, 64)), "too many sequences");
}

//===----------------------------------------------------------------------===//
// Step block
//===----------------------------------------------------------------------===//

TEST(StepBlock, PadsToTheBucket) {
  std::unique_ptr<GpuDevice> device = *openGpuDevice("virtual");
  std::unique_ptr<GpuStream> stream = *device->createStream();
  const StepBlockLayout layout(symbols(8, 4, 8, 4, 64, 8), 16);
  GpuBuffer memory = *device->allocate(layout.bytes, "test");
  Result<StepBlock> block = StepBlock::create(*device, layout, memory.address());
  ASSERT_TRUE(block);
  const std::vector<int32_t> tokens = {11, 12, 13}, positions = {4, 9, 2}, sequences = {2, 0, 1}, rows = {0, 2, 1},
                             table = {5, 6, 7, 8, 9, 10, 11, 12, 13};
  const StepInput input{tokens, positions, sequences, table, 3, rows};
  const std::vector<Symbol> order = {Symbol::Tokens,     Symbol::Sequences, Symbol::Blocks,
                                     Symbol::OutputRows, Symbol::Context,   Symbol::QueryTiles};
  block->fill(input, symbols(3, 3, 3, 3, 12, 3), symbols(4, 4, 4, 4, 16, 4), order);
  ASSERT_TRUE(block->send(*stream).ok());

  auto read = [&](GpuAddress at, size_t count) {
    std::vector<int32_t> words(count);
    EXPECT_TRUE(stream->copyToHost(words.data(), at, static_cast<int64_t>(count * 4)).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    return words;
  };
  using testing::ElementsAre;
  EXPECT_THAT(read(block->address(InputKind::Tokens), 4), ElementsAre(11, 12, 13, 0));
  EXPECT_THAT(read(block->address(InputKind::Positions), 4), ElementsAre(4, 9, 2, 0));
  EXPECT_THAT(read(block->address(InputKind::Sequences), 4), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(read(block->address(InputKind::OutputRows), 4), ElementsAre(0, 2, 1, 3));
  // Rows of the bucket's width; what the step lacks is the sink.
  EXPECT_THAT(read(block->address(InputKind::BlockTable), 16),
              ElementsAre(5, 6, 7, 0, 8, 9, 10, 0, 11, 12, 13, 0, 0, 0, 0, 0));
  EXPECT_THAT(read(block->address(InputKind::QueryTiles), 8), ElementsAre(0, 1, 1, 1, 2, 1, 0, 0))
      << "a tile without tokens for the row that is not there";
  std::vector<int64_t> sizes(6);
  ASSERT_TRUE(stream->copyToHost(sizes.data(), block->sizes(), 48).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_THAT(sizes, ElementsAre(3, 3, 4, 3, 12, 3)) << "real sizes, and the bucket's stride";
}

TEST(StepBlock, NarrowsATableWiderThanTheBucket) {
  std::unique_ptr<GpuDevice> device = *openGpuDevice("virtual");
  std::unique_ptr<GpuStream> stream = *device->createStream();
  const StepBlockLayout layout(symbols(2, 2, 4, 2, 16), 0);
  GpuBuffer memory = *device->allocate(layout.bytes, "test");
  Result<StepBlock> block = StepBlock::create(*device, layout, memory.address());
  ASSERT_TRUE(block);
  const std::vector<int32_t> zero = {0, 0}, ids = {0, 1}, table = {5, 6, 7, 8, 9, 10, 11, 12};
  block->fill({zero, zero, ids, table, 4, ids}, symbols(2, 2, 4, 2, 4), symbols(2, 2, 1, 2, 4), {});
  ASSERT_TRUE(block->send(*stream).ok());
  std::vector<int32_t> words(2);
  ASSERT_TRUE(stream->copyToHost(words.data(), block->address(InputKind::BlockTable), 8).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_THAT(words, testing::ElementsAre(5, 9));
}

//===----------------------------------------------------------------------===//
// What a graph covers
//===----------------------------------------------------------------------===//

TEST(GraphCache, ReplaysOnlyWhatWasCaptured) {
  KernelVariant variant;
  variant.entry = "k";
  variant.when = {{Symbol::Tokens, 4}};
  variant.grid = {{{Symbol::Context, 0}, 8}};
  GraphCache::Entry entry;
  entry.launches.push_back({0, &variant, 4, {}});
  EXPECT_TRUE(GraphCache::checkCovers(entry, symbols(4, 4, 4, 4, 32)).ok());
  EXPECT_TRUE(GraphCache::checkCovers(entry, symbols(1, 1, 4, 1, 8)).ok());
  EXPECT_THAT(GraphCache::checkCovers(entry, symbols(4, 4, 4, 4, 40)).message(),
              testing::HasSubstr("'k' with 4 programs does not cover a step of T=4, S=4, B=4, R=4, C=40, W=0"));
  EXPECT_FALSE(GraphCache::checkCovers(entry, symbols(5, 5, 4, 5, 32)).ok()) << "another variant";
}
