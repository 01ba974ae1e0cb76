#!/usr/bin/env bash
# A scatter of one update into a dynamic slice reads a wrong element when its index is out of bounds.
#
# Version: jax and jaxlib 0.10.2 on the CPU. jaxlib 0.12.0.1 returns the right result.
# Behaviour: x[4:8] has four elements. An update of element 7 of it has to be dropped, so that the result is 4, 5, 6, 7. XLA
# returns 11 in the last place, which is the element at the sum of both starts. An optimization_barrier between slice and
# scatter gives the right result.
# Seen: `joined [4.0, 5.0, 6.0, 11.0]`, `with a barrier [4.0, 5.0, 6.0, 7.0]`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp


def update(x, start, index, barrier):
    part = jax.lax.dynamic_slice(x, (start,), (4,))
    if barrier:
        part = jax.lax.optimization_barrier(part)
    return part.at[index].add(100.0, mode="drop")


run = jax.jit(update, static_argnums=3)
for name, barrier in (("joined", False), ("with a barrier", True)):
    print(name, run(jnp.arange(16.0), jnp.int32(4), jnp.int32(7), barrier).tolist())
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
joined [4.0, 5.0, 6.0, 11.0]
with a barrier [4.0, 5.0, 6.0, 7.0]
EXPECTED
diff expected output && echo "as described"
