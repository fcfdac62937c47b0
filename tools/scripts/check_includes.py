#!/usr/bin/env python3
"""Checks the include rules: runtime and server include nothing of the compiler half, the runtime nothing of the server,
and Boost is seen by serve/http alone.

usage: check_includes.py SOURCE_DIR

Prints each offending line and exits with 1 when there is one.
"""
import pathlib
import re
import sys

COMPILER = ("llvm", "llvm-c", "mlir", "mlir-c", "lld", "clang", "ir", "passes", "codegen", "models", "tools")
# What the files below a folder must not include; the first folder that holds a file counts.
RULES = (("runtime", COMPILER + ("serve", "boost")), ("serve/http", COMPILER), ("serve", COMPILER + ("boost",)))
SUFFIXES = {".h", ".cpp", ".c", ".def", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def offences_in(root, path, folder, forbidden):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        # Includes are rooted at the repository; a relative one could hide the folder.
        parts = pathlib.PurePosixPath(match.group(1)).parts
        if parts[0] in forbidden or ".." in parts:
            yield f"{path.relative_to(root)}:{number}: {folder} must not include {match.group(1)}"


def offences(root):
    seen = set()
    for folder, forbidden in RULES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path not in seen:
                seen.add(path)
                yield from offences_in(root, path, folder, forbidden)


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "runtime").is_dir():
        sys.exit(__doc__)
    found = list(offences(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "runtime and server includes: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
