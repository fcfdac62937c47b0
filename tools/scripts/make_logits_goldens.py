#!/usr/bin/env python3
"""Writes test/golden/logits/<name>.json: the logits of a llama-like GGUF, by numpy in float64.

An oracle of its own: decodes with gguf's Python package and shares no code with
fusec. The step golden test compares the imported graph with it.

    make_logits_goldens.py MODEL.gguf 504,3575,282 > test/golden/logits/smollm2-135m.json
"""
import json
import sys

import gguf
import numpy as np


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = reader.fields
        self.tensors = {t.name: t for t in reader.tensors}

    def value(self, key):
        field = self.fields["llama." + key]
        return field.parts[field.data[0]][0]

    def weight(self, name):
        t = self.tensors[name]
        values = gguf.quants.dequantize(t.data, t.tensor_type)
        return values.astype(np.float64).reshape([int(d) for d in reversed(t.shape)])


def norm(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def rope(x, base):
    """GGUF's llama stores heads so that neighbours turn together."""
    count, _, head = x.shape
    frequencies = (base ** (-np.arange(0, head, 2) / head)).astype(np.float32)  # as the training code keeps them
    angles = np.arange(count)[:, None] * frequencies.astype(np.float64)[None]
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    y = x.copy()
    y[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
    y[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c
    return y


def attention(q, k, v):
    count, heads, head = q.shape
    k, v = (np.repeat(t, heads // t.shape[1], 1) for t in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(head)
    scores = np.where(np.tril(np.ones((count, count), bool)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,jhd->ihd", e / e.sum(-1, keepdims=True), v).reshape(count, -1)


def logits(model, ids):
    heads, kv_heads = int(model.value("attention.head_count")), int(model.value("attention.head_count_kv"))
    epsilon = float(model.value("attention.layer_norm_rms_epsilon"))
    base = float(model.value("rope.freq_base")) if "llama.rope.freq_base" in model.fields else 10000.0
    embedding, count = model.weight("token_embd.weight"), len(ids)
    x = embedding[ids]
    for layer in range(int(model.value("block_count"))):
        w = lambda name: model.weight(f"blk.{layer}.{name}.weight")
        h = norm(x, w("attn_norm"), epsilon)
        q = rope((h @ w("attn_q").T).reshape(count, heads, -1), base)
        k = rope((h @ w("attn_k").T).reshape(count, kv_heads, -1), base)
        v = (h @ w("attn_v").T).reshape(count, kv_heads, -1)
        x = x + attention(q, k, v) @ w("attn_output").T
        h = norm(x, w("ffn_norm"), epsilon)
        gate = h @ w("ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w("ffn_up").T)) @ w("ffn_down").T
    output = model.weight("output.weight") if "output.weight" in model.tensors else embedding
    return norm(x, model.weight("output_norm.weight"), epsilon) @ output.T


def main():
    ids = [int(i) for i in sys.argv[2].split(",")]
    table = logits(Model(sys.argv[1]), ids)
    rows = [{"argmax": int(row.argmax()), "max": row.max(), "sum": row.sum(), "first": row[:8].tolist()}
            for row in table]
    json.dump({"ids": ids, "vocab": int(table.shape[1]), "rows": rows}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
