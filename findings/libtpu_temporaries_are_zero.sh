#!/usr/bin/env bash
# The TPU compiler reports no temporary memory for a program whose peak exceeds its arguments and results.
#
# Version: libtpu 0.0.51 with jax and jaxlib 0.10.2, compiled ahead of time for v5e:2x4; no TPU is needed.
# Behaviour: six layers of tanh(x @ w) on x of 16 MiB and w of 4 MiB. memory_analysis() gives 20 MiB of arguments, 16 MiB of
# results and 0 bytes of temporaries, but a peak of 64 MiB.
# Seen: `arguments 20, results 16, temporaries 0, peak 64 MiB`.
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


def layers(x, w):
    for _ in range(6):
        x = jnp.tanh(x @ w)
    return x


stats = jax.jit(layers).lower(argument((4096, 1024)), argument((1024, 1024))).compile().memory_analysis()
names = ("argument_size", "output_size", "temp_size", "peak_memory")
arguments, results, temporaries, peak = (getattr(stats, f"{name}_in_bytes") >> 20 for name in names)
print(f"arguments {arguments}, results {results}, temporaries {temporaries}, peak {peak} MiB")
PROGRAM
export JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 TPU_ACCELERATOR_TYPE=v5litepod-8 TPU_WORKER_HOSTNAMES=localhost TPU_LOG_DIR=disabled
"$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
arguments 20, results 16, temporaries 0, peak 64 MiB
EXPECTED
diff expected output && echo "as described"
