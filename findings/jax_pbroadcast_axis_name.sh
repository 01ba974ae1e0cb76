#!/usr/bin/env bash
# jax.lax.pbroadcast takes the letters of an axis's name for names of axes.
#
# Version: jax and jaxlib 0.10.2 on the CPU; 0.12.0.1 does the same.
# Behaviour: psum accepts the axis "data" as a text. pbroadcast looks for an axis "d", and its message names ppermute. Given the
# tuple ("data",) it finds the axis, and then has no lowering for the CPU.
# Seen: `text: NameError: Found an unbound axis name: d`, `tuple: NotImplementedError`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
for name, axis in (("text", "data"), ("tuple", ("data",))):
    body = lambda block: jax.lax.pbroadcast(block, axis, 1)
    run = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False))
    try:
        run(jnp.ones((8, 2)))
        print(f"{name}: accepted")
    except NameError as error:
        print(f"{name}: NameError: {str(error).split('.')[0]}")
    except NotImplementedError:
        print(f"{name}: NotImplementedError")
PROGRAM
JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=4 "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
text: NameError: Found an unbound axis name: d
tuple: NotImplementedError
EXPECTED
diff expected output && echo "as described"
