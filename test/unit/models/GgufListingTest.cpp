//===- GgufListingTest.cpp - real files against the gguf package -----------===//
//
// Goldens: test/golden/models/<file>.listing.json, made by
// tools/scripts/list_gguf.py. The models are not part of the repository: the
// stories file lies in shared/data, the other one may be linked into
// <build>/test-models/.
//
//===----------------------------------------------------------------------===//

#include "models/import/Model.h"
#include "runtime/base/Json.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

std::string hex(const std::byte *data, size_t count) {
  std::string out;
  char digits[3];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(data[i]));
    out += digits;
  }
  return out;
}

json arraySummary(const GgufValue &value) {
  const size_t count = static_cast<size_t>(value.asArray()->count);
  if (auto texts = value.asStrings())
    return {count, texts->front(), texts->back()};
  if (auto numbers = value.asFloats())
    return {count, numbers->front(), numbers->back()};
  if (auto numbers = value.asInts())
    return {count, numbers->front(), numbers->back()};
  return count;
}

json scalar(const GgufValue &value) {
  if (auto text = value.asString())
    return *text;
  if (auto number = value.asInt())
    return *number;
  if (auto number = value.asFloat())
    return *number;
  return value.asBool().ok() ? json(*value.asBool()) : json();
}

json listing(const Gguf &file) {
  json metadata = json::object(), tensors = json::object();
  for (const GgufEntry &entry : file.metadata())
    metadata[std::string(entry.key)] = {entry.value.typeName(),
                                        entry.value.asArray() ? arraySummary(entry.value) : scalar(entry.value)};
  for (const TensorInfo &t : file.tensors())
    tensors[t.name] = {info(t.type).name, t.shape, t.bytes, hex(t.data, 8), hex(t.data + t.bytes - 8, 8)};
  return {{"metadata", metadata}, {"tensors", tensors}};
}

void compare(const fs::path &path) {
  if (!fs::exists(path))
    GTEST_SKIP() << path << " is absent";
  const fs::path golden = fs::path(FUSEC_SOURCE_DIR) / "test/golden/models" / (path.stem().string() + ".listing.json");
  Result<json> expected = readJsonFile(golden);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  Result<Model> model = openModel(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const json actual = listing(*model->gguf());
  ASSERT_EQ(actual["metadata"].size(), (*expected)["metadata"].size());
  ASSERT_EQ(actual["tensors"].size(), (*expected)["tensors"].size());
  for (const char *section : {"metadata", "tensors"})
    for (const auto &[name, row] : (*expected)[section].items())
      EXPECT_EQ(actual[section].value(name, json()), row) << name;
}

TEST(GgufListing, Stories) { compare(FUSEC_SOURCE_DIR "/../shared/data/models/stories260K/stories260K-f32.gguf"); }

TEST(GgufListing, SmolLM2) { compare(FUSEC_BINARY_DIR "/test-models/SmolLM2-135M-Instruct.Q4_1.gguf"); }

} // namespace
