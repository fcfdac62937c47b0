"""A `fusec serve` of one's own, for the tests in this folder."""
import atexit
import http.client
import json
import os
import re
import signal
import subprocess
import threading
import urllib.error
import urllib.request

STORY = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."


def check(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")


class Server:
    """Starts, and waits until it listens unless told not to."""

    def __init__(self, fusec, model, *options, environment=None, wait=True):
        self.process = subprocess.Popen([fusec, "serve", model, "--port", "0", "--threads", "1", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        atexit.register(self.process.kill)  # A test that fails leaves no server behind.
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()
        if wait:
            self.listen()

    def listen(self):
        for line in self.process.stdout:
            found = re.search(r"listening on (http://\S+:(\d+))/v1", line)
            if found:
                self.url, self.port = found.group(1), int(found.group(2))
                return self
        raise SystemExit("the server did not start: " + "".join(self.log))

    def get(self, path, key=None, data=None):
        headers = {"Content-Type": "application/json"} if data else {}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers)) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def post(self, path, body):
        """Status, headers and text of the answer; 0 when there is none."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, {}, str(error)

    def story(self, tokens=20):
        """The beginning of the known text."""
        body = {"prompt": [1], "temperature": 0, "max_tokens": tokens}
        status, _, text = self.post("/v1/completions", body)
        check(status == 200, f"{status}: {text}")
        return json.loads(text)["choices"][0]["text"]

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def stop(self):
        self.signal()
        return self.wait()

    def wait(self):
        code = self.process.wait(60)
        self.reader.join(5)
        return code
