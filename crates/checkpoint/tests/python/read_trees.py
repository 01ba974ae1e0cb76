"""Restores `ours/N` of the folder given as argument into the trees that `write_trees.py` saved, and compares all leaves."""

import pathlib
import sys

import trees

import jax
import numpy as np
import orbax.checkpoint as ocp

root = pathlib.Path(sys.argv[1]).resolve()
count = int(sys.argv[2])
faults = []
with ocp.StandardCheckpointer() as reader:
    for number in range(count):
        want = trees.tree(number)
        try:
            got = reader.restore(root / "ours" / str(number), want)
        except Exception as error:
            faults.append(f"{number}: {type(error).__name__}: {str(error)[:300]}")
            continue
        if jax.tree.structure(got) != jax.tree.structure(want):
            faults.append(f"{number}: {got} is not {want}")
            continue
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
            if type(a) is not type(b) or not np.array_equal(np.asarray(a), np.asarray(b)):
                faults.append(f"{number}: {type(a)} {a} is not {type(b)} {b}")
print("\n".join(faults[:20]) or f"{count} trees are the same")
sys.exit(bool(faults))
