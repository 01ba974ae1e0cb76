"""Saves or restores a state with Orbax, and prints the time in seconds.

Arguments: `save` or `restore`, a folder, the size of the state in GiB, the size of an array in MiB, and the layout: `zarr3` (separate
files for each array, as in shardc) or `default`.
"""

import json
import os
import pathlib
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
import orbax.checkpoint as ocp

what, folder, gibibytes, mebibytes, layout = sys.argv[1:]
path = pathlib.Path(folder).resolve() / "orbax"
shape = (int(mebibytes) << 7, 2048)
count = (int(gibibytes) << 10) // int(mebibytes)
device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
handler = ocp.PyTreeCheckpointHandler(**({"use_ocdbt": False, "use_zarr3": True} if layout == "zarr3" else {}))
names = [f"w{i}" for i in range(count)]

with ocp.Checkpointer(handler) as checkpointer:
    if what == "save":
        # Floats of either sign with absolute values in [0.5, 1), which compress as little as weights.
        random = np.random.default_rng(1).integers(0, 1 << 32, shape, np.uint32)
        block = (random & np.uint32(0x807FFFFF) | np.uint32(0x3F000000)).view(np.float32)
        tree = {"params": {name: jax.device_put(block, device) for name in names}}
        jax.block_until_ready(tree)
        begun = time.perf_counter()
        checkpointer.save(path, tree)
    else:
        arguments = {"params": {name: ocp.ArrayRestoreArgs(sharding=device) for name in names}}
        begun = time.perf_counter()
        tree = checkpointer.restore(path, restore_args=arguments)
        jax.block_until_ready(tree)
    seconds = time.perf_counter() - begun
assert len(tree["params"]) == count
print(json.dumps({"seconds": seconds, "orbax": ocp.__version__, "jax": jax.__version__}))
