//===- TinyModel.h - complete one-layer models for tests -------------------===//
#pragma once

#include "test/unit/models/GgufImage.h"
#include "test/unit/models/SafetensorsImage.h"

namespace fusec::models {

/// llama: hidden 8, 2 heads of 4, 1 KV head, ffn 12, vocabulary 16, 1 layer;
/// untied when `withOutput`.
inline GgufImage tinyGguf(bool withOutput = false, const std::string &arch = "llama") {
  GgufImage image;
  image.text("general.architecture", arch).text("general.name", "tiny");
  image.u32(arch + ".block_count", 1)
      .u32(arch + ".context_length", 64)
      .u32(arch + ".embedding_length", 8)
      .u32(arch + ".feed_forward_length", 12)
      .u32(arch + ".attention.head_count", 2)
      .u32(arch + ".attention.head_count_kv", 1)
      .f32(arch + ".attention.layer_norm_rms_epsilon", 1e-5f)
      .u32("tokenizer.ggml.bos_token_id", 1)
      .u32("tokenizer.ggml.eos_token_id", 2);
  image.floats("token_embd.weight", {8, 16}, 0.25f).floats("output_norm.weight", {8}, 1);
  if (withOutput)
    image.floats("output.weight", {8, 16}, 0.5f);
  const std::string b = "blk.0.";
  image.floats(b + "attn_norm.weight", {8}, 1).floats(b + "attn_q.weight", {8, 8}).floats(b + "attn_k.weight", {8, 4});
  image.floats(b + "attn_v.weight", {8, 4})
      .floats(b + "attn_output.weight", {8, 8})
      .floats(b + "ffn_norm.weight", {8}, 1);
  image.floats(b + "ffn_gate.weight", {8, 12})
      .floats(b + "ffn_up.weight", {8, 12})
      .floats(b + "ffn_down.weight", {12, 8});
  return image;
}

inline nlohmann::json tinyHfConfig() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"hidden_size", 8},
          {"num_hidden_layers", 1},
          {"intermediate_size", 12},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"vocab_size", 16},
          {"max_position_embeddings", 64},
          {"rms_norm_eps", 1e-5},
          {"hidden_act", "silu"},
          {"tie_word_embeddings", true},
          {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

inline SafetensorsImage tinySafetensors() {
  SafetensorsImage image;
  image.floats("model.embed_tokens.weight", {16, 8}, 0.25f).floats("model.norm.weight", {8}, 1);
  const std::string b = "model.layers.0.";
  image.floats(b + "input_layernorm.weight", {8}, 1).floats(b + "post_attention_layernorm.weight", {8}, 1);
  image.floats(b + "self_attn.q_proj.weight", {8, 8}).floats(b + "self_attn.k_proj.weight", {4, 8});
  image.floats(b + "self_attn.v_proj.weight", {4, 8}).floats(b + "self_attn.o_proj.weight", {8, 8});
  image.floats(b + "mlp.gate_proj.weight", {12, 8}).floats(b + "mlp.up_proj.weight", {12, 8});
  return image.floats(b + "mlp.down_proj.weight", {8, 12});
}

} // namespace fusec::models
