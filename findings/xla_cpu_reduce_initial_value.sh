#!/usr/bin/env bash
# Engine: XLA's CPU compiler in jaxlib 0.10.2.
# Behaviour: a `reduce` with a sum as its body uses an initial value other than 0 zero, one or several times, depending on the number of
# elements: never for 1 element, once up to 32, once for each partial sum of the vectorized loop for more.
# StableHLO leaves the number of uses open, so the program is valid; one device and eight give different results.
# Output seen, for sums of zeros with the initial value 1: 1 -> 0.0, 2 -> 1.0, 32 -> 1.0, 128 -> 5.0, 1000 -> 33.0
# shardc: passes/analysis/src/transforms/initial_values.rs combines the initial value with the result.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jax==0.10.2 jaxlib==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import jax
import jax.numpy as jnp
from jax import lax

summed = jax.jit(lambda x, initial: lax.reduce(x, initial, lax.add, (0,)))
seen = {n: float(summed(jnp.zeros(n, jnp.float32), jnp.float32(1.0))) for n in (1, 2, 32, 128, 1000)}
print(seen)
assert seen == {1: 0.0, 2: 1.0, 32: 1.0, 128: 5.0, 1000: 33.0}, "the behaviour has changed"
PYTHON
JAX_PLATFORMS=cpu "$folder/venv/bin/python" "$folder/program.py"
