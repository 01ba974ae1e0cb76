"""Writes graph_values.json: what jax.numpy, jax.nn and jax.lax give for the operations of the graph builder.

    JAX_PLATFORMS=cpu python graph_values.py > graph_values.json        (made with jax 0.10.2)

Each case has inputs, the result, and the gradient of sum(result * cos(0, 1, 2, ...)) by each input of floats.
"""
import json
import jax, jax.numpy as jnp, numpy as np
from jax import lax, nn

def floats(*shape, scale=2.0, seed=0):
    return np.asarray(np.random.RandomState(seed).uniform(-scale, scale, shape), np.float32)

x, y = floats(4, 6), floats(4, 6, seed=1)
m, image, kernel = floats(6, 3, seed=2), floats(2, 7, 6, 3, seed=3), floats(3, 3, 3, 4, seed=4)
ids = np.asarray([[3, 0], [5, 5], [1, 2]], np.int32)
wild, queries = np.asarray([-1, 5, 0, -4, -9, 3], np.int32), np.asarray([[0, 3], [-7, 9]], np.float32)
edges = np.asarray([-200, -30, -1, -0.0, 0, 1, 30, 200], np.float32)
rows = np.asarray([2, 0, 2], np.int32)

CASES = {
    "relu": (nn.relu, x), "relu6": (nn.relu6, 4 * x), "leaky_relu": (lambda x: nn.leaky_relu(x, 0.1), x),
    "relu_zero": (nn.relu, edges), "selu": (nn.selu, x), "celu": (lambda x: nn.celu(x, 0.7), x), "soft_sign": (nn.soft_sign, x),
    "mish": (nn.mish, x), "hard_tanh": (nn.hard_tanh, x), "hard_sigmoid": (nn.hard_sigmoid, 4 * x), "hard_silu": (nn.hard_silu, 4 * x),
    "glu": (nn.glu, x), "standardize": (nn.standardize, x),
    "softmax_where": (lambda x: nn.softmax(x, -1, where=jnp.tri(4, 6, 1, dtype=bool)), x),
    "log_softmax_where": (lambda x: jnp.where(jnp.tri(4, 6, 1, dtype=bool), nn.log_softmax(x, -1, where=jnp.tri(4, 6, 1, dtype=bool)), -9), x),
    "softplus_edges": (nn.softplus, edges), "logaddexp": (jnp.logaddexp, x, y),
    "elu": (nn.elu, x), "gelu": (nn.gelu, x), "gelu_exact": (lambda x: nn.gelu(x, approximate=False), x),
    "silu": (nn.silu, x), "softplus": (nn.softplus, x), "log_sigmoid": (nn.log_sigmoid, x),
    "softmax": (lambda x: nn.softmax(x, -1), x), "softmax_all": (lambda x: nn.softmax(x, (0, 1)), x),
    "log_softmax": (lambda x: nn.log_softmax(x, 0), x), "logsumexp": (lambda x: jax.scipy.special.logsumexp(x, 1), x),
    "one_hot": (lambda i: nn.one_hot(i, 6), ids), "mean": (lambda x: jnp.mean(x, 0), x), "var": (lambda x: jnp.var(x, 1), x),
    "broadcast": (lambda x, b: x * b + b, x, floats(6, seed=5)), "matmul": (lambda x, m: x @ m, x, m),
    "batched_matmul": (jnp.matmul, floats(2, 4, 6, seed=6), floats(6, 5, seed=7)),
    "einsum_attention": (lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), floats(2, 3, 2, 4, seed=8), floats(2, 5, 2, 4, seed=9)),
    "einsum_three": (lambda a, b, c: jnp.einsum("ij,jk,kl->il", a, b, c), x, m, floats(3, 2, seed=10)),
    "einsum_trace": (lambda a: jnp.einsum("ii", a), floats(4, 4, seed=11)),
    "einsum_diagonal": (lambda a: jnp.einsum("iij->ji", a), floats(4, 4, 3, seed=12)),
    "einsum_outer": (lambda a, b: jnp.einsum("i,j", a, b), floats(3, seed=13), floats(4, seed=14)),
    "einsum_sum": (lambda a, b: jnp.einsum("ij,k->j", a, b), x, floats(4, seed=14)),
    "einsum_more": (lambda a, b: jnp.einsum("...ij,...jk->...ik", a, b), floats(2, 1, 3, 4, seed=20), floats(3, 4, 2, seed=21)),
    "einsum_more_implicit": (lambda a, b: jnp.einsum("i...,...j", a, b), floats(2, 3, seed=20), floats(3, 4, seed=21)),
    "einsum_swapped": (lambda a, b: jnp.einsum("ij,jk->ki", a, b), x, m),
    "einsum_batches": (lambda a, b: jnp.einsum("abi,baj->iabj", a, b), floats(2, 3, 4, seed=22), floats(3, 2, 5, seed=23)),
    "einsum_path": (lambda *a: jnp.einsum("abc,cd,db,be->ae", *a), floats(2, 3, 4, seed=24), floats(4, 5, seed=25), floats(5, 3, seed=26), floats(3, 2, seed=27)),
    "einsum_accumulating": (lambda a, b: jnp.einsum("ij,jk->ik", a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32), x, m),
    "conv_same": (lambda i, k: lax.conv_general_dilated(i, k, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), image, kernel),
    "conv_dilated": (lambda i, k: lax.conv_general_dilated(i, k, (1, 1), [(2, 1), (0, 3)], rhs_dilation=(2, 1), dimension_numbers=("NHWC", "HWIO", "NHWC")), image, kernel),
    "conv_grouped": (lambda i, k: lax.conv_general_dilated(i, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3), image, floats(2, 2, 1, 6, seed=15)),
    "max_pool": (lambda i: lax.reduce_window(i, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), image),
    "avg_pool": (lambda i: lax.reduce_window(i, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") / lax.reduce_window(jnp.ones_like(i), 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), image),
    "take": (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), floats(6, 3, seed=16), ids),
    "take_columns": (lambda x, i: jnp.take(x, i, axis=1, mode="clip"), x, ids),
    "take_fill": (lambda x, i: jnp.nan_to_num(jnp.take(x, i, axis=0, mode="fill", fill_value=jnp.nan), nan=7.0), floats(4, 3, seed=16), ids),
    "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i, axis=1), x, np.asarray([[0, 5], [1, 1], [4, 2], [3, 0]], np.int32)),
    "at_set": (lambda x, u: x.at[np.asarray([2, 0])].set(u), x, floats(2, 6, seed=17)),
    "at_add": (lambda x, u, i: x.at[i].add(u), x, floats(3, 6, seed=18), rows),
    "at_add_columns": (lambda x, u, i: x.at[:, i].add(u), x, floats(4, 3, seed=19), rows),
    "take_wrap": (lambda x, i: jnp.take(x, i, axis=0, mode="wrap"), x, wild),
    "take_fill_negative": (lambda x, i: jnp.nan_to_num(jnp.take(x, i, axis=0), nan=7.0), x, wild),
    "take_fill_whole": (lambda x, i: jnp.take(x, i, axis=0), rows, wild),
    "take_along_axis_fill": (lambda x, i: jnp.nan_to_num(jnp.take_along_axis(x, i, axis=1), nan=7.0), x, np.asarray([[0, -6], [9, -1], [4, -7], [3, 6]], np.int32)),
    "index": (lambda x, i, j: x[i, j], x, rows, ids[:, 1:]), "index_rows": (lambda x, i: x[i], x, rows),
    "at_set_outside": (lambda x, u, i: x.at[i].set(u), x, floats(4, 6, seed=18), np.asarray([-1, 4, 0, -5], np.int32)),
    "at_mul": (lambda x, u, i: x.at[i].multiply(u, unique_indices=True), x, floats(2, 6, seed=18), rows[:2]),
    "at_max": (lambda x, u, i: x.at[i].max(u), x, floats(3, 6, seed=18), rows),
    "at_min": (lambda x, u, i: x.at[:, i].min(u), x, floats(4, 3, seed=19), rows),
    "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 5), x, np.asarray([1, 3, 1, 7], np.int32)),
    "segment_max": (lambda x, i: jax.ops.segment_max(x, i, 3), x, np.asarray([1, 2, 1, 0], np.int32)),
    "segment_min": (lambda x, i: jax.ops.segment_min(x, i, 3), x, np.asarray([1, 2, 1, 0], np.int32)),
    "segment_prod": (lambda x, i: jax.ops.segment_prod(x, i, 3, unique_indices=True), x[:3], np.asarray([1, 2, 0], np.int32)),
    "scatter": (lambda x, u, i: x.at[i].add(u), x, floats(3, 6, seed=18), rows),
    "conv_transpose": (lambda i, k: lax.conv_transpose(i, k, (2, 3), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), image, kernel),
    "conv_transpose_valid": (lambda i, k: lax.conv_transpose(i, k, (2, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")), image, kernel),
    "conv_layout": (lambda i, k: lax.conv_general_dilated(i.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1), (1, 1), "SAME_LOWER"), image, floats(2, 3, 3, 4, seed=4)),
    "sum_pool": (lambda i: lax.reduce_window(i, 0.0, lax.add, (1, 2, 3, 1), (1, 1, 2, 1), "SAME") / 6, image),
    "min_pool": (lambda i: lax.reduce_window(i, jnp.inf, lax.min, (1, 2, 2, 1), (1, 2, 1, 1), [(0, 0), (1, 0), (0, 1), (0, 0)]), image),
    "reduce_window": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 3), "VALID"), x),
    "sort_descending": (lambda x: jnp.sort(x, axis=0, descending=True), x),
    "sort_with": (lambda x, y: lax.sort((x, y), dimension=1, num_keys=1)[1], x, y),
    "searchsorted": (lambda a, q: jnp.searchsorted(a, q).astype(np.int32), np.asarray([-1, 0, 0, 2, 5], np.float32), queries),
    "searchsorted_right": (lambda a, q: jnp.searchsorted(a, q, side="right").astype(np.int32), np.asarray([-1, 0, 0, 2, 5], np.float32), queries),
    "cumsum_reverse": (lambda x: lax.cumsum(x, 0, reverse=True), x), "cummin_reverse": (lambda x: lax.cummin(x, 1, reverse=True), x),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 1), x),
    "associative_scan": (lambda x, y: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, y), axis=1, reverse=True)[1], floats(4, 7), floats(4, 7, seed=1)),
    "diff": (jnp.diff, x), "linspace": (lambda: jnp.linspace(-1.0, 2.5, 8),), "causal_mask": (lambda x: jnp.tril(x, 2), x),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(4)), x),
    "triangular_solve": (lambda a, b: jax.scipy.linalg.solve_triangular(jnp.tril(a) + 3 * jnp.eye(4), b, lower=True), floats(4, 4, seed=28), y),
    "rfft": (lambda x: jnp.fft.rfft(x).real + 2 * jnp.fft.rfft(x).imag, x),
    "fft_and_back": (lambda x, y: jnp.fft.ifft(jnp.fft.fft(x) * jnp.fft.fft(y)).real, x, y),
    "irfft": (lambda x, y: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y), 6), x, y),
    "norm": (lambda x: jnp.linalg.norm(x, axis=1), x), "norm_one": (lambda x: jnp.linalg.norm(x, 1, axis=0), x),
    "norm_largest": (lambda x: jnp.linalg.norm(x, jnp.inf, axis=1), x), "norm_three": (lambda x: jnp.linalg.norm(x, 3, axis=1), x),
    "trace": (jnp.trace, x), "diagonal": (lambda x: jnp.diagonal(x, 1, -2, -1), floats(2, 3, 4, seed=29)), "diagonal_below": (lambda x: jnp.diagonal(x, -2), x),
    "outer": (jnp.outer, floats(3, seed=30), floats(2, 2, seed=31)), "cross": (jnp.cross, floats(4, 3), floats(4, 3, seed=1)),
    "var_ddof": (lambda x: jnp.var(x, 1, ddof=1), x), "std": (lambda x: jnp.std(x, 0), x),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 5, 4), x), "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.int32), rows.astype(np.float32)),
    "sign_bit": (lambda x: jnp.signbit(x).astype(np.int32), edges), "nan_to_num": (lambda x: jnp.nan_to_num(jnp.log(x) - jnp.log(-x)) / 1e38, np.asarray([0, 1, -2], np.float32)),
    "trunc": (jnp.trunc, x), "modulo": (jnp.mod, 3 * x, y), "modulo_whole": (lambda i: i % 3 * 10 + i % -4, wild),
    "floor_div": (jnp.floor_divide, 3 * x, y), "floor_div_whole": (lambda i: i // 3 * 10 + i // -4, wild),
    "clip": (lambda x, y: jnp.clip(x, -0.5, y), x, y),
    "sort": (lambda x: jnp.sort(x, axis=1), x), "argsort": (lambda x: jnp.argsort(x, axis=0).astype(np.int32), x),
    "top_k": (lambda x: lax.top_k(x, 3)[0], x), "top_k_places": (lambda x: lax.top_k(x, 3)[1], x),
    "argmax": (lambda x: jnp.argmax(x, axis=1).astype(np.int32), np.asarray([[1, 3, 3], [2, np.nan, 5]], np.float32)),
    "argmin": (lambda x: jnp.argmin(x, axis=0).astype(np.int32), x),
    "cumsum": (lambda x: jnp.cumsum(x, axis=1), x), "cumprod": (lambda x: jnp.cumprod(x, axis=0), x), "cummax": (lambda x: lax.cummax(x, axis=1), x),
    "tril": (lambda x: jnp.tril(x, 1), x), "triu": (lambda x: jnp.triu(x, -1), x), "roll": (lambda x: jnp.roll(x, 2, axis=1), x),
    "tile": (lambda x: jnp.tile(x, (2, 3)), x), "slice_by": (lambda x: x[:, 1:-1:2], x), "flip": (lambda x: jnp.flip(x, 1), x),
    "clamp": (lambda x: jnp.clip(x, -1.0, 0.5), x), "where": (lambda x, y: jnp.where(x > y, x * y, y), x, y), "atan2": (jnp.arctan2, x, y),
    "scan": (lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), jnp.zeros(6), x)[1], x),
    "scan_reverse": (lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), jnp.zeros(6), x, reverse=True)[1], x),
    "fori": (lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * (i + 1.0), x), x),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda: x * 2.0, lambda: -x), x),
    "compare_constants": (lambda x: (jnp.zeros((4, 6), jnp.int32) > -4).astype(jnp.float32) + 0 * x, x),
    "expm1": (jnp.expm1, x), "erf": (jax.scipy.special.erf, x), "pow": (lambda x, y: jnp.abs(x) ** y, x, y),
}

def array(value):
    value = np.asarray(value)
    name = {"float32": "f32", "int32": "i32"}[value.dtype.name]
    return dict(dtype=name, shape=list(value.shape), data=[float(f"{v:.9g}") if v == v else None for v in value.ravel().tolist()])

def case(function, *inputs):
    inputs = [jnp.asarray(i) for i in inputs]
    result = function(*inputs)
    out = dict(inputs=[array(i) for i in inputs], result=array(result), gradients=[])
    by = [i for i, value in enumerate(inputs) if value.dtype == np.float32]
    if result.dtype == jnp.float32 and by:
        weights = jnp.cos(jnp.arange(result.size, dtype=jnp.float32)).reshape(result.shape)
        out["gradients"] = [array(g) for g in jax.grad(lambda *a: (function(*a) * weights).sum(), by)(*inputs)]
    return out

print("{")
print(",\n".join(f"{json.dumps(name)}: {json.dumps(case(*spec), separators=(',', ':'))}" for name, spec in CASES.items()))
print("}")
