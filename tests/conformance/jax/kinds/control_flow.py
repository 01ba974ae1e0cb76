"""Loops, branches, scans, maps, differentiation rules and recomputation."""

import jax
import jax.numpy as jnp
from catalog import constrain, f32, i32, program
from jax import lax


@program(f32(16, 8), specs=["data,model"])
def while_loop(x):
    return lax.while_loop(lambda c: c[1] < 5, lambda c: (jnp.sin(c[0]) + 0.1, c[1] + 1), (x, 0))[0]


@program(f32(16, 8), specs=["data,model"])
def while_loop_that_asks_a_split_value(x):
    return lax.while_loop(lambda c: c.sum() > 1.0, lambda c: c * 0.5, x)


@program(f32(16, 8), f32(8, 8), specs=["data,-", "-,model"], grad=(0, 1))
def fori_loop_of_known_length(x, w):
    return lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ w), x)


@program(f32(16, 8), i32(), specs=["data,-"])
def fori_loop_of_unknown_length(x, n):
    return lax.fori_loop(0, n, lambda i, c: c + i, x)


@program(f32(6, 8, 8), f32(16, 8), specs=["-,-,model", "data,-"], grad=(0, 1))
def scan_over_layers(weights, x):
    return lax.scan(lambda c, w: (jnp.tanh(c @ w), c.sum()), x, weights)


@program(f32(16, 8), specs=["data,-"], grad=(0,))
def reversed_and_unrolled_scan(x):
    return lax.scan(lambda c, r: (c * 0.9 + r, c), jnp.zeros(8), x, reverse=True, unroll=4)[1]


@program(f32(6, 8, 8), f32(16, 8), specs=["-,-,model", "data,-"], grad=(0, 1))
def scan_with_checkpoint(weights, x):
    layer = jax.checkpoint(lambda c, w: (jnp.sin(c @ w), None))
    return lax.scan(layer, x, weights)[0]


@program(f32(16, 8), specs=["data,-"])
def nested_loops(x):
    def outer(i, c):
        shift = c.sum()
        return lax.fori_loop(0, 3, lambda j, d: d * 0.5 + shift, c)

    return lax.fori_loop(0, 2, outer, x)


@program(f32(16, 8), f32(8), specs=["data,-", "model"])
def inner_while_with_invariant(x, limit):
    def outer(c):
        inner = lambda d: (d[0] * 0.5, d[1])
        return lax.while_loop(lambda d: jnp.any(d[0] > d[1]), inner, (c[0], limit))[0] + 0.01, c[1] + 1

    return lax.while_loop(lambda c: c[1] < 3, outer, (x, 0))[0]


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def cond(x):
    return lax.cond(x.sum() > 0.0, jnp.sin, lambda v: v * v, x)


@program(f32(16, 8), i32(), specs=["data,model"], grad=(0,))
def switch(x, which):
    return lax.switch(which, [jnp.sin, jnp.cos, lambda v: v @ v.T @ v], x)


@program(f32(16, 8), specs=["data,-"])
def associative_scan(x):
    return lax.associative_scan(lambda a, b: a * b + a, x)


@program(f32(16, 8), specs=["data,-"], grad=(0,))
def map_over_rows(x):
    return lax.map(lambda row: jnp.sort(row) * row.sum(), x, batch_size=4)


@program(f32(16, 8), f32(8, 4), specs=["data,-", "-,model"], grad=(0, 1))
def checkpoint_with_policy(x, w):
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    return jax.checkpoint(lambda a, b: jnp.sin(jnp.cos(a @ b)), policy=policy)(x, w)


@jax.custom_vjp
def _clipped(x):
    return x * x


_clipped.defvjp(lambda x: (x * x, x), lambda x, g: (jnp.clip(g * x, -0.5, 0.5),))


@jax.custom_jvp
def _softened(x):
    return jnp.abs(x)


_softened.defjvp(lambda x, t: (jnp.abs(x[0]), jnp.tanh(x[0]) * t[0]))


@program(f32(16, 8), specs=["data,-"])
def gradient_with_custom_rules(x):
    return jax.grad(lambda v: (_clipped(v) + _softened(v)).sum())(x)


@program(f32(8), specs=["data"])
def jacobian_and_hessian(x):
    f = lambda v: jnp.sin(v).prod() + v @ v
    return jax.jacrev(lambda v: jnp.outer(v, v).sum(0))(x), jax.hessian(f)(x)


@program(f32(16, 8), specs=["data,-"])
def forward_derivative(x):
    return jax.jvp(jnp.tanh, (x,), (constrain(jnp.ones_like(x), "-,model"),))


@program(f32(16, 8), specs=["data,-"])
def optimization_barrier_and_stop_gradient(x):
    a, b = lax.optimization_barrier((x, lax.stop_gradient(x) * 2.0))
    return a + b


@program(f32(16, 8), specs=["data,-"])
def composite(x):
    f = lax.composite(lambda v: jnp.sin(v) + 1.0, "conformance.shifted_sine", version=1)
    return f(x) * 2.0


@program(f32(16, 8), f32(8, 16), specs=["data,-", "-,model"], grad=(0, 1))
def einsum_of_vmapped_functions(x, w):
    return jax.vmap(jax.vmap(jnp.dot, (None, 1)), (0, None))(x, w)


@program(f32(16, 8), specs=["data,-"])
def reduce_with_own_function(x):
    two = lax.reduce((x, -x), (0.0, 0.0), lambda a, b: (a[0] + b[0], jnp.minimum(a[1], b[1])), (1,))
    return two, lax.reduce(x, jnp.float32(1), lambda a, b: a * b, (0,))
