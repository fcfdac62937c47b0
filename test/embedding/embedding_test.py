#!/usr/bin/env python3
"""What docs/embedding.md promises of an installed runtime holds, in a place where it was not installed.

usage: embedding_test.py BUILD MAKE_TOY_ARTIFACT

Installs the runtime alone (no tool, no compiler), moves it, builds both examples by CMake and by pkg-config, and runs them.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "extending"))
from package import Package, run  # noqa: E402

TOOLCHAIN = ["-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_C_COMPILER=clang-22"]
EXAMPLES = {
    "embed-c": ["clang-22", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "main.c", "fusec"],
    "embed-cpp": ["clang++-22", "main.cpp", "fusec-cxx"],
}
FOREIGN = re.compile(r"LLVM|MLIR|libcuda|libnv", re.IGNORECASE)
EXPECTED = "bcdefghijk\u00e9mn\n"  # The toy model counts.


def check(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")
    print(f"ok: {what}")


def built_by_cmake(package, name):
    build = package.work / f"{name}-cmake"
    source = package.prefix / "share/fusec/examples" / name
    run(["cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={package.prefix}", *TOOLCHAIN], env=package.environment)
    run(["cmake", "--build", build], env=package.environment)
    return build / "continue-text"


def built_by_pkg_config(package, name):
    environment = dict(package.environment, PKG_CONFIG_PATH=str(package.prefix / "lib/pkgconfig"))
    *compiler, source, library = EXAMPLES[name]
    program = package.work / f"{name}-pkg-config"
    flags = run(["pkg-config", "--cflags", "--libs", library], env=environment).split()
    check(str(package.root / "first") not in " ".join(flags), f"{library}.pc follows the package: {' '.join(flags)}")
    source = package.prefix / "share/fusec/examples" / name / source
    run([*compiler, source, "-o", program, *flags, f"-Wl,-rpath,{package.prefix / 'lib'}"], env=environment)
    return program


def test_program(package, program, artifact):
    done = subprocess.run([program, artifact, "a"], text=True, capture_output=True, env=package.environment)
    check(done.returncode == 0 and done.stdout == EXPECTED, f"{program.name}: {done.stdout.strip()!r} {done.stderr.strip()}")
    refused = subprocess.run([program, "none.fusec", "a"], text=True, capture_output=True, env=package.environment)
    check(refused.returncode == 1 and "none.fusec" in refused.stderr, f"one line: {refused.stderr.strip()}")
    check(not FOREIGN.search(run(["ldd", program])), f"{program.parent.name} needs no LLVM and no CUDA")


def test_size(package):
    library = package.prefix / "lib/libfusec_runtime.so.1"
    stripped = package.work / "stripped.so"
    run(["llvm-strip-22" if shutil.which("llvm-strip-22") else "strip", library, "-o", stripped])
    size = os.path.getsize(stripped) / 1e6
    page = (package.prefix / "share/doc/fusec/embedding.md").read_text(encoding="utf-8")
    stated = float(re.search(r"has ([\d.]+) MB without symbols", page).group(1))
    if "CMAKE_BUILD_TYPE:STRING=Release" in (package.build / "CMakeCache.txt").read_text(encoding="utf-8"):
        check(abs(size - stated) < 0.15 * stated, f"{size:.1f} MB without symbols, docs/embedding.md says {stated}")
    check(not (package.prefix / "bin").exists(), "the runtime was installed alone")


def main():
    build, make_artifact = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    with Package(build, component="runtime") as package:
        test_size(package)
        artifact = package.work / "toy.fusec"
        run([make_artifact, artifact])
        for name in EXAMPLES:
            test_program(package, built_by_cmake(package, name), artifact)
            if shutil.which("pkg-config"):
                test_program(package, built_by_pkg_config(package, name), artifact)
            else:
                print(f"skipped: no pkg-config for {name}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
