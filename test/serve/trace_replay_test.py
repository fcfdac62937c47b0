#!/usr/bin/env python3
"""Replays a trace of chats against `fusec serve`, and compares the prompt tokens found cached with what could be found.

usage: trace_replay_test.py FUSEC ARTIFACT

ARTIFACT is that of stories260K: 512 tokens of context, 80 KiB for each page of 64 tokens.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile


def check(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")


def write_trace(path, chats=12, turns=5):
    """Every prompt is the last one of its chat and one or two blocks more; the last block is filled in part."""
    draw = random.Random(1)
    history = [[0, chat + 1] for chat in range(chats)]  # All begin with the same block.
    block = 1000
    with open(path, "w") as out:
        for turn in range(turns):
            for chat in draw.sample(range(chats), chats):
                length = 512 * len(history[chat]) - draw.randrange(0, 400)
                print(json.dumps({"timestamp": 1000 * turn, "input_length": length,
                                  "output_length": 64, "hash_ids": history[chat]}), file=out)
                for _ in range(draw.randrange(1, 3)):
                    history[chat].append(block := block + 1)


def replay(fusec, artifact, trace, memory):
    """The report of one run on a fresh server whose KV pool has `memory`."""
    server = subprocess.Popen([fusec, "serve", artifact, "--port", "0", "--threads", "1", "--max-seqs", "2",
                               "--kv-memory", memory], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        urls = (re.search(r"listening on (http://\S+)/v1", line) for line in server.stdout)
        url = next((found.group(1) for found in urls if found), None)
        check(url, f"the server starts with {memory}")
        # Blocks of 41 tokens: prompts part inside pages. One client: prompts are served in the order of the trace.
        bench = subprocess.run([fusec, "bench", "serve", "--url", url, "--trace", trace, "-n", "0", "-c", "1",
                                "--length-scale", "0.08", "--max-context", "512", "--first-token", "3",
                                "--vocabulary", "511", "--json"], capture_output=True, text=True)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    check(bench.returncode == 0, f"bench serve: {bench.stderr}{bench.stdout[-500:]}")
    return json.loads(bench.stdout)


def main(fusec, artifact):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "chats.jsonl")
        write_trace(trace)
        roomy = replay(fusec, artifact, trace, "64MB")["prefix_reuse"]
        tight = replay(fusec, artifact, trace, "2MB")["prefix_reuse"]
    print(f"roomy: {roomy}\ntight: {tight}")
    check(roomy["page_tokens"] == 64 and roomy["pages"] > 200, "the pool is known")
    check(roomy["unlimited"] == roomy["clairvoyant"] == tight["unlimited"], "the bound of a pool that holds everything")
    # Up to 3 tokens of a page are computed rather than copied; a prompt has 100 tokens and more.
    check(roomy["unlimited"] - 0.01 < roomy["found"] <= roomy["unlimited"], "everything that was there is found")
    check(0.5 < roomy["found"] < 1, "most of a prompt was in the one before")
    check(0.05 < tight["found"] <= tight["clairvoyant"] < tight["unlimited"], "a small pool finds less")


main(*sys.argv[1:])
