#!/usr/bin/env bash
# The TPU compiler's program has no trip count on a loop with a constant number of iterations, and its cycles count the body once.
#
# Version: libtpu 0.0.51 with jax and jaxlib 0.10.2, compiled ahead of time for v5e:2x4; no TPU is needed.
# Behaviour: 100 iterations of x = tanh(x @ w) by lax.fori_loop. XLA's CPU compiler writes known_trip_count n=100 on the loop of its
# optimized program. The TPU compiler writes none, and the estimated_cycles of all its kernels add up to less than those of 3
# iterations, so cycles summed over the text are too few for every program with a loop.
# Seen: `cpu trip counts ['100']; tpu loops 1, trip counts [], cycles less than 3 iterations True`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2 libtpu==0.0.51
cd "$work"
cat > program.py <<'PROGRAM'
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

topology = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")
mesh = Mesh(np.array(topology.devices), ("d",))
on_tpu = jax.ShapeDtypeStruct((2048, 2048), jnp.bfloat16, sharding=NamedSharding(mesh, P()))
on_cpu = jax.ShapeDtypeStruct((2048, 2048), jnp.bfloat16)


def once(x, w):
    return jnp.tanh(x @ w)


def loop(x, w):
    return jax.lax.fori_loop(0, 100, lambda i, x: once(x, w), x)


def text(function, argument):
    return jax.jit(function).lower(argument, argument).compile().as_text()


def trip_counts(program):
    return re.findall(r'"known_trip_count":\{"n":"(\d+)"', program)


def cycles(program):
    return sum(map(int, re.findall(r'"estimated_cycles":"(\d+)"', program)))


tpu = text(loop, on_tpu)
few = cycles(tpu) < 3 * cycles(text(once, on_tpu))
loops = len(re.findall(r" while\(", tpu))
print(f"cpu trip counts {trip_counts(text(loop, on_cpu))}; ", end="")
print(f"tpu loops {loops}, trip counts {trip_counts(tpu)}, cycles less than 3 iterations {few}")
PROGRAM
export JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 TPU_ACCELERATOR_TYPE=v5litepod-8 TPU_WORKER_HOSTNAMES=localhost TPU_LOG_DIR=disabled
"$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
cpu trip counts ['100']; tpu loops 1, trip counts [], cycles less than 3 iterations True
EXPECTED
diff expected output && echo "as described"
