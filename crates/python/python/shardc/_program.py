"""The program `shardc`, which wheels have beside the package."""

import os
import pathlib
import sys


def main() -> None:
    """Becomes the program `shardc`."""
    program = pathlib.Path(__file__).parent / "bin" / "shardc"
    if not program.exists():
        sys.exit("this installation of the package has no program: install a wheel, or use `cargo install shardc-cli`")
    os.execv(program, ["shardc", *sys.argv[1:]])
