//===- ArtifactCacheTest.cpp - compiled models, kept by content ------------===//
#include "tools/fusec/ArtifactCache.h"

#include "runtime/base/AtomicFile.h"
#include "test/unit/tools/TemporaryDirectory.h"
#include "tools/fusec/OwnedDirectory.h"

#include <atomic>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fusec;
using fusec::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

ArtifactKey key() { return {.modelDigest = "d1", .compilerVersion = "0.1.0", .levels = {"avx2"}, .options = {}}; }

/// Writes a small artifact and counts how often it was asked to.
struct Builder {
  std::atomic<int> calls = 0;
  ArtifactCache::Build function() {
    return [this](const fs::path &directory) {
      ++calls;
      FUSEC_RETURN_IF_ERROR(writeFileAtomically(directory / "manifest.json", "{}"));
      return writeFileAtomically(directory / "kernels/avx2.so", "code");
    };
  }
};

size_t entriesIn(const fs::path &directory) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

} // namespace

TEST(ArtifactKey, EveryPartMatters) {
  std::set<std::string> keys = {key().text()};
  auto add = [&keys](auto change) {
    ArtifactKey other = key();
    change(other);
    keys.insert(other.text());
  };
  add([](ArtifactKey &k) { k.modelDigest = "d2"; });
  add([](ArtifactKey &k) { k.compilerVersion = "0.1.1"; });
  add([](ArtifactKey &k) { k.levels = {"avx512"}; });
  add([](ArtifactKey &k) { k.levels = {"avx2", "avx512"}; });
  add([](ArtifactKey &k) {
    k.levels = {};
    k.options = {"avx2"};
  });
  add([](ArtifactKey &k) { k.options = {"a", "b"}; });
  add([](ArtifactKey &k) { k.options = {"ab"}; });
  EXPECT_EQ(keys.size(), 8u);
  EXPECT_EQ(key().text(), key().text());
}

TEST(ArtifactCache, BuildsOnceThenFinds) {
  TemporaryDirectory dir;
  const ArtifactCache cache(dir.path());
  Builder builder;
  EXPECT_FALSE(cache.find(key()));
  auto first = cache.findOrBuild(key(), builder.function());
  ASSERT_TRUE(first) << first.status().message();
  auto second = cache.findOrBuild(key(), builder.function());
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(builder.calls, 1);
  EXPECT_TRUE(fs::exists(*first / "kernels/avx2.so"));
  EXPECT_EQ(entriesIn(dir.path() / "artifacts"), 1u) << "a temporary was left behind";
}

TEST(ArtifactCache, AnyDamageIsAMissAndIsRepaired) {
  TemporaryDirectory dir;
  const ArtifactCache cache(dir.path());
  Builder builder;
  const fs::path entry = *cache.findOrBuild(key(), builder.function());
  const std::vector<std::function<void()>> damages = {
      [&] { fs::remove(entry / "seal"); },
      [&] { fs::resize_file(entry / "seal", 0); },
      [&] { fs::remove(entry / "manifest.json"); },
      [&] { fs::resize_file(entry / "kernels/avx2.so", 2); },
      [&] { fs::remove_all(entry / "kernels"); },
      [&] { std::ofstream(entry / "extra") << "x"; },
      [&] {
        fs::remove_all(entry);
        std::ofstream(entry) << "a file in the entry's place";
      },
  };
  int expectedCalls = 1;
  for (const auto &damage : damages) {
    damage();
    EXPECT_FALSE(cache.find(key()));
    auto repaired = cache.findOrBuild(key(), builder.function());
    ASSERT_TRUE(repaired) << repaired.status().message();
    EXPECT_EQ(builder.calls, ++expectedCalls);
    EXPECT_TRUE(cache.find(key()));
  }
  EXPECT_EQ(entriesIn(dir.path() / "artifacts"), 1u);
}

TEST(ArtifactCache, FailedBuildLeavesNothing) {
  TemporaryDirectory dir;
  const ArtifactCache cache(dir.path());
  auto failed = cache.findOrBuild(key(), [](const fs::path &directory) {
    (void)writeFileAtomically(directory / "half", "x");
    return unsupported("tensor 'x': no");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.status().message(), "tensor 'x': no");
  EXPECT_EQ(entriesIn(dir.path() / "artifacts"), 0u);
}

TEST(ArtifactCache, ConcurrentBuildersAgree) {
  TemporaryDirectory dir;
  const ArtifactCache cache(dir.path());
  Builder builder;
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      auto entry = cache.findOrBuild(key(), builder.function());
      good += entry.ok() && fs::exists(*entry / "manifest.json");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_TRUE(cache.find(key()));
  EXPECT_EQ(entriesIn(dir.path() / "artifacts"), 1u);
}

TEST(ArtifactCache, UnwritableRootIsOneClearError) {
  TemporaryDirectory dir;
  dir.write("file", "");
  const ArtifactCache cache(dir.path() / "file" / "below");
  Builder builder;
  auto entry = cache.findOrBuild(key(), builder.function());
  ASSERT_FALSE(entry);
  EXPECT_THAT(entry.status().message(), testing::HasSubstr("cannot create"));
  EXPECT_EQ(builder.calls, 0);
}

TEST(ArtifactCache, RemoveForgets) {
  TemporaryDirectory dir;
  const ArtifactCache cache(dir.path());
  Builder builder;
  EXPECT_TRUE(cache.remove(key()).ok());
  ASSERT_TRUE(cache.findOrBuild(key(), builder.function()));
  EXPECT_TRUE(cache.remove(key()).ok());
  EXPECT_FALSE(cache.find(key()));
}

/// kill -9 leaves no litter: whoever was killed holds its lock no more. A build that goes on elsewhere is left alone.
TEST(ArtifactCache, SweepsWhatKilledBuildsLeft) {
  TemporaryDirectory dir;
  const ArtifactCache cache(dir.path());
  const fs::path artifacts = dir.path() / "artifacts";
  fs::create_directories(artifacts);
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      (void)cache.findOrBuild(key(), [](const fs::path &directory) -> Status {
        (void)writeFileAtomically(directory / "half", "x");
        (void)raise(SIGKILL);
        return {};
      });
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(entriesIn(artifacts), 1u) << "what the round before left is gone";
  }
  auto living = OwnedDirectory::create(artifacts);
  ASSERT_TRUE(living.ok()) << living.status().message();
  Builder builder;
  ASSERT_TRUE(cache.findOrBuild(key(), builder.function()));
  EXPECT_TRUE(fs::exists(living->path()));
  EXPECT_EQ(entriesIn(artifacts), 2u) << "the entry and the build that goes on";
}

TEST(ArtifactCache, SweepsOldTemporariesOnly) {
  TemporaryDirectory dir;
  dir.write("artifacts/.tmp-old/x", "x");
  dir.write("artifacts/.tmp-new/x", "x");
  fs::last_write_time(dir.path() / "artifacts/.tmp-old", fs::file_time_type::clock::now() - std::chrono::hours(25));
  Builder builder;
  ASSERT_TRUE(ArtifactCache(dir.path()).findOrBuild(key(), builder.function()));
  EXPECT_FALSE(fs::exists(dir.path() / "artifacts/.tmp-old"));
  EXPECT_TRUE(fs::exists(dir.path() / "artifacts/.tmp-new"));
}
