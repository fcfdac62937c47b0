//===- ModelDigestTest.cpp - identity of a model by its content ------------===//
#include "tools/fusec/ModelDigest.h"

#include "runtime/base/AtomicFile.h"
#include "test/unit/tools/TemporaryDirectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using fusec::test::TemporaryDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelKind, RecognisesWhatIsThere) {
  TemporaryDirectory dir;
  EXPECT_EQ(*detectModelKind(dir.write("a.gguf", "GGUF....")), ModelKind::Gguf);
  dir.write("hf/config.json", "{}");
  EXPECT_EQ(*detectModelKind(dir.path() / "hf"), ModelKind::HuggingFace);
  dir.write("art/manifest.json", "{}");
  dir.write("art/config.json", "{}");
  EXPECT_EQ(*detectModelKind(dir.path() / "art"), ModelKind::Artifact);
}

TEST(ModelKind, ErrorsNameThePathAndTheExpected) {
  TemporaryDirectory dir;
  EXPECT_THAT(detectModelKind(dir.path() / "none").status().message(), HasSubstr("no such file"));
  EXPECT_THAT(detectModelKind(dir.write("x.gguf", "GGU")).status().message(), HasSubstr("GGUF"));
  EXPECT_THAT(detectModelKind(dir.write("empty", "")).status().message(), HasSubstr("empty"));
  EXPECT_THAT(detectModelKind(dir.path()).status().message(), HasSubstr("config.json"));
}

TEST(ModelFiles, SplitGgufNamesAllParts) {
  auto files = modelFiles("d/m-00002-of-00003.gguf", ModelKind::Gguf);
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre("d/m-00001-of-00003.gguf", "d/m-00002-of-00003.gguf", "d/m-00003-of-00003.gguf"));
  EXPECT_THAT(*modelFiles("d/m.gguf", ModelKind::Gguf), ElementsAre("d/m.gguf"));
}

TEST(ModelFiles, DirectoryIgnoresWhatDoesNotMatter) {
  TemporaryDirectory dir;
  for (const char *name : {"config.json", "model.safetensors", "README.md", "tokenizer.model", "x.png"})
    dir.write(name, "x");
  EXPECT_THAT(
      *modelFiles(dir.path(), ModelKind::HuggingFace),
      ElementsAre(dir.path() / "config.json", dir.path() / "model.safetensors", dir.path() / "tokenizer.model"));
}

TEST(Digest, FollowsContentNotPlace) {
  TemporaryDirectory dir;
  const auto a = dir.write("a.gguf", "content"), b = dir.write("sub/b.gguf", "content");
  const auto c = dir.write("c.gguf", "contenu");
  EXPECT_EQ(*digestFiles({a}), *digestFiles({b}));
  EXPECT_NE(*digestFiles({a}), *digestFiles({c}));
  EXPECT_EQ(digestFiles({a})->size(), 32u);
}

TEST(Digest, CoversNamesAndBordersOfSeveralFiles) {
  TemporaryDirectory dir;
  const auto ab = dir.write("1/a.json", "ab"), empty = dir.write("1/b.json", "");
  const auto a = dir.write("2/a.json", "a"), b = dir.write("2/b.json", "b");
  EXPECT_NE(*digestFiles({ab, empty}), *digestFiles({a, b}));
  const auto other = dir.write("3/c.json", "b");
  EXPECT_NE(*digestFiles({a, b}), *digestFiles({a, other}));
}

TEST(Digest, MissingFileIsAnErrorWithItsName) {
  auto digest = digestFiles({"/nonexistent/x.gguf"});
  ASSERT_FALSE(digest);
  EXPECT_THAT(digest.status().message(), HasSubstr("/nonexistent/x.gguf"));
}

TEST(DigestIndex, RemembersWithoutReading) {
  TemporaryDirectory dir;
  const auto file = dir.write("m.gguf", "content");
  const DigestIndex index(dir.path() / "index");
  const std::string digest = *index.digestOf({file});
  EXPECT_EQ(digest, *digestFiles({file}));
  // A forged entry shows that the second call believes the index.
  const auto entry = *std::filesystem::directory_iterator(dir.path() / "index");
  std::string content = *readWholeFile(entry.path());
  content.replace(0, 4, "0000");
  ASSERT_TRUE(writeFileAtomically(entry.path(), content).ok());
  EXPECT_EQ(index.digestOf({file})->substr(0, 4), "0000");
}

TEST(DigestIndex, ChangedFileIsReadAgain) {
  TemporaryDirectory dir;
  const auto file = dir.write("m.gguf", "content");
  const DigestIndex index(dir.path() / "index");
  const std::string before = *index.digestOf({file});
  dir.write("m.gguf", "CONTENT"); // Same size.
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  EXPECT_NE(*index.digestOf({file}), before);
}

TEST(DigestIndex, DamagedEntryIsAMiss) {
  TemporaryDirectory dir;
  const auto file = dir.write("m.gguf", "content");
  const DigestIndex index(dir.path() / "index");
  const std::string digest = *index.digestOf({file});
  const auto entry = *std::filesystem::directory_iterator(dir.path() / "index");
  const std::string whole = *readWholeFile(entry.path());
  std::string letters = whole;
  letters.replace(0, 4, "zzzz");
  for (const std::string &damaged : {std::string(), whole.substr(0, 31), whole + "x", letters}) {
    ASSERT_TRUE(writeFileAtomically(entry.path(), damaged).ok());
    EXPECT_EQ(*index.digestOf({file}), digest);
  }
}

TEST(DigestIndex, FreshFileIsNotIndexed) {
  TemporaryDirectory dir;
  std::ofstream(dir.path() / "m.gguf") << "content";
  const DigestIndex index(dir.path() / "index");
  ASSERT_TRUE(index.digestOf({dir.path() / "m.gguf"}));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "index"));
}
