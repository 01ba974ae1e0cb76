#!/usr/bin/env bash
# The gradient of hypot at (0, 0) is finite in one release of JAX.
#
# Version: jax and jaxlib 0.10.2. In 0.12.0.1 both derivatives are NaN.
# Behaviour: hypot(0, 0) is 0. Its gradient is (0.5, 0.5), the only finite one of the three ways to write the length of a vector
# below: the square root of a sum of squares and the norm give NaN.
# Seen: `hypot [0.5, 0.5]`, `sqrt [nan, nan]`, `norm [nan, nan]`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp

zero = jnp.zeros(2)
for name, length in (
    ("hypot", lambda v: jnp.hypot(v[0], v[1])),
    ("sqrt", lambda v: jnp.sqrt(v[0] ** 2 + v[1] ** 2)),
    ("norm", jnp.linalg.norm),
):
    print(name, jax.grad(length)(zero).tolist())
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
hypot [0.5, 0.5]
sqrt [nan, nan]
norm [nan, nan]
EXPECTED
diff expected output && echo "as described"
