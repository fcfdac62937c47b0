#!/usr/bin/env python3
"""Checks that a program which links the runtime needs no compiler library.

usage: check_links.py PROGRAM

Looks at the shared libraries (ldd) and at the program's symbols (nm, when it is
installed), runs the program, and exits with 1 when something of LLVM or MLIR is
in it.
"""
import re
import shutil
import subprocess
import sys

LIBRARY = re.compile(r"lib(LLVM|MLIR|lld|clang)", re.IGNORECASE)
SYMBOL = re.compile(r"\b_ZN[KV]?(4llvm|4mlir|3lld)")


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    found = [line.strip() for line in lines("ldd", program) if LIBRARY.search(line)]
    if shutil.which("nm"):
        found += [line for line in lines("nm", program) if SYMBOL.search(line)]
    if found:
        print("compiler code in", program, *found[:20], sep="\n  ")
        return 1
    return subprocess.run([program]).returncode


if __name__ == "__main__":
    sys.exit(main())
