//===- SafetensorsTest.cpp - what the safetensors reader accepts -----------===//

#include "models/import/Safetensors.h"
#include "test/unit/models/GgufImage.h"
#include "test/unit/models/SafetensorsImage.h"
#include "test/unit/models/TempDirectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

SafetensorsImage goodImage() {
  SafetensorsImage image;
  image.header["__metadata__"] = {{"format", "pt"}};
  image.floats("b", {2, 3}, 1.5f).tensor("a", "BF16", {4}, "12345678").tensor("ids", "I64", {1}, "12345678");
  return image;
}

std::string errorOf(const std::string &bytes) {
  Result<Safetensors> file = Safetensors::parse(asBytes(bytes));
  return file ? "accepted" : file.status().message();
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const std::string bytes = goodImage().build();
  Result<Safetensors> file = Safetensors::parse(asBytes(bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata().at("format"), "pt");
  Result<TensorInfo> b = file->tensor("b");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->type, StorageType::F32);
  EXPECT_THAT(b->shape, ElementsAre(2, 3));
  float last;
  std::memcpy(&last, b->data + 20, 4);
  EXPECT_EQ(last, 1.5f);
  EXPECT_EQ(file->tensor("a")->type, StorageType::BF16);
}

TEST(Safetensors, OtherDtypesAreListedButNotUsable) {
  const std::string bytes = goodImage().build();
  Result<Safetensors> file = Safetensors::parse(asBytes(bytes));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->entries().size(), 3u);
  EXPECT_EQ(file->tensor("ids").status().code(), ErrorCode::Unsupported);
  EXPECT_THAT(file->tensor("ids").status().message(), AllOf(HasSubstr("'ids'"), HasSubstr("'I64'")));
  EXPECT_EQ(file->tensor("none").status().code(), ErrorCode::NotFound);
}

TEST(Safetensors, AcceptsScalarsEmptyTensorsAndPadding) {
  SafetensorsImage image;
  image.tensor("scalar", "F32", {}, "1234").tensor("empty", "F32", {0, 5}, "").tensor("last", "F16", {1}, "12");
  EXPECT_EQ(errorOf(image.build()), "accepted");
  EXPECT_EQ(errorOf(image.buildWith(image.header.dump() + "     ")), "accepted");
  EXPECT_EQ(errorOf(SafetensorsImage().build()), "accepted");
}

TEST(Safetensors, RefusesBadHeaderLengths) {
  EXPECT_THAT(errorOf("1234567"), HasSubstr("shorter than its 8-byte"));
  SafetensorsImage image = goodImage();
  for (uint64_t length : {uint64_t{1} << 63, uint64_t{100'000'001}}) {
    image.headerLength = length;
    EXPECT_THAT(errorOf(image.build()), HasSubstr("exceeds the limit of 100000000"));
  }
  image.headerLength = 99'999'999;
  EXPECT_THAT(errorOf(image.build()), HasSubstr("exceeds the file's remaining"));
  image.headerLength = 0;
  EXPECT_THAT(errorOf(image.build()), HasSubstr("expected a JSON object"));
}

TEST(Safetensors, RefusesBadHeaderText) {
  const SafetensorsImage empty;
  EXPECT_THAT(errorOf(empty.buildWith("[]")), HasSubstr("expected a JSON object"));
  EXPECT_THAT(errorOf(empty.buildWith(" {}")), HasSubstr("expected a JSON object"));
  EXPECT_THAT(errorOf(empty.buildWith("{")), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf(empty.buildWith("{\"\xff\":1}")), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf(empty.buildWith("{} x")), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf(empty.buildWith(R"({"a":1,"a":2})")), HasSubstr("'a' occurs twice"));
  const std::string entry = R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(errorOf(empty.buildWith(R"({"a":)" + entry + R"(,"a":)" + entry + "}")), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(errorOf(empty.buildWith(R"({"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}})")),
              HasSubstr("'dtype' occurs twice"));
}

TEST(Safetensors, RefusesBadMetadata) {
  SafetensorsImage image = goodImage();
  image.header["__metadata__"] = 3;
  EXPECT_THAT(errorOf(image.build()), HasSubstr("'__metadata__': expected an object of strings, found an integer"));
  image.header["__metadata__"] = {{"n", 3}};
  EXPECT_THAT(errorOf(image.build()), HasSubstr("expected a string for 'n'"));
}

TEST(Safetensors, RefusesBadEntries) {
  auto with = [](const char *key, nlohmann::json value) {
    SafetensorsImage image = goodImage();
    image.header["b"][key] = std::move(value);
    return errorOf(image.build());
  };
  EXPECT_THAT(with("dtype", "F33"), AllOf(HasSubstr("'b'"), HasSubstr("unknown dtype 'F33'")));
  EXPECT_THAT(with("dtype", nullptr), HasSubstr("key 'dtype': missing"));
  EXPECT_THAT(with("shape", "2x3"), HasSubstr("key 'shape': expected an array"));
  EXPECT_THAT(with("shape", {2, -3}), HasSubstr("extent -3"));
  EXPECT_THAT(with("shape", {2, 3.5}), HasSubstr("extent 3.5"));
  EXPECT_THAT(with("shape", {1000, 1000}), HasSubstr("takes 4000000 bytes, data_offsets give 24"));
  EXPECT_THAT(with("shape", {int64_t{1} << 62, 8}), HasSubstr("too large"));
  EXPECT_THAT(with("shape", {0, int64_t{1} << 62, 8}), HasSubstr("too large"));
  EXPECT_THAT(with("data_offsets", {0}), HasSubstr("expected two offsets"));
  EXPECT_THAT(with("data_offsets", {24, 0}), HasSubstr("expected two offsets"));
  EXPECT_THAT(with("data_offsets", {-24, 0}), HasSubstr("expected two offsets"));
  EXPECT_THAT(with("data_offsets", {0, 1000}), HasSubstr("outside the data part of 40 bytes"));
  EXPECT_THAT(with("data_offsets", {0, 20}), HasSubstr("takes 24 bytes, data_offsets give 20"));
  EXPECT_THAT(with("data_offsets", {0, ~uint64_t{0}}), HasSubstr("expected two offsets"));
}

TEST(Safetensors, RefusesOverlapsHolesAndTrailingBytes) {
  SafetensorsImage image = goodImage();
  image.header["a"]["data_offsets"] = {16, 24};
  EXPECT_THAT(errorOf(image.build()), HasSubstr("overlaps"));
  image = goodImage();
  image.header.erase("a");
  EXPECT_THAT(errorOf(image.build()), HasSubstr("hole of 8 bytes before tensor 'ids'"));
  image = goodImage();
  image.data += "x";
  EXPECT_THAT(errorOf(image.build()), HasSubstr("1 trailing bytes"));
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string bytes = goodImage().build();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Safetensors::parse(asBytes(bytes).first(size)).ok()) << size;
}

class SafetensorsShards : public testing::Test {
protected:
  SafetensorsShards() {
    directory.write("one.safetensors", SafetensorsImage().floats("a", {2}, 1).build());
    directory.write("two.safetensors", SafetensorsImage().floats("b", {2}, 2).build());
    writeIndex({{"a", "one.safetensors"}, {"b", "two.safetensors"}});
  }
  void writeIndex(const nlohmann::json &map) {
    directory.write("model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
  }
  std::string errorOf() {
    Result<Safetensors> file = Safetensors::open(directory.path());
    return file ? "accepted" : file.status().message();
  }
  TempDirectory directory;
};

TEST_F(SafetensorsShards, JoinsShards) {
  Result<Safetensors> file = Safetensors::open(directory.path());
  ASSERT_TRUE(file.ok()) << file.status().message();
  Safetensors moved = std::move(*file);
  float value;
  std::memcpy(&value, moved.tensor("b")->data, 4);
  EXPECT_EQ(value, 2.0f);
}

TEST_F(SafetensorsShards, RefusesNamesThatLeaveTheDirectory) {
  for (const char *name : {"../one.safetensors", "/etc/passwd", "sub/one.safetensors", "..", ""}) {
    writeIndex({{"a", name}});
    EXPECT_THAT(errorOf(), HasSubstr("beside the index")) << name;
  }
}

TEST_F(SafetensorsShards, RefusesContradictions) {
  writeIndex({{"a", "one.safetensors"}, {"b", "one.safetensors"}});
  EXPECT_THAT(errorOf(), HasSubstr("tensor 'b' is not in one.safetensors"));
  writeIndex({{"a", "three.safetensors"}});
  EXPECT_THAT(errorOf(), HasSubstr("three.safetensors: cannot be opened"));
  directory.write("two.safetensors", SafetensorsImage().floats("a", {2}).floats("b", {2}).build());
  writeIndex({{"a", "one.safetensors"}, {"b", "two.safetensors"}});
  EXPECT_THAT(errorOf(), HasSubstr("tensor 'a' occurs in two shards"));
}

TEST(SafetensorsOpen, NamesWhatIsMissing) {
  TempDirectory directory;
  EXPECT_THAT(Safetensors::open(directory.path()).status().message(), HasSubstr("expected model.safetensors or"));
}

} // namespace
