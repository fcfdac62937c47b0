#!/usr/bin/env python3
"""Compares `fusec serve` with other servers under the same load, alternating between them.

    tools/scripts/compare_serving.py model.gguf --llama-server /path/to/llama-server --clients 1,4,16,64
    tools/scripts/compare_serving.py model.gguf --variant '--static-batches' --trace azure.csv --time-scale 2

All servers run during the whole comparison; only one is under load at a time, and each load is put on one after
the other, repeat by repeat, so that a slow spell of the machine hits all. The load comes from `fusec bench serve`.
`--variant` adds a fusec with further options. Prints medians with their range, and the ratio of paired
repeats to the last server; --json for scripts. Only the Python standard library is used.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STARTUP_SECONDS = 120
FIGURES = {  # name in the table: where bench serve has it, and the factor for the unit
    "output tok/s": (("tokens_per_second", "output"), 1),
    "TTFT p50 ms": (("ttft_seconds", "p50"), 1e3),
    "TTFT p99 ms": (("ttft_seconds", "p99"), 1e3),
    "TPOT p50 ms": (("tpot_seconds", "p50"), 1e3),
    "TPOT p99 ms": (("tpot_seconds", "p99"), 1e3),
}


class Server:
    """A server process, and what its last load gave."""

    def __init__(self, name, command, port):
        self.name, self.command, self.url = name, command, f"http://127.0.0.1:{port}"
        self.log = tempfile.NamedTemporaryFile(mode="w+", prefix="serving-", suffix=".log", delete=False)
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def wait_until_ready(self):
        deadline = time.monotonic() + STARTUP_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                urllib.request.urlopen(self.url + "/health", timeout=2).read()
                return
            except OSError:
                time.sleep(0.2)
        sys.exit(f"compare_serving: {shlex.join(self.command)}: not ready; see {self.log.name}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def servers_of(options):
    sequences = str(options.max_seqs)
    fusec = [options.fusec, "serve", options.model, "--ctx", str(options.context), "--max-seqs", sequences,
             "--kv-dtype", options.kv_dtype, "--threads", str(options.threads), "--log", "off",
             "--max-concurrent", "4096", "--max-queue", "4096", *shlex.split(options.fusec_options)]
    rows = [("fusec", fusec, "--port")]
    rows += [(f"fusec {variant}", fusec + shlex.split(variant), "--port") for variant in options.variant]
    if options.llama_server:
        slots = [options.llama_server, "-m", options.model, "-np", sequences, "-t", str(options.threads),
                 "-tb", str(options.threads), "-c", str(options.context * options.max_seqs), "--no-webui",
                 *shlex.split(options.llama_options)]
        rows.append(("llama-server", slots, "--port"))
    started = []
    for name, command, flag in rows:
        port = free_port()
        started.append(Server(name, command + [flag, str(port)], port))
    return started


def load_of(options, clients, seed):
    load = ["--seed", str(seed), "--vocabulary", str(options.vocabulary), "--timeout", str(options.timeout)]
    if options.trace:
        load += ["--trace", options.trace, "--time-scale", str(options.time_scale),
                 "--length-scale", str(options.length_scale), "--max-context", str(options.context - 8),
                 "-n", str(options.requests)]
    else:
        load += ["--prompt", str(options.prompt), "--output", str(options.output), "--spread", str(options.spread),
                 "-n", str(max(options.requests, 2 * clients) if clients > 1 else max(options.requests // 8, 4)),
                 "-c", str(clients), "--warmups", "1"]
    return load


def measure(options, server, load):
    command = [options.fusec, "bench", "serve", "--url", server.url, "--server", shlex.join(server.command), "--json"]
    done = subprocess.run(command + load, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(f"compare_serving: {shlex.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    if report["requests"]["errors"]:
        print(f"compare_serving: {server.name}: {report['requests']['errors']} errors: {report['errors'][:2]}",
              file=sys.stderr)
    del report["records"]
    return report


def figure(report, name):
    path, factor = FIGURES[name]
    for key in path:
        report = report[key]
    return report * factor


def compare(options, servers, clients):
    """Alternating repeats; the reports by server."""
    reports = {server.name: [] for server in servers}
    for repeat in range(options.repeats):
        load = load_of(options, clients, seed=1000 * clients + repeat + 1)
        for server in servers:
            reports[server.name].append(measure(options, server, load))
    return reports


def print_table(reports, clients):
    title = f"{clients} clients" if clients else "trace"
    print(f"\n{title:<16}" + "".join(f"{name:>34}" for name in reports))
    last = list(reports)[-1]
    for name in FIGURES:
        cells = []
        for server, rows in reports.items():
            values = [figure(row, name) for row in rows]
            cell = f"{statistics.median(values):.1f} ({min(values):.1f}..{max(values):.1f})"
            if server != last:
                ratios = [a / b for a, b in zip(values, (figure(row, name) for row in reports[last])) if b > 0]
                cell += f" = {statistics.median(ratios):.2f}x" if ratios else ""
            cells.append(cell)
        print(f"{name:<16}" + "".join(f"{cell:>34}" for cell in cells), flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--fusec", default=os.path.join(ROOT, "build", "bin", "fusec"))
    parser.add_argument("--fusec-options", default="", help="further options of fusec serve")
    parser.add_argument("--variant", action="append", default=[], help="options of a further fusec; repeatable")
    parser.add_argument("--llama-server", help="a llama-server binary")
    parser.add_argument("--llama-options", default="", help="further options of it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kv-dtype", default="f16", help="of fusec; llama.cpp uses f16 unless told otherwise")
    parser.add_argument("--context", type=int, default=512, help="tokens of each request's context")
    parser.add_argument("--max-seqs", type=int, default=16, help="sequences at once, slots of llama-server")
    parser.add_argument("--clients", default="1,4,16", help="closed loop: numbers of clients")
    parser.add_argument("--requests", type=int, default=48)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--output", type=int, default=64)
    parser.add_argument("--spread", type=float, default=0.5)
    parser.add_argument("--vocabulary", type=int, default=20000)
    parser.add_argument("--trace", help="open loop instead: replay it")
    parser.add_argument("--time-scale", type=float, default=1)
    parser.add_argument("--length-scale", type=float, default=1)
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", help="write all reports there")
    return parser.parse_args()


def main():
    options = parse()
    servers = servers_of(options)
    everything = {}
    try:
        for server in servers:
            server.wait_until_ready()
        for clients in [0] if options.trace else [int(n) for n in options.clients.split(",")]:
            everything[clients] = compare(options, servers, clients)
            print_table(everything[clients], clients)
    finally:
        for server in servers:
            server.stop()
    if options.json:
        with open(options.json, "w") as out:
            json.dump(everything, out, indent=1)


if __name__ == "__main__":
    main()
