#!/usr/bin/env python3
"""Writes test/golden/models/quants.gguf: the oracle for Dequantize and Quantize.

For each storage type the file holds "<type>.blocks" (random blocks, scales
that include zero, negative and subnormal halves) and "<type>.values", what the
gguf package makes of them; for the types that fusec can write also
"<type>.input" (float rows) and "<type>.encoded". Deterministic.

Needs: numpy, gguf. Usage: make_import_goldens.py [--out FILE]
"""
import argparse
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter
from gguf.quants import dequantize, quantize

# type name -> byte offsets of the half-precision fields in a block
HALF_FIELDS = {"F32": [], "F16": [0], "BF16": [], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2],
               "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
QUANTIZABLE = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1"]
SPECIAL_HALVES = [0.0, -0.0, 6e-8, -6e-8, 3.1e-5, 65504.0, 1.0]


def random_blocks(rng, name):
    """One row: enough blocks to meet every special scale and several random ones."""
    qtype = GGMLQuantizationType[name]
    elements, size = GGML_QUANT_SIZES[qtype]
    if name in ("F32", "BF16"):
        values = np.concatenate([rng.standard_normal(250), [0.0, -0.0, 1e-40, -1e-45, 3e38, 1e-39]])
        values = values.astype(np.float32)
        return values if name == "F32" else quantize(values.reshape(1, -1), qtype)
    count = 256 if elements == 1 else 14
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for field in HALF_FIELDS[name]:
        halves = (rng.standard_normal(count) * 0.05).astype(np.float16)
        halves[: len(SPECIAL_HALVES)] = np.roll(np.array(SPECIAL_HALVES, np.float16), field)
        blocks[:, field : field + 2] = halves.view(np.uint8).reshape(count, 2)
    return blocks.reshape(1, -1)


def float_rows(rng):
    """Rows of 32: ordinary, constant, all zero, one outlier, small and ties."""
    rows = [rng.standard_normal(32) * s for s in (1.0, 0.02, 100.0, 1e-3)]
    rows += [np.full(32, 0.75), np.full(32, -0.75), np.zeros(32), np.arange(32) - 16.0, (np.arange(32) - 15.5) / 127]
    outlier = rng.standard_normal(32) * 1e-3
    outlier[7] = -50.0
    rows.append(outlier)
    return np.stack(rows).astype(np.float32).reshape(1, -1)


def main():
    default = Path(__file__).resolve().parents[2] / "test/golden/models/quants.gguf"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=default)
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20260101)
    writer = GGUFWriter(out, "golden")
    for name in HALF_FIELDS:
        qtype = GGMLQuantizationType[name]
        blocks = random_blocks(rng, name)
        if name == "F16":
            blocks = blocks.view(np.float16)
        values = dequantize(blocks.reshape(1, -1), qtype).astype(np.float32)
        lower = name.lower()
        writer.add_tensor(f"{lower}.blocks", blocks, raw_dtype=None if name in ("F32", "F16") else qtype)
        writer.add_tensor(f"{lower}.values", values)
    for name in QUANTIZABLE:
        qtype = GGMLQuantizationType[name]
        rows = float_rows(rng)
        encoded = quantize(rows, qtype)
        writer.add_tensor(f"{name.lower()}.input", rows)
        writer.add_tensor(f"{name.lower()}.encoded", encoded, raw_dtype=None if name == "F16" else qtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
