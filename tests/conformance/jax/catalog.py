"""The list of programs, and the decorators that add to it.

A program of kind K is a function in `kinds/K.py`. `@program(ShapeDtypeStruct, ...)` lowers the function for the mesh with axes
`data` and `model`; `@builder()` marks a function that returns the lowered program, or its text, itself.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

AXES = ("data", "model")
SHAPE = (4, 2)
DEVICES = 8


@dataclasses.dataclass
class Program:
    name: str
    kind: str
    build: object  # () -> a lowered program, or the text of a module
    needs: tuple = ()  # attributes of the package `jax` without which the program cannot be written
    since: tuple = ()  # the first version of JAX that can lower it, with `why`
    why: str = ""
    gspmd: bool = False  # annotated with `mhlo.sharding`, as JAX does without Shardy
    x64: bool = False
    loss: object = None  # () -> (forward pass, JAX's gradient, argument numbers), or None
    mesh: str = ""  # the mesh to partition for, where the program has none
    values: str = ""  # the reason why outputs are not compared, e.g. that the program calls Python
    rtol: float = 0.0  # of gradients; 0 stands for that of the type


PROGRAMS = []


def arg(dtype, *shape):
    return jax.ShapeDtypeStruct(shape, dtype)


def f32(*shape):
    return arg(jnp.float32, *shape)


def bf16(*shape):
    return arg(jnp.bfloat16, *shape)


def i32(*shape):
    return arg(jnp.int32, *shape)


def mesh(explicit=False, shape=SHAPE, axes=AXES):
    kind = AxisType.Explicit if explicit else AxisType.Auto
    devices = np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape)
    return Mesh(devices, axes, axis_types=(kind,) * len(axes))


def spec(text):
    """`data,-` is P('data', None); `data+model` is one dimension over both; `` is P()."""
    dims = [d for d in text.split(",") if d]
    return P(*[None if d == "-" else d.split("+")[0] if "+" not in d else tuple(d.split("+")) for d in dims])


def _kind(function):
    return function.__module__.rsplit(".", 1)[-1]


def program(*args, specs=(), out=None, grad=(), explicit=False, donate=(), shape=SHAPE, axes=AXES, platform=None, **options):
    """Adds the decorated function of arrays, lowered for arguments `args` that are sharded as `specs` say.

    `platform` is the one that the program is lowered for where JAX has no lowering for CPUs.
    """

    def add(function):
        def shardings(mesh_):
            texts = list(specs) + [""] * (len(args) - len(specs))
            return tuple(NamedSharding(mesh_, spec(t)) for t in texts)

        def structs(mesh_):
            placed = zip(args, shardings(mesh_))
            return [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s) for a, s in placed]

        def lower(f):
            mesh_ = mesh(explicit, shape, axes)
            with jax.set_mesh(mesh_):
                extra = {}
                if out is not None:
                    outs = tuple(NamedSharding(mesh_, spec(t)) for t in out)
                    extra["out_shardings"] = outs if len(outs) > 1 else outs[0]
                traced = jax.jit(f, donate_argnums=donate, **extra).trace(*structs(mesh_))
                return traced.lower(lowering_platforms=(platform,) if platform else None)

        def loss():
            mesh_ = mesh(explicit, shape, axes)

            def scalar(*xs):
                total = jnp.float32(0)
                for leaf in jax.tree.leaves(function(*xs)):
                    if jnp.issubdtype(leaf.dtype, jnp.floating):
                        weights = jnp.cos(jnp.arange(leaf.size, dtype=jnp.float32)).reshape(leaf.shape)
                        total = total + jnp.sum(leaf.astype(jnp.float32) * weights)
                return total

            with jax.set_mesh(mesh_):
                xs = structs(mesh_)
                forward = jax.jit(scalar).lower(*xs)
                return forward, jax.jit(jax.value_and_grad(scalar, argnums=grad)).lower(*xs), grad

        name = function.__name__
        fields = Program(name, _kind(function), lambda: lower(function), loss=loss if grad else None, **options)
        PROGRAMS.append(fields)
        return function

    return add


def builder(**options):
    """Adds the decorated function, which returns a lowered program or the text of a module."""

    def add(function):
        PROGRAMS.append(Program(function.__name__, _kind(function), function, **options))
        return function

    return add


def constrain(x, text):
    """A sharding constraint under the current mesh."""
    return jax.lax.with_sharding_constraint(x, spec(text))


def manual(ins, outs, manual_axes=AXES, check=True):
    """`jax.shard_map` over the current mesh."""
    ins = tuple(spec(t) for t in ins)
    outs = tuple(spec(t) for t in outs)

    def wrap(function):
        return jax.shard_map(
            function,
            in_specs=ins,
            out_specs=outs if len(outs) > 1 else outs[0],
            axis_names=set(manual_axes),
            check_vma=check,
        )

    return wrap
