#!/usr/bin/env bash
# safetensors.numpy cannot load the bfloat16 arrays that it saves.
#
# Version: safetensors 0.8.0, numpy 2.2.6, ml_dtypes 0.5.4.
# Behaviour: save takes arrays of ml_dtypes.bfloat16 and float8_e4m3fn and writes the types BF16 and F8_E4M3. load of these very
# bytes raises KeyError with the name of the type.
# Seen: `bfloat16 KeyError('BF16')`, `float8_e4m3fn KeyError('F8_E4M3')`, `float16 float16`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input safetensors==0.8.0 numpy==2.2.6 ml_dtypes==0.5.4
cd "$work"
cat > program.py <<'PROGRAM'
import ml_dtypes
import numpy
from safetensors.numpy import load, save

for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, numpy.float16):
    data = save({"x": numpy.ones(2, dtype)})
    try:
        print(numpy.dtype(dtype).name, load(data)["x"].dtype)
    except KeyError as error:
        print(numpy.dtype(dtype).name, repr(error))
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
bfloat16 KeyError('BF16')
float8_e4m3fn KeyError('F8_E4M3')
float16 float16
EXPECTED
diff expected output && echo "as described"
