//===- ArchTable.cpp - the architectures that fusec can import -------------===//

#include "models/import/ArchTable.h"

#include "models/import/ModelConfig.h"

#include <algorithm>

namespace fusec::models {
namespace {

/// Llama and its relatives: pre-norm blocks, rotary attention, gated feed-forward.
constexpr WeightRule llamaWeights[] = {
    {"token_embd.weight", "model.embed_tokens.weight", WeightDim::Vocab, WeightDim::Hidden},
    {"output_norm.weight", "model.norm.weight", WeightDim::Hidden, WeightDim::None},
    {"output.weight", "lm_head.weight", WeightDim::Vocab, WeightDim::Hidden, WeightWhen::Untied},
    {"blk.{}.attn_norm.weight", "model.layers.{}.input_layernorm.weight", WeightDim::Hidden, WeightDim::None},
    {"blk.{}.attn_q.weight", "model.layers.{}.self_attn.q_proj.weight", WeightDim::Query, WeightDim::Hidden},
    {"blk.{}.attn_k.weight", "model.layers.{}.self_attn.k_proj.weight", WeightDim::KeyVal, WeightDim::Hidden},
    {"blk.{}.attn_v.weight", "model.layers.{}.self_attn.v_proj.weight", WeightDim::KeyVal, WeightDim::Hidden},
    {"blk.{}.attn_q.bias", "model.layers.{}.self_attn.q_proj.bias", WeightDim::Query, WeightDim::None,
     WeightWhen::QkvBias},
    {"blk.{}.attn_k.bias", "model.layers.{}.self_attn.k_proj.bias", WeightDim::KeyVal, WeightDim::None,
     WeightWhen::QkvBias},
    {"blk.{}.attn_v.bias", "model.layers.{}.self_attn.v_proj.bias", WeightDim::KeyVal, WeightDim::None,
     WeightWhen::QkvBias},
    {"blk.{}.attn_output.weight", "model.layers.{}.self_attn.o_proj.weight", WeightDim::Hidden, WeightDim::Query},
    {"blk.{}.ffn_norm.weight", "model.layers.{}.post_attention_layernorm.weight", WeightDim::Hidden, WeightDim::None},
    {"blk.{}.ffn_gate.weight", "model.layers.{}.mlp.gate_proj.weight", WeightDim::Ffn, WeightDim::Hidden},
    {"blk.{}.ffn_up.weight", "model.layers.{}.mlp.up_proj.weight", WeightDim::Ffn, WeightDim::Hidden},
    {"blk.{}.ffn_down.weight", "model.layers.{}.mlp.down_proj.weight", WeightDim::Hidden, WeightDim::Ffn},
};

constexpr ArchInfo table[] = {
    {.name = "llama",
     .hfClass = "LlamaForCausalLM",
     .inGguf = true,
     .ggufPairing = RopePairing::Interleaved,
     .qkvBias = QkvBias::Absent,
     .hfWindow = HfWindow::Ignored,
     .hfDefaults = {.kvHeads = 0, .context = 2048, .slidingWindow = 0},
     .weights = llamaWeights},
    // GGUF files of Mistral say "llama".
    {.name = "mistral",
     .hfClass = "MistralForCausalLM",
     .inGguf = false,
     .ggufPairing = RopePairing::Interleaved,
     .qkvBias = QkvBias::Absent,
     .hfWindow = HfWindow::Key,
     .hfDefaults = {.kvHeads = 8, .context = 131072, .slidingWindow = 4096},
     .weights = llamaWeights},
    {.name = "qwen2",
     .hfClass = "Qwen2ForCausalLM",
     .inGguf = true,
     .ggufPairing = RopePairing::HalfSplit,
     .qkvBias = QkvBias::Required,
     .hfWindow = HfWindow::Flagged,
     .hfDefaults = {.kvHeads = 32, .context = 32768, .slidingWindow = 4096},
     .weights = llamaWeights},
};

/// Buffers that old writers stored beside the weights. rope_freqs.weight is
/// read by configFromGguf, the others repeat what the config says.
constexpr std::string_view ignorable[] = {
    "rope_freqs.weight",
    "blk.{}.attn_rot_embd",
    "blk.{}.attn_rot_embd.weight",
    "rotary_emb.inv_freq",
    "model.rotary_emb.inv_freq",
    "model.layers.{}.self_attn.rotary_emb.inv_freq",
    "model.layers.{}.self_attn.rotary_emb.cos_cached",
    "model.layers.{}.self_attn.rotary_emb.sin_cached",
};

bool matches(std::string_view pattern, std::string_view text) {
  const size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos)
    return pattern == text;
  const std::string_view head = pattern.substr(0, hole), tail = pattern.substr(hole + 2);
  if (text.size() <= head.size() + tail.size() || !text.starts_with(head) || !text.ends_with(tail))
    return false;
  const std::string_view middle = text.substr(head.size(), text.size() - head.size() - tail.size());
  return std::all_of(middle.begin(), middle.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void append(std::string &list, std::string_view item) { (list += list.empty() ? "" : ", ") += item; }

} // namespace

std::span<const ArchInfo> archTable() { return table; }

const ArchInfo *archByGgufName(std::string_view name) {
  for (const ArchInfo &row : table)
    if (row.inGguf && row.name == name)
      return &row;
  return nullptr;
}

const ArchInfo *archByHfClass(std::string_view hfClass) {
  for (const ArchInfo &row : table)
    if (row.hfClass == hfClass)
      return &row;
  return nullptr;
}

std::string knownGgufNames() {
  std::string list;
  for (const ArchInfo &row : table)
    if (row.inGguf)
      append(list, row.name);
  return list;
}

std::string knownHfClasses() {
  std::string list;
  for (const ArchInfo &row : table)
    append(list, row.hfClass);
  return list;
}

std::span<const std::string_view> ignorableTensors() { return ignorable; }

bool isIgnorableTensor(std::string_view name) {
  return std::any_of(std::begin(ignorable), std::end(ignorable),
                     [&](std::string_view pattern) { return matches(pattern, name); });
}

std::string nameForLayer(std::string_view pattern, int64_t layer) {
  const size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos)
    return std::string(pattern);
  return std::string(pattern.substr(0, hole)) + std::to_string(layer) + std::string(pattern.substr(hole + 2));
}

} // namespace fusec::models
