"""shardc as the partitioner of JAX.

JAX compiles a program for several devices as one module with global shapes and shardings. Before XLA gets such a module, shardc partitions it. XLA
gets the per-device program as the body of one `sdy.manual_computation`, so its own partitioner has nothing to decide; the shapes and shardings of
arguments and results stay as they are for JAX.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax._src import compiler, config
from jax.sharding import NamedSharding, PartitionSpec

from shardc import _shardc
from shardc._inputs import module_bytes, target_text

# The options of the innermost `jax_plugin`. JAX traces and compiles a function again when they change.
_PLUGIN = config.string_or_object_state(
    "shardc_partitioner",
    default=None,
    help="The options of shardc, if it partitions programs instead of XLA.",
    include_in_jit_key=True,
    include_in_trace_context=True,
)

# Functions of `jit` have this suffix and a number in their names, which all transformations of JAX keep.
_SUFFIX = ".shardc"


class ShardingWarning(UserWarning):
    """A program is partitioned, but costs more than its annotations suggest."""


class _Options:
    """The options of shardc for some programs. Equal options are one object."""

    _known: dict[tuple[Any, ...], _Options] = {}
    _by_number: list[_Options] = []

    def __init__(self, options: dict[str, Any], number: int) -> None:
        self.warns = options.pop("warn")
        self.falls_back = options.pop("fallback")
        self.compiler = _shardc.Compiler(mode="partition", **options)
        self.number = number

    @classmethod
    def of(cls, options: dict[str, Any]) -> _Options:
        if options.get("target") is not None:
            options["target"] = target_text(options["target"])
        key = tuple(sorted(options.items()))
        if key not in cls._known:
            cls._known[key] = cls(dict(options), len(cls._by_number))
            cls._by_number.append(cls._known[key])
        return cls._known[key]

    @classmethod
    def of_module(cls, name: str) -> _Options | None:
        """The options of the function of `jit` from which a module was made, or else those of `jax_plugin`."""
        _, found, number = name.rpartition(_SUFFIX)
        return cls._by_number[int(number)] if found and number.isdigit() else _PLUGIN.value


def _partitioned(module: Any, name: str, options: _Options) -> Any:
    """Partitions a module of JAX."""
    try:
        part = options.compiler.partition(_shardc.Program.read(module_bytes(module), name=name))
        code = part.manual_computation().bytecode()
    except _shardc.InvalidInputError as error:
        # Without a mesh, all devices run the whole program, and there is nothing to partition.
        if error.code == "SH0303":
            return module
        raise
    except _shardc.UnsupportedError as error:
        if not options.falls_back:
            raise
        warnings.warn(f"XLA partitions {name} instead of shardc: {error}", ShardingWarning, stacklevel=2)
        return module
    text = part.warning_text() if options.warns else ""
    if text:
        warnings.warn(f"{name}:\n{text}", ShardingWarning, stacklevel=2)
    with module.context:
        return type(module).parse(code)


def _install() -> None:
    """Puts shardc before XLA's compiler, and before JAX's cache of compiled programs, whose keys are made of modules."""
    xla = compiler.compile_or_get_cached

    @functools.wraps(xla)
    def compile_or_get_cached(backend: Any, computation: Any, devices: Any, compile_options: Any, *rest: Any, **named: Any) -> Any:
        if compile_options.num_partitions > 1:
            name = str(computation.operation.attributes["sym_name"]).strip('"')
            options = _Options.of_module(name)
            if options is not None:
                computation = _partitioned(computation, name, options)
        return xla(backend, computation, devices, compile_options, *rest, **named)

    compiler.compile_or_get_cached = compile_or_get_cached


_install()


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool = False,
    target: str | None = None,
    combine_bytes: int = 0,
    rules: str | None = None,
    warn: bool = True,
    fallback: bool = False,
    **jit_options: Any,
) -> Any:
    """`jax.jit` with shardc as the partitioner.

    The result is a function of `jax.jit`: it takes and returns `jax.Array`, has `lower` and `trace`, and composes with `jax.grad`, `jax.vmap` and other
    transformations, whose programs shardc partitions too. Inside of another `jax.jit`, the outer function decides about the partitioner.

    Args:
      fun: the function; without it, a decorator is returned.
      strict: whether an all-gather that no annotation requests is an error.
      target: the devices for which alternatives are compared, such as `"v5p"`.
      combine_bytes: the size up to which shardc combines collectives of the same kind; by default, XLA does.
      rules: the text of a file of sharding rules for custom calls.
      warn: whether warnings of shardc become Python warnings.
      fallback: whether XLA partitions a program that shardc does not support, with a warning, instead of an error.
      jit_options: the options of `jax.jit`: `in_shardings`, `out_shardings`, `static_argnums`, `donate_argnums`, ...

    >>> import jax, shardc
    >>> from jax.sharding import NamedSharding, PartitionSpec
    >>> mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    >>> x = jax.device_put(jax.numpy.ones((8, 4)), NamedSharding(mesh, PartitionSpec("data", "model")))
    >>> shardc.jit(lambda x: x.sum(axis=1))(x).sharding.spec
    P('data',)
    """
    own: dict[str, Any] = {"strict": strict, "target": target, "combine_bytes": combine_bytes, "rules": rules, "warn": warn, "fallback": fallback}
    if fun is None:
        return functools.partial(jit, **own, **jit_options)
    number = _Options.of(own).number

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    named.__name__ = f"{getattr(fun, '__name__', 'function')}{_SUFFIX}{number}"
    return jax.jit(named, **jit_options)


@contextlib.contextmanager
def jax_plugin(
    *,
    strict: bool = False,
    target: str | None = None,
    combine_bytes: int = 0,
    rules: str | None = None,
    warn: bool = True,
    fallback: bool = True,
) -> Iterator[None]:
    """Makes JAX use shardc as its partitioner in a `with` block.

    Functions that were compiled before are compiled again when they are called in the block. The options are those of `jit`; by default, XLA
    partitions what shardc does not support, because JAX also compiles programs of its own.

    >>> import jax, shardc
    >>> with shardc.jax_plugin():
    ...     jax.jit(lambda x: x + 1)(1)
    Array(2, dtype=int32, weak_type=True)
    """
    options: dict[str, Any] = {"strict": strict, "target": target, "combine_bytes": combine_bytes, "rules": rules, "warn": warn, "fallback": fallback}
    with _PLUGIN(_Options.of(options)):
        yield


def manifest_shardings(manifest: dict[str, Any], mesh: jax.sharding.Mesh) -> tuple[list[NamedSharding], list[NamedSharding]]:
    """The shardings of the inputs and the outputs of a manifest, as shardings of JAX on a mesh with the same axes.

    >>> import jax, shardc
    >>> mesh = jax.make_mesh((8,), ("data",))
    >>> text = "func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> { return %x : tensor<16xf32> }"
    >>> part = shardc.partition(text, mesh=mesh, specs={0: ("data",)})
    >>> shardc.manifest_shardings(part.manifest, mesh)[0][0].spec
    P('data',)
    """

    def sharding(tensor: dict[str, Any]) -> NamedSharding:
        dims = (axes[0] if len(axes) == 1 else tuple(axes) or None for axes in tensor["spec"])
        return NamedSharding(mesh, PartitionSpec(*dims))

    return [sharding(t) for t in manifest["inputs"]], [sharding(t) for t in manifest["outputs"]]
