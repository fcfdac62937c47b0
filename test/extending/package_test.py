#!/usr/bin/env python3
"""What an installed fusec offers to other projects works: the plugin template, the runtime, and the refusals.

usage: package_test.py BUILD [MODEL]

Needs no model; with one, the embedding example generates text, too.
"""
import pathlib
import subprocess
import sys

from package import Package, run

TOOLCHAIN = ["-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_C_COMPILER=clang-22"]

GRAPH = """
func.func @main(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64], f32, f32>
  %y = fuse.rms_norm %x, %w epsilon 1.0e-5
      : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32, f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}
"""

# The entry point as other releases could have written it.
ENTRY = """
struct Info { unsigned abi; const char *fusec, *llvm, *name, *version; void (*add)(void *); };
static void add(void *registry) {}
const struct Info *fusecPluginInfo(void) {
  static const struct Info info = {%s, "%s", "%s", "old", "1", add};
  return &info;
}
"""


def build_example(package, name):
    return build_project(package, package.prefix / "share/fusec/examples" / name)


def build_project(package, source):
    target = package.work / source.name
    run(["cmake", "-S", source, "-B", target, f"-DCMAKE_PREFIX_PATH={package.prefix}", *TOOLCHAIN], env=package.environment)
    run(["cmake", "--build", target], env=package.environment)
    return target


def fusec(package, *words):
    return run(["fusec", *map(str, words)], cwd=package.work, env=package.environment)


def refused(package, plugin):
    """The one line with which fusec declines a plugin."""
    done = subprocess.run(
        ["fusec", "opt", "graph.mlir", f"--load-pass-plugin={plugin}"],
        cwd=package.work, env=package.environment, text=True, capture_output=True,
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 1, f"{plugin}: code {done.returncode}\n{done.stderr}"
    return lines[0]


def check(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")
    print(f"ok: {what}")


def test_plugin(package):
    plugin = build_example(package, "pass-plugin") / "exact-reciprocal.so"
    (package.work / "graph.mlir").write_text(GRAPH, encoding="utf-8")
    explain = ["explain", "graph.mlir", "--compile-from", "import", "--level", "avx2"]
    plain, custom = fusec(package, *explain), fusec(package, *explain, "--load-pass-plugin", plugin)
    check("exact-reciprocal (1.0)" not in plain and "exact-reciprocal (1.0)" in custom, "explain lists the plugin")
    kernels = lambda *more: fusec(package, "compile", "graph.mlir", "--compile-from", "import", "--compile-to", "plan",
                                  "--force", "-o", "plan.mlir", *more) and (package.work / "plan.mlir").read_text()
    before, after = kernels(), kernels("--load-pass-plugin", plugin)
    check(before.count("divf") == after.count("divf") + 1, "the kernels lose the division by 64")
    needed = run(["readelf", "-d", plugin])
    check("libfusec_compiler.so" in needed and "libMLIR.so" in needed, "the plugin shares fusec's compiler and MLIR")


def test_points(package):
    plugin = build_project(package, pathlib.Path(__file__).parent / "points") / "points.so"
    said = fusec(package, "compile", "graph.mlir", "--compile-from", "import", "--compile-to", "plan", "--force",
                 "-o", "plan.mlir", "--load-pass-plugin", plugin).splitlines()
    expected = ["primitives-end maps", "derived-end maps", "groups-end maps grouped", "plan-end kernels"]
    check([line for line in said if "-end" in line] == expected, f"passes run at the four points: {expected}")


def make_plugin(package, name, text):
    source = package.work / f"{name}.c"
    source.write_text(text, encoding="utf-8")
    run(["clang-22", "-shared", "-fPIC", "-o", package.work / f"{name}.so", source])
    return f"{name}.so"


def test_refusals(package):
    version = fusec(package, "--version").split()[-1]
    llvm = run(["/usr/lib/llvm-22/bin/llvm-config", "--version"]).strip()
    cases = [
        ("abi", ENTRY % (99, version, llvm), f"was built for plugin interface 99, this is plugin interface 1; build it again"),
        ("fusec", ENTRY % (1, "0.0.1", llvm), f"was built for fusec 0.0.1, this is fusec {version}; build it again"),
        ("llvm", ENTRY % (1, version, "21.1.0"), f"was built for LLVM 21.1.0, this is LLVM {llvm}; build it again"),
        ("null", "const void *fusecPluginInfo(void) { return 0; }", "'fusecPluginInfo' returned nothing"),
        ("symbol", "int other;", "it has no symbol 'fusecPluginInfo'"),
        ("missing", "extern int fusec_lacks_this(void); int (*f)(void) = fusec_lacks_this;", "fusec_lacks_this"),
    ]
    for name, text, expected in cases:
        line = refused(package, make_plugin(package, name, text))
        check(f"{name}.so'" in line and expected in line, line)
    (package.work / "text.so").write_text("not a library", encoding="utf-8")
    check("cannot be loaded" in refused(package, "text.so"), "a file that is no library is refused")
    check("no such file" in refused(package, "none.so"), "a file that is not there is refused")


def test_embedding(package, model):
    """test/embedding has the rest; here, a real model."""
    if not model:
        print("skipped: no model for continue-text")
        return
    fusec(package, "compile", model, "-o", "model.fusec")
    for name in ("embed-c", "embed-cpp"):
        program = build_example(package, name) / "continue-text"
        check("LLVM" not in run(["ldd", program]), f"{name} links no LLVM")
        text = run([program, package.work / "model.fusec", "Once"])
        check("upon a time" in text, f"{name}: Once" + text.strip().replace("\n", " ")[:40])


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    model = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    with Package(build) as package:
        test_plugin(package)
        test_points(package)
        test_refusals(package)
        test_embedding(package, model)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main()
