"""Runs partitioned programs in one of several processes, whose devices meet by gloo, and compares what they give.

    gloo.py FOLDER COORDINATOR PROCESSES INDEX

Each folder below FOLDER has a program for eight devices (`program.mlir`), how it is compiled and compared (`program.json`), and of
each device the blocks that it takes and should give (`DEVICE.json`, `DEVICE.in.NUMBER`, `DEVICE.out.NUMBER`). Prints how many
results of this process's devices it compared; fails with what differs.
needs: jax
"""

import json
import os
import pathlib
import sys

folder, coordinator, processes, index = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
DEVICES = 8
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES // processes}"

import jax
import ml_dtypes
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.config.update("jax_enable_x64", True)
jax.distributed.initialize(coordinator, processes, index)
devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
assert len(devices) == DEVICES, devices
own = [place for place, device in enumerate(devices) if device.process_index == index]
# Of arrays whose blocks nobody puts together: what each device holds is the program's.
apart = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), ("all",)), jax.sharding.PartitionSpec())

TYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}
# What another order of sums changes at most, of the largest number of a result.
ROUNDING = 2e-5


def block(path, about):
    return np.frombuffer(path.read_bytes(), TYPES[about["dtype"]]).reshape(about["shape"])


def compiled(path, about):
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    for place in (options, build):
        place.num_replicas, place.num_partitions = about["replicas"], about["partitions"]
    build.use_spmd_partitioning = about["partitions"] > 1
    ids = np.array([device.id for device in devices]).reshape(about["replicas"], about["partitions"])
    options.device_assignment = xla_client.DeviceAssignment.create(ids)
    where = xla_client.DeviceList(tuple(devices))
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse((path / "program.mlir").read_text())
        return devices[own[0]].client.compile_and_load(module, where, options)


def difference(given, expected, exact):
    # What a block has beyond its part of the array is padding, whatever it holds.
    given = given[tuple(slice(0, n) for n in expected.shape)]
    if given.dtype != expected.dtype or given.shape != expected.shape:
        return f"{given.dtype}{given.shape} and not {expected.dtype}{expected.shape}"
    if exact:
        wrong = given != expected
        return f"{given[wrong][0]} and not {expected[wrong][0]}, one of {wrong.sum()} elements" if wrong.any() else None
    given, expected = given.astype(np.float64), expected.astype(np.float64)
    off, scale = np.abs(given - expected).max(initial=0), np.abs(expected).max(initial=0)
    return None if off <= ROUNDING * scale else f"off by {off:.2e} of {scale:.2e}"


def check(path):
    """What differs, and how many results there are."""
    about = json.loads((path / "program.json").read_text())
    ports = {place: json.loads((path / f"{place}.json").read_text()) for place in own}
    executable = compiled(path, about)
    inputs = []
    for number, port in enumerate(ports[own[0]]["inputs"]):
        blocks = [
            jax.device_put(block(path / f"{place}.in.{number}", ports[place]["inputs"][number]), devices[place])
            for place in own
        ]
        inputs.append(jax.make_array_from_single_device_arrays(tuple(port["shape"]), apart, blocks))
    results = executable.execute_sharded(inputs).disassemble_into_single_device_arrays()
    faults, count = [], 0
    for number, arrays in enumerate(results):
        by_device = {array.device: array for array in arrays}
        for place in own:
            expected = block(path / f"{place}.out.{number}", ports[place]["outputs"][number])
            fault = difference(np.asarray(by_device[devices[place]]), expected, about["exact"])
            if fault:
                faults.append(f"{path.name}: result {number} of device {place} is {fault}")
            count += 1
    return faults, count


faults, compared = [], 0
for path in sorted(path.parent for path in folder.glob("*/program.mlir")):
    found, count = check(path)
    faults, compared = faults + found, compared + count
jax.distributed.shutdown()
print("\n".join(faults) if faults else compared)
sys.exit(1 if faults else 0)
