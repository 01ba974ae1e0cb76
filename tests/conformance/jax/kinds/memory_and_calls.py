"""Memory kinds, computations on the host, custom calls, custom partitioning and attributes of compilers."""

import jax
import jax.numpy as jnp
from catalog import builder, f32, i32, mesh, program, spec
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.experimental import compute_on as compute_on_module
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding

HOST = "XLA's CPU client has one memory"


@builder(values=HOST)
def argument_on_the_host():
    m = mesh()
    host = NamedSharding(m, spec("data,-"), memory_kind="pinned_host")
    device = host.with_memory_kind("device")
    f = lambda x: jax.device_put(x, device) * 2.0
    return jax.jit(f, in_shardings=host, out_shardings=device).lower(f32(16, 8))


@builder(values=HOST)
def result_on_the_host():
    m = mesh()
    host = NamedSharding(m, spec("data,-"), memory_kind="pinned_host")
    return jax.jit(jnp.sin, in_shardings=host.with_memory_kind("device"), out_shardings=host).lower(f32(16, 8))


@program(f32(16, 8), specs=["data,-"], values=HOST)
def moved_to_the_host_and_back(x):
    kept = jax.device_put(jnp.sin(x), jax.memory.Space.Host)
    return jax.device_put(kept, jax.memory.Space.Device) + x


@program(f32(16, 8), specs=["data,-"], values=HOST)
def computed_on_the_host(x):
    on_the_host = getattr(compute_on_module, "compute_on2", compute_on_module.compute_on)

    @on_the_host(compute_type="device_host", out_memory_spaces=jax.memory.Space.Device)
    def f(v):
        return v * 2.0

    return f(x) + 1.0


@program(f32(6, 8, 8), f32(16, 8), specs=["-,-,model", "data,-"], values=HOST)
def offloaded_residuals(weights, x):
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device", offload_dst="pinned_host"
    )

    def layer(c, w):
        return jnp.sin(checkpoint_name(c @ w, "h")), None

    return jax.grad(lambda w: lax.scan(jax.checkpoint(layer, policy=policy), x, w)[0].sum())(weights)


UNKNOWN = "no back end has this call"


def _call(name, *operands, **attributes):
    result = jax.ShapeDtypeStruct(operands[0].shape, operands[0].dtype)
    return jax.ffi.ffi_call(name, result, **attributes.pop("options", {}))(*operands, **attributes)


@program(f32(16, 8), specs=["data,-"], values=UNKNOWN)
def foreign_function(x):
    return _call("conformance.unknown", x) + 1.0


@program(f32(16, 8), specs=["data,-"], values=UNKNOWN)
def foreign_function_in_a_batch(x):
    return jax.vmap(lambda row: _call("conformance.unknown", row, options={"vmap_method": "broadcast_all"}))(x)


@program(f32(16, 8), specs=["data,-"], values=UNKNOWN)
def foreign_function_with_side_effect(x):
    return _call("conformance.unknown", x, options={"has_side_effect": True})


@program(f32(16, 8), specs=["data,-"], values=UNKNOWN)
def foreign_function_that_reuses_its_operand(x):
    return _call("conformance.unknown", x, options={"input_output_aliases": {0: 0}})


@custom_partitioning
def _ruled(x, w):
    return x @ w


_ruled.def_partition(
    partition=lambda mesh_, args, result: (mesh_, lambda x, w: x @ w, result.sharding, [a.sharding for a in args]),
    sharding_rule="i j, j k -> i k",
)


@program(f32(16, 8), f32(8, 12), specs=["data,-", "-,model"], values="its function is in the process that exported it")
def custom_partitioning_with_a_rule(x, w):
    return _ruled(x, w) + 1.0


@program(f32(16, 8), specs=["data,-"])
def attributes_of_a_frontend(x):
    from jax.experimental.xla_metadata import set_xla_metadata

    with set_xla_metadata(stage="first"):
        return jnp.sin(x) + 1.0


@program(f32(16, 8), i32(16), specs=["data,-", "data"])
def tokens_and_barriers(x, y):
    x, y = lax.optimization_barrier((x, y))
    return x, y + 1


@program(f32(16, 32), specs=["data,model"], needs=("nn.dot_product_attention",))
def attention_of_jax_nn(x):
    q = x.reshape(2, 8, 4, 8)
    return jax.nn.dot_product_attention(q, q, q, is_causal=True)
