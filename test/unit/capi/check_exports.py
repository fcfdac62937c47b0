#!/usr/bin/env python3
"""Checks what libfusec_runtime.so offers and needs.

usage: check_exports.py LIBRARY HEADER

It offers the functions that fusec.h declares, each with a version, and nothing else; it needs only the libraries listed
here, so nothing of LLVM, MLIR or CUDA.
"""
import pathlib
import re
import subprocess
import sys

NEEDED = re.compile(r"lib(pcre2-8|utf8proc|stdc\+\+|gcc_s|m|c|dl|pthread|c\+\+|c\+\+abi)\.so(\.\d+)*|ld-linux.*")
DECLARED = re.compile(r"^(?!typedef)\w[\w *]*?\b(fusec_\w+)\(", re.M)


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], capture_output=True, text=True, check=True).stdout


def exported(library):
    """Names with their versions, of what is defined: `fusec_version@@FUSEC_1`."""
    for line in readelf("--dyn-syms", library).splitlines():
        words = line.split()
        if len(words) == 8 and words[4] in ("GLOBAL", "WEAK", "UNIQUE") and words[6] not in ("UND", "ABS"):
            yield words[7]


def problems(library, header):
    text = pathlib.Path(header).read_text(encoding="utf-8")
    abi = re.search(r"define FUSEC_ABI_VERSION (\d+)", text).group(1)
    expected = {f"{name}@@FUSEC_{abi}" for name in DECLARED.findall(text)}
    found = set(exported(library))
    yield from (f"not exported: {name}" for name in sorted(expected - found))
    yield from (f"exported, but not declared: {name}" for name in sorted(found - expected))
    dynamic = readelf("--dynamic", library)
    if f"[libfusec_runtime.so.{abi}]" not in dynamic:
        yield f"the soname is not libfusec_runtime.so.{abi}"
    needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
    yield from (f"needs {name}" for name in needed if not NEEDED.fullmatch(name))
    print(f"{len(found)} functions; needs {', '.join(needed)}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = list(problems(*sys.argv[1:]))
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
