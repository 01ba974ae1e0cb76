"""Shardings as users annotate them: arguments, constraints, explicit axes, unreduced results, and GSPMD's annotations."""

import jax
import jax.numpy as jnp
from catalog import bf16, builder, constrain, f32, i32, mesh, program, spec
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


@program(f32(16, 32), f32(32, 24), specs=["data,-", "-,model"], grad=(0, 1))
def two_dimensional_matmul(x, w):
    return jnp.tanh(x @ w)


@program(f32(16, 32), f32(32, 24), specs=["data,model", "model,-"], grad=(0, 1))
def contracting_dimension_split(x, w):
    return x @ w


@program(f32(16, 32), f32(32, 24), specs=["data,-", "-,model"], gspmd=True, grad=(0, 1))
def gspmd_matmul(x, w):
    return jnp.tanh(x @ w)


@program(f32(16, 24), specs=["data+model,-"], gspmd=True)
def gspmd_two_axes_on_one_dimension(x):
    return constrain(x * 2.0, "-,data") + 1.0


@program(f32(16, 24), f32(24), specs=["data,-", "model"], gspmd=True, out=["-,model"])
def gspmd_output_sharding(x, b):
    return x - b


@program(f32(16, 24), specs=["data+model,-"], grad=(0,))
def both_axes_on_rows_then_columns(x):
    y = constrain(jnp.sin(x), "-,data")
    return constrain(y * x.sum(), "model,-")


@program(f32(16, 10), specs=["data,model"])
def unconstrained_dimension(x):
    return jax.lax.with_sharding_constraint(jnp.exp(x), P(P.UNCONSTRAINED, None))


@program(f32(16, 12), f32(12, 16), specs=["data,-", "-,model"], explicit=True)
def explicit_product(x, w):
    return jnp.dot(x, w)


@program(f32(16, 12), specs=["data,model"], explicit=True)
def explicit_reshard(x):
    return jax.reshard(jnp.cos(x), P("model", "data"))


@program(f32(16, 32), f32(32, 8), specs=["-,data", "data,-"], explicit=True)
def explicit_unreduced_product(x, w):
    y = jax.lax.dot_general(x, w, (((1,), (0,)), ((), ())), out_sharding=P(None, None, unreduced={"data"}))
    return jax.reshard(y, P(None, None))


@program(f32(16, 32), f32(32, 8), specs=["-,data", "data,-"], explicit=True)
def explicit_unreduced_scattered(x, w):
    y = jnp.einsum("ij,jk->ik", x, w, out_sharding=P(None, None, unreduced={"data"}))
    return jax.reshard(y + y, P("data", None))


@builder(needs=("sharding.UnreducedKind",))
def unreduced_max():
    return _unreduced("max", jax.lax.reduce_max)


@builder(needs=("sharding.UnreducedKind",))
def unreduced_min():
    return _unreduced("min", jax.lax.reduce_min)


def _unreduced(kind, reduce):
    mesh_ = mesh(explicit=True)
    with jax.set_mesh(mesh_):

        def f(x):
            result = P(None, unreduced={"data"}, unreduced_kind=jax.sharding.UnreducedKind[kind])
            y = reduce(x, axes=(0,), out_sharding=result)
            return jax.reshard(y, P("model"))

        sharding = NamedSharding(mesh_, P("data", None))
        return jax.jit(f).lower(jax.ShapeDtypeStruct((16, 8), jnp.float32, sharding=sharding))


@program(f32(16, 32), specs=["data,-"], explicit=True)
def explicit_sum_over_split_dimension(x):
    return x.sum(axis=0), x.max(axis=1)


@program(f32(8, 16, 4), specs=["data,model,-"], explicit=True)
def explicit_transpose_reshape(x):
    y = jnp.transpose(x, (1, 0, 2))
    return jax.lax.reshape(y, (16, 32), out_sharding=P("model", None))


@program(f32(16, 32), f32(32, 16), specs=["data,-", "-,model"], explicit=True)
def explicit_mode_with_automatic_region(x, w):
    inner = jax.sharding.auto_axes(lambda a, b: jnp.tanh(a @ b), out_sharding=P("data", "model"))
    return inner(x, w) * 2.0


@program(f32(6, 10, 4), specs=["-,model,-"], shape=(2, 2, 2), axes=("data", "model", "pipe"))
def three_axes(x):
    return constrain(x, "data,-,pipe").sum(1)


@program(f32(16, 8), f32(16, 8), specs=["data,-", "-,-"], donate=(0,))
def donated_argument(state, update):
    return state - 0.1 * update


@program(f32(13, 7), f32(7, 5), specs=["-,-", "-,-"], grad=(0, 1))
def uneven_constraint(x, w):
    return constrain(x, "data,-") @ constrain(w, "-,model")


@program(f32(16, 32), f32(32, 32), f32(32, 16), specs=["data,-", "-,model", "model,-"], grad=(1, 2))
def two_layers_replicated_between(x, v, w):
    hidden = constrain(jax.nn.gelu(x @ v), "data,model")
    return constrain(hidden @ w, "data,-")


@program(bf16(16, 32), bf16(32, 16), specs=["data,model", "model,-"])
def bfloat16_product_with_float32_result(x, w):
    return jax.lax.dot(x, w, preferred_element_type=jnp.float32)


@program(i32(16), f32(64, 8), specs=["data", "model,-"])
def rows_of_a_split_table(indices, table):
    return table[indices]


@builder()
def result_sharding_left_to_the_compiler():
    mesh_ = mesh()
    x = jax.ShapeDtypeStruct((16, 8), jnp.float32, sharding=NamedSharding(mesh_, spec("data,model")))
    return jax.jit(lambda x: (x.T, x.sum(0)), out_shardings=(NamedSharding(mesh_, P()), None)).lower(x)


@program(f32(16, 8), specs=["data,-"])
def sharded_closure_constant(x):
    table = constrain(jnp.linspace(0.0, 1.0, 8 * 12).reshape(8, 12), "-,model")
    return x @ table


@program(f32(16, 8), specs=["data,-"])
def named_scopes_and_checkpoint_names(x):
    with jax.named_scope("outer"):
        y = checkpoint_name(jnp.sin(x), "kept")
    return constrain(y, "-,model") * 3.0


@program(f32(16, 8), f32(8, 8), specs=["data,-", "-,model"], grad=(0, 1))
def nested_jit(x, w):
    inner = jax.jit(lambda a, b: jnp.tanh(a @ b))
    return inner(inner(x, w), w)
