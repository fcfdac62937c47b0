#!/usr/bin/env python3
"""Rates of PyTorch's scaled_dot_product_attention, for comparison; writes one JSON file.

Causal prefill, batch 1, 32 heads, 8 KV heads repeated, bf16. Times by CUDA events, 20 repeats after 5 warm-ups, inputs
the same each time (L2 warm as far as they fit).
"""
import json
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
HEADS, REPEATS, WARMUPS = 32, 20, 5


def milliseconds(work):
    times = []
    for i in range(WARMUPS + REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        if i >= WARMUPS:
            times.append(start.elapsed_time(end))
    return times


def measure(backend, head_size, length):
    q, k, v = (torch.randn(1, HEADS, length, head_size, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    with sdpa_kernel(backend):
        times = milliseconds(
            lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
    flops = 2 * 2 * HEADS * length * length * head_size / 2  # Two products, half of each masked.
    return {"median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times),
            "tflops": flops / statistics.median(times) / 1e9}


def main():
    rows = []
    for name, backend in BACKENDS.items():
        for head_size in (64, 128):
            for length in (1024, 2048, 4096, 8192, 16384):
                row = {"backend": name, "head_size": head_size, "length": length}
                try:
                    row |= measure(backend, head_size, length)
                except RuntimeError as error:
                    row["error"] = str(error)[:200]
                rows.append(row)
                print(row)
    with open(sys.argv[1], "w") as file:
        json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
