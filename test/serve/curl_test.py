#!/usr/bin/env python3
"""Every route through curl: status, and what the answer must hold.

usage: curl_test.py FUSEC ARTIFACT

ARTIFACT is that of stories260K, whose greedy text is known. Skipped (77) without curl.
"""
import json
import shutil
import subprocess
import sys

from serving import STORY, Server, check

GREEDY = {"prompt": [1], "temperature": 0, "max_tokens": 6}
BEGIN = "Once upon a time, there"
# Method, path, body, status, and members of the answer by their place (a text answer holds all of them).
ROUTES = [
    ("GET", "/health", None, 200, {"status": "ok"}),
    ("GET", "/ready", None, 200, {"ready": True}),
    ("GET", "/version", None, 200, {"model": "stories", "chat_template": False, "context_tokens": 512}),
    ("GET", "/v1/models", None, 200, {"object": "list", "data.0.id": "stories"}),
    ("GET", "/v1/models/stories", None, 200, {"id": "stories", "object": "model"}),
    ("GET", "/v1/models/other", None, 404, {"error.code": "model_not_found"}),
    ("GET", "/metrics", None, 200, ["fusec_open_requests{model_name=\"stories\"}"]),
    ("GET", "/api/stats", None, 200, {"has_work": False}),
    ("GET", "/", None, 200, ["<!doctype html>"]),
    ("GET", "/nothing", None, 404, {"error.code": "unknown_url"}),
    ("GET", "/v1/completions", None, 405, {"error.code": "method_not_allowed"}),
    ("POST", "/tokenize", {"prompt": "Once"}, 200, {"tokens.0": 1, "max_model_len": 512}),
    ("POST", "/detokenize", {"tokens": [403, 407]}, 200, {"prompt": "Once upon"}),
    ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]}, 400, {"error.param": "messages"}),
    ("POST", "/v1/completions", GREEDY, 200,
     {"object": "text_completion", "choices.0.text": BEGIN, "choices.0.finish_reason": "length",
      "choices.0.logprobs": None, "usage.prompt_tokens": 1, "usage.completion_tokens": 6, "usage.total_tokens": 7}),
    ("POST", "/v1/completions", {**GREEDY, "n": 2}, 200, {"choices.1.index": 1, "choices.1.text": BEGIN}),
    ("POST", "/v1/completions", {**GREEDY, "stop": " upon"}, 200,
     {"choices.0.text": "Once", "choices.0.finish_reason": "stop"}),
    ("POST", "/v1/completions", {**GREEDY, "echo": True, "prompt": "Once", "max_tokens": 5}, 200,
     {"choices.0.text": BEGIN}),
    ("POST", "/v1/completions", {**GREEDY, "logprobs": 0}, 200,
     {"choices.0.logprobs.tokens.1": " upon", "choices.0.logprobs.text_offset.1": 4,
      "choices.0.logprobs.text_offset.5": 17, "choices.0.logprobs.top_logprobs.5": {}}),
    ("POST", "/v1/completions", {**GREEDY, "prompt": "Once", "max_tokens": 2, "logprobs": 0, "echo": True}, 200,
     {"choices.0.text": "Once upon a", "choices.0.logprobs.token_logprobs.0": None,
      "choices.0.logprobs.text_offset.1": 0, "choices.0.logprobs.text_offset.2": 4,
      "choices.0.logprobs.text_offset.3": 9}),
    ("POST", "/v1/completions", {**GREEDY, "temperature": 3e2}, 400, {"error.param": "temperature"}),
    ("POST", "/v1/completions", {"prompt": []}, 400, {"error.param": "prompt", "error.type": "invalid_request_error"}),
    ("POST", "/admin/flush", {}, 403, {"error.code": "admin_disabled"}),
]


def curl(url, method, body):
    command = ["curl", "-sS", "-X", method, "-w", "\n%{http_code}", "--max-time", "30", url]
    if body is not None:
        command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
    text, _, status = subprocess.run(command, capture_output=True, text=True, check=True).stdout.rpartition("\n")
    return text, int(status)


def at(document, place):
    for step in place.split("."):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def main(fusec, artifact):
    if not shutil.which("curl"):
        print("skipped: needs curl")
        sys.exit(77)
    server = Server(fusec, artifact, "--served-model-name", "stories")
    for method, path, body, status, wanted in ROUTES:
        text, found = curl(server.url + path, method, body)
        what = f"{method} {path} {body}: {found} {text[:300]}"
        check(found == status, what)
        if isinstance(wanted, list):
            check(all(part in text for part in wanted), what)
            continue
        document = json.loads(text) if wanted else {}
        for place, value in wanted.items():
            check(at(document, place) == value, f"{place} should be {value!r}: {what}")
    text, _ = curl(server.url + "/v1/completions", "POST", {**GREEDY, "stream": True, "stream_options": {"include_usage": True}})
    lines = [line for line in text.splitlines() if line]
    check(all(line.startswith("data: ") for line in lines) and lines[-1] == "data: [DONE]", text)
    chunks = [json.loads(line[6:]) for line in lines[:-1]]
    check("".join(chunk["choices"][0]["text"] for chunk in chunks[:-1]) == BEGIN and STORY.startswith(BEGIN), text)
    check([chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1), "usage null before the end")
    check(chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 6, "usage in the last chunk")
    check(server.stop() == 0, "exit code")
    print(f"passed; {len(ROUTES)} requests")


main(*sys.argv[1:])
