//===- GgufMutationTest.cpp - damaged GGUF files never crash ---------------===//

#include "test/unit/models/MutationTest.h"
#include "test/unit/models/TinyModel.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;

TEST(GgufMutation, RandomBytes) {
  GgufImage image = tinyGguf();
  image.strings("tokenizer.ggml.tokens", {"a", "b", "c"}).f32("llama.rope.freq_base", 1e4f);
  std::vector<size_t> edges;
  const std::string bytes = image.build(&edges);
  runMutations(bytes, edges[edges.size() - 2], 10000);
}

TEST(GgufMutation, Truncations) { runTruncations(tinyGguf(true).build()); }
