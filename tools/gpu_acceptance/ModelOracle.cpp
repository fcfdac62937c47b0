//===- ModelOracle.cpp ------------------------------------------------------------===//
#include "tools/gpu_acceptance/ModelOracle.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/engine/Engine.h"

#include <nlohmann/json.hpp>

namespace fusec::acceptance {

using namespace fusec::runtime;
using Json = nlohmann::json;

namespace {

constexpr int64_t promptTokens = 70; ///< More than a tile of 64 tokens.
constexpr int64_t keptRows = 3, greedyTokens = 256;

template <typename T> bool readList(const Json &file, const char *name, std::vector<T> &list) {
  if (!file.contains(name) || !file[name].is_array())
    return false;
  for (const Json &value : file[name]) {
    if (!value.is_number())
      return false;
    list.push_back(value.get<T>());
  }
  return true;
}

} // namespace

Result<ModelOracle> ModelOracle::read(const std::filesystem::path &file) {
  FUSEC_ASSIGN_OR_RETURN(std::string text, readWholeFile(file));
  const Json json = Json::parse(text, nullptr, false);
  ModelOracle oracle;
  bool isGood = json.is_object() && readList(json, "ids", oracle.ids) && readList(json, "greedy", oracle.greedy) &&
                readList(json, "greedy_prompt", oracle.greedyPrompt) && json.contains("logits") &&
                json["logits"].is_array();
  for (size_t i = 0; isGood && i < json["logits"].size(); ++i)
    isGood = readList(json["logits"][i].is_array() ? Json{{"row", json["logits"][i]}} : Json::object(), "row",
                      oracle.logits.emplace_back());
  if (!isGood || oracle.logits.empty())
    return corruptData(file.string() + ": expected ids, logits, greedy_prompt and greedy");
  oracle.tolerance = json.value("tolerance", oracle.tolerance);
  oracle.exact = json.value("exact", false);
  return oracle;
}

Status storeOracle(const std::filesystem::path &artifact, const std::filesystem::path &file) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::create({.artifact = artifact}));
  const auto vocab = engine->model().vocabSize;
  const int64_t length = std::min(promptTokens, engine->options().contextTokens - 1);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i)
    ids.push_back(static_cast<int32_t>((i * 37 + i * i * 11 + 5) % vocab));
  FUSEC_ASSIGN_OR_RETURN(std::vector<float> all, engine->logits(ids, LogitRows::All));
  Json json = {{"ids", ids}, {"logits", Json::array()}};
  for (int64_t row = std::max<int64_t>(0, length - keptRows); row < length; ++row)
    json["logits"].push_back(std::vector<float>(all.begin() + row * vocab, all.begin() + (row + 1) * vocab));
  Request request;
  request.prompt = {engine->model().bosId.value_or(1)};
  request.sampling = SamplingParams::greedy();
  request.maxTokens = std::min(greedyTokens, engine->options().contextTokens - 1);
  request.ignoreEos = true;
  FUSEC_ASSIGN_OR_RETURN(Generation generation, engine->generate(request));
  json["greedy_prompt"] = request.prompt;
  json["greedy"] = generation.ids;
  return writeFileAtomically(file, json.dump() + "\n");
}

} // namespace fusec::acceptance
