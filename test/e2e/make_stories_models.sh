#!/usr/bin/env bash
# Makes the derived stories260K models for E2EStoriesTest: make_stories_models.sh PYTHON OUT_DIRECTORY.
# A PYTHON without the packages gets them in a virtual environment beside OUT_DIRECTORY, from PyPI.
# Exits with 77 (skipped) when the source model is absent or the packages cannot be had.
set -euo pipefail
python=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
if [[ ! -e $here/../../../shared/data/models/stories260K/stories260K-f32.gguf ]]; then
  echo "no stories260K model beside the repository" && exit 77
fi
if ! "$python" -c 'import numpy, gguf, safetensors' 2>/dev/null; then
  venv=$(dirname "$out")/venv
  mkdir -p "$(dirname "$out")"
  [[ -x $venv/bin/pip ]] || "$python" -m venv "$venv" || exit 77
  "$venv/bin/pip" install -q --retries 1 --disable-pip-version-check 'numpy>=1.26' gguf==0.19.0 safetensors==0.8.0 || exit 77
  python=$venv/bin/python
fi
# Published whole, so that nobody finds half of the models.
rm -rf "$out.new"
"$python" "$here/../../tools/scripts/make_stories_models.py" --out "$out.new"
rm -rf "$out"
mv "$out.new" "$out"
