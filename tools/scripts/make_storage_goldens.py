#!/usr/bin/env python3
"""Writes test/golden/e2e/storage.json: one-layer GGUF models in every storage type.

The matrices are random bytes, which every block format gives a meaning; only the
blocks' half-precision scales are forced into a range that keeps activations of
size 1. The file holds the rule, not the bytes; the test builds the GGUF from it:

  tensors[]  [name, shape]: a matrix of the record's type. Its bytes are those of splitmix64(i),
             little-endian, i counted on over all tensors; then in each block of `block_bytes`
             every [offset, keep, set] of `words` does: word16 = word16 & keep | set
             [name, shape, offset, scale]: F32, as in make_tiny_goldens.py
  arch       qwen2 (QKV bias, pairs (i, i + dims/2)) or llama (pairs (2i, 2i+1), rope_freqs)
  rows, max_logit, f32_error, length: as in make_tiny_goldens.py

The values come from the PyPI package gguf (dequantisation) and numpy_llama.py in float64.

Needs: numpy, gguf.
Usage: make_storage_goldens.py [--out FILE]
"""
import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

sys.path.insert(0, str(Path(__file__).parent))
from make_tiny_goldens import TOKEN_STREAM, splitmix64  # noqa: E402
from numpy_llama import Config, Model, from_gguf_name  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LENGTH, ROWS, VOCAB = 17, (0, 5, 16), 64
CONFIG = Config(layers=1, hidden=256, heads=8, kv_heads=2, head_dim=32, eps=1e-5, rotary_dims=32)
SIGNED, POSITIVE, NEGATIVE = 0x83FF, 0x03FF, 0x8000  # random sign and mantissa; mantissa only; a set sign


def half(exponent, sign=0):
    """A half between 2^exponent and 2^(exponent+1), mantissa random."""
    return [POSITIVE, (exponent + 15) << 10 | sign]


# Storage type: 16-bit words of each block that are forced, [offset, keep, set].
TYPES = {
    "F16": [[0, SIGNED, (-5 + 15) << 10]],
    "BF16": [[0, 0x807F, (-5 + 127) << 7]],
    "Q8_0": [[0, *half(-10)]],
    "Q4_0": [[0, *half(-6)]],
    "Q4_1": [[0, *half(-6)], [2, *half(-4, NEGATIVE)]],
    "Q5_0": [[0, *half(-7)]],
    "Q5_1": [[0, *half(-7)], [2, *half(-4, NEGATIVE)]],
    "Q4_K": [[0, *half(-12)], [2, *half(-9)]],
    "Q5_K": [[0, *half(-13)], [2, *half(-9)]],
    "Q6_K": [[208, *half(-14)]],
}


def tensor_list(arch):
    q, kv, hidden, ffn = 256, 64, 256, 256
    yield ["token_embd.weight", [VOCAB, hidden]]
    yield ["output_norm.weight", [hidden], 1.0, 0.25]
    b = "blk.0."
    yield [b + "attn_norm.weight", [hidden], 1.0, 0.25]
    for name, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
        yield [b + name + ".weight", [rows, hidden]]
        if arch == "qwen2":
            yield [b + name + ".bias", [rows], 0.0, 0.5]
    yield [b + "attn_output.weight", [hidden, q]]
    yield [b + "ffn_norm.weight", [hidden], 1.0, 0.25]
    for name, shape in (("ffn_gate", [ffn, hidden]), ("ffn_up", [ffn, hidden]), ("ffn_down", [hidden, ffn])):
        yield [b + name + ".weight", shape]
    if arch == "llama":
        yield ["rope_freqs.weight", [CONFIG.rotary_dims // 2], 4.5, 3.5]


def random_matrix(shape, kind, words, begin):
    """The decoded matrix and how many numbers it took from the stream."""
    elements, size = GGML_QUANT_SIZES[kind]
    total = math.prod(shape) // elements * size
    numbers = -(-total // 8)
    data = splitmix64(np.arange(begin, begin + numbers)).astype("<u8").view(np.uint8)[:total].reshape(-1, size).copy()
    for offset, keep, value in words:
        word = data[:, offset:offset + 2].copy().view("<u2")
        data[:, offset:offset + 2] = (word & np.uint16(keep) | np.uint16(value)).view(np.uint8)
    rows = data.reshape(shape[0], -1)
    if kind == GGMLQuantizationType.F16:
        return rows.view(np.float16).astype(np.float32), numbers
    return dequantize(rows, kind).reshape(shape), numbers


def make_weights(tensors, kind, words):
    weights, begin = {}, 0
    for name, shape, *affine in tensors:
        if affine:
            count = math.prod(shape)
            u = (splitmix64(np.arange(begin, begin + count)) >> np.uint64(40)).astype(np.float64) / 2**23 - 1
            weights[name] = (affine[0] + affine[1] * u).astype(np.float32).reshape(shape)
        else:
            weights[name], count = random_matrix(shape, kind, words, begin)
        begin += count
    return weights


def record(name, arch):
    kind, words = GGMLQuantizationType[name], TYPES[name]
    tensors = list(tensor_list(arch))
    weights = make_weights(tensors, kind, words)
    factors = weights.pop("rope_freqs.weight", None)
    config = Config(**(vars(CONFIG) | {"interleaved": arch == "llama", "factors": factors}))
    weights = {from_gguf_name(n): w for n, w in weights.items()}
    ids = [int(t) for t in splitmix64(TOKEN_STREAM + np.arange(LENGTH)) % np.uint64(VOCAB)]
    exact = Model(config, weights, np.float64).forward(ids)[0]
    rough = Model(config, weights, np.float32).forward(ids)[0]
    result = {
        "name": name, "arch": arch, "type": int(kind), "block_elements": GGML_QUANT_SIZES[kind][0],
        "block_bytes": GGML_QUANT_SIZES[kind][1], "words": words, "tensors": tensors, "vocab": VOCAB, "length": LENGTH,
        "max_logit": round(float(np.abs(exact).max()), 4), "f32_error": float(f"{np.abs(rough - exact).max():.3e}"),
        "rows": {str(t): [round(float(v), 8) for v in exact[t]] for t in ROWS}}
    print(name, arch, result["max_logit"], result["f32_error"], np.abs(weights["embed_tokens.weight"]).max())
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "test/golden/e2e/storage.json")
    options = parser.parse_args()
    records = [record(name, "llama" if i % 2 else "qwen2") for i, name in enumerate(TYPES)]
    options.out.write_text("[" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in records) + "]\n")


if __name__ == "__main__":
    main()
