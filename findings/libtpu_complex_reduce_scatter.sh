#!/usr/bin/env bash
# The TPU compiler refuses a reduce_scatter of complex numbers, though it takes an all_reduce of them.
#
# Version: libtpu 0.0.51 with jax and jaxlib 0.10.2, compiled ahead of time for v5e:2x4; no TPU is needed.
# Behaviour: psum of complex64 compiles. psum_scatter of complex64 is UNIMPLEMENTED: the pass that takes complex numbers apart has
# no rule for it.
# Seen: `psum: compiled`, `psum_scatter: this rewriting is not implemented`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2 libtpu==0.0.51
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

topology = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")
mesh = Mesh(np.array(topology.devices), ("d",))


def argument(shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P()))


for name, collective in (
    ("psum", lambda b: jax.lax.psum(b, "d")),
    ("psum_scatter", lambda b: jax.lax.psum_scatter(b, "d", tiled=True)),
):
    outs = P() if name == "psum" else P("d")
    run = jax.jit(jax.shard_map(collective, mesh=mesh, in_specs=P(), out_specs=outs, check_vma=False))
    try:
        run.lower(argument((64, 128), jnp.complex64)).compile()
        print(f"{name}: compiled")
    except jax.errors.JaxRuntimeError as error:
        words = "this rewriting is not implemented"
        print(f"{name}: {words if words in str(error) else error}")
PROGRAM
export JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 TPU_ACCELERATOR_TYPE=v5litepod-8 TPU_WORKER_HOSTNAMES=localhost TPU_LOG_DIR=disabled
"$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
psum: compiled
psum_scatter: this rewriting is not implemented
EXPECTED
diff expected output && echo "as described"
