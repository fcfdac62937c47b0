#!/usr/bin/env python3
"""kill -9 at every stage of a start, and two starts at once: the cache stays usable and holds no litter.

usage: restart_test.py FUSEC MODEL

MODEL is stories260K as a GGUF file, which is compiled into a cache of the test's own.
"""
import os
import signal
import sys
import tempfile
import time

from serving import STORY, Server, check

fusec, model = sys.argv[1:]


def entries(cache):
    """Names in the cache of artifacts, and those of them that are unfinished."""
    folder = os.path.join(cache, "fusec", "artifacts")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return names, [name for name in names if name.startswith(".tmp-")]


def start(cache, wait=True):
    return Server(fusec, model, environment={"XDG_CACHE_HOME": cache, "TMPDIR": cache}, wait=wait)


def kill(server):
    server.signal(signal.SIGKILL)
    check(server.wait() == -signal.SIGKILL, "killed")


def killed_while_compiling(cache, delay):
    """Whether it was: the compile may have been faster than `delay` after its first file."""
    server = start(cache, wait=False)
    deadline = time.time() + 60
    while not any(entries(cache)) and time.time() < deadline:
        time.sleep(0.001)
    time.sleep(delay)
    kill(server)
    return bool(entries(cache)[1])


def answers(server):
    text = server.story()
    check(len(text) > 30 and STORY.startswith(text[:60]), text)
    check(server.stop() == 0, "exit code")


def clean(cache, where):
    names, unfinished = entries(cache)
    check((len(names), unfinished) == (1, []), f"one entry and nothing else {where}, found {names}")
    litter = [name for name in os.listdir(cache) if name != "fusec"]
    check(not litter, f"no temporary files {where}, found {litter}")


def kills(cache):
    hit = [killed_while_compiling(cache, delay) for delay in (0, 0.02, 0.1)]
    check(any(hit), "no kill came while it compiled")
    check(len(entries(cache)[1]) <= 1, f"each start removes what the killed one before left: {entries(cache)}")
    answers(start(cache))
    clean(cache, "after kills while it compiled")
    for delay in (0, 0.005, 0.02, 0.05, 0.2):
        server = start(cache, wait=False)
        time.sleep(delay)
        kill(server)  # In the load, at whatever point.
    server = start(cache)
    status = server.get("/health")[0]
    check(status == 200, f"health {status}")
    kill(server)  # While it serves.
    answers(start(cache))
    clean(cache, "after kills while it loaded and served")
    return sum(hit)


def two_at_once(cache):
    servers = [start(cache, wait=False) for _ in range(2)]
    for server in servers:
        answers(server.listen())
    clean(cache, "after two compiles at once")


def main():
    with tempfile.TemporaryDirectory() as cache:
        hit = kills(cache)
    with tempfile.TemporaryDirectory() as cache:
        two_at_once(cache)
    print(f"passed; {hit} of 3 kills came while it compiled")


main()
