"""Prints training steps of real sizes, without annotations, as JSON: {name: {"text": StableHLO, "roles": [...], "batch_dims": [...]}}; see
`steps.py`.

    JAX_PLATFORMS=cpu python real_steps.py [NAME ...]        (all without a name; written for jax 0.10.2)

Each fits eight TPU v5e of 16 GB with its state, parameters and batch split (ZeRO-3). Nothing is allocated here.
"""
import sys

from real_steps import graphics, language, others, sound, vision  # noqa: F401, each adds its steps
from steps import show

show(*sys.argv[1:])
