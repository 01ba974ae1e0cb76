"""shardc as the partitioner of JAX, on eight devices of the CPU; values are compared with those of one device."""

import functools
import os
import unittest
import warnings

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import shardc
from shardc import _jax

partitioned = []
partition = _jax._partitioned


def recorded(module, name, *rest):
    partitioned.append(name)
    return partition(module, name, *rest)


_jax._partitioned = recorded


def loss(params, x, y):
    hidden = jnp.tanh(x @ params["first"])
    return jnp.mean((hidden @ params["second"] - y) ** 2)


def step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


class Jit(unittest.TestCase):
    def setUp(self):
        partitioned.clear()
        self.mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
        keys = jax.random.split(jax.random.key(0), 4)
        self.params = {"first": jax.random.normal(keys[0], (16, 32)), "second": jax.random.normal(keys[1], (32, 8))}
        self.x, self.y = jax.random.normal(keys[2], (64, 16)), jax.random.normal(keys[3], (64, 8))

    def put(self, value, *spec):
        return jax.device_put(value, NamedSharding(self.mesh, P(*spec)))

    def sharded(self):
        params = {"first": self.put(self.params["first"], None, "model"), "second": self.put(self.params["second"], "model")}
        return params, self.put(self.x, "data"), self.put(self.y, "data")

    def same(self, found, expected):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6), jax.device_get(found), expected)

    def test_a_training_step(self):
        fun = shardc.jit(step)
        params, loss = fun(*self.sharded())
        self.same((params, loss), step(self.params, self.x, self.y))
        self.assertEqual(params["first"].sharding.spec, P(None, "model"))
        self.assertEqual(partitioned, ["jit_step.shardc"])
        fun(*self.sharded())
        self.assertEqual(len(partitioned), 1, "the program is cached")

    def test_shardings_of_arguments_and_results(self):
        sharding = functools.partial(NamedSharding, self.mesh)
        fun = shardc.jit(
            lambda x, w: x @ w, in_shardings=(sharding(P("data")), sharding(P(None, "model"))), out_shardings=sharding(P("data", "model"))
        )
        self.same(fun(self.x, self.params["first"]), self.x @ self.params["first"])
        self.assertEqual(len(partitioned), 1)

    def test_donation(self):
        params, x, y = self.sharded()
        shardc.jit(step, donate_argnums=0)(params, x, y)
        self.assertTrue(params["first"].is_deleted())

    def test_static_arguments_and_decorators(self):
        @shardc.jit(static_argnames="power")
        def raised(x, power):
            return x**power

        self.same(raised(self.put(self.x, "data"), power=2), self.x**2)
        self.same(raised(self.put(self.x, "data"), power=3), self.x**3)
        self.assertEqual(len(partitioned), 2)
        self.assertEqual(raised.__wrapped__.__wrapped__.__name__, "raised")

    def test_gradients_outside(self):
        found = jax.grad(shardc.jit(loss))(*self.sharded())
        self.same(found, jax.grad(loss)(self.params, self.x, self.y))
        self.assertEqual({name.rpartition(".")[2] for name in partitioned}, {"shardc"})
        self.assertEqual(len(partitioned), 2, "forward and backward")

    def test_vmap_scan_and_outer_jit(self):
        double = shardc.jit(lambda x: jnp.sin(x) * 2)
        x = self.put(self.x, "data")
        self.same(jax.vmap(double)(x), jnp.sin(self.x) * 2)
        self.assertEqual(len(partitioned), 1)

        def body(x, _):
            return double(x), None

        self.same(jax.jit(lambda x: jax.lax.scan(body, x, length=2)[0])(x), jnp.sin(jnp.sin(self.x) * 2) * 2)
        self.assertEqual(len(partitioned), 1, "the outer function decides about the partitioner")

    def test_shard_map_inside(self):
        def summed(x):
            spec = P("data", "model")
            return jax.shard_map(lambda block: jax.lax.psum(block, "model"), mesh=self.mesh, in_specs=spec, out_specs=P("data"))(x) + 1

        x = self.put(self.x, "data", "model")
        self.same(shardc.jit(summed)(x), self.x[:, :8] + self.x[:, 8:] + 1)

    def test_explicit_axes(self):
        mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
        with jax.set_mesh(mesh):
            x = jax.device_put(self.x, P("data"))
            w = jax.device_put(self.params["first"], P(None, "model"))
            found = shardc.jit(lambda x, w: jnp.tanh(x @ w))(x, w)
        self.assertEqual(found.sharding.spec, P("data", "model"))
        self.same(found, jnp.tanh(self.x @ self.params["first"]))

    def test_lowered_programs_are_explained(self):
        lowered = shardc.jit(step).lower(*self.sharded())
        report = shardc.explain(lowered)
        served = {served["op"] for collective in report["collectives"] for served in collective["serves"]}
        self.assertIn("stablehlo.reduce", served)
        self.assertNotIn("stablehlo.constant", served)
        inputs, outputs = shardc.manifest_shardings(shardc.partition(lowered).manifest, self.mesh)
        self.assertEqual(inputs[0].spec, P(None, "model"))
        self.assertEqual(len(outputs), 3)
        compiled = lowered.compile()
        self.same(compiled(*self.sharded()), step(self.params, self.x, self.y))

    def test_exported_programs(self):
        from jax import export

        sharding = NamedSharding(self.mesh, P("data"))
        exported = export.export(jax.jit(jnp.tanh, in_shardings=sharding))(self.x)
        self.assertEqual(shardc.partition(exported).manifest["inputs"][0]["local_shape"], [16, 16])

    def test_strict_and_warnings(self):
        gathered = jnp.sort
        x = self.put(jax.random.normal(jax.random.key(1), (65536,)), "data")
        with self.assertWarnsRegex(shardc.ShardingWarning, "SH0310"):
            found = shardc.jit(gathered)(x)
        self.same(found, gathered(jax.device_get(x)))
        with self.assertRaises(shardc.ShardcError):
            shardc.jit(gathered, strict=True)(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shardc.jit(gathered, warn=False)(x)


    def test_the_same_function_is_compiled_once(self):
        x = self.put(self.x, "data")
        for _ in range(3):
            shardc.jit(jnp.tanh)(x)
        self.assertEqual(len(partitioned), 1)
        shardc.jit(jnp.tanh, combine_bytes=1024)(x)
        self.assertEqual(len(partitioned), 2)

    def test_other_functions_with_such_names_are_left_alone(self):
        def fun(x):
            return x * 3

        fun.__name__ = "fun.shardc99"
        self.same(jax.jit(fun)(self.put(self.x, "data")), self.x * 3)
        self.assertEqual(partitioned, [])

    def test_warnings_name_the_line_of_the_caller(self):
        x = self.put(jax.random.normal(jax.random.key(1), (65536,)), "data")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            shardc.jit(lambda x: jnp.sort(x) + 1)(x)
        self.assertEqual(caught[0].filename, __file__)

    def test_host_callbacks_run_once(self):
        """shardc leaves programs to XLA in which operations run on one device."""
        calls = []

        def counted(x):
            from jax.experimental import io_callback

            io_callback(lambda value: calls.append(value), None, x.sum(), ordered=False)
            return x + 1

        x = self.put(self.x, "data")
        with self.assertRaisesRegex(shardc.UnsupportedError, "on device 0 only.*fallback=True|every device executes it.*fallback=True"):
            shardc.jit(counted)(x)
        with self.assertWarnsRegex(shardc.ShardingWarning, "XLA partitions jit_counted.*every device executes it"):
            jax.block_until_ready(shardc.jit(counted, fallback=True)(x))
        jax.effects_barrier()
        self.assertEqual(len(calls), 1)

    def test_custom_partitioning_is_left_to_xla(self):
        from jax.experimental.custom_partitioning import custom_partitioning

        @custom_partitioning
        def sine(x):
            return jnp.sin(x)

        sine.def_partition(
            infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
            partition=lambda mesh, args, result: (mesh, jnp.sin, args[0].sharding, (args[0].sharding,)),
            sharding_rule="i j -> i j",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shardc.ShardingWarning)
            self.same(shardc.jit(lambda x: sine(x), fallback=True)(self.put(self.x, "data")), jnp.sin(self.x))

    def test_arguments_without_elements(self):
        empty = jnp.zeros((0, 4))
        fun = shardc.jit(lambda x, y: (x.sum(), y.sum()), fallback=True, warn=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shardc.ShardingWarning)
            self.same(fun(self.put(empty, "data"), self.put(empty.T, None, "data")), (0.0, 0.0))
        beside = shardc.jit(lambda x, y, z: (x.sum(), y.sum(), z + 1))
        self.same(beside(self.put(empty, "data"), self.put(empty.T), self.put(self.x, "data")), (0.0, 0.0, self.x + 1))

    def test_what_is_not_a_function_is_refused(self):
        for decorate in (shardc.jit, shardc.jit(strict=True)):
            with self.assertRaisesRegex(TypeError, "takes a function, not 3"):
                decorate(3)


class Plugin(unittest.TestCase):
    def setUp(self):
        partitioned.clear()

    def test_a_block_compiles_again(self):
        mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
        x = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, P("data")))
        fun = jax.jit(lambda x: jnp.cumsum(x))
        before = fun(x)
        self.assertEqual(partitioned, [])
        with shardc.jax_plugin(warn=False):
            np.testing.assert_allclose(fun(x), before)
            self.assertEqual(len(partitioned), 1)
            fun(x)
            self.assertEqual(len(partitioned), 1)
        fun(x)
        self.assertEqual(len(partitioned), 1, "the block has ended")

    def test_programs_without_shardings_are_left_alone(self):
        mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
        with shardc.jax_plugin():
            found = jax.jit(lambda: jnp.ones(8), out_shardings=NamedSharding(mesh, P()))()
        np.testing.assert_array_equal(found, np.ones(8))


if __name__ == "__main__":
    unittest.main()
