#!/usr/bin/env python3
"""SIGTERM under load: accepted requests end whole, new ones are refused, and an end there is in any case.

usage: drain_test.py FUSEC ARTIFACT

ARTIFACT is that of stories260K, whose greedy text is known.
"""
import json
import re
import signal
import sys
import threading
import time

from serving import STORY, Server, check

fusec, artifact = sys.argv[1:]
OPEN = 50
# Several prompts each: the first must not have ended when the last is accepted, however slowly a busy machine sends them.
LONG = {"prompt": [[1]] * 6, "temperature": 0, "max_tokens": 450, "ignore_eos": True}


def texts_of(reply):
    """The texts of a whole or streamed answer; a stream must have come to its end."""
    status, headers, body = reply
    check(status == 200, f"{status}: {body[:200]}")
    if not headers["Content-Type"].startswith("text/event-stream"):
        return [choice["text"] for choice in json.loads(body)["choices"]]
    check(body.endswith("data: [DONE]\n\n"), "the stream has its end")
    chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    check(all("error" not in chunk for chunk in chunks), "no error in the stream")
    choices = [chunk["choices"][0] for chunk in chunks]
    check([choice["finish_reason"] for choice in choices].count("length") == len(LONG["prompt"]), "each text has its end")
    return ["".join(choice["text"] for choice in choices if choice["index"] == index)
            for index in range(len(LONG["prompt"]))]


def open_requests(server, count):
    """Replies, and the threads that wait for them; returns when the server has accepted all."""
    replies = []
    threads = [threading.Thread(target=lambda i=i: replies.append(
        server.post("/v1/completions", {**LONG, "stream": i % 2 == 0}))) for i in range(count)]
    for thread in threads:
        thread.start()
    deadline = time.time() + 20
    while accepted(server) < count:
        check(time.time() < deadline, f"{accepted(server)} of {count} requests are open, {len(replies)} ended")
    return replies, threads


def accepted(server):
    return int(re.search(r"fusec_open_requests\{[^}]*\} (\d+)", server.get("/metrics")[1]).group(1))


def nothing_is_lost():
    server = Server(fusec, artifact, "--max-seqs", "2", "--drain-timeout", "90")  # Most of them wait in the queue.
    known = texts_of(server.post("/v1/completions", LONG))
    check(known[0].startswith(STORY[:60]) and known == known[:1] * len(known), known)
    replies, threads = open_requests(server, OPEN)
    server.signal(signal.SIGTERM)
    while server.get("/ready")[0] == 200:  # A request before that would be accepted, and wait like the others.
        check(any(thread.is_alive() for thread in threads), "it still drains")
    refused = 0
    while any(thread.is_alive() for thread in threads):
        status, headers, body = server.post("/v1/completions", {"prompt": "new"})
        if status == 503:
            check(int(headers["Retry-After"]) > 0 and json.loads(body)["error"]["code"] == "draining", body)
            refused += 1
        else:
            check(status == 0, f"refused until the server has ended, found {status}: {body}")
        time.sleep(0.005)
    code = server.wait()
    check(code == 0, f"exit code {code}")
    texts = [texts_of(reply) for reply in replies]
    check(texts == [known] * OPEN, f"{texts.count(known)} of {OPEN} ended whole")
    check(refused > 0, "no new request was refused while it drained")
    return refused


def the_deadline_cuts():
    """What has not ended by --drain-timeout gets an error, and the exit code says so."""
    server = Server(fusec, artifact, "--max-seqs", "1", "--drain-timeout", "0")
    replies, threads = open_requests(server, OPEN)
    begin = time.time()
    check(server.stop() == 1, "exit code 1 when requests were cut")
    check(time.time() - begin < 10, "the deadline ends it")
    for thread in threads:
        thread.join()
    cut = [body for status, _, body in replies if status == 503 or "draining" in body]
    check(len(replies) == OPEN and len(cut) > 0, f"{len(cut)} of {len(replies)} were told that they were cut")
    check(any("did not finish in time" in line for line in server.log), "the number on standard error")


def a_second_signal_ends_at_once():
    server = Server(fusec, artifact, "--max-seqs", "1")
    _, threads = open_requests(server, OPEN)
    server.signal(signal.SIGTERM)
    deadline = time.time() + 5
    while not any("finishing open requests" in line for line in server.log) and time.time() < deadline:
        time.sleep(0.001)
    begin = time.time()
    code = server.stop()
    check(code == 143, f"exit code {code}")
    check(time.time() - begin < 5, "at once")
    for thread in threads:
        thread.join()


def main():
    refused = nothing_is_lost()
    the_deadline_cuts()
    a_second_signal_ends_at_once()
    print(f"passed; {OPEN} requests ended whole, {refused} new ones were refused meanwhile")


main()
