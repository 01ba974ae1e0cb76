"""Times the Shardy propagation of jaxlib on one program, on one thread.

    shardy_propagation.py FILE

Prints one JSON object with the seconds to parse, propagate and print.
"""
import json
import os
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir, passmanager

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
seconds = {}


def stage(name, work):
    start = time.perf_counter()
    result = work()
    seconds[name] = time.perf_counter() - start
    return result


context = jax_mlir.make_ir_context()
context.allow_unregistered_dialects = True
context.enable_multithreading(False)
with context:
    module = stage("parse", lambda: ir.Module.parse(text))
    passes = passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)")
    stage("propagate", lambda: passes.run(module.operation))
    stage("print", lambda: str(module))
print(json.dumps(seconds))
