#!/usr/bin/env bash
# safetensors.numpy writes a transposed array with its shape, but with the elements in the order of memory.
#
# Version: safetensors 0.8.0, numpy 2.2.6.
# Behaviour: a transposed array that is saved and loaded comes back with other elements in each row. There is no warning. A copy
# made with numpy.ascontiguousarray is written correctly.
# Seen: `saved [[0, 3], [1, 4], [2, 5]], loaded [[0, 1], [2, 3], [4, 5]]`, and the saved array for the copy.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input safetensors==0.8.0 numpy==2.2.6
cd "$work"
cat > program.py <<'PROGRAM'
import numpy
from safetensors.numpy import load, save

x = numpy.arange(6).reshape(2, 3).T
print(f"saved {x.tolist()}, loaded {load(save({'x': x}))['x'].tolist()}")
print(f"copied first, loaded {load(save({'x': numpy.ascontiguousarray(x)}))['x'].tolist()}")
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
saved [[0, 3], [1, 4], [2, 5]], loaded [[0, 1], [2, 3], [4, 5]]
copied first, loaded [[0, 3], [1, 4], [2, 5]]
EXPECTED
diff expected output && echo "as described"
