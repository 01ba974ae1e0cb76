"""What JAX's own MLIR and CPU client say of programs: one job a line on the standard input, one answer a line, both JSON.

    {"op": "original", "file": F}                    does it verify and compile on its mesh, by XLA's own partitioner?
    {"op": "partition", "text": F, "manifest": F}    does what shardc wrote verify and compile?
    ... with "original": F                           and are its outputs those of XLA's own partition?
    {"op": "gradient", "reference": F, "candidate": F, "rtol": R}

An answer has "ok", and "said" where that is false; "stage" is what failed: parse, verify, compile, run or values.
"""

import json
import math
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=16"

import jax
import ml_dtypes
import numpy as np
from jax._src import xla_bridge
from jax._src.interpreters import mlir
from jax._src.sharding_impls import GSPMDSharding
from jax.sharding import SingleDeviceSharding
from jaxlib import xla_client
from jaxlib.mlir import ir

try:  # Its function pointers come from scipy, and JAX asks for them when it first lowers a call.
    from jaxlib.cpu import _lapack

    _lapack.initialize()
except ImportError:
    pass
jax.config.update("jax_enable_x64", True)
CLIENT = xla_bridge.get_backend("cpu")
DEVICES = CLIENT.devices()

TYPES = {
    "i1": np.bool_, "pred": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}  # fmt: skip
for bits in (2, 4, 8, 16, 32, 64):
    for prefix, name in (("i", "int"), ("ui", "uint")):
        TYPES[f"{prefix}{bits}"] = getattr(ml_dtypes if bits < 8 else np, f"{name}{bits}")
for name in dir(ml_dtypes):
    if name.startswith("float") and "_e" in name:
        TYPES["f" + name[len("float") :].upper()] = getattr(ml_dtypes, name)


class Refused(Exception):
    """A stage that failed, and why."""

    def __init__(self, stage, error):
        super().__init__(stage, str(error))


def staged(stage, work, *args):
    try:
        return work(*args)
    except Exception as error:  # MLIR and XLA raise many kinds.
        raise Refused(stage, error) from error


def parsed(file):
    context = mlir.make_ir_context()
    with context, open(file, "rb") as source:
        module = staged("parse", ir.Module.parse, source.read())
        staged("verify", module.operation.verify)
    return context, module


def compiled(context, module, replicas, partitions, spmd, shardy):
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = replicas
    options.num_partitions = build.num_partitions = partitions
    build.use_spmd_partitioning = spmd
    build.use_shardy_partitioner = bool(shardy)
    if spmd:
        build.allow_spmd_sharding_propagation_to_output = [True]
    count = replicas * partitions
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(count).reshape(replicas, partitions))
    devices = xla_client.DeviceList(tuple(DEVICES[:count]))
    with context:
        return staged("compile", CLIENT.compile_and_load, module, devices, options)


class Original:
    """A program as JAX lowered it, for the devices of its mesh."""

    def __init__(self, file):
        text = open(file).read()
        self.text = text
        self.context, self.module = parsed(file)
        attributes = self.module.operation.attributes
        count = "mhlo.num_partitions"
        self.partitions = ir.IntegerAttr(attributes[count]).value if count in attributes else 1
        shardy = "sdy." in text
        self.executable = compiled(self.context, self.module, 1, self.partitions, self.partitions > 1, shardy)

    def run(self, arrays):
        devices = tuple(DEVICES[: self.partitions])
        ins = self.executable.get_parameter_shardings() if self.partitions > 1 else None
        outs = self.executable.get_output_shardings() if self.partitions > 1 else None
        placed = lambda s: GSPMDSharding(devices, s) if s else SingleDeviceSharding(devices[0])
        shardings = [placed(s) for s in ins] if ins else [placed(None)] * len(arrays)
        given = [jax.device_put(a, s) for a, s in zip(arrays, shardings, strict=True)]
        results = staged("run", lambda: self.executable.execute_sharded(given).disassemble_into_single_device_arrays())
        types = ir.FunctionType(ir.TypeAttr(self.main().attributes["function_type"]).value).results
        whole = []
        for i, shards in enumerate(results):
            shape = tuple(ir.RankedTensorType(types[i]).shape)
            sharding = placed(outs[i]) if outs else placed(None)
            whole.append(np.asarray(jax.make_array_from_single_device_arrays(shape, sharding, shards)))
        return whole

    def main(self):
        return next(op for op in self.module.body.operations if op.attributes["sym_name"].value == "main")

    def arrays(self, seed):
        types = ir.FunctionType(ir.TypeAttr(self.main().attributes["function_type"]).value).inputs
        rng = np.random.default_rng(seed)
        tensors = [ir.RankedTensorType(t) for t in types]
        return [draw(rng, tuple(t.shape), TYPES[str(t.element_type)]) for t in tensors]


def draw(rng, shape, dtype):
    """Positive floats, so that logarithms and second moments are finite, and small integers, which fit as indices."""
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if kind.kind in "iu" or "int" in kind.name:
        return rng.integers(0, 2 if "int2" in kind.name else 4, shape).astype(dtype)
    if kind.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.uniform(0.25, 0.75, shape).astype(dtype)


def block(tensor, manifest, device):
    """The slices of a global array that a device holds, and its local shape."""
    mesh = manifest["meshes"][tensor["mesh"]] if "mesh" in tensor else manifest["mesh"]
    sizes = {axis["name"]: axis["size"] for axis in mesh["axes"]}
    ids = mesh.get("device_ids") or list(range(manifest["num_devices"]))
    place = dict(zip(sizes, np.unravel_index(ids.index(device), list(sizes.values())) if sizes else ()))
    slices = []
    for dim, size in enumerate(tensor["global_shape"]):
        index, count = 0, 1
        for axis in tensor["spec"][dim] if dim < len(tensor["spec"]) else []:
            name, _, part = axis.partition(":(")
            coordinate, length = int(place[name]), sizes[name]
            if part:
                before, length = map(int, part.split(")"))
                coordinate = coordinate // (sizes[name] // (before * length)) % length
            index, count = index * length + coordinate, count * length
        local = math.ceil(size / count)
        slices.append(slice(min(index * local, size), min((index + 1) * local, size)))
    return tuple(slices), tuple(tensor["local_shape"])


def difference(expected, found):
    """The largest difference, relative to the largest expected value; of integers, whether any differs."""
    if expected.shape != found.shape:
        return math.inf
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind in "biu" or "int" in expected.dtype.name:
        return float(np.any(expected != found))
    kind = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = expected.astype(kind), found.astype(kind)
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        size = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    return float(np.nan_to_num(apart, nan=np.inf).max()) / (float(size) + 1e-6)


def tolerance(dtype, text):
    kind = np.dtype(dtype)
    if kind.kind in "biu" or "int" in kind.name:
        return 0.0
    narrow = 2e-1 if "xf8" in text or "xf4" in text else 4e-2 if "bf16>" in text or "f16>" in text else 0.0
    return max(narrow, {1: 2e-1, 2: 4e-2}.get(kind.itemsize, 1e-9 if kind == np.float64 else 1e-3))


def partition(job):
    context, module = parsed(job["text"])
    manifest = json.load(open(job["manifest"]))
    count = manifest["num_devices"]
    is_replica = manifest["spmd_mode"] == "replica"
    replicas, partitions = (count, 1) if is_replica else (1, count)
    executable = compiled(context, module, replicas, partitions, not is_replica, False)
    if not job.get("original"):
        return {}
    original = Original(job["original"])
    arrays = original.arrays(job.get("seed", 0))
    expected = original.run(arrays)
    given = []
    for tensor, array in zip(manifest["inputs"], arrays, strict=True):
        shards = []
        for device in range(count):
            slices, local = block(tensor, manifest, device)
            part = array[slices]
            part = np.pad(part, [(0, n - m) for n, m in zip(local, part.shape)])
            shards.append(jax.device_put(part, DEVICES[device]))
        given.append(assembled(shards, count))
    outputs = staged("run", lambda: executable.execute_sharded(given).disassemble_into_single_device_arrays())
    wrong, worst = [], 0.0
    for i, tensor in enumerate(manifest["outputs"]):
        for device in range(count):
            slices, _ = block(tensor, manifest, device)
            part = expected[i][slices]
            found = np.asarray(outputs[i][device])[tuple(slice(0, n) for n in part.shape)]
            error = difference(part, found)
            worst = max(worst, error)
            if error > tolerance(expected[i].dtype, original.text):
                wrong.append(f"output {i} on device {device}: off by {error:.1e}")
    if wrong:
        raise Refused("values", wrong[0])
    return {"worst": worst}


def assembled(shards, count):
    """One array of all devices' blocks, as the runtime wants arguments."""
    mesh = jax.sharding.Mesh(np.array(DEVICES[:count]), ("d",))
    shape = shards[0].shape
    whole = (count * shape[0], *shape[1:]) if shape else ()
    spec = jax.sharding.PartitionSpec("d") if shape else jax.sharding.PartitionSpec()
    return jax.make_array_from_single_device_arrays(whole, jax.sharding.NamedSharding(mesh, spec), shards)


def gradient(job):
    reference, candidate = Original(job["reference"]), Original(job["candidate"])
    arrays = reference.arrays(job.get("seed", 0))
    expected, found = reference.run(arrays), candidate.run(arrays)
    if len(expected) != len(found):
        raise Refused("values", f"{len(found)} results, JAX has {len(expected)}")
    largest = max((float(np.abs(e.astype(np.float64)).max(initial=0.0)) for e in expected[1:]), default=0.0)
    limit = job.get("rtol") or 2e-4
    limit = max(limit, 4e-2 if "bf16>" in reference.text else 0.0)
    for i, (a, b) in enumerate(zip(expected, found)):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Refused("values", f"result {i} is {b.dtype}{list(b.shape)}, JAX's is {a.dtype}{list(a.shape)}")
        size = float(np.abs(a.astype(np.float64)).max(initial=0.0)) if i else 1.0
        apart = difference(a, b) * (size + 1e-6) / (max(size, 1e-4 * largest) + 1e-12)
        if not apart <= limit:
            raise Refused("values", f"result {i} is off by {apart:.1e}")
    return {}


def original(job):
    Original(job["file"])
    return {}


OPERATIONS = {"original": original, "partition": partition, "gradient": gradient}


def main():
    answers = sys.stdout
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = {"ok": True} | OPERATIONS[job["op"]](job)
        except Refused as refused:
            stage, said = refused.args
            answer = {"ok": False, "stage": stage, "said": said[:4000]}
        except Exception as error:
            answer = {"ok": False, "stage": "peer", "said": f"{type(error).__name__}: {error}"[:4000]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
