"""Exports the programs of `kinds/` as this Python's JAX lowers them.

    python export.py OUT [--only WORD ...] [--list]

Writes `OUT/KIND/NAME.mlir` (as jaxlib's MLIR prints it), `NAME.debug.mlir` (with locations, as jaxlib prints what it has read),
and, of programs with gradients, `NAME.loss.mlir` and `NAME.grad.mlir`; and `OUT/manifest.json`. A program that this JAX has no
way to write is skipped, with the reason in the manifest.
"""

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import sys
import traceback

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import jax
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import catalog


def has(name):
    """Whether the package `jax` has an attribute or module of this name."""
    with contextlib.suppress(ImportError):
        importlib.import_module(f"jax.{name}")
        return True
    value = jax
    for part in name.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def reason_to_skip(program):
    missing = [name for name in program.needs if not has(name)]
    if missing:
        return f"this JAX has no jax.{missing[0]}"
    if program.since and jax.__version_info__ < program.since:
        version = ".".join(map(str, program.since))
        return f"needs JAX {version}: {program.why}"
    return ""


def text_of(lowered, debug=False):
    if isinstance(lowered, str):
        return lowered
    return lowered.as_text(debug_info=debug)


def printed_again(text):
    """What jaxlib's MLIR prints with locations after it has read `text`.

    JAX prints a module that still has locations which the text does not mention, so that numbers of aliases (`#loc12`) are left
    out. A reader of the text cannot know them.
    """
    with mlir.make_ir_context():
        return ir.Module.parse(text).operation.get_asm(enable_debug_info=True)


@contextlib.contextmanager
def settings(program):
    jax.config.update("jax_use_shardy_partitioner", not program.gspmd)
    jax.config.update("jax_enable_x64", program.x64)
    yield
    jax.config.update("jax_use_shardy_partitioner", True)
    jax.config.update("jax_enable_x64", False)


def export(program, folder):
    """Writes the files of a program and returns its entry of the manifest."""
    entry = {"name": program.name, "kind": program.kind}
    skip = reason_to_skip(program)
    if skip:
        return entry | {"skip": skip}
    folder = folder / program.kind
    folder.mkdir(parents=True, exist_ok=True)

    def write(end, text):
        (folder / f"{program.name}{end}.mlir").write_text(text)

    with settings(program):
        lowered = program.build()
        write("", text_of(lowered))
        if not isinstance(lowered, str):
            write(".debug", printed_again(text_of(lowered, debug=True)))
        entry |= {"mesh": program.mesh or None, "values": program.values, "debug": not isinstance(lowered, str)}
        if program.loss is not None:
            forward, gradient, arguments = program.loss()
            write(".loss", text_of(forward))
            write(".grad", text_of(gradient))
            entry |= {"gradient": list(arguments), "rtol": program.rtol}
    return entry


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=[], help="programs whose KIND/NAME contains one of these")
    options = parser.parse_args()
    for file in sorted((HERE / "kinds").glob("*.py")):
        importlib.import_module(f"kinds.{file.stem}")
    names = [(p.kind, p.name) for p in catalog.PROGRAMS]
    assert len(names) == len(set(names)), "two programs have one name"
    entries, failed = [], 0
    for program in catalog.PROGRAMS:
        path = f"{program.kind}/{program.name}"
        if options.only and not any(word in path for word in options.only):
            continue
        try:
            entries.append(export(program, options.out))
        except Exception:
            failed += 1
            print(f"{path} is not lowered:", file=sys.stderr)
            traceback.print_exc(limit=-3)
    manifest = {"jax": jax.__version__, "jaxlib": jax.lib.__version__, "programs": entries}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    skipped = sum("skip" in entry for entry in entries)
    print(f"jax {jax.__version__}: {len(entries) - skipped} programs, {skipped} skipped, {failed} not lowered")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
