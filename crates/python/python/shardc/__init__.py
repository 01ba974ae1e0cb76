"""shardc: an SPMD sharding compiler for StableHLO.

A program for one device and a few sharding annotations go in; the program that each device runs comes out, with local shapes and explicit
collectives.

>>> import shardc
>>> program = '''
... func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
...   %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
...   return %0 : tensor<32x16xf32>
... }'''
>>> part = shardc.partition(program, mesh={"data": 4}, specs={"x": ("data", None)})
>>> part.num_devices
4
>>> part.manifest["inputs"][0]["local_shape"]
[8, 64]

`shardc.jit` is `jax.jit` with shardc as the partitioner, and `shardc.jax_plugin` makes JAX use shardc in a `with` block.
"""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Literal

from shardc import _shardc, checkpoint
from shardc._inputs import Mesh, ProgramLike, Specs, as_program, mesh_text, spec_texts, target_text
from shardc._program import answer
from shardc._shardc import (
    InternalError,
    InvalidInputError,
    Partition,
    Program,
    Report,
    ShardcError,
    UnsupportedError,
    __version__,
)

if TYPE_CHECKING:
    from shardc._jax import ShardingWarning, jax_plugin, jit, manifest_shardings

__all__ = [
    "InternalError",
    "InvalidInputError",
    "Partition",
    "Program",
    "Report",
    "ShardcError",
    "ShardingWarning",
    "UnsupportedError",
    "__version__",
    "auto",
    "checkpoint",
    "explain",
    "fsdp",
    "grad",
    "jax_plugin",
    "jit",
    "lint",
    "manifest_shardings",
    "partition",
    "plan",
    "propagate",
    "prove",
    "read",
    "verify",
]

# The functions that need JAX, which is imported only when they are used.
_OF_JAX = ("ShardingWarning", "jax_plugin", "jit", "manifest_shardings")


def __getattr__(name: str) -> Any:
    if name in _OF_JAX:
        from shardc import _jax

        return getattr(_jax, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


def read(program: ProgramLike) -> Program:
    """Reads a program in any form: StableHLO text or bytes, a path, `jax.jit(f).lower(...)`, `jax.export.Exported`, StableHLO of
    `torch.export` and PyTorch/XLA, or tensors of PyTorch/XLA: the program that computes them, with the shardings of `mark_sharding`.

    >>> shardc.read("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
    <shardc.Program <program>>
    """
    return as_program(program)


def _compiler(*, mesh: Mesh | None, specs: Specs | None, target: str | os.PathLike[str] | None, **options: Any) -> _shardc.Compiler:
    return _shardc.Compiler(
        mesh=mesh_text(mesh),
        specs=spec_texts(specs),
        target=None if target is None else target_text(target),
        **options,
    )


def partition(
    program: ProgramLike,
    *,
    mesh: Mesh | None = None,
    specs: Specs | None = None,
    target: str | os.PathLike[str] | None = None,
    mode: str = "partition",
    strict: bool = False,
    **options: Any,
) -> Partition:
    """Partitions a program: the result is the program that each device runs.

    Args:
      program: the program, in any form that `read` takes.
      mesh: the mesh, if the program has none: `{"data": 4, "model": 2}`, `"data=4,model=2"`, or a mesh of JAX.
      specs: shardings of arguments and results, by position (`0`, `"res0"`) or name (`"params*"`): a `PartitionSpec`, a tuple such as
        `("data", None)`, or text such as `"data,-"`.
      target: the devices, such as `"v5e"` or `"h100:2x8"`, whose rates and links decide between alternatives.
      mode: whether devices are partitions, as in JAX, or replicas.
      strict: whether an all-gather that no annotation requests is an error instead of a warning.
      options: `warn_bytes`, `combine_bytes`, `inline_budget`, `entry`, `dims` (pairs of names and sizes of symbolic dimensions), `rules` (the
        text of a file of sharding rules) and `time_limit` in seconds, as on the command line.

    Raises:
      ShardcError: the program or the options are invalid, or a feature is not supported.

    >>> part = shardc.partition(
    ...     "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }", mesh={"data": 2}, specs={0: ("data",)}
    ... )
    >>> part
    <shardc.Partition <program> for 2 devices>
    """
    compiler = _compiler(mesh=mesh, specs=specs, target=target, mode=mode, strict=strict, **options)
    return compiler.partition(as_program(program))


def propagate(program: ProgramLike, *, mesh: Mesh | None = None, specs: Specs | None = None, **options: Any) -> Program:
    """Propagates shardings: the program with a sharding on every value. The options are those of `partition`.

    >>> text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { %0 = stablehlo.tanh %x : tensor<8xf32> return %0 : tensor<8xf32> }"
    >>> str(shardc.propagate(text, mesh="data=2", specs={0: "data"})).count('[{"data"}]')
    3
    """
    return _compiler(mesh=mesh, specs=specs, target=None, **options).propagate(as_program(program))


def explain(
    program: ProgramLike,
    *,
    mesh: Mesh | None = None,
    specs: Specs | None = None,
    target: str | os.PathLike[str] | None = None,
    value: str | None = None,
    collective: int | None = None,
    remedies: int = 0,
    **options: Any,
) -> Report:
    """Explains why values are sharded as they are, and why each collective is there.

    Args:
      value: a value to explain, such as `"%3"`; by default the whole program.
      collective: the number of a collective to explain.
      remedies: the number of collectives for which annotations are tried that remove them.

    >>> text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
    >>> shardc.explain(text, mesh="data=2", specs={0: "data"})["mesh"]["axes"][0]["name"]
    'data'
    """
    compiler = _compiler(mesh=mesh, specs=specs, target=target, **options)
    return compiler.explain(as_program(program), value=value, collective=collective, remedies=remedies)


def lint(
    program: ProgramLike,
    *,
    mesh: Mesh | None = None,
    specs: Specs | None = None,
    target: str | os.PathLike[str] | None = None,
    allow: list[str] | None = None,
    deny: list[str] | None = None,
    **options: Any,
) -> Report:
    """Reports annotations that are valid but probably cost more than intended.

    >>> text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
    >>> shardc.lint(text, mesh="data=2,model=2", specs={0: "data"})["findings"][0]["rule"]
    'unused-mesh-axis'
    """
    compiler = _compiler(mesh=mesh, specs=specs, target=target, **options)
    return compiler.lint(as_program(program), allow=allow or [], deny=deny or [])


def plan(
    program: ProgramLike,
    target: str | os.PathLike[str],
    *,
    mesh: Mesh | None = None,
    specs: Specs | None = None,
    memory: int | None = None,
    changes: bool = True,
    **options: Any,
) -> Report:
    """Estimates the memory and the time of a step on a target, and suggests changes. No device is needed.

    Args:
      target: the devices with their grid, such as `"v5e:2x4"` or `"h100:8"`, or the path of a TOML file.
      memory: bytes of memory of a device, if not those of the target.
      changes: whether changes are tried that make the program fit or faster.

    >>> text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
    >>> shardc.plan(text, "v5e:2x2", mesh="data=4", specs={0: "data"})["memory"]["fits"]
    True
    """
    compiler = _compiler(mesh=mesh, specs=specs, target=target, **options)
    return compiler.plan(as_program(program), target_text(target), memory=memory, changes=changes)


def auto(
    program: ProgramLike,
    target: str | os.PathLike[str],
    *,
    mesh: Mesh | None = None,
    specs: Specs | None = None,
    memory: int | None = None,
    ignore_shardings: bool = False,
    **options: Any,
) -> tuple[Program, Report]:
    """Finds the mesh and the shardings with the least estimated time that fit the memory. Returns the annotated program and the report.

    A given mesh, given specs and, unless `ignore_shardings`, the shardings of the program are kept.

    >>> text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
    >>> annotated, report = shardc.auto(text, "v5e:2x2")
    >>> report["fits"]
    True
    """
    compiler = _shardc.Compiler(**options)
    return _shardc.auto(
        compiler,
        as_program(program),
        target_text(target),
        mesh=mesh_text(mesh),
        specs=spec_texts(specs),
        memory=memory,
        ignore_shardings=ignore_shardings,
    )


def verify(
    program: ProgramLike,
    *,
    mesh: Mesh | None = None,
    specs: Specs | None = None,
    seed: int | None = None,
    engine: Literal["auto", "pjrt", "interpreter"] = "auto",
    exact: bool = False,
) -> dict[str, Any]:
    """Runs a program on one device and partitioned on several, with the same random inputs, and compares every output.

    Args:
      seed: the seed of the random inputs.
      engine: what runs the program: a plugin (`"pjrt"`; `shardc plugin install cpu` installs one), the interpreter, or the interpreter if
        there is no plugin (`"auto"`).
      exact: whether to compare in exact arithmetic, without a tolerance, in the interpreter.

    Returns:
      `ok`, `devices`, `engine`, and for each output its name and its type. Without `exact`, also the largest error and the tolerance. With
      `exact`, the number of elements that differ, the first of them and the devices that hold them, and `chance_of_missed_difference`, which
      is `None` if no bound is known.

    >>> program = '''
    ... func.func @main(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
    ...   %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    ...   return %0 : tensor<6x4xf32>
    ... }'''
    >>> checked = shardc.verify(program, mesh={"data": 4}, specs={0: ("data", None)}, exact=True)
    >>> checked["ok"], checked["outputs"][0]["different"]
    (True, 0)
    """
    arguments = ["verify", "-"]
    if mesh is not None:
        arguments += ["--mesh", mesh_text(mesh) or ""]
    for selector, spec in spec_texts(specs):
        arguments += ["--spec", f"{selector}={spec}"]
    if seed is not None:
        arguments += ["--seed", str(seed)]
    if engine != "auto":
        arguments += ["--engine", engine]
    if exact:
        arguments.append("--exact")
    return answer(arguments, as_program(program).bytecode())


def prove(
    original: ProgramLike,
    partitioned: ProgramLike | Partition,
    manifest: dict[str, Any] | None = None,
    *,
    zeros: list[str] | None = None,
    test: bool = True,
) -> dict[str, Any]:
    """Proves that a partitioned program, or the result of another rewrite, computes what the original computes.

    Args:
      partitioned: a partition, or a program that another compiler or a rewrite made.
      manifest: the manifest of the partition. Without it, the shardings of the original's arguments and results describe the blocks; a
        program with the types of the original and without collectives is compared on one device.
      zeros: arguments that only the second program has, and that are zero, such as `lora.*.b`.
      test: whether both programs run on random inputs in exact arithmetic if the proof is not complete.

    Returns:
      `verdict` (`proven`, `tested`, `refuted` or `not decided`), for each output whether it is proven, and the places that are not proven.

    >>> program = '''
    ... func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
    ...   %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    ...   return %0 : tensor<8x6xf32>
    ... }'''
    >>> part = shardc.partition(program, mesh={"data": 4}, specs={0: (None, "data"), 1: ("data", None)})
    >>> shardc.prove(program, part)["verdict"]
    'proven'
    """
    if isinstance(partitioned, Partition):
        manifest = manifest or partitioned.manifest
        partitioned = partitioned.program
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "partitioned.mlirbc").write_bytes(as_program(partitioned).bytecode())
        arguments = ["prove", "-", str(folder / "partitioned.mlirbc")]
        if manifest is not None:
            (folder / "manifest.json").write_text(json.dumps(manifest))
            arguments.append(str(folder / "manifest.json"))
        for zero in zeros or []:
            arguments += ["--zero", zero]
        if not test:
            arguments.append("--no-test")
        return answer(arguments, as_program(original).bytecode())


def grad(program: ProgramLike, wrt: str | int | list[str | int], *, value: bool = False) -> Program:
    """Differentiates a program: it returns the gradients of its first result, a scalar, with respect to the named arguments.

    Args:
      wrt: arguments: positions, `"arg0"`, a name of the front end, or a prefix of such names.
      value: whether the program also returns its first result.

    >>> loss = '''
    ... func.func @main(%w: tensor<f32>) -> tensor<f32> {
    ...   %0 = stablehlo.multiply %w, %w : tensor<f32>
    ...   return %0 : tensor<f32>
    ... }'''
    >>> "gradient(w)" in str(shardc.grad(loss, "w"))
    True
    """
    chosen = [wrt] if isinstance(wrt, (str, int)) else wrt
    names = [f"arg{name}" if isinstance(name, int) else name for name in chosen]
    return _shardc.grad(as_program(program), names, value=value)


def fsdp(
    program: ProgramLike,
    strategy: str,
    *,
    mesh: Mesh,
    roles: dict[str, str] | None = None,
    loss: str | None = None,
) -> Program:
    """Annotates a training step of one device with a strategy in words: `full_shard` (ZeRO-3), `shard_grad_op`, `zero1`, `no_shard`, ...

    Args:
      mesh: the mesh; the names of its axes decide what they shard, as `shardc fsdp apply --help` says.
      roles: roles of arguments, if inference does not find them: `{"arg12": "batch"}`.
      loss: the result that is the loss, if inference does not find it.
    """
    text = mesh_text(mesh) or ""
    given = [f"{name}={role}" for name, role in (roles or {}).items()]
    return _shardc.fsdp(as_program(program), strategy, text, roles=given, loss=loss)
