#!/bin/sh
# The acceptance run, from the carried folder: ./run.sh [options of fusec-gpu-acceptance]
# Leaves results/acceptance.json and results/table.txt; prints the table. Exit code 0: all checks passed.
here=$(cd "$(dirname "$0")" && pwd)
out=$here/results
mkdir -p "$out"
{ "$here/fusec-gpu-acceptance" --out "$out" "$@" 2>&1; echo $? >"$out/code"; } | tee "$out/table.txt"
code=$(cat "$out/code")
rm -f "$out/code"
# Beside our attention: PyTorch's, where it is. Never decides about success.
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  timeout 60 python3 "$here/sdpa.py" "$out/sdpa.json" || echo "sdpa.py failed; no figures of PyTorch"
fi
exit $code
