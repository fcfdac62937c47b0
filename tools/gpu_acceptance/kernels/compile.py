#!/usr/bin/env python3
"""Compiles the runner's own kernels to PTX beside them.

The PTX is part of the repository, so that the runner is built and tested without
NVRTC. Its version is lowered to the oldest that has the target, so that drivers older than the
NVRTC used here take it; ptxas, where there is one, checks that it still holds.

Usage: compile.py [--nvrtc libnvrtc.so.13] [--check]    (--check: report stale files, change nothing)
"""
import argparse
import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEVICE_LIBRARY = HERE.parents[2] / "codegen/cuda/device"
# source, target, PTX version, macro
FILES = [
    ("Probes.cu", "sm_80", "7.8", "FUSEC_SM_80"),
    ("Probes.cu", "sm_89", "8.4", "FUSEC_SM_89"),
    ("Probes.cu", "sm_90a", "8.0", "FUSEC_SM_90A"),
    ("Rates.cu", "sm_80", "7.8", "FUSEC_SM_80"),
    ("Rates.cu", "sm_90a", "8.0", "FUSEC_SM_90A"),
]


def compile_ptx(nvrtc, source, target, macro):
    program = ctypes.c_void_p()
    text = (HERE / source).read_bytes()
    options = [f"--gpu-architecture={target.replace('sm', 'compute')}", "--std=c++20", "--fmad=false",
               f"-I{DEVICE_LIBRARY}", f"-D{macro}"]
    encoded = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), 0, None, None)
    result = nvrtc.nvrtcCompileProgram(program, len(options), encoded)
    size = ctypes.c_size_t()
    if result != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"{source} for {target}: {log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def assemble(ptx, target, name):
    """Whether ptxas takes the text."""
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not Path(ptxas).exists():
        print(f"{name}: not checked, no ptxas")
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "k.ptx").write_text(ptx)
        subprocess.run([ptxas, f"-arch={target}", "-o", f"{folder}/k.cubin", f"{folder}/k.ptx"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    nvrtc = ctypes.CDLL(options.nvrtc)
    stale = []
    for source, target, version, macro in FILES:
        ptx = compile_ptx(nvrtc, source, target, macro)
        ptx = re.sub(r"(?m)^\.version .*$", f".version {version}", ptx)
        ptx = re.sub(r"(?m)^//.*\n", "", ptx).lstrip()
        path = HERE / source.replace(".cu", f".{target}.ptx")
        assemble(ptx, target, path.name)
        if not path.exists() or path.read_text() != ptx:
            stale.append(path.name)
            if not options.check:
                path.write_text(ptx)
    print("changed:" if stale else "up to date", *stale)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
