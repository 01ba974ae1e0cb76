"""Compares bytecode and portable artifacts that shardc wrote with those of jaxlib.

    python written.py FOLDER

`NAME.mlir` is a program in generic form with all locations. `NAME.VERSION.bc` is its artifact for a version of StableHLO, and
`NAME.VERSION.error` exists instead if shardc rejects the version. `NAME.VERSION.mlirbc` is its bytecode in a version of the format. jaxlib must read the same program from
each file as from the text, and must reject the same versions. The script prints each difference, and in the last line how many files are equal
by meaning and how many of these are equal byte for byte.
"""

import io
import pathlib
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def context() -> ir.Context:
    context = mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def text(module: ir.Module) -> str:
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)


def without_producer(data: bytes) -> bytes:
    """Returns bytecode without the name of its writer, which follows the magic number and the version."""
    return data[:5] + data[data.index(b"\0", 5) :]


def artifact(source: str, version: str) -> bytes | None:
    with context():
        try:
            return stablehlo.serialize_portable_artifact(ir.Module.parse(source), version, True)
        except Exception:
            return None


def compare(file: pathlib.Path, source: str) -> tuple[str | None, bool]:
    """Returns the difference, if any, and whether the bytes are equal."""
    data = file.read_bytes()
    version = file.name.removesuffix(file.suffix).split(".", 1)[1]
    with context() as known:
        if file.suffix == ".mlirbc":
            module = ir.Module.parse(source)
            own = io.BytesIO()
            module.operation.write_bytecode(own, desired_version=int(version))
            try:
                same = text(ir.Module.parse(data)) == text(module)
            except Exception as error:
                return f"cannot be read: {error}", False
            return None if same else "holds another program", without_producer(own.getvalue()) == without_producer(data)
        own = artifact(source, version)
        if file.suffix == ".error":
            return (None if own is None else f"jaxlib writes version {version}"), True
        try:
            read = text(stablehlo.deserialize_portable_artifact(known, data))
        except Exception as error:
            # The verifiers of some dialects reject operations between casts, whoever wrote them.
            return (None, True) if own is None else (f"cannot be read: {error}", False)
        if own is None:
            return f"jaxlib rejects version {version}", False
        same = read == text(stablehlo.deserialize_portable_artifact(known, own))
        return None if same else "holds another program", own == data


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    equal = identical = 0
    failed = False
    for program in sorted(folder.glob("*.mlir")):
        source = program.read_text()
        try:
            with context():
                ir.Module.parse(source)
        except Exception:
            # Some programs have operations that this version of jaxlib does not have.
            continue
        name = program.name.removesuffix(".mlir")
        for file in sorted(folder.glob(f"{name}.*")):
            if file == program:
                continue
            difference, same = compare(file, source)
            if difference:
                failed = True
                print(f"{file.name}: {difference}")
            equal += difference is None
            identical += same
    print(f"{equal} equal, {identical} identical")
    sys.exit(failed)


if __name__ == "__main__":
    main()
