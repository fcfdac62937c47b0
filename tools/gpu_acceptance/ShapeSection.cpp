//===- ShapeSection.cpp - times of our kernels at the sizes of real models ----------===//
//
// Every <data>/shapes/<name>.json stands for an artifact <name>.fusec without its
// weights (prepare.py): a few layers of a model's shape. The weights are made up here;
// times do not depend on them.
//
//   decode step   token by token, replayed from a graph, as seen by the host
//   kernels       each launch of the last layer, at 1 to 512 tokens, by events
//   attention     the same launches for prompts of 1k to 16k tokens
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/Section.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/engine/Engine.h"
#include "runtime/exec/Artifact.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>

namespace fusec::acceptance {

using namespace fusec::runtime;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

struct Shape {
  std::string name;
  fs::path artifact; ///< With weights.
  int64_t weightBytes = 0, layers = 0, heads = 0, headSize = 0;
};

/// Bytes that are small positive numbers as the top half of any float format, so that nothing overflows at once.
std::string weightBlock(size_t bytes) {
  std::string block(bytes, '\0');
  uint64_t state = 1;
  for (char &byte : block) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>((state >> 40) % 0x3b);
  }
  return block;
}

Status writeWeights(const fs::path &file, int64_t bytes) {
  const std::string block = weightBlock(1 << 20);
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  for (int64_t left = bytes; left > 0 && stream; left -= int64_t(block.size()))
    stream.write(block.data(), std::min(left, int64_t(block.size())));
  stream.close();
  return stream ? Status() : resourceExhausted("cannot write " + std::to_string(bytes) + " bytes to " + file.string());
}

/// The carried artifact's files as links, and weights.bin, in a folder of the results.
Result<Shape> makeShape(const Settings &settings, const fs::path &file) {
  FUSEC_ASSIGN_OR_RETURN(std::string text, readWholeFile(file));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return corruptData(file.string() + ": expected an object");
  Shape shape{file.stem(),
              settings.out / "scratch" / (file.stem().string() + ".fusec"),
              json.value("weight_bytes", int64_t(0)),
              json.value("layers", int64_t(1)),
              json.value("heads", int64_t(1)),
              json.value("head_size", int64_t(1))};
  fs::path carried = file;
  carried.replace_extension(".fusec");
  std::error_code error;
  fs::remove_all(shape.artifact, error);
  fs::create_directories(shape.artifact, error);
  for (const auto &entry : fs::directory_iterator(carried, error))
    if (entry.path().filename() != "weights.bin")
      fs::create_symlink(fs::absolute(entry.path()), shape.artifact / entry.path().filename(), error);
  if (error)
    return notFound(carried.string() + ": " + error.message());
  FUSEC_RETURN_IF_ERROR(writeWeights(shape.artifact / "weights.bin", shape.weightBytes));
  return shape;
}

/// What a launch works on, from the manifest.
struct Work {
  int64_t weightBytes = 0, weightElements = 0;
  bool readsCache = false;
};

/// Launches of one op share its name: a product may come with the norm before it, an attention with its merge.
std::string keyOf(const std::string &launch, const std::string &kernel) { return launch + " " + kernel; }

std::map<std::string, Work> workOf(const Manifest &manifest) {
  std::map<std::string, Work> works;
  for (const LaunchInfo &launch : manifest.launches)
    for (int32_t index : launch.args) {
      const BufferInfo &buffer = manifest.buffers[static_cast<size_t>(index)];
      Work &work = works[keyOf(launch.name, launch.kernel)];
      work.readsCache |= buffer.kind == BufferKind::Cache;
      if (buffer.kind != BufferKind::Weight || buffer.dims.size() < 2)
        continue;
      int64_t elements = 1;
      for (const Extent &extent : buffer.dims)
        elements *= extent.constant;
      work.weightBytes += buffer.bytes;
      work.weightElements += elements;
    }
  return works;
}

class ShapeRates {
public:
  ShapeRates(const Settings &settings, Report &report, Shape shape)
      : settings(settings), report(report), shape(std::move(shape)) {}
  /// Reads the manifest.
  Status open();
  /// A decode step, and launches at few tokens.
  Status measureShort();
  /// Launches that read the cache, for long prompts.
  Status measureLong();
  const std::string &name() const { return shape.name; }

private:
  Result<std::unique_ptr<Engine>> openEngine(int64_t tokens, int64_t chunk) const;
  Status measureAll(const std::vector<int64_t> &sizes);
  Status measureDecode();
  Status measureLaunches(int64_t tokens);
  std::string noteOf(const std::string &launch, int64_t tokens, double seconds) const;
  int repeats() const { return settings.quick ? 2 : 20; }

  const Settings &settings;
  Report &report;
  Shape shape;
  std::map<std::string, Work> works;
};

std::vector<int32_t> someTokens(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>((i * 37 + 5) % 512));
  return ids;
}

Result<std::unique_ptr<Engine>> ShapeRates::openEngine(int64_t tokens, int64_t chunk) const {
  return Engine::create(
      {.artifact = shape.artifact, .contextTokens = tokens + 1, .chunkTokens = chunk, .device = settings.device});
}

/// One row of logits per token makes every step a decode step. The time of a step is that of many, one token each,
/// divided: from the host's view, with its work and the logits' way back.
Status ShapeRates::measureDecode() {
  const int64_t tokens = settings.quick ? 3 : 64;
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, openEngine(tokens, 1));
  const std::vector<int32_t> ids = someTokens(tokens);
  std::vector<double> microseconds, rates;
  for (int i = -1; i < repeats(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    FUSEC_RETURN_IF_ERROR(engine->logits(ids, LogitRows::All).status());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i < 0)
      continue; // Captures its graphs.
    microseconds.push_back(took.count() / double(tokens) * 1e6);
    rates.push_back(double(shape.weightBytes) * double(tokens) / took.count() / 1e9);
  }
  const std::string note = std::to_string(shape.layers) + " layers, " + std::to_string(shape.weightBytes / 1000000) +
                           " MB of weights, context up to " + std::to_string(tokens) + ", " +
                           std::to_string(engine->graphStats().replayed) + " steps from graphs";
  report.measure({shape.name + " decode step", "us", microseconds, note});
  report.measure({shape.name + " decode weights", "GB/s", rates, "compare with 'device read'"});
  return {};
}

std::string ShapeRates::noteOf(const std::string &launch, int64_t tokens, double seconds) const {
  const Work &work = works.at(launch);
  char text[128] = "";
  if (work.weightBytes > 0)
    std::snprintf(text, sizeof text, "%.1f MiB of weights: %.4g GB/s, %.4g TFLOP/s",
                  double(work.weightBytes) / (1 << 20), double(work.weightBytes) / seconds / 1e9,
                  2.0 * double(work.weightElements * tokens) / seconds / 1e12);
  else if (work.readsCache && launch.find(".attention ") != std::string::npos)
    std::snprintf(text, sizeof text, "causal, %lld heads of %lld: %.4g TFLOP/s", static_cast<long long>(shape.heads),
                  static_cast<long long>(shape.headSize),
                  2.0 * double(shape.heads * shape.headSize) * double(tokens) * double(tokens) / seconds / 1e12);
  return text;
}

/// Launches of the last layer in a step of `tokens` tokens from an empty cache; above 512 only those that read the
/// cache.
Status ShapeRates::measureLaunches(int64_t tokens) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, openEngine(tokens, tokens));
  const std::vector<int32_t> ids = someTokens(tokens);
  FUSEC_RETURN_IF_ERROR(engine->logits(ids, LogitRows::Last).status());
  engine->setProfiling(true);
  std::map<std::string, std::vector<double>> samples; // Microseconds.
  for (int i = 0; i < repeats(); ++i) {
    FUSEC_RETURN_IF_ERROR(engine->logits(ids, LogitRows::Last).status());
    for (const LaunchTime &launch : engine->takeProfile())
      samples[keyOf(launch.launch, launch.kernel)].push_back(launch.seconds / double(launch.runs) * 1e6);
  }
  const std::string layer = "blk." + std::to_string(shape.layers - 1) + ".";
  for (auto &[name, times] : samples) {
    const Work &work = works[name];
    if (!name.starts_with(layer) || (tokens > 512 && (!work.readsCache || work.weightBytes > 0)))
      continue;
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    report.measure({shape.name + " T=" + std::to_string(tokens) + " " + name.substr(layer.size()), "us", times,
                    noteOf(name, tokens, std::max(sorted[sorted.size() / 2], 1e-3) * 1e-6)});
  }
  return {};
}

Status ShapeRates::open() {
  FUSEC_ASSIGN_OR_RETURN(Artifact artifact, Artifact::open(shape.artifact));
  works = workOf(artifact.manifest);
  return {};
}

Status ShapeRates::measureShort() {
  FUSEC_RETURN_IF_ERROR(measureDecode());
  return measureAll(settings.quick ? std::vector<int64_t>{1, 9} : std::vector<int64_t>{1, 8, 16, 64, 512});
}

Status ShapeRates::measureLong() {
  return measureAll(settings.quick ? std::vector<int64_t>{} : std::vector<int64_t>{1024, 2048, 4096, 8192, 16384});
}

Status ShapeRates::measureAll(const std::vector<int64_t> &sizes) {
  for (int64_t tokens : sizes)
    if (Status status = measureLaunches(tokens); !status.ok())
      return internalError(std::to_string(tokens) + " tokens: " + status.message());
  return {};
}

std::vector<fs::path> shapeFiles(const fs::path &folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Status addShape(const Settings &settings, Report &report, const fs::path &file, std::vector<ShapeRates> &shapes) {
  FUSEC_ASSIGN_OR_RETURN(Shape shape, makeShape(settings, file));
  FUSEC_RETURN_IF_ERROR(shapes.emplace_back(settings, report, std::move(shape)).open());
  return {};
}

} // namespace

Status runShapes(const Settings &settings, Report &report) {
  std::vector<ShapeRates> shapes;
  const std::vector<fs::path> files = shapeFiles(settings.data / "shapes");
  if (files.empty())
    report.note("no shapes in '" + settings.data.string() + "': prepare.py makes them");
  const auto noteError = [&](const std::string &name, const Status &status) {
    if (!status.ok())
      report.note(name + " not measured: " + status.message());
  };
  for (const fs::path &file : files)
    noteError(file.stem(), addShape(settings, report, file, shapes));
  // Long prompts last: they may take more time than there is.
  for (ShapeRates &shape : shapes)
    noteError(shape.name(), shape.measureShort());
  for (ShapeRates &shape : shapes)
    noteError(shape.name(), shape.measureLong());
  std::error_code ignored;
  fs::remove_all(settings.out / "scratch", ignored); // Links and made-up weights.
  return {};
}

} // namespace fusec::acceptance
