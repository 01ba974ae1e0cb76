"""Checkpoints: list, show, verify, compare, reshard and convert.

Places are folders, or URLs of stores. Checkpoints of shardc, Orbax and `torch.distributed.checkpoint` are read, and state dicts in safetensors and
`torch.save` files. Nothing is loaded into memory as a whole.

>>> import pathlib, tempfile
>>> from shardc import checkpoint
>>> checkpoint.steps(tempfile.mkdtemp())
[]
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Union

from shardc._inputs import Mesh, Spec, mesh_text, spec_text
from shardc._program import answer

__all__ = ["compare", "convert", "reshard", "show", "steps", "verify"]

Place = Union[str, "os.PathLike[str]"]


def _run(command: str, *places: Place, item: str | None = None, step: int | None = None, options: list[str] | None = None) -> Any:
    arguments = ["checkpoint", command, *map(os.fspath, places), *(options or [])]
    if item is not None:
        arguments += ["--item", item]
    if step is not None:
        arguments += ["--step", str(step)]
    return answer(arguments)


def steps(place: Place) -> list[dict[str, Any]]:
    """The steps in a folder."""
    return _run("ls", place)["steps"]


def show(place: Place, *, step: int | None = None, item: str | None = None) -> dict[str, Any]:
    """The arrays of a checkpoint: names, types, shapes, blocks and shardings."""
    return _run("show", place, step=step, item=item)


def verify(place: Place, *, step: int | None = None, item: str | None = None) -> list[dict[str, Any]]:
    """Reads all data and compares it with the stored checksums; returns the damages, an empty list if there are none."""
    checked = _run("verify", place, step=step, item=item)["checkpoints"]
    return [damage for entry in checked for damage in entry["damages"]]


def compare(first: Place, second: Place, *, item: str | None = None, types_only: bool = False) -> dict[str, Any]:
    """Compares the names, types, shapes and, unless `types_only`, every bit of two checkpoints."""
    return _run("diff", first, second, item=item, options=["--types-only"] if types_only else [])


def reshard(
    source: Place,
    to: Place,
    *,
    mesh: Mesh | None = None,
    specs: Mapping[str, Spec] | None = None,
    whole: bool = False,
    item: str | None = None,
) -> None:
    """Rewrites a checkpoint in the blocks of another sharding.

    Args:
      mesh: the mesh of the new sharding.
      specs: shardings of arrays by name, where `*` matches any text: `{"params.*": ("data", None)}`.
      whole: write each array as one block instead.
    """
    options = ["--whole"] if whole else []
    if mesh is not None:
        options += ["--mesh", mesh_text(mesh) or ""]
    for name, spec in (specs or {}).items():
        # A checkpoint has no dimensions to leave out.
        options += ["--spec", f"{name}={spec_text(spec).removesuffix(',...')}"]
    _run("reshard", source, to, item=item, options=options)


def convert(
    source: Place,
    to: Place,
    *,
    key: str | None = None,
    only: list[str] | None = None,
    form: str = "state_dict",
    item: str | None = None,
) -> None:
    """Converts a state dict or a checkpoint.

    Args:
      to: a file that ends with `.safetensors`, `.pth`, `.pt` or `.bin`, or a folder.
      key: the key of the state dict in a file of `torch.save`.
      only: patterns of the tensors that are converted.
      form: `"state_dict"`, `"zarr"` (a checkpoint of shardc) or `"dcp"` (of `torch.distributed.checkpoint`).
    """
    if form not in ("state_dict", "zarr", "dcp"):
        raise ValueError(f"form is 'state_dict', 'zarr' or 'dcp', not {form!r}")
    options = ["--output", os.fspath(to)]
    if form != "state_dict":
        options.append(f"--{form}")
    if key is not None:
        options += ["--key", key]
    for pattern in only or []:
        options += ["--only", pattern]
    _run("convert", source, item=item, options=options)
