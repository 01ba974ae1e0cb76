"""Sorting, top-k, gathers, scatters, slices, searches and segment sums."""

import jax
import jax.numpy as jnp
from catalog import constrain, f32, i32, program
from jax import lax


@program(f32(16, 64), specs=["data,model"], grad=(0,))
def top_k(x):
    return lax.top_k(x, 4)


@program(f32(16, 64), specs=["data,model"], since=(0, 11), why="top_k(is_stable=...)")
def top_k_unstable(x):
    return lax.top_k(x, 4, is_stable=False)


@program(f32(64, 16), specs=["model,data"])
def top_k_of_columns(x):
    return lax.top_k(x, 3, axis=0)


@program(f32(16, 64), specs=["data,model"])
def approximate_top_k(x):
    return lax.approx_max_k(x, 4)


@program(f32(16, 64), specs=["data,-"])
def approximate_smallest(x):
    return lax.approx_min_k(x, 4, reduction_dimension=1, recall_target=0.9)


@program(f32(16, 64), specs=["data,model"])
def approximate_without_aggregation(x):
    return lax.approx_max_k(x, 4, aggregate_to_topk=False)


@program(f32(16, 64), specs=["data,model"], grad=(0,))
def sort_rows(x):
    return jnp.sort(x, axis=1)


@program(f32(16, 64), specs=["data,model"])
def argsort_descending(x):
    return jnp.argsort(x, axis=0, descending=True)


@program(i32(64), f32(64), specs=["data", "data"])
def sort_two_keys(keys, values):
    return lax.sort((keys, values, jnp.arange(64)), num_keys=2)


@program(f32(16, 64), specs=["data,model"])
def argmax_and_argmin(x):
    return jnp.argmax(x, axis=1), jnp.argmin(x, axis=0)


@program(f32(64), f32(16), specs=["data", "model"])
def search_sorted(edges, values):
    return jnp.searchsorted(jnp.sort(edges), values)


@program(f32(32, 16), i32(8, 2), specs=["model,-", "data,-"], grad=(0,))
def gather_with_two_indices(table, places):
    return table[places[:, 0], places[:, 1]]


@program(f32(8, 32), i32(8, 4), specs=["data,-", "data,-"], grad=(0,))
def take_along_axis(x, places):
    return jnp.take_along_axis(x, places, axis=1)


@program(f32(32, 16), i32(8), f32(8, 16), specs=["model,-", "data", "data,-"], grad=(0, 2))
def scatter_add_of_rows(table, places, rows):
    return table.at[places].add(rows)


@program(f32(32, 16), i32(8), f32(8, 16), specs=["model,-", "data", "data,-"])
def scatter_max_of_rows(table, places, rows):
    return table.at[places].max(rows)


@program(f32(32, 16), i32(8), specs=["model,-", "data"])
def scatter_that_drops_what_is_outside(table, places):
    return table.at[places * 9].set(1.0, mode="drop")


@program(f32(32, 16), i32(8), specs=["model,-", "data"])
def gather_that_fills(table, places):
    return table.at[places * 9].get(mode="fill", fill_value=-1.0)


@program(f32(8, 32), i32(), specs=["data,model"], grad=(0,))
def dynamic_slice_and_update(x, start):
    part = lax.dynamic_slice(x, (0, start), (8, 8))
    return lax.dynamic_update_slice(x, part * 2.0, (start, 0))


@program(f32(64, 4), i32(64), specs=["data,-", "data"], grad=(0,))
def segment_sum(values, segments):
    return jax.ops.segment_sum(values, segments, num_segments=8)


@program(i32(64), specs=["data"])
def histogram(values):
    return jnp.bincount(values, length=8)


@program(i32(64), specs=["data"])
def unique_of_known_size(values):
    return jnp.unique(values, size=8, fill_value=-1)


@program(f32(16, 32), specs=["data,model"], grad=(0,))
def cumulative_operations(x):
    return jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, axis=1), lax.cumlogsumexp(x, axis=0)


@program(f32(16, 32), specs=["data,model"], grad=(0,))
def shifts_and_reversals(x):
    return jnp.roll(x, 3, axis=0), jnp.flip(x, 1), jnp.pad(x, ((1, 2), (0, 3)))


@program(f32(16, 32), specs=["data,model"])
def one_hot_and_masks(x):
    hot = jax.nn.one_hot(jnp.argmax(x, 1), 32)
    return jnp.where(hot > 0, x, 0.0), jnp.tril(x), jnp.triu(x, 1)


@program(f32(16, 8), f32(16, 8), specs=["data,-", "-,model"], grad=(0, 1))
def concatenate_stack_split(x, y):
    joined = constrain(jnp.concatenate([x, y], axis=1), "data,-")
    first, second, third = jnp.split(joined, [4, 10], axis=1)
    return jnp.stack([first, third[:, :4]]), second


@program(f32(32, 16), f32(4, 16, 8), i32(4), specs=["-,-", "data,-,-", ""], needs=("lax.ragged_dot",))
def ragged_dot(x, experts, sizes):
    return lax.ragged_dot(x, experts, sizes)


@program(f32(32, 16), f32(4, 16, 8), specs=["data,-", "-,-,model"], grad=(0, 1))
def mixture_of_experts_by_one_hot(x, experts):
    gates = jax.nn.softmax(x[:, :4])
    return jnp.einsum("td,edf,te->tf", x, experts, gates)
