"""Writes the portable artifacts in this folder.

    python make.py

The script needs jaxlib. For each program `NAME.mlir` and each version in VERSIONS it writes `NAME.VERSION.bc`. It
then rewrites `NAME.mlir` with the text that jaxlib prints for the artifacts, which is the same for all versions.
"""

import pathlib

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

HERE = pathlib.Path(__file__).parent

# The oldest version that can express the program, some in between, and the newest.
VERSIONS = {
    "basics": ["0.9.0", "0.14.0", "1.0.0", "1.9.0", "1.17.0"],
    "later": ["1.17.0"],
    "mixed": ["1.0.0", "1.17.0"],
}


def context() -> ir.Context:
    context = mlir.make_ir_context()
    context.allow_unregistered_dialects = False
    return context


def serialize(text: str, version: str, other_dialects: bool) -> bytes:
    if not other_dialects:
        # Only this function supports quantized types.
        return stablehlo.serialize_portable_artifact_str(text, version)
    with context() as ctx:
        return stablehlo.serialize_portable_artifact(ir.Module.parse(text, ctx), version, True)


def main() -> None:
    for name, versions in VERSIONS.items():
        path = HERE / f"{name}.mlir"
        texts = set()
        for version in versions:
            artifact = serialize(path.read_text(), version, name == "mixed")
            (HERE / f"{name}.{version}.bc").write_bytes(artifact)
            texts.add(str(stablehlo.deserialize_portable_artifact(context(), artifact)))
        (text,) = texts
        path.write_text(text)


main()
