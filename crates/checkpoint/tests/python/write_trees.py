"""Writes random trees with Orbax's default settings to `theirs/N` of the folder given as argument, as many as the second argument says."""

import pathlib
import sys

import trees

import orbax.checkpoint as ocp

root = pathlib.Path(sys.argv[1]).resolve()
with ocp.StandardCheckpointer() as writer:
    for number in range(int(sys.argv[2])):
        writer.save(root / "theirs" / str(number), trees.tree(number))
