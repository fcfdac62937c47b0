#!/usr/bin/env python3
"""Compares fusec with a llama-bench binary that you have, on the same GGUF file.

    tools/scripts/compare_llama.py model.gguf --llama-bench /path/to/llama-bench --threads 2
    tools/scripts/compare_llama.py model.gguf --llama-bench ... --depth 4096 --generate 32 --kv-dtype f16

With --depth only decoding is compared, behind a context of that many tokens. llama.cpp keeps its
cache in f16 unless told otherwise; --kv-dtype sets fusec's.

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


def phases(options):
    """What is compared, with the tokens asked for."""
    asked = {"decode": options.generate}
    return asked if options.depth else {"prefill": options.prompt, **asked}


def fusec_rates(options):
    command = [options.fusec, "bench", options.model, "--json", "--repeats", "1", "--warmups", "1",
               "--threads", str(options.threads), "--generate", str(options.generate), "--kv-dtype", options.kv_dtype]
    if options.depth:
        # fusec bench lets the depth be half of the context.
        command += ["--prompt", "0", "--depth", str(options.depth), "--context", str(2 * options.depth)]
    else:
        command += ["--prompt", str(options.prompt)]
    report = run_json(command)
    for phase, asked in phases(options).items():
        if report[phase]["tokens"] != asked or (options.depth and report[phase]["depth"] != options.depth):
            sys.exit(f"compare_llama: {phase}: fusec's context allows only {report[phase]['tokens']} of "
                     f"{asked} tokens at depth {report[phase].get('depth', 0)}; use smaller figures")
    return {phase: report[phase]["median"] for phase in phases(options)}, report["context"]


def llama_rates(options):
    command = [options.llama_bench, "-m", options.model, "-o", "json", "-r", "1",
               "-t", str(options.threads), "-p", str(0 if options.depth else options.prompt),
               "-n", str(options.generate)]
    rows = run_json(command + (["-d", str(options.depth)] if options.depth else []))
    found = {"prefill": next((r["avg_ts"] for r in rows if r["n_prompt"] and not r["n_gen"]), None),
             "decode": next((r["avg_ts"] for r in rows if r["n_gen"] and not r["n_prompt"]), None)}
    if any(found[phase] is None for phase in phases(options)):
        sys.exit("compare_llama: llama-bench's output lacks a prompt-only or a generation-only row")
    keys = ("build_commit", "build_number", "cpu_info", "backends", "n_threads", "type_k", "type_v", "flash_attn")
    return found, {k: rows[0][k] for k in keys if k in rows[0]}


def summary(samples):
    middle = statistics.median(samples)
    return {"median": middle, "min": min(samples), "max": max(samples),
            "spread": (max(samples) - min(samples)) / middle, "samples": samples}


def compare(options):
    rates = {phase: {"fusec": [], "llama": []} for phase in phases(options)}
    contexts = {}
    for repeat in range(options.repeats):
        # The order alternates too: neither tool always runs on the warmer machine.
        order = [("fusec", fusec_rates), ("llama", llama_rates)]
        for name, measure in order if repeat % 2 == 0 else reversed(order):
            found, contexts[name] = measure(options)
            for phase in rates:
                rates[phase][name].append(found[phase])
        print(f"repeat {repeat + 1} of {options.repeats}", file=sys.stderr)
    report = {"model": os.path.abspath(options.model), "threads": options.threads, "repeats": options.repeats,
              "unit": "tokens/s", "depth": options.depth, "kv_dtype": options.kv_dtype, "context": contexts}
    for phase, tokens in phases(options).items():
        ours, theirs = rates[phase]["fusec"], rates[phase]["llama"]
        report[phase] = {"tokens": tokens, "fusec": summary(ours), "llama": summary(theirs),
                         "ratio": summary([a / b for a, b in zip(ours, theirs)])}
    return report


def print_text(report):
    print(f"{report['model']}, {report['threads']} threads, {report['repeats']} interleaved repeats, "
          f"fusec's cache in {report['kv_dtype']}, depth {report['depth']}")
    for phase in (phase for phase in ("prefill", "decode") if phase in report):
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
    parser.add_argument("--depth", type=int, default=0, help="compare decoding behind this many tokens")
    parser.add_argument("--kv-dtype", default="f32", choices=("f32", "f16", "bf16", "fp8_e4m3"), help="of fusec's cache")
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
