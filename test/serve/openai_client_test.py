#!/usr/bin/env python3
"""Drives `fusec serve` with OpenAI's own client, and ends it with SIGTERM.

usage: openai_client_test.py FUSEC ARTIFACT EMBEDDINGS

ARTIFACT is that of stories260K, whose greedy text is known, EMBEDDINGS the same model for mean embeddings. openai_client_test.sh finds a Python with OpenAI's package.
"""
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time

import openai

from serving import STORY, Server, check

def refused(kind, call, param, code):
    try:
        call()
    except kind as error:
        check((error.param, error.code) == (param, code), f"{error.param!r} {error.code!r}, expected {param!r} {code!r}")
        return error
    raise SystemExit(f"failed: not refused: {param}")


def completions(client):
    greedy = dict(model="stories", prompt=[1], temperature=0, max_tokens=40)
    whole = client.completions.create(**greedy)
    check(STORY.startswith(whole.choices[0].text[:60]), whole.choices[0].text)
    check(whole.choices[0].finish_reason == "length", whole.choices[0].finish_reason)
    check(whole.usage.prompt_tokens == 1 and whole.usage.completion_tokens == 40, whole.usage)
    chunks = list(client.completions.create(**greedy, stream=True))
    check("".join(c.choices[0].text for c in chunks) == whole.choices[0].text, "the deltas join to the text")
    check(len({(c.id, c.created, c.model) for c in chunks}) == 1, "constant id")
    check([c.choices[0].finish_reason for c in chunks[:-1]] == [None] * (len(chunks) - 1), "finish_reason null")
    check(all(c.usage is None for c in chunks), "no usage unless asked")
    chunks = list(client.completions.create(**greedy, stream=True, stream_options={"include_usage": True}))
    check(chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 40, "usage last")
    stopped = client.completions.create(**greedy, stop=["little girl"])
    check(stopped.choices[0].text == "Once upon a time, there was a ", stopped.choices[0].text)
    check(stopped.choices[0].finish_reason == "stop", "stop")
    several = client.completions.create(model="stories", prompt=["Once", "One day"], n=2, seed=5, max_tokens=8)
    again = client.completions.create(model="stories", prompt=["Once", "One day"], n=2, seed=5, max_tokens=8)
    check([c.index for c in several.choices] == [0, 1, 2, 3], "indexes")
    check([c.text for c in several.choices] == [c.text for c in again.choices], "equal seeds, equal text")
    other = client.completions.create(model="stories", prompt=["Once", "One day"], n=2, seed=6, max_tokens=8)
    check([c.text for c in several.choices] != [c.text for c in other.choices], "other seeds, other text")
    probabilities = client.completions.create(**{**greedy, "max_tokens": 4}, logprobs=3, echo=True).choices[0].logprobs
    check(probabilities.token_logprobs[0] is None and len(probabilities.tokens) == 5, "echo with logprobs")
    check(all(len(row) == 3 for row in probabilities.top_logprobs[1:]), "top_logprobs")
    best = client.completions.create(model="stories", prompt="Once", best_of=3, n=1, seed=1, max_tokens=8)
    check(len(best.choices) == 1, "best_of")
    digits = client.completions.create(model="stories", prompt="Once", max_tokens=20, extra_body={"guided_regex": "[0-9]{4}"})
    check(re.fullmatch("[0-9]{4}", digits.choices[0].text), digits.choices[0].text)


def errors(client):
    create = client.completions.create
    bad = openai.BadRequestError
    refused(bad, lambda: create(model="stories", prompt="a", temperature=-1), "temperature", "invalid_value")
    refused(bad, lambda: create(model="stories", prompt="a", suffix="b"), "suffix", "unsupported_parameter")
    refused(bad, lambda: create(model="stories", prompt="a", extra_body={"x": 1}), "x", "unknown_parameter")
    refused(bad, lambda: create(model="stories", prompt=[2] * 600), "prompt", "context_length_exceeded")
    refused(bad, lambda: client.embeddings.create(model="stories", input="a"), "model", "unsupported_parameter")
    refused(openai.NotFoundError, lambda: create(model="gpt", prompt="a"), "model", "model_not_found")
    chat = lambda: client.chat.completions.create(model="stories", messages=[{"role": "user", "content": "Hi"}])
    refused(bad, chat, "messages", "unsupported_parameter")  # stories260K has no chat template.
    error = refused(openai.AuthenticationError,
                    lambda: client.with_options(api_key="wrong").models.list(), None, "invalid_api_key")
    check(error.status_code == 401, "401")


# As Hermes and Qwen show tools and write calls.
TEMPLATE = """{% for t in tools or [] %}{{ t.function | tojson }}{% endfor %}{% for m in messages %}{{ m.role }}: \
{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% else %}{{ m.content }}{% endif %}
{% endfor %}assistant: """
TOOLS = [{"type": "function", "function": {"name": "light", "strict": True, "parameters": {
    "type": "object", "required": ["on", "room"], "additionalProperties": False,
    "properties": {"on": {"type": "boolean"}, "room": {"$ref": "#/$defs/room"}},
    "$defs": {"room": {"enum": ["hall", "attic"]}}}}},
    {"type": "function", "function": {"name": "now"}}]


def checked(calls):
    """The calls, each of a function there is, with arguments that fit its schema."""
    for call in calls:
        arguments = json.loads(call.function.arguments)
        if call.function.name == "light":
            check(type(arguments["on"]) is bool and arguments["room"] in ("hall", "attic") and len(arguments) == 2, call)
        else:
            check(call.function.name == "now" and arguments == {}, call)
    return [(call.function.name, call.function.arguments) for call in calls]


def streamed_calls(stream):
    calls, finish = [], None
    for chunk in stream:
        choice = chunk.choices[0]
        check(not choice.delta.content, "no content beside required calls")
        finish = choice.finish_reason or finish
        for call in choice.delta.tool_calls or []:
            if call.id:
                check(call.index == len(calls) and call.type == "function", call)
                calls.append([call.function.name, ""])
            calls[call.index][1] += call.function.arguments
    return [tuple(call) for call in calls], finish


def spaces(server):
    """A bias against white space, which a grammar allows plenty of and a model of stories likes."""
    reply = server.get("/tokenize", data=json.dumps({"prompt": " \n\t\r", "add_special_tokens": False}).encode())
    return {str(token): -100 for token in json.loads(reply[1])["tokens"]}


def tools(server, client):
    """stories260K knows no tools; what binds it to write calls is the grammar."""
    create = client.chat.completions.create
    messages = [{"role": "user", "content": "Light, please."}]
    asked = dict(model="stories", messages=messages, tools=TOOLS, temperature=0, max_tokens=200, logit_bias=spaces(server))
    for choice in ({"type": "function", "function": {"name": "light"}}, "required"):
        single = dict(asked, tool_choice=choice, parallel_tool_calls=False)
        whole = create(**single).choices[0]
        check((whole.finish_reason, whole.message.content) == ("tool_calls", None), whole)
        calls = checked(whole.message.tool_calls)
        check(len(calls) == 1 and (choice == "required" or calls[0][0] == "light"), calls)
        check(streamed_calls(create(**single, stream=True)) == (calls, "tool_calls"), "streamed as whole")
        check(checked(create(**dict(single, temperature=1.5, seed=3)).choices[0].message.tool_calls), "at a high temperature")
    several = create(**asked, tool_choice="required").choices[0]
    complete = several.message.tool_calls[:-1] if several.finish_reason == "length" else several.message.tool_calls
    checked(complete)
    messages.append(whole.message)  # The client's own object goes back as it is.
    messages.append({"role": "tool", "tool_call_id": whole.message.tool_calls[0].id, "content": "done"})
    answer = create(**dict(asked, max_tokens=8)).choices[0]
    check(answer.finish_reason == "length" and answer.message.tool_calls is None, answer)
    refused(openai.BadRequestError, lambda: create(**dict(asked, tools=[{"type": "function", "function": {"name": ""}}])),
            "tools[0].function.name", "invalid_value")
    refused(openai.BadRequestError, lambda: create(**asked, tool_choice={"type": "function", "function": {"name": "x"}}),
            "tool_choice.function.name", "invalid_value")


def chats(client):
    """Log-probabilities, seeds and usage of the chat route."""
    create = client.chat.completions.create
    asked = dict(model="stories", messages=[{"role": "user", "content": "Once"}], max_tokens=12)
    row = create(**asked, temperature=0, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    check(len(row) == 12 and all(len(token.top_logprobs) == 3 for token in row), row)
    check(all(token.logprob == max(other.logprob for other in token.top_logprobs) for token in row), "greedy is the best")
    check("".join(bytes(token.bytes).decode("utf-8", "replace") for token in row).strip() ==
          create(**asked, temperature=0).choices[0].message.content.strip(), "the tokens are the text")
    chunks = list(create(**asked, temperature=0, logprobs=True, stream=True, stream_options={"include_usage": True}))
    streamed = [token.logprob for chunk in chunks for choice in chunk.choices if choice.logprobs
                for token in choice.logprobs.content]
    check(streamed == [token.logprob for token in row], "streamed log-probabilities")
    check(chunks[-1].usage.completion_tokens == 12 and all(chunk.usage is None for chunk in chunks[:-1]), "usage last")
    texts = [create(**asked, temperature=1, seed=seed).choices[0].message.content for seed in (1, 1, 2, 3)]
    check(texts[0] == texts[1] and len(set(texts)) == 3, f"equal seeds give equal text, others do not: {texts}")
    check(len({choice.message.content for choice in create(**asked, temperature=1, seed=1, n=3).choices}) == 3, "n")
    stopped = create(**dict(asked, max_tokens=60), temperature=0, stop=[" "]).choices[0]
    check(stopped.finish_reason == "stop" and " " not in stopped.message.content, stopped)


def with_template(fusec, artifact):
    """The server of a copy of the artifact that has a chat template."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "stories.fusec")
        shutil.copytree(artifact, copy)
        with open(os.path.join(copy, "chat_template.jinja"), "w") as file:
            file.write(TEMPLATE)
        server = Server(fusec, copy, "--served-model-name", "stories")
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        tools(server, client)
        chats(client)
        check(server.stop() == 0, "exit code")


def embeddings(fusec, artifact):
    """The client asks for base64 unless told otherwise; it decodes it itself."""
    server = Server(fusec, artifact, "--served-model-name", "vectors")
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    create = client.embeddings.create
    texts = ["Once upon a time", "there was a little girl", [1, 403, 407]]
    single = [create(model="vectors", input=text).data[0].embedding for text in texts]
    check(all(len(v) == 64 and abs(sum(x * x for x in v) - 1) < 1e-5 for v in single), "64 numbers, of length 1")
    check(single[0] != single[1], "texts differ")
    floats = create(model="vectors", input=texts[:2], encoding_format="float")
    check([row.index for row in floats.data] == [0, 1], "indexes")
    close = lambda a, b: len(a) == len(b) and all(abs(x - y) < 1e-7 for x, y in zip(a, b))
    check(all(close(row.embedding, v) for row, v in zip(floats.data, single)), "float and base64, alone and together")
    check(floats.usage.prompt_tokens == floats.usage.total_tokens > 2, floats.usage)
    check(len(create(model="vectors", input="a", dimensions=8).data[0].embedding) == 8, "dimensions")
    bad = openai.BadRequestError
    refused(bad, lambda: create(model="vectors", input=""), "input", "invalid_value")
    refused(bad, lambda: create(model="vectors", input=["a", ""]), "input", "invalid_value")
    refused(bad, lambda: create(model="vectors", input=[5] * 513), "input", "context_length_exceeded")
    refused(bad, lambda: create(model="vectors", input="a", dimensions=65), "dimensions", "invalid_value")
    refused(bad, lambda: client.completions.create(model="vectors", prompt="a"), "model", "unsupported_parameter")
    check('finished_reason="stop"} 6' in server.get("/metrics")[1], server.get("/metrics")[1])
    check(server.stop() == 0, "exit code")


def drain(server, client):
    """Requests that were accepted before SIGTERM end as they would have."""
    greedy = dict(model="stories", prompt=[1], temperature=0, max_tokens=450, extra_body={"ignore_eos": True})
    expected = client.completions.create(**greedy).choices[0].text
    texts = []
    threads = [threading.Thread(target=lambda: texts.append(client.completions.create(**greedy).choices[0].text))
               for _ in range(12)]
    for thread in threads:
        thread.start()
    deadline = time.time() + 10
    while "fusec_open_requests{model_name=\"stories\"} 12" not in server.get("/metrics", "k1")[1] and time.time() < deadline:
        pass
    code = server.stop()
    for thread in threads:
        thread.join()
    check(code == 0, f"exit code {code}")
    check(texts == [expected] * 12, f"{len(texts)} of 12 requests ended whole")


def main():
    fusec, artifact, vectors = sys.argv[1:4]
    embeddings(fusec, vectors)
    server = Server(fusec, artifact, "--served-model-name", "stories", "--api-key", "k1", "--admin-key", "root",
                    "--max-seqs", "4", "--metrics-alias", "vllm")
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="k1", max_retries=0)
    check([m.id for m in client.models.list().data] == ["stories"], "models")
    check(client.models.retrieve("stories").id == "stories", "model")
    check(server.get("/health")[0] == 200 and server.get("/ready")[0] == 200, "health needs no key")
    check(server.get("/metrics")[0] == 401, "metrics need a key")
    completions(client)
    errors(client)
    check("vllm:num_requests_running" in server.get("/metrics", "k1")[1], "vLLM's names")
    check(server.get("/admin/flush", "k1", b"{}")[0] == 401, "the admin key is another one")
    drain(server, client)
    with_template(fusec, artifact)
    lines = [json.loads(line) for line in server.log if line.startswith("{")]
    check(any(line.get("finish") == "length" and line["key"] == 0 for line in lines), "the log")
    print(f"passed; {len(lines)} lines of log")


main()
