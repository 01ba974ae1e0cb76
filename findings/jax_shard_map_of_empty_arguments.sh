#!/usr/bin/env bash
# `jax.shard_map` of one argument without elements compiles, of two it does not.
#
# Version: jax and jaxlib 0.10.2 on the CPU; 0.12.0.1 (Python 3.12 or newer) does the same.
# Behaviour: if all arguments of the manual computation are without elements, and there are several, Shardy's import in XLA rejects the module: the
# call of the body should have at least one operand from the border. One such argument compiles, several do beside an argument with elements, and
# without `shard_map` the same function runs.
# Seen: `one argument: runs`, `two arguments: rejected`, `two arguments beside one with elements: runs`, `two arguments without shard_map: runs`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))


def sums(*arrays):
    return [array.sum() for array in arrays]


def mapped(*arrays):
    return jax.shard_map(sums, mesh=mesh, in_specs=(P(),) * len(arrays), out_specs=P(), check_vma=False)(*arrays)


for name, fun, shapes in [
    ("one argument", mapped, [(0, 4)]),
    ("two arguments", mapped, [(0, 4), (8, 0)]),
    ("two arguments beside one with elements", mapped, [(0, 4), (8, 0), (8, 4)]),
    ("two arguments without shard_map", sums, [(0, 4), (8, 0)]),
]:
    arrays = [jax.device_put(jnp.zeros(shape), NamedSharding(mesh, P())) for shape in shapes]
    try:
        jax.block_until_ready(jax.jit(fun)(*arrays))
        print(f"{name}: runs")
    except jax.errors.JaxRuntimeError as error:
        print(f"{name}: {'rejected' if 'at least one operand' in str(error) else error}")
PROGRAM
XLA_FLAGS=--xla_force_host_platform_device_count=2 JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors ||
    { cat errors; exit 1; }
cat > expected <<'EXPECTED'
one argument: runs
two arguments: rejected
two arguments beside one with elements: runs
two arguments without shard_map: runs
EXPECTED
diff expected output && echo "as described"
