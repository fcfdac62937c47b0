//===- ToyArtifact.cpp -------------------------------------------------------===//

#include "test/unit/runtime/ToyArtifact.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

using nlohmann::json;

namespace fusec::runtime::test {

namespace {

json buffers() {
  return json::parse(R"([
    {"name": "tokens", "kind": "input", "dtype": "i32", "dims": ["T"]},
    {"name": "positions", "kind": "input", "dtype": "i32", "dims": ["T"]},
    {"name": "sequences", "kind": "input", "dtype": "i32", "dims": ["T"]},
    {"name": "block_table", "kind": "input", "dtype": "i32", "dims": ["S", "B"]},
    {"name": "output_rows", "kind": "input", "dtype": "i32", "dims": ["R"]},
    {"name": "rule.weight", "kind": "weight", "dtype": "f32", "dims": [4], "offset": 64, "bytes": 16},
    {"name": "k.0", "kind": "cache", "dtype": "f32", "page_bytes": 16},
    {"name": "sums", "kind": "activation", "dtype": "f32", "dims": ["T"], "slot": 0},
    {"name": "logits", "kind": "output", "dtype": "f32", "dims": ["R", 20], "slot": 1}])");
}

json launches() {
  return json::parse(R"([
    {"kernel": "append", "name": "blk.0.append", "args": [0, 1, 2, 3, 6]},
    {"kernel": "sum", "name": "blk.0.sum", "args": [1, 2, 3, 6, 7]},
    {"kernel": "logits", "name": "output", "args": [0, 4, 7, 5, 8]}])");
}

json kernels() {
  return json::parse(R"({
    "append": {"variants": [{"entry": "toy_append", "grid": [{"extent": "T", "tile": 1}]}]},
    "sum": {"variants": [{"entry": "toy_sum", "grid": [{"extent": "T", "tile": 1}], "scratch_bytes": 256}]},
    "logits": {"variants": [
      {"when": {"R": 1}, "entry": "toy_logits_r1", "grid": [{"extent": "R", "tile": 1}, {"extent": 20, "tile": 4}]},
      {"entry": "toy_logits", "grid": [{"extent": "R", "tile": 1}, {"extent": 20, "tile": 4}]}]}})");
}

/// Letters a..k, the two bytes of "é", m and n, and an end token: 16 ids.
std::string tokenizerJson() {
  json vocab;
  const char *pieces[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "Ã", "©", "m", "n"};
  for (int id = 0; id < 15; ++id)
    vocab[pieces[id]] = id;
  json byteLevel = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  json endToken = {{"id", toyEos},    {"content", "<eos>"},  {"single_word", false}, {"lstrip", false},
                   {"rstrip", false}, {"normalized", false}, {"special", true}};
  json document = {{"version", "1.0"},
                   {"added_tokens", {endToken}},
                   {"normalizer", nullptr},
                   {"pre_tokenizer", byteLevel},
                   {"post_processor", nullptr},
                   {"decoder", byteLevel},
                   {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", json::array()}}},
                   {"fusec", {{"eos_id", toyEos}, {"end_ids", {toyEos}}}}};
  return document.dump();
}

std::string weights(ToyRule rule) {
  std::string bytes(toyWeightsBytes, '\0');
  float mode = rule == ToyRule::Checksum ? 1 : 0;
  bytes.replace(64, sizeof(mode), reinterpret_cast<const char *>(&mode), sizeof(mode));
  return bytes;
}

std::filesystem::path freshDirectory() {
  static std::atomic<int> next{0};
  return std::filesystem::temp_directory_path() /
         ("fusec-toy-" + std::to_string(getpid()) + "-" + std::to_string(next++));
}

} // namespace

std::string toyManifest() {
  json targets = json::array();
  for (const char *level : {"avx512", "avx2"})
    targets.push_back({{"kind", "host"}, {"level", level}, {"library", "kernels/toy.so"}, {"kernels", kernels()}});
  json document = {
      {"format", 4},
      {"fusec", "test"},
      {"model",
       {{"name", "toy"},
        {"architecture", "toy"},
        {"digest", "0"},
        {"vocab_size", toyVocab},
        {"context_length", toyContext},
        {"bos_id", nullptr},
        {"eos_ids", {toyEos}},
        {"bytes", 16},
        {"generation", {{"temperature", 0.5}, {"top_k", 7}}}}},
      {"symbols", {"T", "S", "B", "R", "C"}},
      {"kv",
       {{"page_tokens", toyPageTokens}, {"dtype", "f32"}, {"layers", 1}, {"layout", "paged"}, {"page_stride", 16}}},
      {"buffers", buffers()},
      {"launches", launches()},
      {"targets", targets}};
  return document.dump();
}

ToyArtifact::ToyArtifact(ToyRule rule) : path(freshDirectory()) {
  std::filesystem::create_directories(path / "kernels");
  std::filesystem::copy_file(FUSEC_TOY_KERNELS, path / "kernels" / "toy.so");
  write("manifest.json", toyManifest());
  write("weights.bin", weights(rule));
  write("tokenizer.json", tokenizerJson());
}

ToyArtifact::~ToyArtifact() {
  std::error_code ec;
  std::filesystem::remove_all(path, ec);
}

void ToyArtifact::write(const std::string &name, const std::string &text) const {
  std::ofstream(path / name, std::ios::binary) << text;
}

} // namespace fusec::runtime::test
