#!/usr/bin/env python3
"""Packs what travels to a machine with a GPU into one folder.

    prepare.py --build build --stories stories260K-f32.gguf --out gpu-acceptance
    # carry gpu-acceptance.tar.gz; there: tar xzf gpu-acceptance.tar.gz && gpu-acceptance/run.sh

Needs a build with the compiler, and NVRTC. The folder holds the runner, its
kernels, and models compiled for sm_80 and sm_90a beside what the CPU computes
with the same weights; the archive is made of it. Fails when the archive is
larger than 60 MB, when a model does not compile (the archive is made without
it), or when the runner needs a library that a machine with only a driver lacks.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from shape_models import SHAPES, TINY, TYPES, write_shape_model  # noqa: E402
from storage_models import write_storage_models  # noqa: E402

HERE = Path(__file__).resolve().parent
TARGETS = "cuda:sm_80,sm_90a"
LIMIT_BYTES = 60_000_000
PRESENT = {"linux-vdso", "ld-linux-x86-64", "libc", "libm", "libdl", "libpthread", "librt"}
CARRIED = {"libpcre2-8", "libutf8proc", "libz"}

# How far logits may be from the CPU's, as a share of the largest one. f32: sums in another order, 2^-24 each,
# some thousand of them one after the other. Rounded operands: 2^-9 (bf16) relative per product, random in sign; models
# of few layers do not amplify them, but a residual of size 1 divided by a small norm may, by about ten.
F32_TOLERANCE, ROUNDED_TOLERANCE = 1e-4, 3e-2


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def pack_libraries(runner, folder):
    """Copies what is not part of every system; exits when the program needs anything unexpected."""
    folder.mkdir()
    listing = subprocess.run(["ldd", str(runner)], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        name, path = line.split()[0], re.search(r"=> (/\S+)", line)
        stem = re.split(r"\.so", Path(name).name)[0]
        if stem in CARRIED and path:
            shutil.copy2(path[1], folder / name)
        elif stem not in PRESENT:
            sys.exit(f"{runner} needs {name}: expected nothing but {', '.join(sorted(PRESENT | CARRIED))}")
    versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", runner.read_bytes())
    newest = max((int(a), int(b)) for a, b in versions)
    print(f"runner: glibc {newest[0]}.{newest[1]} or newer; carried: {', '.join(sorted(p.name for p in folder.iterdir()))}")


def pack_runner(build, out):
    out.mkdir(parents=True)
    runner = out / "fusec-gpu-acceptance"
    shutil.copy2(build / "bin/fusec-gpu-acceptance", runner)
    if strip := shutil.which("strip"):
        run(strip, runner)
    shutil.copytree(build / "bin/data", out / "data")
    for script in ("run.sh", "sdpa.py"):
        shutil.copy2(HERE / script, out / script)
    pack_libraries(runner, out / "lib")


def pack_model(fusec, runner, model, name, math, models, scratch):
    """The artifact for GPUs and the CPU's results of one model file."""
    host, artifact, oracle = scratch / f"{name}.host", models / f"{name}.fusec", models / f"{name}.json"
    run(fusec, "compile", model, "-o", host, "--force")
    run(runner, "--store-oracle", host, oracle)
    run(fusec, "compile", model, "--target", TARGETS, "--math", math, "-o", artifact)
    drop_texts(artifact)
    values = json.loads(oracle.read_text())
    values["exact"] = math == "f32"
    values["tolerance"] = F32_TOLERANCE if math == "f32" else ROUNDED_TOLERANCE
    oracle.write_text(json.dumps(values) + "\n")


def pack_shape(fusec, shape, kind, folder, scratch, *flags):
    """The artifact of a shape without its weights, which the runner makes up."""
    name = "-".join([shape.name, kind] + [flag.removeprefix("--") for flag in flags])
    model, artifact = scratch / f"{name}.gguf", folder / f"{name}.fusec"
    write_shape_model(shape, kind, model)
    run(fusec, "compile", model, "--target", TARGETS, "--kv-dtype", "f16", *flags, "-o", artifact)
    drop_texts(artifact)
    weights = artifact / "weights.bin"
    facts = {"weight_bytes": weights.stat().st_size, "layers": shape.layers, "heads": shape.heads,
             "head_size": shape.head_size}
    weights.unlink()
    (folder / f"{name}.json").write_text(json.dumps(facts) + "\n")


def drop_texts(artifact):
    """What nothing on the other machine needs: CUDA C++, and PTX of a target that no other GPU runs."""
    for pattern in ("kernels/*/*.cu", "kernels/*a/*.ptx"):
        for text in artifact.glob(pattern):
            text.unlink()


def attempt(pack, *arguments):
    """Whether it could be packed; the commands say why not."""
    try:
        pack(*arguments)
        return True
    except subprocess.CalledProcessError:
        return False


def size_of(folder):
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="build folder with bin/fusec-gpu-acceptance")
    parser.add_argument("--fusec", type=Path, help="the compiler; default: bin/fusec of the build folder")
    parser.add_argument("--stories", type=Path, help="stories260K-f32.gguf; without it that model is left out")
    parser.add_argument("--formats", help="storage formats of the random models, as Q4_K,BF16; default: all, '' = none")
    parser.add_argument("--shapes", choices=["real", "tiny", "none"], default="real", help="what is timed; default: real")
    parser.add_argument("--out", type=Path, required=True, help="folder to create")
    options = parser.parse_args()
    if options.out.exists():
        sys.exit(f"{options.out} exists")
    fusec = options.fusec or options.build / "bin/fusec"
    pack_runner(options.build, options.out)
    models = options.out / "data/models"
    shutil.rmtree(models, ignore_errors=True)
    models.mkdir()
    shapes = options.out / "data/shapes"
    shutil.rmtree(shapes, ignore_errors=True)
    shapes.mkdir()
    formats = None if options.formats is None else options.formats.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        todo = [(options.stories, "stories260K", "f32")] if options.stories else []
        todo += [(path, path.stem, "auto") for path in write_storage_models(scratch / "storage", formats)]
        runner, left_out = options.out / "fusec-gpu-acceptance", []
        for path, name, math in todo:
            if not attempt(pack_model, fusec, runner, path, name, math, models, scratch):
                left_out.append(name)
        for shape in {"real": SHAPES, "tiny": [TINY], "none": []}[options.shapes]:
            for kind in TYPES:
                if not attempt(pack_shape, fusec, shape, kind, shapes, scratch):
                    left_out.append(f"{shape.name}-{kind}")
            # Packed weights through registers, as compiled by default, or through shared memory: only a GPU tells.
            if not attempt(pack_shape, fusec, shape, "q4_k", shapes, scratch, "--stream-weights"):
                left_out.append(f"{shape.name}-q4_k-stream-weights")
    for name in left_out:  # An oracle without its artifact would fail there.
        (models / f"{name}.json").unlink(missing_ok=True)
    archive = shutil.make_archive(str(options.out), "gztar", options.out.resolve().parent, options.out.name)
    size = Path(archive).stat().st_size
    print(f"{archive}: {len(todo)} models, {size / 1e6:.1f} MB ({size_of(options.out) / 1e6:.1f} MB unpacked)")
    if size > LIMIT_BYTES:
        sys.exit(f"expected at most {LIMIT_BYTES / 1e6:.0f} MB")
    if left_out:
        sys.exit(f"packed without {', '.join(left_out)}, which did not compile")


if __name__ == "__main__":
    main()
