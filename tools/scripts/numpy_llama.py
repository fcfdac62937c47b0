#!/usr/bin/env python3
"""An independent forward pass of llama-like decoders: the oracle of the end-to-end tests.

Written from the published definition of the models, in the plainest numpy, so that
it shares neither code nor layout with fusec: whole sequences at once, every weight
dequantised first, everything in the chosen float type. Reads GGUF files (llama,
qwen2, ...) and Hugging Face directories (config.json + safetensors).

    model = load("SmolLM2.gguf")             # dtype=numpy.float64
    logits, cache = model.forward([1, 15, 3])         # [3, vocab]
    logits, cache = model.forward([7], cache)         # one token more
    states, cache = model.hidden([1, 15, 3])          # [3, hidden], behind the last norm

One choice is not free: rotary frequencies are rounded to float32 before they are
multiplied by the position, as in Hugging Face's code, in float64 runs too. With
`cache_dtype` keys and values are rounded to f16, bf16 or fp8_e4m3 before anything
reads them.

Needs: numpy, gguf (for GGUF files only).
Usage: numpy_llama.py MODEL --ids 1,15,3 [--greedy N] [--dtype float32|float64] [--kv-dtype f16|bf16|fp8_e4m3]
       numpy_llama.py --check EXPECTED_GREEDY_JSON MODEL    (stories260K)
"""
import argparse
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Config:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    rotary_dims: int
    theta: float = 10000.0
    interleaved: bool = False  # pairs (2i, 2i+1) instead of (i, i + rotary_dims/2)
    scaling: dict = field(default_factory=dict)  # Hugging Face's rope_scaling
    factors: np.ndarray | None = None  # divisors of the frequencies (GGUF)
    window: int | None = None  # position t sees t-window+1 .. t
    first_window_layer: int = 0


# --- rotary embedding -----------------------------------------------------------


def llama3_frequencies(freqs, s):
    """Stretch long wavelengths by `factor`, keep short ones, blend in between."""
    low, high, old = s["low_freq_factor"], s["high_freq_factor"], s["original_max_position_embeddings"]
    wavelengths = 2 * math.pi / freqs
    blend = (old / wavelengths - low) / (high - low)
    blended = (1 - blend) * freqs / s["factor"] + blend * freqs
    return np.where(wavelengths < old / high, freqs, np.where(wavelengths > old / low, freqs / s["factor"], blended))


def rotary_frequencies(config):
    freqs = 1.0 / config.theta ** (np.arange(0, config.rotary_dims, 2, dtype=np.float64) / config.rotary_dims)
    kind = config.scaling.get("rope_type", config.scaling.get("type", "default"))
    if kind == "linear":
        freqs = freqs / config.scaling["factor"]
    elif kind == "llama3":
        freqs = llama3_frequencies(freqs, config.scaling)
    elif kind != "default":
        raise ValueError(f"rope scaling {kind!r} is not known here")
    if config.factors is not None:
        freqs = freqs / config.factors
    return freqs.astype(np.float32).astype(np.float64)


def rotate(x, angles, config):
    """x [T, heads, head_dim], angles [T, rotary_dims/2] in float64."""
    r = config.rotary_dims
    cos, sin = np.cos(angles).astype(x.dtype)[:, None], np.sin(angles).astype(x.dtype)[:, None]
    first, second = (slice(0, r, 2), slice(1, r, 2)) if config.interleaved else (slice(0, r // 2), slice(r // 2, r))
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


# --- cached values --------------------------------------------------------------


def round_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32).astype(x.dtype)


def round_e4m3(x):
    """3 mantissa bits; below 2^-6 multiples of 2^-9; at most 448. numpy's rint rounds to nearest even."""
    exponent = np.maximum(np.frexp(x)[1] - 1, -6)
    return np.clip(np.ldexp(np.rint(np.ldexp(x, 3 - exponent)), exponent - 3), -448, 448)


ROUND_CACHE = {
    "f32": lambda x: x,
    "f16": lambda x: x.astype(np.float16).astype(x.dtype),
    "bf16": round_bf16,
    "fp8_e4m3": round_e4m3,
}


# --- the network ------------------------------------------------------------------


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(eps)) * weight


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Model:
    """`weights`: Hugging Face names without the leading "model.", arrays [out, in]."""

    def __init__(self, config, weights, dtype=np.float64):
        self.config, self.dtype, self.cache_dtype = config, dtype, "f32"
        self.weights = {name: np.ascontiguousarray(value, dtype) for name, value in weights.items()}
        self.frequencies = rotary_frequencies(config)

    @property
    def vocab(self):
        return self.weights["embed_tokens.weight"].shape[0]

    def linear(self, x, name):
        y = x @ self.weights[name + ".weight"].T
        bias = self.weights.get(name + ".bias")
        return y if bias is None else y + bias

    def heads(self, x, name, count):
        return self.linear(x, name).reshape(len(x), count, self.config.head_dim)

    def visible(self, start, count, layer):
        """[count, start+count]: may query start+i see key j?"""
        query, key = np.arange(start, start + count)[:, None], np.arange(start + count)[None]
        mask = key <= query
        if self.config.window and layer >= self.config.first_window_layer:
            mask &= key > query - self.config.window
        return mask

    def attention(self, x, layer, cache):
        c, p = self.config, f"layers.{layer}.self_attn."
        start = 0 if cache[layer] is None else cache[layer][0].shape[0]
        angles = np.arange(start, start + len(x), dtype=np.float64)[:, None] * self.frequencies
        q = rotate(self.heads(x, p + "q_proj", c.heads), angles, c)
        stored = ROUND_CACHE[self.cache_dtype]
        k = stored(rotate(self.heads(x, p + "k_proj", c.kv_heads), angles, c))
        v = stored(self.heads(x, p + "v_proj", c.kv_heads))
        if cache[layer] is not None:
            k, v = np.concatenate([cache[layer][0], k]), np.concatenate([cache[layer][1], v])
        cache[layer] = (k, v)
        mask, group = self.visible(start, len(x), layer), c.heads // c.kv_heads
        out = np.empty_like(q)
        for head in range(c.heads):
            scores = q[:, head] @ k[:, head // group].T * self.dtype(1 / math.sqrt(c.head_dim))
            out[:, head] = softmax(np.where(mask, scores, self.dtype(-np.inf))) @ v[:, head // group]
        return self.linear(out.reshape(len(x), -1), p + "o_proj")

    def feed_forward(self, x, layer):
        p = f"layers.{layer}.mlp."
        gate = self.linear(x, p + "gate_proj")
        with np.errstate(over="ignore"):
            gate = gate / (1 + np.exp(-gate))
        return self.linear(gate * self.linear(x, p + "up_proj"), p + "down_proj")

    def hidden(self, tokens, cache=None, last_only=False):
        """Normalised hidden states [T, hidden] and the grown cache; `cache` itself is left alone."""
        cache = [None] * self.config.layers if cache is None else list(cache)
        norm = lambda x, name: rms_norm(x, self.weights[name], self.config.eps)
        x = self.weights["embed_tokens.weight"][np.asarray(tokens, dtype=np.int64)]
        for layer in range(self.config.layers):
            x = x + self.attention(norm(x, f"layers.{layer}.input_layernorm.weight"), layer, cache)
            x = x + self.feed_forward(norm(x, f"layers.{layer}.post_attention_layernorm.weight"), layer)
        return norm(x[-1:] if last_only else x, "norm.weight"), cache

    def forward(self, tokens, cache=None, last_only=False):
        """Logits [T, vocab] and the grown cache; `cache` itself is left alone."""
        x, cache = self.hidden(tokens, cache, last_only)
        head = "lm_head" if "lm_head.weight" in self.weights else "embed_tokens"
        return self.linear(x, head), cache

    def greedy(self, tokens, count):
        """`count` ids after `tokens`, with the logits [count, vocab] each was chosen from."""
        ids, rows = [], []
        logits, cache = self.forward(tokens, last_only=True)
        for step in range(count):
            if step:
                logits, cache = self.forward([ids[-1]], cache)
            rows.append(logits[-1])
            ids.append(int(np.argmax(logits[-1])))
        return ids, np.array(rows)


def log_softmax(logits):
    peak = logits.max(-1, keepdims=True)
    return logits - peak - np.log(np.exp(logits - peak).sum(-1, keepdims=True))


# --- GGUF ---------------------------------------------------------------------------

GGUF_NAMES = {
    "token_embd": "embed_tokens", "output_norm": "norm", "output": "lm_head", "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
GGUF_INTERLEAVED = {"llama"}  # architectures whose converter permutes q and k for pairs (2i, 2i+1)


def from_gguf_name(name):
    prefix = ""
    if name.startswith("blk."):
        _, layer, name = name.split(".", 2)
        prefix = f"layers.{layer}."
    stem, kind = name.rsplit(".", 1)
    return f"{prefix}{GGUF_NAMES[stem]}.{kind}"


def gguf_config(reader, factors):
    arch = reader.fields["general.architecture"].contents()
    value = lambda key, default=None: (
        reader.fields[f"{arch}.{key}"].contents() if f"{arch}.{key}" in reader.fields else default)
    heads, hidden = value("attention.head_count"), value("embedding_length")
    head_dim = value("attention.key_length", hidden // heads)
    scaling = {}
    if value("rope.scaling.type") == "linear":
        scaling = {"type": "linear", "factor": value("rope.scaling.factor")}
    return Config(
        layers=value("block_count"), hidden=hidden, heads=heads, kv_heads=value("attention.head_count_kv", heads),
        head_dim=head_dim, eps=value("attention.layer_norm_rms_epsilon"),
        rotary_dims=value("rope.dimension_count", head_dim), theta=value("rope.freq_base", 10000.0),
        interleaved=arch in GGUF_INTERLEAVED, scaling=scaling, factors=factors,
        window=value("attention.sliding_window") or None)


def load_gguf(path, dtype):
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(path)
    weights, factors = {}, None
    for tensor in reader.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        values = dequantize(tensor.data, tensor.tensor_type).reshape(shape)
        if tensor.name == "rope_freqs.weight":
            factors = values.astype(np.float64)
        else:
            weights[from_gguf_name(tensor.name)] = values
    return Model(gguf_config(reader, factors), weights, dtype)


# --- Hugging Face -------------------------------------------------------------------


def read_safetensors(path):
    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, blob = json.loads(data[8:8 + size]), data[8 + size:]
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        raw = blob[slice(*info["data_offsets"])]
        if info["dtype"] == "BF16":
            values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F64": np.float64, "F32": np.float32, "F16": np.float16}[info["dtype"]])
        tensors[name] = values.reshape(info["shape"])
    return tensors


def hf_window(c):
    """(window, first layer) as the model's own code decides it."""
    name = c["architectures"][0]
    if name.startswith("Mistral"):
        return c.get("sliding_window"), 0
    if name.startswith("Qwen2") and c.get("use_sliding_window"):
        return c["sliding_window"], c["max_window_layers"]
    return None, 0


def hf_config(c):
    heads, hidden = c["num_attention_heads"], c["hidden_size"]
    head_dim = c.get("head_dim") or hidden // heads
    rope = c.get("rope_parameters") or c.get("rope_scaling") or {}
    part = rope.get("partial_rotary_factor", c.get("partial_rotary_factor") or 1.0)
    window, first = hf_window(c)
    return Config(
        layers=c["num_hidden_layers"], hidden=hidden, heads=heads, kv_heads=c.get("num_key_value_heads") or heads,
        head_dim=head_dim, eps=c["rms_norm_eps"], rotary_dims=int(head_dim * part),
        theta=rope.get("rope_theta", c.get("rope_theta", 10000.0)), scaling=rope, window=window,
        first_window_layer=first)


def load_hf(directory, dtype):
    c = json.loads((directory / "config.json").read_text())
    tensors = {}
    for file in sorted(directory.glob("*.safetensors")):
        tensors |= read_safetensors(file)
    if c.get("tie_word_embeddings"):
        tensors.pop("lm_head.weight", None)
    return Model(hf_config(c), {n.removeprefix("model."): t for n, t in tensors.items()}, dtype)


def load(path, dtype=np.float64):
    path = Path(path)
    return load_hf(path, dtype) if path.is_dir() else load_gguf(path, dtype)


# --- command line -------------------------------------------------------------------


def check_stories(model, expected):
    """The published text of stories260K, its log-probabilities and its perplexity."""
    want = json.loads(Path(expected).read_text())
    ids, rows = model.greedy([want["bos"]], len(want["ids"]))
    logprobs = log_softmax(rows.astype(np.float64))
    worst = max(abs(logprobs[int(step), pair[0]] - pair[1])
                for step, pairs in want["top5_logprobs_at_step"].items() for pair in pairs)
    nll = -logprobs[np.arange(len(want["ids"])), want["ids"]].mean()
    print(f"ids equal: {ids == want['ids']}, largest log-probability difference: {worst:.2e}, "
          f"mean nll {nll:.9f}, difference: {abs(nll - want['mean_nll_of_ids_given_bos']):.2e}")
    return 0 if ids == want["ids"] and worst < 1e-4 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ids", default="1")
    parser.add_argument("--greedy", type=int, default=0)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--kv-dtype", choices=list(ROUND_CACHE), default="f32")
    parser.add_argument("--check", type=Path)
    options = parser.parse_args()
    model = load(options.model, getattr(np, options.dtype))
    model.cache_dtype = options.kv_dtype
    if options.check:
        return check_stories(model, options.check)
    tokens = [int(t) for t in options.ids.split(",")]
    if options.greedy:
        print(*model.greedy(tokens, options.greedy)[0])
        return 0
    logits = model.forward(tokens, last_only=True)[0][-1]
    for token in np.argsort(-logits)[:10]:
        print(token, logits[token])
    return 0


if __name__ == "__main__":
    sys.exit(main())
