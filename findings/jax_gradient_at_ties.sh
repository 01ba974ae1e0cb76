#!/usr/bin/env bash
# Where arguments are equal, JAX halves the gradient of maximum but not that of relu.
#
# Version: jax and jaxlib 0.10.2; 0.12.0.1 does the same for these.
# Behaviour: at x = 0, relu(x) has the derivative 0 and maximum(x, 0) one half, although both return the same numbers. The bound
# of clip gets one half at a tie too. A compiler that sees only `maximum` with a zero cannot tell which of the two was meant.
# Seen: `relu 0.0`, `maximum 0.5`, `clip 0.5`, `lower bound of clip 0.5`, `celu 1.0`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp

print("relu", float(jax.grad(jax.nn.relu)(0.0)))
print("maximum", float(jax.grad(lambda x: jnp.maximum(x, 0.0))(0.0)))
print("clip", float(jax.grad(lambda x: jnp.clip(x, 0.0, 1.0))(0.0)))
print("lower bound of clip", float(jax.grad(lambda low: jnp.clip(1.0, low, 2.0))(1.0)))
print("celu", float(jax.grad(jax.nn.celu)(0.0)))
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
relu 0.0
maximum 0.5
clip 0.5
lower bound of clip 0.5
celu 1.0
EXPECTED
diff expected output && echo "as described"
