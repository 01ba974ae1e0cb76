#!/usr/bin/env bash
# JAX's derivative of abs at 0 is 1, although the sign of 0 is 0.
#
# Version: jax and jaxlib 0.10.2; 0.12.0.1 does the same.
# Behaviour: sign(0) is 0, the derivative of abs at 0 is 1, and that at -0.0 too. So the gradient of a sum of absolute values
# (an L1 penalty) does not vanish at weights that are zero.
# Seen: `sign 0.0`, `abs 1.0`, `abs at -0.0 1.0`, `norm of order 1 [1.0, 1.0]`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp

print("sign", float(jnp.sign(0.0)))
print("abs", float(jax.grad(jnp.abs)(0.0)))
print("abs at -0.0", float(jax.grad(jnp.abs)(-0.0)))
print("norm of order 1", jax.grad(lambda v: jnp.abs(v).sum())(jnp.zeros(2)).tolist())
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
sign 0.0
abs 1.0
abs at -0.0 1.0
norm of order 1 [1.0, 1.0]
EXPECTED
diff expected output && echo "as described"
