"""The forms in which programs, meshes, shardings and targets are given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from shardc._shardc import Program

# A mesh: `{"data": 4}`, `"data=4"`, or an object with `axis_names` and `shape`, such as those of JAX.
Mesh = Union[str, Mapping[str, int], Any]
# A sharding: `"data,-"`, `("data", None)`, or a `PartitionSpec`.
Spec = Union[str, Sequence[Any]]
# Shardings of arguments and results, by position or name.
Specs = Mapping[Union[int, str], Spec]
# A program, in any form that `as_program` takes.
ProgramLike = Union[Program, str, bytes, "os.PathLike[str]", Any]


def as_program(program: ProgramLike) -> Program:
    """Reads a program in any form; `shardc.read` lists them."""
    if isinstance(program, Program):
        return program
    if isinstance(program, str):
        if "func" not in program:
            raise ValueError(f"not a program: {program[:80]!r}; the path of a file is a pathlib.Path")
        return Program.read(program.encode())
    if isinstance(program, (bytes, bytearray, memoryview)):
        if not program:
            raise ValueError("the program is empty")
        return Program.read(bytes(program))
    if isinstance(program, os.PathLike):
        with open(program, "rb") as file:
            return Program.read(file.read(), name=os.fspath(program))
    tensors = _lazy_tensors(program)
    if tensors:
        from torch_xla.core import xla_model

        return Program.read(xla_model.get_stablehlo_bytecode(tensors), name="<tensors>")
    data, name = _of_front_end(program)
    return Program.read(data, name=name)


def _lazy_tensors(program: Any) -> list[Any]:
    """The tensors of PyTorch/XLA that were given, alone or in a list; empty for anything else."""
    given = list(program) if isinstance(program, (list, tuple)) else [program]
    is_lazy = [getattr(getattr(tensor, "device", None), "type", None) == "xla" for tensor in given]
    return given if given and all(is_lazy) else []


def _of_front_end(program: Any) -> tuple[bytes, str]:
    """The bytes of an object of JAX or PyTorch, and its name."""
    # `jax.export.Exported`.
    if hasattr(program, "mlir_module_serialized"):
        return program.mlir_module_serialized, program.fun_name
    # `jax.stages.Lowered`: locations are part of the bytecode, so that messages name the lines of the user.
    if hasattr(program, "compiler_ir"):
        return module_bytes(program.compiler_ir("stablehlo")), "<lowered>"
    # `StableHLOGraphModule` of PyTorch/XLA.
    if hasattr(program, "get_stablehlo_bytecode"):
        return program.get_stablehlo_bytecode(), "<exported>"
    # `torch.export.ExportedProgram`.
    if hasattr(program, "graph_module") and hasattr(program, "graph_signature"):
        from torch_xla.stablehlo import exported_program_to_stablehlo

        return exported_program_to_stablehlo(program).get_stablehlo_bytecode(), "<exported>"
    # A module of MLIR's Python bindings.
    if hasattr(program, "operation"):
        return module_bytes(program), "<module>"
    message = f"a {type(program).__name__} is not a program: use StableHLO as text or bytes, a path, jax.jit(f).lower(...), or an exported program"
    raise TypeError(message)


def module_bytes(module: Any) -> bytes:
    """The MLIR bytecode of a module of MLIR's Python bindings."""
    import io

    out = io.BytesIO()
    module.operation.write_bytecode(file=out)
    return out.getvalue()


def mesh_text(mesh: Mesh | None) -> str | None:
    """The text of a mesh, such as `data=4,model=2`."""
    if mesh is None or isinstance(mesh, str):
        return mesh
    # Meshes of JAX have their sizes by axis in `shape`.
    sizes = mesh if isinstance(mesh, Mapping) else getattr(mesh, "shape", None)
    if not isinstance(sizes, Mapping):
        raise TypeError(f"a mesh is a dictionary of axis sizes, such as {{'data': 4}}, text, or a mesh of JAX, not {mesh!r}")
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def spec_texts(specs: Specs | None) -> list[tuple[str, str]]:
    """Selectors and shardings as text."""
    return [
        (f"arg{selector}" if isinstance(selector, int) else selector, spec_text(spec))
        for selector, spec in (specs or {}).items()
    ]


def spec_text(spec: Spec) -> str:
    """The text of a sharding, such as `data,-,model+expert`."""
    if isinstance(spec, str):
        return spec
    # Dimensions that a `PartitionSpec` does not name are not sharded.
    return ",".join([*map(_dimension, spec), "..."])


def _dimension(axes: Any) -> str:
    if axes is None or axes == ():
        return "-"
    if isinstance(axes, str):
        return axes
    if isinstance(axes, (tuple, list)) and all(isinstance(axis, str) for axis in axes):
        return "+".join(axes)
    if type(axes).__name__ == "UnconstrainedSingleton":
        return "?"
    raise TypeError(f"a dimension is sharded along an axis, a tuple of axes, or None, not along {axes!r}")


def target_text(target: str | os.PathLike[str]) -> str:
    """A target, or the text of the TOML file that describes one."""
    target = os.fspath(target)
    if target.endswith(".toml"):
        with open(target, encoding="utf-8") as file:
            return file.read()
    return target
