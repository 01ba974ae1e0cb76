"""Times the MLIR parser, verifier and printer of jaxlib on one program, on one thread.

    mlir_text.py FILE

Prints one JSON object with the seconds of each stage. The parser calls the verifier, so the time of a separate verification is
subtracted from the parser's time.
"""
import json
import os
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

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
    module = stage("read", lambda: ir.Module.parse(text))
    stage("verify", module.operation.verify)
    seconds["read"] -= seconds["verify"]
    stage("print", lambda: module.operation.get_asm(assume_verified=True))
print(json.dumps({"seconds": seconds}))
