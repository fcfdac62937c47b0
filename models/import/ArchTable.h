//===- ArchTable.h - the architectures that fusec can import ---------------===//
//
// One row per architecture: its names in GGUF and Hugging Face, the flags by
// which llama-like decoders differ, and the names and shapes of its weights.
// Adding an architecture that fits these flags is adding a row.
//
// Pure data with static lifetime; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fusec::models {

struct ModelConfig;
enum class RopePairing : uint8_t;

/// A symbolic extent of a weight.
enum class WeightDim : uint8_t {
  None, ///< The weight has one dimension less.
  Vocab,
  Hidden,
  Query,  ///< heads * headDim
  KeyVal, ///< kvHeads * headDim
  Ffn,
};

/// When a weight belongs to the model.
enum class WeightWhen : uint8_t { Always, Untied, QkvBias };

/// A weight by its canonical (GGUF) name and its Hugging Face name; "{}" stands
/// for the layer number. Shape is [rows, cols], or [rows] when cols is None.
struct WeightRule {
  std::string_view canonical;
  std::string_view hf;
  WeightDim rows, cols;
  WeightWhen when = WeightWhen::Always;
  bool perLayer() const { return canonical.find("{}") != std::string_view::npos; }
};

/// Where the bias of the q, k and v projections comes from.
enum class QkvBias : uint8_t {
  Absent,   ///< Never in Hugging Face files; in GGUF when the tensors are there.
  Required, ///< Always.
};

/// How a Hugging Face config states its sliding window.
enum class HfWindow : uint8_t {
  Ignored, ///< The architecture has none.
  Key,     ///< `sliding_window`, unless null.
  Flagged, ///< `sliding_window` if `use_sliding_window`, from layer `max_window_layers` on.
};

/// What Hugging Face assumes for keys that a config.json leaves out.
struct HfDefaults {
  int64_t kvHeads; ///< 0: as many as query heads.
  int64_t context;
  int64_t slidingWindow; ///< 0: none.
};

struct ArchInfo {
  std::string_view name;    ///< `general.architecture`, prefix of its keys, our name.
  std::string_view hfClass; ///< `architectures[0]`.
  bool inGguf;              ///< False when GGUF files carry another row's name.
  RopePairing ggufPairing;
  QkvBias qkvBias;
  HfWindow hfWindow;
  HfDefaults hfDefaults;
  std::span<const WeightRule> weights;
};

std::span<const ArchInfo> archTable();
/// Null when unknown.
const ArchInfo *archByGgufName(std::string_view name);
const ArchInfo *archByHfClass(std::string_view hfClass);
/// "llama, qwen2" / "LlamaForCausalLM, ..." for messages.
std::string knownGgufNames();
std::string knownHfClasses();

/// Patterns ("{}" = a layer number) of tensors that files may hold although the
/// forward pass needs no such weight.
std::span<const std::string_view> ignorableTensors();
bool isIgnorableTensor(std::string_view name);

/// Replaces "{}" by `layer`.
std::string nameForLayer(std::string_view pattern, int64_t layer);

} // namespace fusec::models
