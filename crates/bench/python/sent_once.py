"""What a device sends in a program of the TPU compiler's, with overlapped all-gathers counted once.

    sent_once.py TOOL HLO DEVICES

TOOL is tpu_compile.py, which counts; HLO is what it dumps. Where the TPU compiler overlaps an all-gather with compute, the same
instruction stands in several computations with one chain_id: the one that starts it, with a custom call AsyncCollectiveStart, the
fusions of what it is overlapped with, and the one that awaits it, with AsyncCollectiveDone. They hand on one buffer for the result,
a count of steps and semaphores, so it is sent once: counted where it starts. Prints one JSON object.
"""
import importlib.util
import json
import re
import sys

_, path, hlo, devices = sys.argv
spec = importlib.util.spec_from_file_location("tool", path)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

with open(hlo, encoding="utf-8") as file:
    text = file.read()
kept = []
for computation in re.split(r"(?m)^(?=(?:ENTRY )?%?[\w.\-]+ \(.*\{$)", text):
    starts = 'custom_call_target="AsyncCollectiveStart"' in computation
    for line in computation.splitlines(keepends=True):
        is_step = "chain_id=" in line and re.search(rf" ({tool.KINDS})\(", line)
        if starts or not is_step:
            kept.append(line)
counted = tool.collectives("".join(kept), int(devices))
print(json.dumps({"sent": sum(sent for _, sent in counted.values()), "collectives": counted}))
