#!/usr/bin/env bash
# JAX lowers lgamma to operations on the bits of its operand, so that the lowered program cannot be differentiated.
#
# Version: jax and jaxlib 0.12.0.1 with Python 3.13. In 0.10.2 every type lowers to chlo.lgamma.
# Behaviour: in f32 lgamma becomes a private function with bitcast_convert from f32 to i32 and back. The masks make error-free
# splits, whose derivative is not zero. In f64 it is still the operation chlo.lgamma. jax.grad does not see this: it differentiates
# the primitive, with digamma.
# Seen: `float32 chlo.lgamma: 0, bitcast_convert: yes`, `float64 chlo.lgamma: 1, bitcast_convert: no`, `jax.grad is digamma: True`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.12.0.1 jaxlib==0.12.0.1
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
for dtype in ("float32", "float64"):
    text = jax.jit(jax.lax.lgamma).lower(jnp.ones(4, dtype)).as_text()
    bits = "yes" if "bitcast_convert" in text else "no"
    print(f"{dtype} chlo.lgamma: {text.count('chlo.lgamma')}, bitcast_convert: {bits}")
x = jnp.array([0.2, 1.5, 10.0], "float32")
gradient = jax.grad(lambda x: jax.lax.lgamma(x).sum())(x)
print("jax.grad is digamma:", bool((gradient == jax.lax.digamma(x)).all()))
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
float32 chlo.lgamma: 0, bitcast_convert: yes
float64 chlo.lgamma: 1, bitcast_convert: no
jax.grad is digamma: True
EXPECTED
diff expected output && echo "as described"
