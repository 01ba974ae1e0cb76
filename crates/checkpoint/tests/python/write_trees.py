"""Writes random trees with Orbax's default settings to `theirs/N` of the folder given as argument, and prints their number."""

import pathlib
import sys

import trees

import orbax.checkpoint as ocp

root = pathlib.Path(sys.argv[1]).resolve()
with ocp.StandardCheckpointer() as writer:
    for number in range(trees.COUNT):
        writer.save(root / "theirs" / str(number), trees.tree(number))
print(trees.COUNT)
