#!/usr/bin/env python3
"""Follows a page of docs/extending against an installed fusec.

usage: tutorial.py BUILD PAGE MODEL

A page is a sequence of fenced blocks:
  ```sh             commands, run in order in one folder by `bash -e`; `! command` must fail
  ```expect         lines that the commands before it print, in this order (parts of lines are enough)
  ```mlir NAME      a file to save; any language with a name
Other blocks are for reading. MODEL is `model.gguf` in that folder.
"""
import pathlib
import re
import sys

from package import Package, run

BLOCK = re.compile(r"^```([a-z]+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
# `bash -e` does not mind a command that `!` turns into a failure.
MUST_FAIL = re.compile(r"^! (.*)$", re.M)


def follow(page, package):
    """Runs the page; returns how many blocks were run, saved and checked."""
    output, counts = "", {"sh": 0, "file": 0, "expect": 0}
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        language, name, text = match.groups()
        if name:
            (package.work / name).write_text(text, encoding="utf-8")
            counts["file"] += 1
        elif language == "sh":
            script = MUST_FAIL.sub(r"if \1; then echo 'this should have failed: \1'; exit 1; fi", text)
            # Output of several blocks adds up until it is looked at.
            output += run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=package.work, env=package.environment)
            counts["sh"] += 1
        elif language == "expect":
            check(text, output)
            output = ""
            counts["expect"] += 1
    return counts


def check(expected, output):
    rest = output
    for line in expected.splitlines():
        place = rest.find(line.strip())
        if place < 0:
            raise SystemExit(f"the page promises this line:\n  {line}\nin the rest of this output:\n{rest}")
        rest = rest[place + len(line.strip()) :]


def main():
    build, page, model = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    with Package(build) as package:
        (package.work / "model.gguf").symlink_to(model)
        counts = follow(page, package)
    print(f"{page.name}: {counts['sh']} command blocks, {counts['file']} files, {counts['expect']} outputs checked")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
