#!/usr/bin/env python3
"""Writes test/golden/e2e/embeddings.json: the embeddings of token ids by numpy_llama.py in float64.

  cases[]     ids, and the embedding per pooling: the hidden state of the last or first token, or the mean of all,
              brought to length 1 in L2
  f32_error   largest |float32 evaluation - float64| of a number in them

The ids are BOS and the model's own greedy text, cut at several lengths.

Needs: numpy, gguf.
Usage: make_embedding_goldens.py STORIES260K.gguf > test/golden/e2e/embeddings.json
"""
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from numpy_llama import load  # noqa: E402

LENGTHS = (1, 2, 65, 300)
POOLINGS = {"last": lambda states: states[-1], "mean": lambda states: states.mean(0), "cls": lambda states: states[0]}


def embeddings(model, ids):
    states = model.hidden(ids)[0]
    pooled = {name: pool(states) for name, pool in POOLINGS.items()}
    return {name: (v / np.sqrt((v * v).sum())).astype(np.float64) for name, v in pooled.items()}


def main():
    exact, single = load(sys.argv[1], np.float64), load(sys.argv[1], np.float32)
    ids = [1] + exact.greedy([1], max(LENGTHS) - 1)[0]
    cases, error = [], 0.0
    for length in LENGTHS:
        want, near = embeddings(exact, ids[:length]), embeddings(single, ids[:length])
        error = max([error] + [float(abs(want[p] - near[p]).max()) for p in POOLINGS])
        cases.append({"ids": ids[:length], **{p: [float(f"{x:.9g}") for x in v] for p, v in want.items()}})
    rows = ",\n  ".join(json.dumps(case) for case in cases)
    print(f'{{"f32_error": {error:.3g},\n "cases": [\n  {rows}]}}')


if __name__ == "__main__":
    main()
