#!/usr/bin/env bash
# A sharding constraint that does not divide the dimension leaves the result of a program replicated.
#
# Version: jax and jaxlib 0.10.2 on the CPU; 0.12.0.1 does the same.
# Behaviour: with_sharding_constraint accepts a dimension of 13 over four devices without a word. The array that the program
# returns is replicated: each device holds all 13 elements. With 12 elements each device holds three. An argument with such a
# sharding is an error.
# Seen: `12: P('d',) 3`, `13: P() 13`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
split = jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, NamedSharding(mesh, P("d"))))
for n in (12, 13):
    y = split(jnp.arange(n))
    print(f"{n}: {y.sharding.spec!r} {y.addressable_shards[0].data.size}")
PROGRAM
JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=4 "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
12: P('d',) 3
13: P() 13
EXPECTED
diff expected output && echo "as described"
