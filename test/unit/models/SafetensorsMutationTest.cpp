//===- SafetensorsMutationTest.cpp - damaged safetensors never crash -------===//

#include "test/unit/models/MutationTest.h"
#include "test/unit/models/TinyModel.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;

TEST(SafetensorsMutation, RandomBytes) {
  const SafetensorsImage image = tinySafetensors();
  const std::string bytes = image.build();
  runMutations(bytes, bytes.size() - image.data.size(), 10000);
}

TEST(SafetensorsMutation, Truncations) { runTruncations(tinySafetensors().build()); }
