#!/usr/bin/env bash
# Runs openai_client_test.py: openai_client_test.sh PYTHON VENV FUSEC ARTIFACT EMBEDDINGS
# A PYTHON without OpenAI's package gets it in the virtual environment VENV, from PyPI. Exits with 77 (skipped) when it
# cannot be had.
set -euo pipefail
python=$1 venv=$2
if ! "$python" -c 'import openai' 2>/dev/null; then
  mkdir -p "$(dirname "$venv")"
  [[ -x $venv/bin/pip ]] || "$python" -m venv "$venv" || exit 77
  "$venv/bin/pip" install -q --retries 1 --disable-pip-version-check 'openai==3.57.0' || exit 77
  python=$venv/bin/python
fi
exec "$python" "$(dirname "$0")/openai_client_test.py" "${@:3}"
