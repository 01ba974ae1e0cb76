"""Runs a comparison tool once for each line of standard input, in one process, because JAX takes seconds to start.

A job is a JSON list with the arguments of the tool. The answer is one JSON object: the last line that the tool printed, or the error.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback

import jax

jax.devices()  # Creates all devices, before the tool requests fewer.

tool = sys.argv[1]
answers = sys.stdout
for line in sys.stdin:
    sys.argv = [tool, *json.loads(line)]
    said, answer = io.StringIO(), {}
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(tool, run_name="__main__")
        except SystemExit:
            pass
        except Exception:  # The back end raises exceptions of many types.
            answer = {"error": traceback.format_exc(limit=1)}
    lines = said.getvalue().splitlines()
    if not answer:
        answer = json.loads(lines[-1]) if lines else {"error": "no output"}
    print(json.dumps(answer), file=answers, flush=True)
