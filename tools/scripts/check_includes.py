#!/usr/bin/env python3
"""Checks the include rule: the runtime half includes nothing of the compiler half.

usage: check_includes.py SOURCE_DIR

Prints each offending line and exits with 1 when there is one.
"""
import pathlib
import re
import sys

FORBIDDEN = ("llvm", "llvm-c", "mlir", "mlir-c", "lld", "clang", "ir", "passes", "codegen", "models", "tools")
SUFFIXES = {".h", ".cpp", ".c", ".def", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def offences(root):
    for path in sorted((root / "runtime").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            # Includes are rooted at the repository; a relative one could hide the folder.
            parts = pathlib.PurePosixPath(match.group(1)).parts
            if parts[0] in FORBIDDEN or ".." in parts:
                yield f"{path.relative_to(root)}:{number}: the runtime must not include {match.group(1)}"


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "runtime").is_dir():
        sys.exit(__doc__)
    found = list(offences(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "runtime includes: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
