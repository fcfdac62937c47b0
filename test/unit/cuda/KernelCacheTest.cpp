//===- KernelCacheTest.cpp - compiled kernels, kept by content -------------===//
#include "codegen/cuda/KernelCache.h"

#include "runtime/base/AtomicFile.h"
#include "test/unit/tools/TemporaryDirectory.h"

#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fusec;
using namespace fusec::codegen;

namespace {

const KernelKey key{"text", "library", {"-a", "-b"}, "sm_80", "13.0"};
const NvrtcOutput output{.ptx = "ptx\n", .cubin = std::string("\0ELF\0", 5), .log = ""};

bool same(const std::optional<NvrtcOutput> &found) {
  return found && found->ptx == output.ptx && found->cubin == output.cubin && found->log == output.log;
}

TEST(KernelCache, FindsWhatItStored) {
  test::TemporaryDirectory directory;
  const KernelCache cache(directory.path());
  EXPECT_FALSE(cache.find(key));
  ASSERT_TRUE(cache.store(key, output).ok());
  EXPECT_TRUE(same(cache.find(key)));
  EXPECT_TRUE(same(KernelCache(directory.path()).find(key)));
}

TEST(KernelCache, EveryPartOfTheKeyCounts) {
  std::set<std::string> digests = {key.digest()};
  auto differs = [&](auto change) {
    KernelKey other = key;
    change(other);
    EXPECT_TRUE(digests.insert(other.digest()).second);
  };
  differs([](KernelKey &k) { k.text += ' '; });
  differs([](KernelKey &k) { k.library = "other"; });
  differs([](KernelKey &k) { k.options = {"-b", "-a"}; });
  differs([](KernelKey &k) { k.options = {"-a-b"}; });
  differs([](KernelKey &k) { k.options.clear(); });
  differs([](KernelKey &k) { k.target = "sm_80a"; });
  differs([](KernelKey &k) { k.compiler = "13.1"; });
  differs([](KernelKey &k) { std::swap(k.text, k.library); });
  EXPECT_EQ(key.digest(), KernelKey(key).digest());
}

TEST(KernelCache, ADamagedEntryIsAMissAndIsReplaced) {
  test::TemporaryDirectory directory;
  const KernelCache cache(directory.path());
  ASSERT_TRUE(cache.store(key, output).ok());
  const std::string whole = *readWholeFile(cache.entryPath(key));
  auto put = [&](const std::string &content) { ASSERT_TRUE(writeFileAtomically(cache.entryPath(key), content).ok()); };
  for (size_t length = 0; length < whole.size(); ++length) {
    put(whole.substr(0, length));
    EXPECT_FALSE(cache.find(key)) << "cut to " << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    put(changed);
    EXPECT_FALSE(cache.find(key)) << "bit of byte " << at;
  }
  put(whole + "x");
  EXPECT_FALSE(cache.find(key));
  ASSERT_TRUE(cache.store(key, output).ok());
  EXPECT_TRUE(same(cache.find(key)));
}

TEST(KernelCache, WhatIsNoFileIsAMiss) {
  test::TemporaryDirectory directory;
  const KernelCache cache(directory.path());
  std::filesystem::create_directories(cache.entryPath(key));
  EXPECT_FALSE(cache.find(key));
  EXPECT_FALSE(cache.store(key, output).ok());
}

TEST(KernelCache, ReadersBesideWritersSeeWholeEntriesOrNone) {
  test::TemporaryDirectory directory;
  const KernelCache cache(directory.path());
  auto write = [&] {
    for (int i = 0; i < 200; ++i)
      (void)cache.store(key, output).ok();
  };
  const pid_t child = fork(); // Another process, before there are threads.
  if (child == 0) {
    write();
    _exit(0);
  }
  std::atomic<bool> stop = false;
  std::atomic<int> broken = 0, hits = 0;
  std::thread reader([&] {
    while (!stop) {
      if (std::optional<NvrtcOutput> found = cache.find(key))
        same(found) ? ++hits : ++broken;
      else if (hits > 0) // Once there, it is there at every moment.
        ++broken;
    }
  });
  std::thread first(write), second(write);
  first.join();
  second.join();
  int status = 1;
  waitpid(child, &status, 0);
  stop = true;
  reader.join();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(broken, 0);
  EXPECT_TRUE(same(cache.find(key)));
  // No temporary file is left behind.
  for (const auto &entry : std::filesystem::directory_iterator(cache.entryPath(key).parent_path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".tmp-")) << entry.path();
}

} // namespace
