"""Counts the bytes that a device receives when XLA's own partitioner reshards a value.

    reshard_bytes.py DEVICES

Reads programs from standard input, one JSON list per line. Each program consists of only a reshard. For each program, prints the
bytes that its ring collectives receive on a device, or null if XLA does not compile it. With k devices in a group, an all-gather
receives (k-1)/k of its result, an all-to-all or a reduce-scatter (k-1)/k of its operand, an all-reduce twice that, and a
collective-permute its entire operand.
"""

import json
import math
import os
import re
import sys

devices = int(sys.argv[1])
os.environ["JAX_PLATFORMS"] = "cpu"
# Only the collectives matter, so the code is not optimized.
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

client = jax.devices()[0].client
KINDS = "all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute|ragged-all-to-all"
WIDTHS = {"f32": 4}


def size_of(shapes):
    """The size of a type in bytes, or the total size of the types of a tuple."""
    found = re.findall(r"\b(f32)\[([\d,]*)\]", shapes)
    return sum(WIDTHS[kind] * math.prod(int(n) for n in dims.split(",") if n) for kind, dims in found)


def group_of(line):
    """The number of devices in a group of a collective."""
    listed = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
    if listed:
        return len(listed[1].split(","))
    counted = re.search(r"replica_groups=\[\d+,(\d+)\]", line)
    if counted:
        return int(counted[1])
    named = re.search(r"replica_groups=mesh\[([^\]]*)\](?:, device_ids=\([^{]*\))? \{([^}]*)\}", line)
    if named:
        sizes = {axis: int(n) for axis, n in re.findall(r"'([^']+)'=(\d+)", named[1])}
        axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", named[2])
        return math.prod(int(part) if part else sizes[axis] for axis, part in axes)
    return devices


def received(text):
    total = 0.0
    for line in text.splitlines():
        found = re.match(rf"\s*(?:ROOT )?%?[\w.\-]+ = (.*?) ({KINDS})\(", line)
        if not found:
            continue
        kind, k, result = found[2], group_of(line), size_of(found[1])
        share = (k - 1) / k
        total += {
            "collective-permute": result,
            "all-reduce": 2 * result * share,
            "reduce-scatter": result * (k - 1),
        }.get(kind, result * share)
    return total


wanted = xla_client.CompileOptions()
build = wanted.executable_build_options
for place in (wanted, build):
    place.num_replicas, place.num_partitions = 1, devices
build.use_spmd_partitioning = build.use_shardy_partitioner = True
build.allow_spmd_sharding_propagation_to_parameters = [False]
build.allow_spmd_sharding_propagation_to_output = [False]
wanted.device_assignment = xla_client.DeviceAssignment.create(np.arange(devices).reshape(1, devices))
chips = xla_client.DeviceList(tuple(client.devices()[:devices]))
context = jax_mlir.make_ir_context()
for line in sys.stdin:
    for program in json.loads(line):
        try:
            with context:
                module = ir.Module.parse(program)
            executable = client.compile_and_load(module, chips, wanted)
            answer = received(executable.hlo_modules()[0].to_string())
        except Exception:  # The back end raises exceptions of many types.
            answer = None
        print(json.dumps(answer), flush=True)
