#!/usr/bin/env bash
# A vector that is an argument of a TPU program takes up to four times its bytes.
#
# Version: libtpu 0.0.51 with jax and jaxlib 0.10.2, compiled ahead of time for v5e:2x4; no TPU is needed.
# Behaviour: vectors of f32 are rounded up to 512, 1024, 2048 or 4096 bytes, and above that to multiples of 4096. So 129
# elements (516 bytes) take 1024 bytes, and 1025 elements (4100 bytes) take 8192.
# Seen: the table of elements and bytes below.
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


for n in (1, 128, 129, 257, 513, 1024, 1025, 5000):
    stats = jax.jit(lambda x: x + 1).lower(argument((n,))).compile().memory_analysis()
    print(n, stats.argument_size_in_bytes)
PROGRAM
export JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 TPU_ACCELERATOR_TYPE=v5litepod-8 TPU_WORKER_HOSTNAMES=localhost TPU_LOG_DIR=disabled
"$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
1 512
128 512
129 1024
257 2048
513 4096
1024 4096
1025 8192
5000 20480
EXPECTED
diff expected output && echo "as described"
