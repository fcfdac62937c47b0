#!/usr/bin/env bash
# The first command of the README: from a fresh Debian 12 to a model's answer.
# Installs packages (root or sudo), builds build/bin/fusec, obtains SmolLM2-135M-Instruct and asks
# it something: `tools/scripts/demo.sh ["your question"]`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
question=${1:-"What is the capital of France? Answer in one short sentence."}

bash tools/scripts/setup.sh
cmake --preset release
cmake --build --preset release --target fusec
model=$(bash tools/scripts/fetch_model.sh)
echo "+ build/bin/fusec run ${model#"$PWD/"} -p \"$question\""
exec build/bin/fusec run "$model" --temperature 0 --max-tokens 100 -p "$question"
