"""shardc as the partitioner of JAX.

JAX compiles a program for several devices as one module with global shapes and shardings. Before XLA gets such a module, shardc partitions it. XLA
gets the per-device program as the body of one `sdy.manual_computation`, so its own partitioner has nothing to decide; the shapes and shardings of
arguments and results stay as they are for JAX.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pathlib
import sys
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

# Functions of `jit` have this suffix in their names, which all transformations of JAX keep, and a digest of options that are not the default ones.
_SUFFIX = ".shardc"

# Custom calls that only XLA's partitioner can expand.
_OF_PARTITIONER = (b"CustomSPMDPartitioning", b"InspectSharding")

# Warnings about operations for one device, such as host callbacks. XLA runs them once and sends their results; shardc would run them on each device.
_ON_ONE_DEVICE = ("SH0311", "SH0316")


class ShardingWarning(UserWarning):
    """A program costs more than its annotations suggest, or was left to XLA."""


class _Options:
    """The options of shardc for some programs. Equal options are one object."""

    _known: dict[str, _Options] = {}

    def __init__(self, suffix: str, warn: bool, fallback: bool, **options: Any) -> None:
        self.suffix, self.warns, self.falls_back = suffix, warn, fallback
        self.compiler = _shardc.Compiler(mode="partition", **options)

    @classmethod
    def of(cls, options: dict[str, Any], default: dict[str, Any]) -> _Options:
        """The object of these options, whose suffix has no digest if they are the default ones."""
        if options["target"] is not None:
            options["target"] = target_text(options["target"])
        text = repr(sorted(options.items()))
        digest = "" if options == default else hashlib.sha256(text.encode()).hexdigest()[:8]
        suffix = _SUFFIX + digest
        if suffix not in cls._known:
            cls._known[suffix] = cls(suffix, **options)
        return cls._known[suffix]

    @classmethod
    def of_module(cls, name: str) -> _Options | None:
        """The options of the function of `jit` from which a module was made, or else those of `jax_plugin`."""
        _, found, digest = name.rpartition(_SUFFIX)
        return (cls._known.get(_SUFFIX + digest) if found else None) or _PLUGIN.value


def _unsupported(message: str, code: str | None = None) -> _shardc.UnsupportedError:
    """The error for a program that only XLA can partition for JAX."""
    hint = "fallback=True leaves such programs to XLA"
    error = _shardc.UnsupportedError(f"{message}; {hint}")
    error.code, error.hint, error.diagnostics = code, hint, []
    error.line = error.column = error.user_location = None
    return error


def _check(module: Any, data: bytes, compile_options: Any) -> None:
    """Rejects modules whose manual computation XLA would reject."""
    if not compile_options.executable_build_options.use_shardy_partitioner:
        raise _unsupported("shardc needs Shardy, but jax_use_shardy_partitioner is False")
    for call in _OF_PARTITIONER:
        if call in data:
            raise _unsupported(f"the program has a custom call {call.decode()}, which only XLA's partitioner expands")
    for op in module.body.operations:
        if op.operation.name == "func.func" and str(op.attributes["sym_name"]) == '"main"':
            types = op.attributes["function_type"].value.inputs
            # XLA rejects such manual computations (findings/jax_shard_map_of_empty_arguments.sh).
            if len(types) > 1 and all(0 in getattr(type, "shape", ()) for type in types):
                raise _unsupported("none of the arguments has elements")


def _warn(message: str) -> None:
    """Warns about the innermost line that is neither of JAX nor of this package."""
    own = tuple(str(pathlib.Path(module.__file__).parent) for module in (jax, _shardc) if module.__file__)
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_code.co_filename.startswith(own + ("<frozen",)):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ShardingWarning, stacklevel=level)


def _partitioned(module: Any, name: str, options: _Options, compile_options: Any) -> Any:
    """Partitions a module of JAX."""
    data = module_bytes(module)
    try:
        _check(module, data, compile_options)
        part = options.compiler.partition(_shardc.Program.read(data, name=name))
        for warning in part.warnings:
            if warning["code"] in _ON_ONE_DEVICE:
                raise _unsupported(warning["message"], warning["code"])
        code = part.manual_computation().bytecode()
    except _shardc.InvalidInputError as error:
        # Without a mesh, all devices run the whole program, and there is nothing to partition.
        if error.code == "SH0303":
            return module
        raise
    except _shardc.UnsupportedError as error:
        if not options.falls_back:
            raise
        _warn(f"XLA partitions {name} instead of shardc: {error}")
        return module
    text = part.warning_text() if options.warns else ""
    if text:
        _warn(f"{name}:\n{text}")
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
                computation = _partitioned(computation, name, options, compile_options)
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
    transformations, whose programs shardc partitions too. Inside of a program that another function compiles (an outer `jax.jit`, `jax.lax.scan`,
    `jax.lax.cond`, `jax.shard_map`), that function decides about the partitioner.

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
    own = {"strict": strict, "target": target, "combine_bytes": combine_bytes, "rules": rules, "warn": warn, "fallback": fallback}
    if fun is None:
        return functools.partial(jit, **own, **jit_options)
    if not callable(fun):
        raise TypeError(f"shardc.jit takes a function, not {fun!r}")
    default = {name: jit.__kwdefaults__[name] for name in own}
    suffix = _Options.of(own, default).suffix
    try:
        named = _named(fun, suffix)
    except TypeError:
        # The function is not hashable.
        named = _named.__wrapped__(fun, suffix)
    return jax.jit(named, **jit_options)


@functools.lru_cache(maxsize=1024)
def _named(fun: Callable[..., Any], suffix: str) -> Callable[..., Any]:
    """The function with a name that selects the options. The same function has the same result, which JAX compiles once."""

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    named.__name__ = getattr(fun, "__name__", "function") + suffix
    return named


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

    The block applies to its thread, and to what is compiled in it: `lower(...).compile()` counts where `compile` runs. Functions that were compiled
    before are compiled again when they are called in the block. The options are those of `jit`; by default, XLA
    partitions what shardc does not support, because JAX also compiles programs of its own.

    >>> import jax, shardc
    >>> with shardc.jax_plugin():
    ...     jax.jit(lambda x: x + 1)(1)
    Array(2, dtype=int32, weak_type=True)
    """
    options = {"strict": strict, "target": target, "combine_bytes": combine_bytes, "rules": rules, "warn": warn, "fallback": fallback}
    with _PLUGIN(_Options.of(options, {})):
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
