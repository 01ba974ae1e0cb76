#!/usr/bin/env bash
# Orbax restores an empty tuple as a tuple and any other tuple as a list, and one checkpointer turns scalars into floats.
#
# Version: orbax-checkpoint 0.12.8 with jax and jaxlib 0.10.2.
# Behaviour: restored without a target, a tuple with elements is a list, a named tuple is a dict, an empty tuple is a tuple. A
# numpy.float32 comes back as an array from StandardCheckpointer and as a Python float from PyTreeCheckpointer.
# Seen: the types below.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2 orbax-checkpoint==0.12.8
cd "$work"
cat > program.py <<'PROGRAM'
import collections
import tempfile

import numpy
import orbax.checkpoint as ocp

Moments = collections.namedtuple("Moments", "mu nu")
tree = {
    "tuple": (numpy.ones(2), numpy.ones(2)),
    "empty tuple": (),
    "named tuple": Moments(numpy.ones(2), numpy.ones(2)),
    "int": 3,
    "numpy scalar": numpy.float32(1),
}
for checkpointer in (ocp.StandardCheckpointer(), ocp.PyTreeCheckpointer()):
    path = tempfile.mkdtemp() + "/checkpoint"
    checkpointer.save(path, tree)
    getattr(checkpointer, "wait_until_finished", lambda: None)()
    restored = checkpointer.restore(path)
    kinds = ", ".join(f"{name}: {type(value).__name__}" for name, value in sorted(restored.items()))
    print(f"{type(checkpointer).__name__}: {kinds}")
PROGRAM
JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors || { cat errors; exit 1; }
cat > expected <<'EXPECTED'
StandardCheckpointer: empty tuple: tuple, int: int, named tuple: dict, numpy scalar: ndarray, tuple: list
PyTreeCheckpointer: empty tuple: tuple, int: int, named tuple: dict, numpy scalar: float, tuple: list
EXPECTED
diff expected output && echo "as described"
