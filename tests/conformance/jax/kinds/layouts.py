"""Layouts that a user asks for: of arguments, of results, inside, and left to the compiler."""

import jax
import jax.numpy as jnp
from catalog import builder, f32, mesh, program, spec
from jax.experimental.layout import Format, Layout, with_layout_constraint
from jax.sharding import NamedSharding


def _format(order, text, mesh_):
    return Format(Layout(major_to_minor=order), NamedSharding(mesh_, spec(text)))


def _lowered(f, ins, outs, *shapes):
    return jax.jit(f, in_shardings=ins, out_shardings=outs).lower(*[f32(*s) for s in shapes])


@builder()
def column_major_argument():
    m = mesh()
    return _lowered(jnp.tanh, (_format((1, 0), "data,-", m),), None, (16, 32))


@builder()
def column_major_result():
    m = mesh()
    return _lowered(lambda x: x.T * 2.0, (NamedSharding(m, spec("data,model")),), _format((1, 0), "-,data", m), (16, 32))


@builder()
def permuted_three_dimensions():
    m = mesh()
    return _lowered(jnp.sin, (_format((2, 0, 1), "data,-,model", m),), _format((1, 2, 0), "-,model,-", m), (8, 4, 6))


@builder()
def layout_of_every_value_left_open():
    m = mesh()
    auto = Format(Layout.AUTO, NamedSharding(m, spec("data,-")))
    return _lowered(lambda x: jnp.dot(x, x.T), (auto,), auto, (16, 32))


@program(f32(16, 32), specs=["data,model"])
def layout_constraint_inside(x):
    return with_layout_constraint(x.T * 2.0, Layout(major_to_minor=(1, 0))) + 1.0


@builder()
def donated_argument_in_another_layout():
    m = mesh()
    f = _format((1, 0), "data,-", m)
    return jax.jit(lambda x: x + 1.0, in_shardings=(f,), out_shardings=f, donate_argnums=0).lower(f32(16, 32))
