//===- Model.cpp - a model file opened and checked -------------------------===//

#include "models/import/Model.h"

#include "models/import/Quote.h"

#include <cstring>
#include <set>

namespace fusec::models {
namespace {

namespace fs = std::filesystem;

/// What the builder needs of either file format.
class TensorSource {
public:
  virtual ~TensorSource() = default;
  virtual std::vector<std::string> names() const = 0;
  virtual bool has(const std::string &name) const = 0;
  virtual Result<TensorInfo> tensor(const std::string &name) const = 0;
  virtual std::string_view nameIn(const WeightRule &rule) const = 0;
};

class GgufSource final : public TensorSource {
public:
  explicit GgufSource(const Gguf &file) : file(file) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const TensorInfo &tensor : file.tensors())
      out.push_back(tensor.name);
    return out;
  }
  bool has(const std::string &name) const override { return file.findTensor(name) != nullptr; }
  Result<TensorInfo> tensor(const std::string &name) const override {
    if (const TensorInfo *found = file.findTensor(name))
      return *found;
    return notFound("tensor " + quote(name) + ": missing");
  }
  std::string_view nameIn(const WeightRule &rule) const override { return rule.canonical; }

private:
  const Gguf &file;
};

class SafetensorsSource final : public TensorSource {
public:
  explicit SafetensorsSource(const Safetensors &file) : file(file) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const SafetensorsEntry &entry : file.entries())
      out.push_back(entry.name);
    return out;
  }
  bool has(const std::string &name) const override { return file.find(name) != nullptr; }
  Result<TensorInfo> tensor(const std::string &name) const override { return file.tensor(name); }
  std::string_view nameIn(const WeightRule &rule) const override { return rule.hf; }

private:
  const Safetensors &file;
};

int64_t extent(WeightDim dim, const ModelConfig &config) {
  switch (dim) {
  case WeightDim::None:
    return 1;
  case WeightDim::Vocab:
    return config.vocab;
  case WeightDim::Hidden:
    return config.hidden;
  case WeightDim::Query:
    return config.heads * config.headDim;
  case WeightDim::KeyVal:
    return config.kvHeads * config.headDim;
  case WeightDim::Ffn:
    return config.ffn;
  }
  return 0;
}

std::vector<int64_t> expectedShape(const WeightRule &rule, const ModelConfig &config) {
  std::vector<int64_t> shape = {extent(rule.rows, config)};
  if (rule.cols != WeightDim::None)
    shape.push_back(extent(rule.cols, config));
  return shape;
}

bool sameData(const Weight &a, const Weight &b) {
  return a.type == b.type && a.data.size() == b.data.size() &&
         std::memcmp(a.data.data(), b.data.data(), a.data.size()) == 0;
}

} // namespace

/// Collects the weights of a model whose config is already read.
class ModelBuilder {
public:
  ModelBuilder(Model &model, const TensorSource &source) : model(model), config(model.modelConfig), source(source) {}

  Status run() {
    for (const WeightRule &rule : config.architecture->weights)
      if (!rule.perLayer() && isWanted(rule))
        FUSEC_RETURN_IF_ERROR(add(rule, 0));
    for (int64_t layer = 0; layer < config.layers; ++layer)
      for (const WeightRule &rule : config.architecture->weights)
        if (rule.perLayer() && isWanted(rule))
          FUSEC_RETURN_IF_ERROR(add(rule, layer));
    if (config.tied)
      FUSEC_RETURN_IF_ERROR(passOverTiedOutput());
    return checkNothingLeft();
  }

private:
  bool isWanted(const WeightRule &rule) const {
    switch (rule.when) {
    case WeightWhen::Always:
      return true;
    case WeightWhen::Untied:
      return !config.tied;
    case WeightWhen::QkvBias:
      return config.qkvBias;
    }
    return true;
  }

  Status add(const WeightRule &rule, int64_t layer) {
    FUSEC_ASSIGN_OR_RETURN(Weight weight, load(rule, layer));
    model.weightList.push_back(std::move(weight));
    return {};
  }

  Result<Weight> load(const WeightRule &rule, int64_t layer) {
    std::string fileName = nameForLayer(source.nameIn(rule), layer);
    Result<TensorInfo> tensor = source.tensor(fileName);
    if (!tensor && rule.when == WeightWhen::Untied && !source.has(fileName))
      return notFound(tensor.status().message() + ", and the configuration does not tie it to the embedding");
    if (!tensor)
      return tensor.status();
    const std::vector<int64_t> expected = expectedShape(rule, config);
    if (tensor->shape != expected)
      return corruptData("tensor " + quote(fileName) + ": expected shape " + shapeText(expected) + ", found " +
                         shapeText(tensor->shape));
    used.insert(fileName);
    return Weight{nameForLayer(rule.canonical, layer),
                  std::move(fileName),
                  tensor->type,
                  std::move(tensor->shape),
                  {tensor->data, static_cast<size_t>(tensor->bytes)}};
  }

  /// Writers may store the output matrix of a tied model: the embedding is
  /// used, as the configuration asks, and a contradiction is reported.
  Status passOverTiedOutput() {
    for (const WeightRule &rule : config.architecture->weights) {
      if (rule.when != WeightWhen::Untied || !source.has(nameForLayer(source.nameIn(rule), 0)))
        continue;
      FUSEC_ASSIGN_OR_RETURN(Weight output, load(rule, 0));
      const Weight *embedding = model.find("token_embd.weight");
      if (embedding && !sameData(output, *embedding))
        model.warningList.push_back("tensor " + quote(output.fileName) +
                                    " differs from the embedding, but the configuration ties them: the embedding "
                                    "is used");
    }
    return {};
  }

  Status checkNothingLeft() const {
    for (const std::string &name : source.names())
      if (!used.contains(name) && !isIgnorableTensor(name))
        return unsupported("tensor " + quote(name) + " is no weight of a " + std::string(config.architecture->name) +
                           " model with " + std::to_string(config.layers) + " layers");
    return {};
  }

  Model &model;
  const ModelConfig &config;
  const TensorSource &source;
  std::set<std::string, std::less<>> used;
};

const Weight *Model::find(std::string_view canonicalName) const {
  for (const Weight &weight : weightList)
    if (weight.name == canonicalName)
      return &weight;
  return nullptr;
}

Result<Model> Model::fromGguf(Gguf file) {
  Model model;
  FUSEC_ASSIGN_OR_RETURN(model.modelConfig, configFromGguf(file));
  model.ggufFile = std::move(file);
  FUSEC_RETURN_IF_ERROR(ModelBuilder(model, GgufSource(*model.ggufFile)).run());
  return model;
}

Result<Model> Model::fromSafetensors(Safetensors file, ModelConfig config) {
  Model model;
  model.modelConfig = std::move(config);
  model.hfFile = std::move(file);
  FUSEC_RETURN_IF_ERROR(ModelBuilder(model, SafetensorsSource(*model.hfFile)).run());
  return model;
}

static Result<Model> openHfDirectory(const fs::path &path) {
  FUSEC_ASSIGN_OR_RETURN(ModelConfig config, configFromHf(path));
  FUSEC_ASSIGN_OR_RETURN(Safetensors file, Safetensors::open(path));
  Result<Model> model = Model::fromSafetensors(std::move(file), std::move(config));
  return model ? std::move(model) : Result<Model>(model.status().withContext(path.string()));
}

static Result<Model> openGgufFile(const fs::path &path) {
  FUSEC_ASSIGN_OR_RETURN(Gguf file, Gguf::open(path));
  Result<Model> model = Model::fromGguf(std::move(file));
  return model ? std::move(model) : Result<Model>(model.status().withContext(path.string()));
}

Result<Model> openModel(const fs::path &path) {
  std::error_code ignored;
  if (path.extension() == ".safetensors")
    return invalidArgument(path.string() + ": expected the directory that holds config.json, found a weight file");
  Result<Model> model = fs::is_directory(path, ignored) ? openHfDirectory(path) : openGgufFile(path);
  if (model)
    model->sourcePath = path;
  return model;
}

} // namespace fusec::models
