"""Several processes through JAX's own distributed runtime: two processes with four devices of the CPU each."""

import os
import socket
import subprocess
import sys
import unittest

PROCESSES = 2


def work(port, process):
    """The program of one process: a training step that shardc partitions over the devices of all processes."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

    import shardc

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", PROCESSES, process)
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)

    def global_array(value, *spec):
        return jax.make_array_from_callback(value.shape, NamedSharding(mesh, P(*spec)), lambda index: value[index])

    random = np.random.default_rng(0)
    w, x = random.normal(size=(16, 8)).astype(np.float32), random.normal(size=(32, 16)).astype(np.float32)
    fun = shardc.jit(jax.value_and_grad(lambda w, x: jnp.sum(jnp.tanh(x @ w))))
    value, gradient = fun(global_array(w, None, "model"), global_array(x, "data"))
    expected, expected_gradient = jax.value_and_grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w)
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    for shard in gradient.addressable_shards:
        np.testing.assert_allclose(shard.data, expected_gradient[shard.index], rtol=1e-3, atol=1e-4)
    print(f"process {process}: {len(jax.devices())} devices, loss {float(value):.4f}")


class Processes(unittest.TestCase):
    def test_two_processes_agree(self):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        run = [
            subprocess.Popen([sys.executable, __file__, str(port), str(i)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for i in range(PROCESSES)
        ]
        outputs = [process.communicate(timeout=240)[0] for process in run]
        for process, output in zip(run, outputs):
            self.assertEqual(process.returncode, 0, output)
            self.assertIn("8 devices, loss", output)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        work(*map(int, sys.argv[1:]))
    else:
        unittest.main()
