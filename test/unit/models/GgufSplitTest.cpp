//===- GgufSplitTest.cpp - models in several GGUF files --------------------===//

#include "models/import/Gguf.h"
#include "test/unit/models/GgufImage.h"
#include "test/unit/models/TempDirectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;
using testing::HasSubstr;

namespace {

class GgufSplit : public testing::Test {
protected:
  static GgufImage part(uint16_t number, uint16_t count) {
    GgufImage image;
    image.scalar<uint16_t>("split.no", GgufType::UInt16, number)
        .scalar<uint16_t>("split.count", GgufType::UInt16, count)
        .scalar<int32_t>("split.tensors.count", GgufType::Int32, count);
    image.floats("t" + std::to_string(number), {8}, static_cast<float>(number));
    return image;
  }
  void writeParts() {
    for (uint16_t i = 0; i < 3; ++i)
      directory.write("m-0000" + std::to_string(i + 1) + "-of-00003.gguf", part(i, 3).build());
  }
  std::string errorOf(const char *name = "m-00001-of-00003.gguf") {
    Result<Gguf> file = Gguf::open(directory.path() / name);
    return file ? "accepted" : file.status().message();
  }
  TempDirectory directory;
};

TEST_F(GgufSplit, JoinsAllParts) {
  writeParts();
  Result<Gguf> file = Gguf::open(directory.path() / "m-00001-of-00003.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  Gguf moved = std::move(*file); // views must survive a move
  ASSERT_EQ(moved.tensors().size(), 3u);
  float value;
  std::memcpy(&value, moved.findTensor("t2")->data, 4);
  EXPECT_EQ(value, 2.0f);
  EXPECT_EQ(*moved.getInt("split.count"), 3);
}

TEST_F(GgufSplit, AsksForTheFirstPart) {
  writeParts();
  EXPECT_THAT(errorOf("m-00002-of-00003.gguf"), HasSubstr("open the first part"));
}

TEST_F(GgufSplit, RefusesMissingAndForeignParts) {
  writeParts();
  directory.write("m-00003-of-00003.gguf", part(1, 3).build());
  EXPECT_THAT(errorOf(), HasSubstr("expected part 3 of 3"));
  directory.write("m-00003-of-00003.gguf", part(2, 4).build());
  EXPECT_THAT(errorOf(), HasSubstr("expected part 3 of 3"));
  std::filesystem::remove(directory.path() / "m-00003-of-00003.gguf");
  EXPECT_THAT(errorOf(), HasSubstr("cannot be opened"));
}

TEST_F(GgufSplit, RefusesDuplicateTensorsAndWrongTotals) {
  writeParts();
  GgufImage image = part(2, 3);
  image.tensors[0].name = "t1";
  directory.write("m-00003-of-00003.gguf", image.build());
  EXPECT_THAT(errorOf(), HasSubstr("tensor 't1' occurs in two parts"));
  image.tensors[0].name = "t2";
  image.floats("extra", {4});
  directory.write("m-00003-of-00003.gguf", image.build());
  EXPECT_THAT(errorOf(), HasSubstr("expected 3 tensors in all parts, found 4"));
}

TEST_F(GgufSplit, RefusesAnUnexpectedFileName) {
  directory.write("whole.gguf", part(0, 3).build());
  EXPECT_THAT(errorOf("whole.gguf"), HasSubstr("expected a file name ending in '-00001-of-00003.gguf'"));
}

TEST_F(GgufSplit, OpenNamesThePath) {
  EXPECT_THAT(errorOf("absent.gguf"), HasSubstr("absent.gguf: cannot be opened"));
  directory.write("empty.gguf", "");
  EXPECT_THAT(errorOf("empty.gguf"), HasSubstr("empty.gguf: not a GGUF file"));
  EXPECT_THAT(Gguf::open(directory.path()).status().message(), HasSubstr("found a directory"));
}

} // namespace
