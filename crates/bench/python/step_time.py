"""Times the steps of shardc's and of XLA's partition of the same program, in turns in one process.

    step_time.py ANNOTATED shardy|gspmd PARTITIONED MANIFEST STEPS [FOLDER]

ANNOTATED is the program that XLA partitions, with sdy.* or mhlo.sharding annotations. PARTITIONED and MANIFEST are the output of
`shardc partition` for this program. Both partitions run on the CPU client of jaxlib, on as many virtual devices as the mesh has,
with the same inputs, which are sharded according to the manifest. Each partition runs at least STEPS steps, and more until a
minimum time has passed. No arguments are donated, so that inputs can be reused. If FOLDER is given, the optimized HLO of both is
written there.

Prints one JSON object: `ours` and `xla` are each {"seconds": median time of a step, "collectives": {kind: number in the program}}
or {"error": message}. `ratio` is the ratio of shardc's to XLA's time, and `cpu` is the ratio of the CPU times of all threads,
which depends less on other load of the machine.
"""

import json
import math
import os
import pathlib
import re
import statistics
import sys
import time

annotated, mode, partitioned, manifest, steps = sys.argv[1:6]
folder = pathlib.Path(sys.argv[6]) if len(sys.argv) > 6 else None
manifest = json.loads(pathlib.Path(manifest).read_text())
devices = manifest["num_devices"]
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import ml_dtypes
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

try:  # JAX registers LAPACK with XLA on first use, which does not occur in this script.
    from jaxlib.cpu import _lapack

    _lapack.initialize()
except ImportError:
    pass

jax.config.update("jax_enable_x64", True)
client = jax.devices()[0].client
chips = client.devices()[:devices]

KINDS = "all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute"
TYPES = {
    "i1": np.bool_, "i4": ml_dtypes.int4, "ui4": ml_dtypes.uint4, "bf16": ml_dtypes.bfloat16, "f16": np.float16,
    "f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
}
TYPES |= {f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)}
TYPES |= {f"ui{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)}

# The minimum duration of the measurement in seconds: the median of short steps needs many steps.
SECONDS = 2.0


def draw(random, tensor):
    """Random inputs with which training steps remain finite: floats around one half, and small indices."""
    shape, kind = tensor["global_shape"], np.dtype(TYPES[tensor["dtype"]])
    if kind == np.bool_:
        return random.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu" or "int4" in kind.name:
        return random.integers(0, 4, shape).astype(kind)
    return random.uniform(0.25, 0.75, shape).astype(kind)


def split(axis, sizes):
    """The name, stride and size of an axis or of a sub-axis `name:(pre)size`."""
    part = re.fullmatch(r"(.*):\((\d+)\)(\d+)", axis)
    if not part:
        return axis, 1, sizes[axis]
    size = int(part[3])
    return part[1], sizes[part[1]] // (int(part[2]) * size), size


def block(array, tensor, device):
    """The block of an array on a device. If a dimension is not divisible, the last blocks are padded."""
    mesh = manifest["meshes"][tensor["mesh"]] if "mesh" in tensor else manifest["mesh"]
    sizes = {axis["name"]: axis["size"] for axis in mesh["axes"]}
    place = (mesh.get("device_ids") or list(range(devices))).index(device)
    coordinates = dict(zip(sizes, np.unravel_index(place, list(sizes.values())))) if sizes else {}
    for dim, axes in enumerate(tensor["spec"]):
        index, count = 0, 1
        for axis in axes:
            name, stride, size = split(axis, sizes)
            index, count = index * size + int(coordinates[name]) // stride % size, count * size
        length = math.ceil(array.shape[dim] / count)
        array = np.take(array, range(index * length, (index + 1) * length), dim, mode="clip")
    return np.ascontiguousarray(array)


def stacked(blocks):
    """One array of the blocks of all devices; a scalar is replicated."""
    mesh = jax.sharding.Mesh(np.array(chips), ("d",))
    shape = blocks[0].shape
    spec = jax.sharding.PartitionSpec("d") if shape else jax.sharding.PartitionSpec()
    parts = [jax.device_put(part, chip) for part, chip in zip(blocks, chips)]
    whole = (devices * shape[0], *shape[1:]) if shape else ()
    return jax.make_array_from_single_device_arrays(whole, jax.sharding.NamedSharding(mesh, spec), parts)


def program(path):
    """The module in a file, without donations of arguments."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(pathlib.Path(path).read_text())
        for op in module.body.operations:
            if "arg_attrs" not in op.attributes:
                continue
            kept = [
                {a.name: a.attr for a in ir.DictAttr(one) if a.name not in ("tf.aliasing_output", "jax.buffer_donor")}
                for one in ir.ArrayAttr(op.attributes["arg_attrs"])
            ]
            op.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(one) for one in kept])
    return module


def compiled(path, replicas, partitions, **options):
    wanted = xla_client.CompileOptions()
    build = wanted.executable_build_options
    for place in (wanted, build):
        place.num_replicas, place.num_partitions = replicas, partitions
    for name, value in options.items():
        setattr(build, name, value)
    ids = np.arange(devices).reshape(replicas, partitions)
    wanted.device_assignment = xla_client.DeviceAssignment.create(ids)
    return client.compile_and_load(program(path), xla_client.DeviceList(tuple(chips)), wanted)


class Side:
    """A compiled partition, and the times of its steps in seconds."""

    def __init__(self, name, *arguments, **options):
        self.error, self.seconds, self.cpu = None, [], []
        try:
            self.executable = compiled(*arguments, **options)
            self.text = self.executable.hlo_modules()[0].to_string()
            if folder:
                (folder / f"{name}.hlo").write_text(self.text)
        except Exception as error:  # The back end raises exceptions of many types.
            self.error = str(error).split("\n")[0]

    def step(self, inputs):
        wall, cpu = time.perf_counter(), time.process_time()
        results = self.executable.execute_sharded(inputs, with_tokens=True)
        results.consume_token().block_until_ready()
        self.seconds.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)

    def forget(self):
        self.seconds, self.cpu = [], []

    def told(self):
        if self.error:
            return {"error": self.error}
        kinds = re.findall(rf" ({KINDS})(?:-start)?\(", self.text)
        return {
            "seconds": statistics.median(self.seconds),
            "collectives": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        }


xla = Side(
    "xla",
    annotated,
    1,
    devices,
    use_spmd_partitioning=True,
    use_shardy_partitioner=mode == "shardy",
    allow_spmd_sharding_propagation_to_parameters=[False],
    allow_spmd_sharding_propagation_to_output=[True],
)
by_replica = manifest["spmd_mode"] == "replica"
ours = Side(
    "ours", partitioned, *((devices, 1) if by_replica else (1, devices)), use_spmd_partitioning=not by_replica
)
answer = {}
if not (xla.error or ours.error):
    random = np.random.default_rng(0)
    inputs = []
    for tensor in manifest["inputs"]:
        array = draw(random, tensor)
        inputs.append(stacked([block(array, tensor, device) for device in range(devices)]))
    # The first steps of each partition are warm-up steps.
    for side in (xla, ours, xla, ours):
        side.step(inputs)
    for side in (xla, ours):
        side.forget()
    end = time.perf_counter() + SECONDS
    while len(ours.seconds) < int(steps) or time.perf_counter() < end:
        # The order alternates, so that effects of one partition's step on the next step are balanced.
        for side in (xla, ours) if len(ours.seconds) % 2 else (ours, xla):
            side.step(inputs)
    for key, of in (("ratio", lambda side: side.seconds), ("cpu", lambda side: side.cpu)):
        answer[key] = statistics.median(of(ours)) / statistics.median(of(xla))
print(json.dumps(answer | {"ours": ours.told(), "xla": xla.told()}))
