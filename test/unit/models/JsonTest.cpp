//===- JsonTest.cpp - runtime/base/Json.h, which the readers rely on -------===//

#include "runtime/base/Json.h"
#include "runtime/base/MappedFile.h"
#include "test/unit/models/TempDirectory.h"

#include <gtest/gtest.h>

#include <utility>

using namespace fusec;
using nlohmann::json;

namespace {

TEST(Json, ParsesStrictly) {
  EXPECT_TRUE(parseJson(R"({"a": [1, 2.5, "\u00e9"]})", "x").ok());
  for (const char *bad : {"", "{", "{} {}", "[1,]", "nul", "{\"a\":\"\xff\"}", "'a'"})
    EXPECT_EQ(parseJson(bad, "x.json").status().message(), "x.json: not valid JSON (UTF-8)") << bad;
}

TEST(Json, LimitsNesting) {
  for (bool rejectDuplicates : {false, true}) {
    const JsonParseOptions options{.rejectDuplicateKeys = rejectDuplicates};
    EXPECT_TRUE(parseJson(std::string(1000, '[') + std::string(1000, ']'), "x", options).ok());
    EXPECT_EQ(parseJson(std::string(100000, '['), "x", options).status().message(),
              "x: nested deeper than 1000 levels");
    EXPECT_TRUE(parseJson("[\"" + std::string(5000, '[') + "\\\"[\"]", "x", options).ok()); // inside a string
  }
}

TEST(Json, DuplicateKeysOnRequest) {
  EXPECT_TRUE(parseJson(R"({"a":1,"a":2})", "x").ok());
  EXPECT_EQ(parseJson(R"({"b":[{"a":1,"a":2}]})", "x", {.rejectDuplicateKeys = true}).status().message(),
            "x: key 'a' occurs twice");
  EXPECT_TRUE(parseJson(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})", "x", {.rejectDuplicateKeys = true}).ok());
}

TEST(Json, AccessorsNameKeyExpectedAndFound) {
  const json o = {{"i", 3}, {"f", 1.5}, {"s", "t"}, {"b", true}, {"n", nullptr}, {"a", {1}}, {"big", UINT64_MAX}};
  EXPECT_EQ(*jsonInt(o, "i"), 3);
  EXPECT_EQ(*jsonFloat(o, "i"), 3.0);
  EXPECT_EQ(*jsonFloat(o, "f"), 1.5);
  EXPECT_EQ(*jsonString(o, "s"), "t");
  EXPECT_TRUE(*jsonBool(o, "b"));
  EXPECT_EQ((*jsonArray(o, "a"))->size(), 1u);
  EXPECT_EQ(jsonInt(o, "s").status().message(), "key 's': expected an integer, found a string");
  EXPECT_EQ(jsonInt(o, "f").status().message(), "key 'f': expected an integer, found a fractional number");
  EXPECT_FALSE(jsonInt(o, "big").ok());
  EXPECT_EQ(jsonBool(o, "i").status().message(), "key 'i': expected a boolean, found an integer");
  EXPECT_EQ(jsonObject(o, "a").status().message(), "key 'a': expected an object, found an array");
  EXPECT_EQ(jsonString(o, "gone").status().code(), ErrorCode::NotFound);
  EXPECT_EQ(jsonString(o, "n").status().message(), "key 'n': missing, expected a string");
  EXPECT_EQ(jsonInt(json::array(), "k").status().message(), "expected an object with key 'k', found an array");
}

TEST(Json, OptionalAccessors) {
  const json o = {{"i", 3}, {"n", nullptr}};
  EXPECT_EQ(*jsonIntOr(o, "i", 7), 3);
  EXPECT_EQ(*jsonIntOr(o, "n", 7), 7);
  EXPECT_EQ(*jsonFloatOr(o, "gone", 0.5), 0.5);
  EXPECT_TRUE(*jsonBoolOr(o, "gone", true));
  EXPECT_EQ(*jsonStringOr(o, "gone", "d"), "d");
  EXPECT_FALSE(jsonBoolOr(o, "i", true).ok());
}

TEST(MappedFile, MapsMovesAndReportsErrors) {
  TempDirectory directory;
  Result<MappedFile> file = MappedFile::open(directory.write("f", "hello"));
  ASSERT_TRUE(file.ok());
  const std::byte *data = file->bytes().data();
  MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.bytes().data(), data);
  EXPECT_EQ(moved.size(), 5u);
  moved = MappedFile();
  EXPECT_EQ(moved.size(), 0u);
  Result<MappedFile> empty = MappedFile::open(directory.write("e", ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->bytes().empty());
  EXPECT_EQ(MappedFile::open(directory.path() / "no").status().code(), ErrorCode::NotFound);
  EXPECT_EQ(MappedFile::open(directory.path()).status().code(), ErrorCode::InvalidArgument);
}

} // namespace
