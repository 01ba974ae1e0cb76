"""What the TPU compiler says that a program for one device costs.

    tpu_cost.py TOPOLOGY FILE

Every device of the slice runs the whole program. Prints one JSON object: flops, bytes accessed, bytes of temporaries and estimated
cycles, each of a loop's body once, for the compiler tells no trip counts; or why it refuses the program. Cycles are null where the
compiler does not give the text of what it made, as it does of large programs for some chips.
"""
import json
import os
import re
import sys

_, topology, file = sys.argv
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np
from jax._src.interpreters import mlir
from jax.experimental import topologies
from jaxlib import xla_client
from jaxlib.mlir import ir

devices = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
context = mlir.make_ir_context()
context.allow_unregistered_dialects = True
with open(file, encoding="utf-8") as text, context:
    module = ir.Module.parse(text.read())
options = xla_client.CompileOptions()
options.num_replicas, options.num_partitions = len(devices), 1
build = options.executable_build_options
build.num_replicas, build.num_partitions, build.use_spmd_partitioning = len(devices), 1, False
options.device_assignment = xla_client.DeviceAssignment.create(np.arange(len(devices)).reshape(-1, 1))
try:
    executable = devices[0].client.compile(module, xla_client.DeviceList(tuple(devices)), options)
except Exception as error:  # The compiler has no errors of its own.
    print(json.dumps({"error": str(error)[:500]}))
    sys.exit()

try:
    text = executable.hlo_modules()[0].to_string()
except Exception:
    text = ""
# What the compiler cannot estimate is the largest number.
estimates = (int(estimate) for estimate in re.findall(r'"estimated_cycles":"(\d+)"', text))
cycles = sum(estimate for estimate in estimates if estimate < 2**63 - 1)
cost = executable.cost_analysis()
print(
    json.dumps(
        {
            "flops": cost.get("flops"),
            "bytes": cost.get("bytes accessed"),
            "temp": executable.get_compiled_memory_stats().temp_size_in_bytes,
            "cycles": cycles or None,
        }
    )
)
