#!/usr/bin/env python3
"""Writes test/golden/e2e/smollm2.json: what SmolLM2-135M-Instruct (Q4_1) must compute.

Everything comes from numpy_llama.py in float64 on the dequantised weights, and the
token ids from Hugging Face's tokenizers fed with the GGUF's own vocabulary; fusec
takes no part. The file holds

  vocab, model_bytes         to recognise the model file
  prompts[]  name, ids       20 fixed prompts as raw ids
             logits          of the last position: {id: value}, the 16 largest and 64 fixed random ids
             max_logit       largest |logit|
             f32_error       largest |float32 - float64| over the whole row, of two float32 evaluations
             greedy, gaps    24 greedy ids and first minus second choice at each step
  perplexity                 first 16384 tokens of tinyshakespeare in windows of 1024 that start from
                             nothing, as `fusec eval --context-window 1024` cuts them: first_ids, ids_sha256 (of
                             little-endian int32), per window the sum of -log p of its 1023 scored tokens

Needs: numpy, gguf, tokenizers. Takes about ten minutes on one core.
Usage: make_e2e_goldens.py SmolLM2-135M-Instruct.Q4_1.gguf [--text tinyshakespeare.txt] [--out FILE]
"""
import argparse
import hashlib
import json
import math
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

sys.path.insert(0, str(Path(__file__).parent))
from numpy_llama import load, log_softmax  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
GREEDY, WINDOW, TOKENS, CONTROL = 24, 1024, 16384, 3

PROMPTS = {
    "one-token": "Hello",
    "space": " ",
    "capital": "The capital of France is",
    "story": "Once upon a time, in a small village by the sea, there lived",
    "chat": "<|im_start|>user\nWhat is the largest planet?<|im_end|>\n<|im_start|>assistant\n",
    "chat-system": "<|im_start|>system\nYou are terse.<|im_end|>\n<|im_start|>user\nName three colours."
                   "<|im_end|>\n<|im_start|>assistant\n",
    "python": "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n    if n <",
    "c": "#include <stdio.h>\n\nint main(void) {\n\tfor (int i = 0; i < 10; ++i)\n\t\tprintf(",
    "json": '{"name": "Ada", "born": 1815, "languages": ["English", "French"], "',
    "html": "<ul>\n  <li>one</li>\n  <li>two</li>\n",
    "numbers": "1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89,",
    "arithmetic": "Question: 17 * 24 = ?\nAnswer:",
    "pi": "3.14159265358979323846264338327950288",
    "german": "Der schnelle braune Fuchs springt über den faulen Hund, während die Bäuerin",
    "japanese": "吾輩は猫である。名前はまだ無い。",
    "emoji": "I ❤️ coffee ☕ and 🚀 launches! 👩‍👩‍👧‍👦",
    "combining": "e\u0301 n\u0303 \u00e9 \u00f1 \u200b\u00a0|",
    "repetition": "the the the the the the the the the the the the the the the the the",
    "whitespace": "a\n\n\n    b\t\t\tc   \r\n d",
}


def read_tokenizer(path):
    reader = GGUFReader(path)
    value = lambda key: reader.fields["tokenizer.ggml." + key].contents()
    tokens, kinds = value("tokens"), value("token_type")
    merges = [tuple(m.split(" ")) for m in value("merges")]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t, k in zip(tokens, kinds) if k == CONTROL])
    return tokenizer


def prompt_ids(tokenizer, text):
    prompts = {name: tokenizer.encode(prompt).ids for name, prompt in PROMPTS.items()}
    prompts["long"] = tokenizer.encode(text[20000:22000]).ids[:300]
    return prompts


def prompt_record(name, ids, model, single):
    _, cache = model.forward(ids[:-1]) if len(ids) > 1 else (None, None)
    row, _ = model.forward(ids[-1:], cache)
    row = row[-1]
    # Alone, a prompt of one token is summed by BLAS in many short partial sums; with another
    # token behind it, which it cannot see, in long ones. Both are fair float32 evaluations.
    rough = [single.forward(ids, last_only=True)[0][-1], single.forward(ids + ids[:1])[0][-2]]
    error = max(np.abs(r.astype(np.float64) - row).max() for r in rough)
    greedy, rows = model.greedy(ids, GREEDY)
    top2 = -np.sort(-rows, axis=1)[:, :2]
    chosen = np.random.default_rng(2024).choice(model.vocab, 64, replace=False)
    shown = list(np.argsort(-row)[:16]) + sorted(chosen)
    record = {
        "name": name, "ids": ids, "logits": {str(int(i)): round(float(row[i]), 7) for i in shown},
        "max_logit": round(float(np.abs(row).max()), 4), "f32_error": float(f"{error:.3e}"),
        "greedy": greedy, "gaps": [float(f"{a - b:.4g}") for a, b in top2]}
    print(name, len(ids), record["max_logit"], record["f32_error"], min(record["gaps"]), flush=True)
    return record


def perplexity_record(ids, model):
    sums = []
    for begin in range(0, len(ids), WINDOW):
        part = ids[begin:begin + WINDOW]
        logprobs = log_softmax(model.forward(part)[0][:-1])
        sums.append(round(float(-logprobs[np.arange(len(part) - 1), part[1:]].sum()), 6))
        print("window", len(sums), sums[-1], flush=True)
    scored = len(ids) - len(sums)
    return {
        "tokens": len(ids), "window": WINDOW, "scored": scored, "window_nll": sums,
        "first_ids": ids[:16], "ids_sha256": hashlib.sha256(np.array(ids, "<i4").tobytes()).hexdigest(),
        "perplexity": round(math.exp(sum(sums) / scored), 6)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--text", type=Path, default=ROOT.parent / "shared/data/text/tinyshakespeare.txt")
    parser.add_argument("--out", type=Path, default=ROOT / "test/golden/e2e/smollm2.json")
    options = parser.parse_args()
    text = options.text.read_text(encoding="utf-8")
    tokenizer = read_tokenizer(options.model)
    model, single = load(options.model), load(options.model, np.float32)
    golden = {
        "vocab": model.vocab, "model_bytes": options.model.stat().st_size,
        "prompts": [prompt_record(n, ids, model, single) for n, ids in prompt_ids(tokenizer, text).items()]}
    write = lambda: options.out.write_text(json.dumps(golden, indent=None, separators=(",", ":")).replace(
        ',{"name"', ',\n{"name"').replace(',"perplexity":{', ',\n"perplexity":{') + "\n")
    write()
    golden["perplexity"] = perplexity_record(tokenizer.encode(text).ids[:TOKENS], model)
    write()


if __name__ == "__main__":
    main()
