#!/usr/bin/env python3
"""Writes test/golden/e2e/tiny.json: small random models and the logits they must give.

Each model exercises features that no small trained model at hand has: QKV bias,
a group of 7, llama3 and linear rotary scaling, partial rotary, sliding windows,
odd sizes. The file holds no weights but the rule that makes them; the test builds
a Hugging Face directory from it:

  config                what config.json says
  tensors[]             [name, shape, offset, scale] in order; element i of all of them, counted on,
                        is float32(offset + scale * u(i)), u(i) = splitmix64(i) / 2^63 - 1 in 24 bits
  length                the prompt: token t is splitmix64(2^40 + t) mod vocab_size
  rows {t: [...]}       logits at position t from numpy_llama.py in float64
  max_logit, f32_error  largest |logit|; largest |float32 evaluation - float64| over all positions

Needs: numpy.
Usage: make_tiny_goldens.py [--out FILE]
"""
import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from numpy_llama import Model, hf_config  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TOKEN_STREAM = 1 << 40
ROWS = (0, 1, 2, 4, 33, 63, 64, 700, 2355)

BASE = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-5,
    "max_position_embeddings": 4096, "rope_theta": 10000.0, "tie_word_embeddings": True, "bos_token_id": 1,
    "eos_token_id": 2, "torch_dtype": "float32", "num_hidden_layers": 2}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32}


def config(heads, kv_heads, head_dim, hidden, ffn, vocab, **more):
    return BASE | {
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim, "hidden_size": hidden,
        "intermediate_size": ffn, "vocab_size": vocab} | more


QWEN2 = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
MISTRAL = {"architectures": ["MistralForCausalLM"], "model_type": "mistral"}

# name: (config, prompt length)
MODELS = {
    "qwen2-llama3-rope": (config(7, 1, 16, 48, 37, 97, **QWEN2, tie_word_embeddings=False, rope_scaling=LLAMA3), 70),
    "linear-rope": (config(4, 2, 8, 40, 24, 67, rope_scaling={"type": "linear", "factor": 4.0}), 70),
    "partial-rotary": (config(4, 1, 16, 32, 33, 61, partial_rotary_factor=0.5, num_hidden_layers=1), 2356),
    "window-4": (config(4, 2, 8, 32, 20, 64, **MISTRAL, sliding_window=4), 70),
    "window-1": (config(2, 1, 8, 16, 20, 33, **MISTRAL, sliding_window=1), 7),
    "window-4-one-layer": (config(4, 2, 8, 32, 20, 64, **MISTRAL, sliding_window=4, num_hidden_layers=1), 70),
    "qwen2-late-window": (config(4, 4, 8, 32, 48, 65, **QWEN2, use_sliding_window=True, sliding_window=5,
                                 max_window_layers=1, num_hidden_layers=3), 70),
    "odd": (config(3, 3, 10, 27, 29, 101), 66),
    "two-groups-of-7": (config(14, 2, 6, 31, 20, 37), 66),
    "group-of-5-head-80": (config(10, 2, 80, 24, 20, 35, num_hidden_layers=1), 66),
}


def splitmix64(index):
    with np.errstate(over="ignore"):
        z = (np.asarray(index, np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def matrix(name, rows, cols, gain=1.0):
    """Scale: the power of two next to gain * sqrt(3 / cols), which keeps activations of size 1."""
    return [name, [rows, cols], 0.0, 2.0 ** round(math.log2(gain * math.sqrt(3 / cols)))]


def layer_tensors(c, prefix):
    q, kv = c["num_attention_heads"] * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
    hidden, ffn, attn = c["hidden_size"], c["intermediate_size"], prefix + "self_attn."
    yield [prefix + "input_layernorm.weight", [hidden], 1.0, 0.25]
    for name, rows, gain in (("q_proj", q, 2), ("k_proj", kv, 2), ("v_proj", kv, 1)):
        yield matrix(attn + name + ".weight", rows, hidden, gain)
        if "Qwen2" in c["architectures"][0]:
            yield [attn + name + ".bias", [rows], 0.0, 0.5]
    yield matrix(attn + "o_proj.weight", hidden, q)
    yield [prefix + "post_attention_layernorm.weight", [hidden], 1.0, 0.25]
    yield matrix(prefix + "mlp.gate_proj.weight", ffn, hidden)
    yield matrix(prefix + "mlp.up_proj.weight", ffn, hidden)
    yield matrix(prefix + "mlp.down_proj.weight", hidden, ffn)


def tensor_list(c):
    vocab, hidden = c["vocab_size"], c["hidden_size"]
    yield ["model.embed_tokens.weight", [vocab, hidden], 0.0, 1.0]
    for layer in range(c["num_hidden_layers"]):
        yield from layer_tensors(c, f"model.layers.{layer}.")
    yield ["model.norm.weight", [hidden], 1.0, 0.25]
    if not c["tie_word_embeddings"]:
        yield matrix("lm_head.weight", vocab, hidden, 4)


def make_weights(tensors):
    weights, begin = {}, 0
    for name, shape, offset, scale in tensors:
        count = math.prod(shape)
        u = (splitmix64(np.arange(begin, begin + count)) >> np.uint64(40)).astype(np.float64) / 2**23 - 1
        weights[name.removeprefix("model.")] = (offset + scale * u).astype(np.float32).reshape(shape)
        begin += count
    return weights


def record(name, c, length):
    tensors = list(tensor_list(c))
    weights = make_weights(tensors)
    ids = [int(t) for t in splitmix64(TOKEN_STREAM + np.arange(length)) % np.uint64(c["vocab_size"])]
    exact = Model(hf_config(c), weights, np.float64).forward(ids)[0]
    rough = Model(hf_config(c), weights, np.float32).forward(ids)[0]
    shown = sorted({t for t in (*ROWS, length - 1) if t < length})
    result = {
        "name": name, "config": c, "tensors": tensors, "length": length,
        "max_logit": round(float(np.abs(exact).max()), 4), "f32_error": float(f"{np.abs(rough - exact).max():.3e}"),
        "rows": {str(t): [round(float(v), 9) for v in exact[t]] for t in shown}}
    print(name, len(tensors), result["max_logit"], result["f32_error"])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "test/golden/e2e/tiny.json")
    options = parser.parse_args()
    lines = [json.dumps(record(name, *model), separators=(",", ":")) for name, model in MODELS.items()]
    options.out.write_text("[" + ",\n".join(lines) + "]\n")


if __name__ == "__main__":
    main()
