#!/usr/bin/env bash
# The second command of the README: installs what the tests need (root or sudo), builds everything
# and runs every test. `tools/scripts/test.sh [ctest arguments]`, e.g. `-R Tokenizer`.
# Environment: FUSEC_PRESET (default release), FUSEC_SMOLLM2 (path of the real model's GGUF).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
preset=${FUSEC_PRESET:-release}
jobs=$(nproc)

step() { # step NAME COMMAND...: runs the command and notes its time
  local name=$1 start=$SECONDS
  shift
  "$@"
  summary+=$(printf '%-10s %5d s\\n' "$name" $((SECONDS - start)))
}

summary=""
trap 'printf "\n$summary%-10s %5d s\n" total "$SECONDS"' EXIT
step packages bash tools/scripts/setup.sh
step configure cmake --preset "$preset"
step build cmake --build --preset "$preset" -j "$jobs"
# Without network the tests of the real model skip themselves and say so.
if model=$(bash tools/scripts/fetch_model.sh); then
  export FUSEC_SMOLLM2=$model
else
  echo "test: no SmolLM2 model (no network?): the tests that need it are skipped" >&2
fi
step tests ctest --preset "$preset" -j "$jobs" "$@"
