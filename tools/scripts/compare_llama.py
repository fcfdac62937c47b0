#!/usr/bin/env python3
"""Compares fusec with a llama-bench binary that you have, on the same GGUF file.

    tools/scripts/compare_llama.py model.gguf --llama-bench /path/to/llama-bench --threads 2

Both tools are run alternately, one repeat at a time, so that a slow spell of the machine hits
both. Prints the median, the range of each and the ratio of paired repeats; --json for scripts.
A ratio above 1 means that fusec is faster. Only the Python standard library is used.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run_json(command):
    """Runs a command and parses its standard output as JSON."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_llama: {' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        sys.exit(f"compare_llama: {command[0]}: expected JSON on standard output: {error}")


def fusec_rates(options):
    report = run_json(
        [options.fusec, "bench", options.model, "--json", "--repeats", "1", "--warmups", "1",
         "--threads", str(options.threads), "--prompt", str(options.prompt),
         "--generate", str(options.generate)])
    for phase, asked in (("prefill", options.prompt), ("decode", options.generate)):
        if report[phase]["tokens"] != asked:
            sys.exit(f"compare_llama: {phase}: fusec's context allows only {report[phase]['tokens']} of "
                     f"{asked} tokens; use smaller --prompt/--generate")
    return report["prefill"]["median"], report["decode"]["median"], report["context"]


def llama_rates(options):
    rows = run_json(
        [options.llama_bench, "-m", options.model, "-o", "json", "-r", "1",
         "-t", str(options.threads), "-p", str(options.prompt), "-n", str(options.generate)])
    prefill = next((r["avg_ts"] for r in rows if r["n_prompt"] and not r["n_gen"]), None)
    decode = next((r["avg_ts"] for r in rows if r["n_gen"] and not r["n_prompt"]), None)
    if prefill is None or decode is None:
        sys.exit("compare_llama: llama-bench's output lacks a prompt-only and a generation-only row")
    keys = ("build_commit", "build_number", "cpu_info", "backends", "n_threads", "type_k", "type_v", "flash_attn")
    return prefill, decode, {k: rows[0][k] for k in keys if k in rows[0]}


def summary(samples):
    middle = statistics.median(samples)
    return {"median": middle, "min": min(samples), "max": max(samples),
            "spread": (max(samples) - min(samples)) / middle, "samples": samples}


def compare(options):
    rates = {"prefill": {"fusec": [], "llama": []}, "decode": {"fusec": [], "llama": []}}
    contexts = {}
    for repeat in range(options.repeats):
        # The order alternates too: neither tool always runs on the warmer machine.
        order = [("fusec", fusec_rates), ("llama", llama_rates)]
        for name, measure in order if repeat % 2 == 0 else reversed(order):
            prefill, decode, contexts[name] = measure(options)
            rates["prefill"][name].append(prefill)
            rates["decode"][name].append(decode)
        print(f"repeat {repeat + 1} of {options.repeats}", file=sys.stderr)
    report = {"model": os.path.abspath(options.model), "threads": options.threads, "repeats": options.repeats,
              "unit": "tokens/s", "context": contexts}
    for phase, tokens in (("prefill", options.prompt), ("decode", options.generate)):
        ours, theirs = rates[phase]["fusec"], rates[phase]["llama"]
        report[phase] = {"tokens": tokens, "fusec": summary(ours), "llama": summary(theirs),
                         "ratio": summary([a / b for a, b in zip(ours, theirs)])}
    return report


def print_text(report):
    print(f"{report['model']}, {report['threads']} threads, {report['repeats']} interleaved repeats")
    for phase in ("prefill", "decode"):
        row = report[phase]
        for name, unit in (("fusec", "tokens/s"), ("llama", "tokens/s"), ("ratio", "")):
            s = row[name]
            print(f"{phase:8} {name:6} {s['median']:10.3f}  ({s['min']:.3f} .. {s['max']:.3f}) {unit}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--llama-bench", required=True, help="path of the llama-bench binary")
    parser.add_argument("--fusec", default=os.path.join(ROOT, "build", "bin", "fusec"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prefill measurement")
    parser.add_argument("--generate", type=int, default=128, help="tokens of the decode measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    for path in (options.model, options.llama_bench, options.fusec):
        if not os.path.exists(path):
            parser.error(f"{path}: no such file")
    report = compare(options)
    print(json.dumps(report, indent=2)) if options.json else print_text(report)


if __name__ == "__main__":
    main()
