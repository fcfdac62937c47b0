//===- ToyGpuArtifact.cpp ----------------------------------------------------------===//

#include "test/unit/gpu/ToyGpuArtifact.h"

#include "test/unit/gpu/GpuTestDevices.h"

using nlohmann::json;

namespace fusec::runtime::test {

static json variant(const char *entry, json grid, json when = nullptr) {
  json row = {{"entry", entry},    {"grid", std::move(grid)}, {"threads", 32},
              {"shared_bytes", 0}, {"registers", 32},         {"ptx", "kernels/sm_80/toy.ptx"}};
  if (!when.is_null())
    row["when"] = std::move(when);
  return row;
}

json toyGpuManifest(bool tiles) {
  const json each = {{{"extent", "T"}, {"tile", 1}}}, pairs = {{{"extent", "T"}, {"tile", 2}}},
             columns = {{{"extent", "R"}, {"tile", 1}}, {{"extent", 20}, {"tile", 4}}};
  json append = json::array(), sum = json::array();
  if (tiles) {
    append.push_back(variant("toy_append_tile", pairs, {{"T", 4}}));
    sum.push_back(variant("toy_sum_tile", pairs, {{"T", 4}}));
  }
  append.push_back(variant("toy_append", each));
  sum.push_back(variant("toy_sum", each));
  const json kernels = {
      {"append", {{"variants", append}}},
      {"sum", {{"variants", sum}}},
      {"logits", {{"variants", {variant("toy_logits_r1", columns, {{"R", 1}}), variant("toy_logits", columns)}}}}};
  json manifest = json::parse(toyManifest());
  manifest["targets"].push_back({{"kind", "cuda"}, {"level", "sm_80"}, {"math", "f32"}, {"kernels", kernels}});
  return manifest;
}

json toySamplingManifest() {
  json manifest = toyGpuManifest();
  json &buffers = manifest["buffers"];
  const auto first = static_cast<int64_t>(buffers.size()), logits = first - 1;
  buffers.push_back({{"name", "sampling"}, {"kind", "input"}, {"dtype", "i32"}, {"dims", json::array({"R", 10})}});
  buffers.push_back(
      {{"name", "choices"}, {"kind", "output"}, {"dtype", "i32"}, {"dims", json::array({"R"})}, {"slot", 7}});
  manifest["launches"].push_back({{"kernel", "sample"},
                                  {"name", "sample"},
                                  {"args", json::array({logits, first, first + 1})},
                                  {"goals", json::array({"sampled"})}});
  json sample = variant("toy_sample", json::array({{{"extent", "R"}, {"tile", 1}}}));
  sample["threads"] = 64;
  sample["ptx"] = "kernels/sm_80/sampling.ptx";
  manifest["targets"].back()["kernels"]["sample"] = {{"variants", json::array({sample})}};
  return manifest;
}

ToyGpuArtifact::ToyGpuArtifact(ToyRule rule, const json &manifest) : ToyArtifact(rule) {
  std::filesystem::create_directories(directory() / "kernels/sm_80");
  write("kernels/sm_80/toy.ptx", readFixture("ToyKernels.ptx"));
  write("kernels/sm_80/sampling.ptx", readFixture("ToySampling.ptx"));
  write("manifest.json", manifest.dump());
}

} // namespace fusec::runtime::test
