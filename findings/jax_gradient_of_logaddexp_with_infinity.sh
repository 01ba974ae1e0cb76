#!/usr/bin/env bash
# With one infinite operand, JAX's gradient of logaddexp by the other operand is exp(x), not the softmax weight 0.
#
# Version: jax and jaxlib 0.10.2; 0.12.0.1 does the same.
# Behaviour: `logaddexp(x, inf)` is infinity for every finite x, and its value does not change with x. The rule for the gradient replaces
# infinities by 0 before it computes exp(x - result), so the gradient is exp(x): 2.718 at 1, infinity at 100. `logaddexp2` gives 2^x. If
# both operands are minus infinity, the gradient is NaN.
# Seen: `at 1: 2.7183`, `at 100: inf`, `at inf: 1.0000`, `base 2 at 3: 8.0000`, `both -inf: nan`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp

with_infinity = jax.grad(lambda x: jnp.logaddexp(x, jnp.inf))
print(f"at 1: {float(with_infinity(1.0)):.4f}")
print(f"at 100: {float(with_infinity(100.0)):.4f}")
print(f"at inf: {float(with_infinity(jnp.inf)):.4f}")
print(f"base 2 at 3: {float(jax.grad(lambda x: jnp.logaddexp2(x, jnp.inf))(3.0)):.4f}")
print(f"both -inf: {float(jax.grad(lambda x: jnp.logaddexp(x, -jnp.inf))(-jnp.inf)):.4f}")
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
at 1: 2.7183
at 100: inf
at inf: 1.0000
base 2 at 3: 8.0000
both -inf: nan
EXPECTED
diff expected output && echo "as described"
