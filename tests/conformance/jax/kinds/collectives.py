"""`jax.shard_map`: every collective, partly manual axes, nested maps, starts and ends of asynchronous ones."""

import jax
import jax.numpy as jnp
from catalog import f32, i32, manual, program
from jax import lax
from jax._src.lax import parallel
from jax.sharding import PartitionSpec as P


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def psum_of_one_axis(x):
    return manual(["data,model"], ["-,model"])(lambda b: lax.psum(jnp.sin(b), "data"))(x)


@program(f32(16, 8), specs=["data,model"])
def psum_of_both_axes(x):
    return manual(["data,model"], [""])(lambda b: lax.psum(b.sum(), ("data", "model")))(x)


@program(f32(16, 8), specs=["data,-"])
def pmean_pmax_pmin(x):
    def body(b):
        return lax.pmean(b, "data"), lax.pmax(b, "data"), lax.pmin(b, "data")

    return manual(["data,-"], ["", "", ""])(body)(x)


@program(f32(16, 8), specs=["data,-"])
def psum_in_groups(x):
    body = lambda b: lax.psum(b, "data", axis_index_groups=[[0, 1], [2, 3]])
    return manual(["data,-"], ["data,-"], check=False)(body)(x)


@program(f32(16, 8), specs=["data,-"], grad=(0,))
def all_gather_tiled(x):
    body = lambda b: lax.all_gather(b, "data", tiled=True) * lax.axis_index("data")
    return manual(["data,-"], ["data,-"])(body)(x)


@program(f32(16, 8), specs=["data,-"])
def all_gather_untiled(x):
    body = lambda b: lax.all_gather(b, "data", axis=1).sum(1)
    return manual(["data,-"], ["data,-"])(body)(x)


@program(f32(16, 8), specs=["data,-"])
def all_gather_that_every_device_reads(x):
    body = lambda b: lax.psum(lax.all_gather(b, "data", tiled=True), "data")
    return manual(["data,-"], ["-,-"])(body)(x)


@program(f32(16, 8), specs=["data,-"], grad=(0,))
def psum_scatter_tiled(x):
    body = lambda b: lax.psum_scatter(jnp.tile(b, (1, 2)), "data", scatter_dimension=1, tiled=True)
    return manual(["data,-"], ["data,-"])(body)(x)


@program(f32(16, 4), specs=["data,-"])
def psum_scatter_untiled(x):
    return manual(["data,-"], ["data"])(lambda b: lax.psum_scatter(b, "data", scatter_dimension=0))(x)


@program(f32(16, 8), specs=["data,-"], grad=(0,))
def all_to_all_of_blocks(x):
    return manual(["data,-"], ["data,-"])(lambda b: lax.all_to_all(b, "data", 1, 0, tiled=True))(x)


@program(f32(16, 8), specs=["data,-"], grad=(0,))
def ring_permutation(x):
    shift = [(i, (i + 1) % 4) for i in range(4)]
    return manual(["data,-"], ["data,-"])(lambda b: b + lax.ppermute(b, "data", shift))(x)


@program(f32(16, 8), specs=["data,-"])
def partial_permutation(x):
    return manual(["data,-"], ["data,-"])(lambda b: lax.ppermute(b, "data", [(0, 2), (3, 1)]))(x)


@program(f32(16, 8), specs=["data,-"])
def shuffle_and_swap(x):
    def body(b):
        return lax.pshuffle(b, "data", [2, 0, 3, 1]) + lax.pswapaxes(b, "data", 0)

    return manual(["data,-"], ["data,-"])(body)(x)


@program(f32(16, 8), specs=["data,-"], platform="cuda")
def broadcast_from_one_device(x):
    return manual(["data,-"], ["data,-"], check=False)(lambda b: lax.pbroadcast(b, ("data",), 2))(x)


@program(f32(16, 8), i32(), specs=["data,-", ""], since=(0, 11), why="pbroadcast with an array as its source", platform="cuda")
def broadcast_from_a_computed_device(x, root):
    return manual(["data,-", ""], ["data,-"], check=False)(lambda b, r: lax.pbroadcast(b, ("data",), r))(x, root)


@program(f32(16, 8), specs=["data,-"], platform="cuda")
def broadcast_of_two_arrays(x):
    body = lambda b: sum(lax.pbroadcast((b, jnp.sin(b)), ("data",), 1))
    return manual(["data,-"], ["data,-"], check=False)(body)(x)


def _asynchronous(name, **options):
    """The start function of a collective, which JAX 0.12 exports for `psum_scatter` alone."""
    start = getattr(parallel, name)
    return lambda b: start(b, "data", **options)


def _overlapped(start, outs, check=False):
    def run(x):
        def body(b):
            future = start(b)
            other = jnp.sin(b).sum()
            return future.done() + other

        return manual(["data,-"], [outs], check=check)(body)(x)

    return run


@program(f32(16, 8), specs=["data,-"], needs=("_src.lax.parallel.psum_scatter_start",))
def reduce_scatter_start_and_done(x):
    return _overlapped(_asynchronous("psum_scatter_start", scatter_dimension=0, tiled=True), "data,-")(x)


@program(f32(16, 8), specs=["data,-"], needs=("_src.lax.parallel.all_gather_start",))
def all_gather_start_and_done(x):
    return _overlapped(_asynchronous("all_gather_start", tiled=True), "data,-")(x)


@program(f32(16, 8), specs=["data,-"], needs=("_src.lax.parallel.psum_start",))
def psum_start_and_done(x):
    return _overlapped(_asynchronous("psum_start"), "data,-", check=True)(x)


@program(f32(16, 8), specs=["data,-"], needs=("_src.lax.parallel.all_to_all_start",))
def all_to_all_start_and_done(x):
    return _overlapped(_asynchronous("all_to_all_start", split_axis=1, concat_axis=0, tiled=True), "data,-")(x)


@program(f32(16, 8), specs=["data,-"], needs=("_src.lax.parallel.ppermute_start",))
def ppermute_start_and_done(x):
    shift = [(i, (i + 1) % 4) for i in range(4)]
    return _overlapped(_asynchronous("ppermute_start", perm=shift), "data,-")(x)


@program(f32(16, 4), f32(16, 4), i32(4, 4), i32(4, 4), i32(4, 4), i32(4, 4), specs=["data"] * 6)
def ragged_exchange(x, into, offsets, sizes, out_offsets, receive_sizes):
    def body(x, into, offsets, sizes, out_offsets, receive_sizes):
        zeros = [jnp.clip(v[0], 0, 0) for v in (offsets, out_offsets)]
        ones = [jnp.clip(v[0], 1, 1) for v in (sizes, receive_sizes)]
        place = zeros[1] + lax.axis_index("data")
        order = jnp.arange(4, dtype=jnp.int32) + zeros[0]
        return lax.ragged_all_to_all(x, into, order, ones[0], place, ones[1], axis_name="data")

    return manual(["data"] * 6, ["data"], check=False)(body)(x, into, offsets, sizes, out_offsets, receive_sizes)


@program(f32(16, 8), f32(8, 12), specs=["data,-", "-,model"])
def partly_manual(x, w):
    body = lambda b, w: lax.psum(b @ w, "data")
    return manual(["data,-", "-"], [""], manual_axes=("data",))(body)(x, w)


@program(f32(16, 8), f32(8, 16), specs=["data,-", "-,model"], grad=(0, 1))
def partly_manual_with_constraint(x, w):
    def body(b, w):
        y = lax.with_sharding_constraint(b @ w, P(None, "model"))
        return jnp.tanh(y)

    return manual(["data,-", "-"], ["data"], manual_axes=("data",))(body)(x, w)


@program(f32(16, 8), specs=["data,model"])
def nested_manual_maps(x):
    def inner(b):
        return lax.psum(b, "model")

    def outer(b):
        return jax.shard_map(inner, in_specs=P(None, "model"), out_specs=P(), axis_names={"model"})(b) + 1.0

    return manual(["data,-"], ["data"], manual_axes=("data",))(outer)(x)


@program(f32(16, 8), specs=["data,-"])
def collective_in_a_loop(x):
    shift = [(i, (i + 1) % 4) for i in range(4)]

    def body(b):
        return lax.fori_loop(0, 4, lambda _, c: lax.ppermute(c, "data", shift) * 0.5 + b, b)

    return manual(["data,-"], ["data,-"])(body)(x)


@program(f32(16, 8), specs=["data,-"], grad=(0,))
def collective_in_a_scan(x):
    def step(carry, row):
        return carry * 0.5 + lax.psum(row, "data"), carry * row

    def body(b):
        return lax.scan(step, jnp.zeros(8), b)[1]

    return manual(["data,-"], ["data,-"])(body)(x)


@program(f32(16, 8), f32(8, 8), specs=["data,-", "model,-"])
def product_with_reduced_weights(x, w):
    def body(b, w):
        return lax.psum_scatter(b[:, : w.shape[0]] @ w, "model", scatter_dimension=1, tiled=True)

    return manual(["data,-", "model,-"], ["data,model"])(body)(x, w)


@program(f32(4, 16, 8), specs=["data,-,-"])
def pipeline_of_four_stages(weights_and_inputs):
    shift = [(i, i + 1) for i in range(3)]

    def body(block):
        state = jnp.sin(block[0])
        for _ in range(3):
            state = lax.ppermute(state, "data", shift) + block[0]
        return state[None]

    return manual(["data,-,-"], ["data,-,-"])(body)(weights_and_inputs)


@program(f32(16, 8), specs=["data,-"])
def index_and_size_of_axes(x):
    def body(b):
        place = lax.axis_index("data") * lax.axis_size("model") + lax.axis_index("model")
        return b + place.astype(jnp.float32)

    return manual(["data,-"], ["data,model"])(body)(x)


@program(f32(16, 8), specs=["data,-"])
def vmap_with_named_collective(x):
    return jax.vmap(lambda row: row / lax.psum(row, "batch"), axis_name="batch")(x)


@program(f32(16, 8), specs=["data,-"])
def vmap_of_a_manual_map(x):
    inner = manual(["data"], [""], manual_axes=("data",))(lambda b: lax.psum(b, "data"))
    return jax.vmap(inner, in_axes=1, out_axes=1)(x)
