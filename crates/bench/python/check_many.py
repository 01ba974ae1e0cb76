"""Runs a tool that compares once for each line of the standard input, in one process: JAX takes seconds to start.

A job is a JSON list, the tool's arguments; the answer is one JSON object: what the tool printed last, or what went wrong.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback

import jax

jax.devices()  # Before the tool asks for fewer of them.

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
        except Exception:  # The back end's errors are of many kinds.
            answer = {"error": traceback.format_exc(limit=1)}
    lines = said.getvalue().splitlines()
    if not answer:
        answer = json.loads(lines[-1]) if lines else {"error": "no output"}
    print(json.dumps(answer), file=answers, flush=True)
