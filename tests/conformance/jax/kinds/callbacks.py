"""Python called from programs: prints, pure and ordered callbacks."""

import jax
import jax.numpy as jnp
import numpy as np
from catalog import builder, f32, program
from jax.experimental import io_callback

PYTHON = "calls Python, which only the process that exported it has"


@program(f32(8, 16), specs=["data,model"], values=PYTHON)
def debug_print(x):
    jax.debug.print("sum {}", x.sum())
    return x * 2.0


@program(f32(8, 16), specs=["data,model"], values=PYTHON)
def debug_print_of_a_split_value(x):
    jax.debug.print("{x}", x=x)
    return x + 1.0


@builder(values=PYTHON, mesh="data=8")
def ordered_debug_print():
    """JAX lowers ordered effects for one device alone."""

    def f(x):
        jax.debug.print("first {}", x.sum(), ordered=True)
        jax.debug.print("second {}", x.max(), ordered=True)
        return x + 1.0

    return jax.jit(f).lower(f32(8, 16))


@program(f32(8, 16), specs=["data,-"], values=PYTHON)
def pure_callback(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1.0


@program(f32(8, 16), specs=["data,-"], values=PYTHON)
def callback_with_an_effect(x):
    seen = io_callback(lambda v: np.float32(v.sum()), jax.ShapeDtypeStruct((), jnp.float32), x.sum())
    return x * seen


@program(f32(8, 16), specs=["data,-"], values=PYTHON)
def debug_callback_in_a_loop(x):
    def body(i, c):
        jax.debug.callback(lambda *_: None, c.sum())
        return c * 0.5

    return jax.lax.fori_loop(0, 3, body, x)


@program(f32(8, 16), specs=["data,-"], values=PYTHON)
def debug_print_in_a_branch(x):
    def noisy(v):
        jax.debug.print("large {}", v.sum())
        return v

    return jax.lax.cond(x.sum() > 0, noisy, lambda v: -v, x)


@program(f32(8, 16), specs=["data,-"], values=PYTHON)
def callback_for_each_row(x):
    shape = jax.ShapeDtypeStruct((), jnp.float32)
    call = lambda row: jax.pure_callback(lambda r: r.sum(-1), shape, row, vmap_method="expand_dims")
    return jax.vmap(call)(x)
