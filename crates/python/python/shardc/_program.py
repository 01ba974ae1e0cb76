"""The program `shardc`, which wheels have beside the package."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

from shardc._shardc import InternalError, InvalidInputError, ShardcError, UnsupportedError

_CLASSES = {"invalid-input": InvalidInputError, "unsupported": UnsupportedError, "internal": InternalError}


def _path() -> str | None:
    """The program of the package, or else the one on the `PATH`."""
    program = pathlib.Path(__file__).parent / "bin" / "shardc"
    return os.fspath(program) if program.exists() else shutil.which("shardc")


def _found() -> str:
    program = _path()
    if program is None:
        raise FileNotFoundError("this installation of the package has no program: install a wheel, or use `cargo install shardc-cli`")
    return program


def main() -> None:
    """Becomes the program `shardc`."""
    try:
        program = _found()
    except FileNotFoundError as error:
        sys.exit(str(error))
    os.execv(program, ["shardc", *sys.argv[1:]])


def answer(arguments: list[str], data: bytes | None = None) -> Any:
    """Runs a command of the program, with `data` as its standard input; returns the JSON that it prints.

    Raises:
      ShardcError: the command failed without a result.
    """
    done = subprocess.run([_found(), *arguments, "--format", "json"], input=data, capture_output=True, check=False)
    if done.stdout.strip():
        return json.loads(done.stdout)
    if done.returncode == 0:
        return None
    raise _error(done.stderr.decode(errors="replace"))


def _error(text: str) -> ShardcError:
    """The exception of the diagnostics that the program printed, one JSON object a line."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    diagnostics = [entry for entry in found if entry.get("severity") == "error"]
    if not diagnostics:
        return InternalError(text.strip() or "the program shardc failed without a message")
    first = diagnostics[0]
    codes = [f"[{entry['code']}]" if entry.get("code") else "" for entry in diagnostics]
    message = "\n".join(f"error{code}: {entry['message']}" for code, entry in zip(codes, diagnostics))
    if first.get("hint"):
        message += f"\nhelp: {first['hint']}"
    error = _CLASSES.get(first.get("class"), InvalidInputError)(message)
    for name in ("code", "hint", "line", "column", "user_location"):
        setattr(error, name, first.get(name))
    error.diagnostics = diagnostics
    return error
