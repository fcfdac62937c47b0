#!/usr/bin/env bash
# Installs the Debian packages that building and testing fusec needs. Does nothing when all are
# there, so it also works without network and without root on a prepared machine.
#
#   tools/scripts/setup.sh          install what is missing
#   tools/scripts/setup.sh --list   print the package names, one a line
#   tools/scripts/setup.sh --nvrtc  also put NVRTC, CUDA's compiler, into .cache/nvrtc and print how to use it
#
# Nothing of CUDA is needed to build or to test; tests of CUDA kernels skip without NVRTC. A CUDA toolkit in
# /usr/local/cuda is found by itself; --nvrtc takes the library alone from PyPI (220 MB, no root).
set -euo pipefail

packages=(
  # compilers and build tools
  clang-22 lld-22 cmake ninja-build ccache libclang-rt-22-dev
  # LLVM and MLIR, for the compiler half; llvm-22-tools holds lit and FileCheck
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev libzstd-dev zlib1g-dev
  # libraries
  nlohmann-json3-dev libpcre2-dev libutf8proc-dev libcli11-dev libxxhash-dev libboost1.81-dev
  # tests, and the Python that unpacks the demo model
  libgtest-dev libgmock-dev python3 python3-venv ca-certificates pkgconf
)

if [[ "${1:-}" == --list ]]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not a Debian system; please install the equivalents of: ${packages[*]}" >&2
  exit 1
fi

if [[ "${1:-}" == --nvrtc ]]; then
  cd "$(dirname "${BASH_SOURCE[0]}")/../.."
  [[ -d .cache/nvrtc/venv ]] || python3 -m venv .cache/nvrtc/venv
  .cache/nvrtc/venv/bin/pip install -q --no-deps 'nvidia-cuda-nvrtc==13.0.*'
  library=$(find "$PWD/.cache/nvrtc" -name 'libnvrtc.so.13' -print -quit)
  echo "setup: export FUSEC_NVRTC=$library"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$state" == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "setup: all packages are installed"
  exit 0
fi

asRoot=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: root or sudo is needed to install: ${missing[*]}" >&2
    exit 1
  fi
  asRoot=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${asRoot[@]}" apt-get update -q
"${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
