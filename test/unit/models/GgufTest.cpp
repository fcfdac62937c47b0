//===- GgufTest.cpp - what the GGUF reader accepts and refuses -------------===//

#include "models/import/Gguf.h"
#include "test/unit/models/GgufImage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Entries of every type and tensors of two storage types.
GgufImage goodImage() {
  GgufImage image;
  image.text("general.architecture", "test")
      .scalar<uint8_t>("u8", GgufType::UInt8, 200)
      .scalar<int8_t>("i8", GgufType::Int8, -5)
      .scalar<uint16_t>("u16", GgufType::UInt16, 65535)
      .scalar<int16_t>("i16", GgufType::Int16, -300)
      .u32("u32", 4000000000u)
      .scalar<int32_t>("i32", GgufType::Int32, -70000)
      .f32("f32", 0.5f)
      .scalar<uint8_t>("yes", GgufType::Bool, 1)
      .scalar<uint64_t>("u64", GgufType::UInt64, uint64_t{1} << 63)
      .scalar<int64_t>("i64", GgufType::Int64, -(int64_t{1} << 40))
      .scalar<double>("f64", GgufType::Float64, 1.25)
      .strings("words", {"a", "", "ccc"});
  image.entry("ints", GgufType::Array,
              ByteWriter().put<uint32_t>(5).put<uint64_t>(2).put<int32_t>(-1).put<int32_t>(7).bytes);
  image.floats("a", {4, 2}, 1.5f);
  image.tensor({"b", {64}, 8, std::string(68, '\1'), {}, {}});
  return image;
}

std::string errorOf(const GgufImage &image) {
  const std::string bytes = image.build();
  Result<Gguf> file = Gguf::parse(asBytes(bytes));
  return file ? "accepted" : file.status().message();
}

TEST(Gguf, ReadsEveryValueType) {
  const std::string bytes = goodImage().build();
  Result<Gguf> file = Gguf::parse(asBytes(bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(*file->getInt("u8"), 200);
  EXPECT_EQ(*file->getInt("i8"), -5);
  EXPECT_EQ(*file->getInt("u16"), 65535);
  EXPECT_EQ(*file->getInt("i16"), -300);
  EXPECT_EQ(*file->getInt("u32"), 4000000000);
  EXPECT_EQ(*file->getInt("i32"), -70000);
  EXPECT_EQ(*file->getInt("i64"), -(int64_t{1} << 40));
  EXPECT_EQ(*file->getFloat("f32"), 0.5);
  EXPECT_EQ(*file->getFloat("f64"), 1.25);
  EXPECT_TRUE(*file->getBool("yes"));
  EXPECT_EQ(*file->getString("general.architecture"), "test");
  EXPECT_THAT(*file->getInts("ints"), ElementsAre(-1, 7));
  EXPECT_THAT(*file->getStrings("words"), ElementsAre("a", "", "ccc"));
  EXPECT_EQ(file->metadata().size(), 14u);
}

TEST(Gguf, GettersNameKeyExpectedAndFound) {
  const std::string bytes = goodImage().build();
  Result<Gguf> file = Gguf::parse(asBytes(bytes));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->getInt("f32").status().message(), "key 'f32': expected an integer, found float32");
  EXPECT_EQ(file->getFloat("u8").status().message(), "key 'u8': expected a floating-point number, found uint8");
  EXPECT_EQ(file->getString("ints").status().message(), "key 'ints': expected a string, found array of int32");
  EXPECT_EQ(file->getStrings("ints").status().message(),
            "key 'ints': expected an array of strings, found array of int32");
  EXPECT_EQ(file->getBool("u8").status().message(), "key 'u8': expected a bool, found uint8");
  EXPECT_THAT(file->getInt("u64").status().message(), HasSubstr("below 2^63"));
  EXPECT_EQ(file->getInt("gone").status().code(), ErrorCode::NotFound);
  EXPECT_EQ(file->getInt("gone").status().message(), "key 'gone': missing, expected an integer");
}

TEST(Gguf, ReadsTensorsOutermostFirst) {
  const std::string bytes = goodImage().build();
  Result<Gguf> file = Gguf::parse(asBytes(bytes));
  ASSERT_TRUE(file.ok());
  const TensorInfo *a = file->findTensor("a");
  ASSERT_NE(a, nullptr);
  EXPECT_THAT(a->shape, ElementsAre(2, 4));
  EXPECT_EQ(a->bytes, 32);
  float last;
  std::memcpy(&last, a->data + 28, 4);
  EXPECT_EQ(last, 1.5f);
  EXPECT_EQ(file->findTensor("b")->type, StorageType::Q8_0);
  EXPECT_EQ(file->findTensor("b")->bytes, 68);
  EXPECT_EQ(file->findTensor("c"), nullptr);
}

TEST(Gguf, AcceptsVersion2AndOtherAlignments) {
  GgufImage image = goodImage();
  image.version = 2;
  EXPECT_EQ(errorOf(image), "accepted");
  image.alignment = 64;
  image.u32("general.alignment", 64);
  EXPECT_EQ(errorOf(image), "accepted");
}

TEST(Gguf, AcceptsAFileWithoutTensors) {
  GgufImage image;
  image.text("general.architecture", "vocab");
  std::string bytes = image.build();
  bytes.resize(bytes.size() - 3); // no padding needed when no data follow
  EXPECT_TRUE(Gguf::parse(asBytes(bytes)).ok());
}

TEST(Gguf, RefusesForeignHeaders) {
  EXPECT_THAT(Gguf::parse({}).status().message(), HasSubstr("not a GGUF file"));
  EXPECT_THAT(Gguf::parse(asBytes(std::string("GGML\3\0\0\0", 8))).status().message(), HasSubstr("not a GGUF file"));
  GgufImage image = goodImage();
  image.version = 0x03000000;
  EXPECT_THAT(errorOf(image), HasSubstr("big-endian"));
  for (uint32_t version : {0u, 1u, 4u}) {
    image.version = version;
    EXPECT_THAT(errorOf(image), HasSubstr("GGUF version " + std::to_string(version) + ": expected 2 or 3"));
  }
}

TEST(Gguf, RefusesCountsBeyondTheFile) {
  for (uint64_t count : {uint64_t{1000}, uint64_t{1} << 62, ~uint64_t{0}}) {
    GgufImage image = goodImage();
    image.entryCount = count;
    EXPECT_THAT(errorOf(image), HasSubstr("metadata entries: the file ends"));
    image.entryCount.reset();
    image.tensorCount = count;
    EXPECT_THAT(errorOf(image), HasSubstr("tensors: the file ends"));
  }
}

TEST(Gguf, RefusesBadValues) {
  auto with = [](GgufType type, std::string payload) {
    GgufImage image = goodImage();
    image.entry("bad", type, payload);
    return errorOf(image);
  };
  EXPECT_THAT(with(GgufType::String, ByteWriter().put(uint64_t{1} << 62).bytes),
              AllOf(HasSubstr("'bad'"), HasSubstr("ends inside")));
  EXPECT_THAT(with(GgufType::Bool, "\2"), HasSubstr("expected a bool of 0 or 1, found 2"));
  EXPECT_THAT(with(GgufType::Array, ByteWriter().put<uint32_t>(9).put<uint64_t>(0).bytes),
              HasSubstr("array of arrays"));
  EXPECT_THAT(with(GgufType::Array, ByteWriter().put<uint32_t>(13).put<uint64_t>(0).bytes), HasSubstr("type id 13"));
  EXPECT_THAT(with(GgufType::Array, ByteWriter().put<uint32_t>(4).put(uint64_t{1} << 62).bytes),
              HasSubstr("ends inside"));
  EXPECT_THAT(with(GgufType::Array, ByteWriter().put<uint32_t>(8).put(uint64_t{1} << 61).bytes),
              HasSubstr("ends inside"));
  GgufImage image = goodImage();
  image.rawEntry("bad", 77, "");
  EXPECT_THAT(errorOf(image), HasSubstr("unknown value type id 77"));
}

TEST(Gguf, RefusesDuplicatesAndEmptyNames) {
  EXPECT_THAT(errorOf(goodImage().u32("u32", 1)), HasSubstr("key 'u32' occurs twice"));
  EXPECT_THAT(errorOf(goodImage().u32("", 1)), HasSubstr("empty key"));
  EXPECT_THAT(errorOf(goodImage().floats("a", {4})), HasSubstr("tensor 'a' occurs twice"));
  EXPECT_THAT(errorOf(goodImage().floats("", {4})), HasSubstr("empty name"));
}

TEST(Gguf, RefusesBadAlignment) {
  for (uint32_t alignment : {0u, 3u, 48u, 1u << 31})
    EXPECT_THAT(errorOf(goodImage().u32("general.alignment", alignment)), HasSubstr("power of two"));
  EXPECT_THAT(errorOf(goodImage().text("general.alignment", "32")), HasSubstr("expected an integer, found string"));
}

TEST(Gguf, RefusesBadShapes) {
  for (uint32_t dims : {0u, 5u, 0xffffffffu}) {
    GgufImage image = goodImage();
    image.tensors[0].dims = dims;
    EXPECT_THAT(errorOf(image), AllOf(HasSubstr("'a'"), HasSubstr("expected 1 to 4 dimensions")));
  }
  auto withNe = [](std::vector<uint64_t> ne) {
    GgufImage image = goodImage();
    image.tensors[0].ne = std::move(ne);
    return errorOf(image);
  };
  EXPECT_THAT(withNe({0, 2}), HasSubstr("extent 0"));
  EXPECT_THAT(withNe({uint64_t{1} << 63, 1}), HasSubstr("too large"));
  EXPECT_THAT(withNe({uint64_t{1} << 32, uint64_t{1} << 32}), HasSubstr("too large"));
  EXPECT_THAT(withNe({uint64_t{1} << 62}), HasSubstr("too large")); // bytes overflow
  EXPECT_THAT(withNe({uint64_t{1} << 40}), HasSubstr("outside the data part"));
}

TEST(Gguf, RefusesUnknownAndUnfittingStorage) {
  GgufImage image = goodImage();
  image.tensors[0].type = 999;
  EXPECT_THAT(errorOf(image), AllOf(HasSubstr("'a'"), HasSubstr("storage type id 999")));
  image = goodImage();
  image.tensor({"blk.0.ffn_down.weight", {172, 64}, 8, std::string(20000, '\0'), {}, {}});
  EXPECT_EQ(errorOf(image),
            "tensor 'blk.0.ffn_down.weight': q8_0 needs a row length that is a multiple of 32, found 172");
}

TEST(Gguf, RefusesBadOffsets) {
  auto withOffset = [](uint64_t offset) {
    GgufImage image = goodImage();
    image.tensors[1].offset = offset;
    return errorOf(image);
  };
  EXPECT_THAT(withOffset(uint64_t{1} << 40), AllOf(HasSubstr("'b'"), HasSubstr("outside the data part")));
  EXPECT_THAT(withOffset(~uint64_t{31}), HasSubstr("outside the data part"));
  EXPECT_THAT(withOffset(33), HasSubstr("no multiple of the alignment 32"));
  EXPECT_THAT(withOffset(0), HasSubstr("overlap"));
  EXPECT_THAT(withOffset(64), HasSubstr("outside"));
}

TEST(Gguf, RefusesEveryTruncation) {
  std::vector<size_t> edges;
  const std::string bytes = goodImage().build(&edges);
  for (size_t percent = 0; percent < 100; ++percent)
    edges.push_back(bytes.size() * percent / 100);
  for (size_t edge : edges)
    for (size_t size : {edge - 1, edge, edge + 1})
      if (size < bytes.size())
        EXPECT_FALSE(Gguf::parse(asBytes(bytes).first(size)).ok()) << "cut to " << size << " of " << bytes.size();
}

TEST(Gguf, MessagesStayOnOnePrintableLine) {
  GgufImage image = goodImage();
  image.tensors[0].name = "x\n\x1b[31m" + std::string(5000, 'y');
  image.tensors[0].type = 999;
  const std::string message = errorOf(image);
  EXPECT_LT(message.size(), 250u);
  EXPECT_THAT(message, HasSubstr("'x\\x0a\\x1b[31m"));
}

} // namespace
