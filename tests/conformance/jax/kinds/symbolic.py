"""Exports: fixed and symbolic shapes, exports called from other programs, several platforms."""

import jax
import jax.numpy as jnp
from catalog import builder, f32, mesh, spec
from jax import export
from jax.sharding import NamedSharding


def _struct(shape, text, mesh_):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh_, spec(text)))


def _exported(f, *structs, **options):
    return export.export(jax.jit(f), **options)(*structs)


def _model(x, w):
    return jax.nn.softmax(jnp.tanh(x @ w))


def _called(exported, *structs):
    """A program that calls an export."""
    return jax.jit(lambda *xs: exported.call(*xs)).lower(*structs)


@builder()
def exported_with_shardings():
    m = mesh()
    return str(_exported(_model, _struct((16, 8), "data,-", m), _struct((8, 4), "-,model", m)).mlir_module())


@builder()
def exported_for_two_platforms():
    m = mesh()
    structs = _struct((16, 8), "data,-", m), _struct((8, 4), "-,model", m)
    return str(_exported(_model, *structs, platforms=("cpu", "tpu")).mlir_module())


@builder(mesh="data=8")
def exported_without_mesh():
    f = lambda x: jnp.arange(x.shape[0]) + x
    return str(_exported(f, f32(16)).mlir_module())


@builder()
def export_called():
    m = mesh()
    structs = _struct((16, 8), "data,-", m), _struct((8, 4), "-,model", m)
    return _called(_exported(_model, *structs), *structs)


@builder()
def symbolic_batch_called():
    m = mesh()
    (b,) = export.symbolic_shape("b")
    exported = _exported(_model, f32(b, 8), f32(8, 4))
    return jax.jit(exported.call, in_shardings=(NamedSharding(m, spec("data,-")), NamedSharding(m, spec("-,model")))).lower(
        f32(16, 8), f32(8, 4)
    )


@builder()
def symbolic_reshape_called():
    m = mesh()
    (b,) = export.symbolic_shape("b")
    exported = _exported(lambda x: (x.reshape(-1, 4), jnp.arange(x.shape[0]) + x.sum()), f32(b, 8))
    return jax.jit(exported.call, in_shardings=NamedSharding(m, spec("data,-"))).lower(f32(16, 8))


@builder()
def symbolic_constraint_called():
    m = mesh()
    b = export.symbolic_shape("8*b")[0]
    exported = _exported(lambda x: x.reshape(8, -1).sum(0), f32(b, 8))
    return jax.jit(exported.call, in_shardings=NamedSharding(m, spec("data,-"))).lower(f32(16, 8))


@builder()
def symbolic_two_sizes_called():
    m = mesh()
    b, t = export.symbolic_shape("b, t")
    exported = _exported(lambda x: jnp.einsum("btd,bsd->bts", x, x), f32(b, t, 8))
    return jax.jit(exported.call, in_shardings=NamedSharding(m, spec("data,-,model"))).lower(f32(8, 6, 8))


@builder()
def symbolic_gradient_called():
    m = mesh()
    (b,) = export.symbolic_shape("b")
    exported = _exported(jax.grad(lambda w, x: _model(x, w).std()), f32(8, 4), f32(b, 8))
    return jax.jit(exported.call, in_shardings=(None, NamedSharding(m, spec("data,-")))).lower(f32(8, 4), f32(16, 8))


@builder(mesh="data=8", values="its batch has no size")
def symbolic_batch_itself():
    (b,) = export.symbolic_shape("b")
    return str(_exported(_model, f32(b, 8), f32(8, 4)).mlir_module())
