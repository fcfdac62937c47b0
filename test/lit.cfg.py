# Configuration of the lit tests (*.mlir and *.test below test/). Run them all with ctest, or some:
#
#   lit-22 -v --param build=build test/ir/fuse/ops.mlir
#
# Tools are found through PATH: `fusec` of the build, `FileCheck` and `not` of LLVM 22.
# Features (for REQUIRES): avx2, avx512, nvrtc (CUDA's compiler), smollm2 (a real model; then %smollm2 is its GGUF) and
# stories (the tiny model stories260K; then %stories is its GGUF).
import ctypes
import os

import lit.formats

source_root = os.path.dirname(os.path.abspath(__file__))
build = os.path.abspath(lit_config.params.get("build", os.path.join(source_root, "..", "build")))
llvm_tools = lit_config.params.get("llvm_tools", "/usr/lib/llvm-22/bin")

config.name = "fusec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["golden", "unit", "fuzz", "Inputs"]
config.test_source_root = source_root
config.test_exec_root = os.path.join(build, "test", "lit")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), llvm_tools, config.environment["PATH"]]
)
# A cache of its own: no test sees what the user or another test compiled.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")


def cpu_flags():
    try:
        with open("/proc/cpuinfo") as lines:
            return next((set(l.split()[2:]) for l in lines if l.startswith("flags")), set())
    except OSError:
        return set()


def loads(library):
    try:
        ctypes.CDLL(library)
        return True
    except OSError:
        return False


nvrtc_places = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"]

level_needs = {
    "avx2": {"avx2", "fma", "f16c"},
    "avx512": {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq"},
}
for level, needs in level_needs.items():
    if needs <= cpu_flags():
        config.available_features.add(level)

# NVRTC, where fusec looks for it.
nvrtc = os.environ.get("FUSEC_NVRTC", "")
if nvrtc:
    config.environment["FUSEC_NVRTC"] = nvrtc
if any(loads(name) for name in ([nvrtc] if nvrtc else nvrtc_places)):
    config.available_features.add("nvrtc")

smollm2 = os.environ.get("FUSEC_SMOLLM2", "")
if os.path.isfile(smollm2):
    config.available_features.add("smollm2")
    config.substitutions.append(("%smollm2", smollm2))
stories = os.path.join(source_root, "../../shared/data/models/stories260K/stories260K-f32.gguf")
if os.path.isfile(stories):
    config.available_features.add("stories")
    config.substitutions.append(("%stories", os.path.abspath(stories)))
config.substitutions.append(("%golden", os.path.join(source_root, "golden")))
config.substitutions.append(("%examples", os.path.abspath(os.path.join(source_root, "../examples"))))
