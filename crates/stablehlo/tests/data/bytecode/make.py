"""Writes the bytecode files in this folder, and for each module the text that MLIR prints.

    python make.py              (needs jaxlib, and mlir-opt 22 on the path for the quantized types)

`src/NAME.mlir` becomes `NAME.mlir` and `NAME.vVERSION.mlirbc`.

    python make.py OUT FILE... [-- VERSION...]

writes the same for other files into OUT.
"""

import io
import pathlib
import shutil
import subprocess
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir

# Versions of the format for each program, so that each change of the format is covered.
# Before version 5, MLIR itself loses the inherent attributes of unregistered operations.
VERSIONS = {"operations": range(7), "locations": [0, 4, 6], "quantized": [1, 6], "unknown": [5, 6], "kept": [5, 6]}


def write(module: ir.Module, out: pathlib.Path, name: str, versions, locations: bool) -> None:
    text = module.operation.get_asm(enable_debug_info=locations)
    (out / f"{name}.mlir").write_text(text if text.endswith("\n") else text + "\n")
    for version in versions:
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode, desired_version=version)
        (out / f"{name}.v{version}.mlirbc").write_bytes(bytecode.getvalue())


def with_jaxlib(file: pathlib.Path, out: pathlib.Path, versions) -> None:
    text = file.read_text()
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        write(ir.Module.parse(text), out, file.stem, versions, "loc(" in text)


def with_mlir_opt(file: pathlib.Path, out: pathlib.Path, versions) -> None:
    tool = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
    if tool is None:
        print("mlir-opt is missing: the quantized types stay as they are", file=sys.stderr)
        return
    # The input is piped, so that locations contain no local path.
    command = [tool, "--allow-unregistered-dialect", "-"]
    source = file.read_bytes()
    (out / f"{file.stem}.mlir").write_bytes(subprocess.run(command, input=source, check=True, capture_output=True).stdout)
    for version in versions:
        options = ["--emit-bytecode", f"--emit-bytecode-version={version}"]
        bytecode = subprocess.run(command + options, input=source, check=True, capture_output=True).stdout
        (out / f"{file.stem}.v{version}.mlirbc").write_bytes(bytecode)


def main(arguments: list[str]) -> None:
    if arguments:
        out, *files = arguments
        versions = [6]
        if "--" in files:
            versions = [int(version) for version in files[files.index("--") + 1 :]]
            files = files[: files.index("--")]
        for file in map(pathlib.Path, files):
            with_jaxlib(file, pathlib.Path(out), versions)
        return
    here = pathlib.Path(__file__).parent
    for file in sorted((here / "src").glob("*.mlir")):
        versions = VERSIONS.get(file.stem, [2, 5, 6])
        (with_mlir_opt if file.stem == "quantized" else with_jaxlib)(file, here, versions)


main(sys.argv[1:])
