//===- HfConfigMutationTest.cpp - damaged config.json never crashes --------===//

#include "test/unit/models/MutationTest.h"
#include "test/unit/models/TinyModel.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;

static std::string richConfig() {
  nlohmann::json config = tinyHfConfig();
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 32}};
  config["eos_token_id"] = {2, 3};
  config["temperature"] = 0.5;
  config["layer_types"] = {"full_attention"};
  return config.dump();
}

TEST(HfConfigMutation, RandomBytes) { runMutations(richConfig(), richConfig().size(), 10000); }

TEST(HfConfigMutation, Truncations) { runTruncations(richConfig()); }

// Every value of the document replaced by a value of each JSON type.
TEST(HfConfigMutation, WrongTypes) {
  const nlohmann::json good = nlohmann::json::parse(richConfig()).flatten();
  const nlohmann::json values[] = {nullptr,
                                   true,
                                   -1,
                                   0,
                                   1e300,
                                   "x",
                                   nlohmann::json::array(),
                                   nlohmann::json::object(),
                                   INT64_MIN,
                                   UINT64_MAX,
                                   nlohmann::json::parse("[[1],{}]")};
  for (const auto &[pointer, value] : good.items())
    for (const nlohmann::json &other : values) {
      nlohmann::json document = good.unflatten();
      document[nlohmann::json::json_pointer(pointer)] = other;
      runFuzzerOn(document.dump());
    }
}
