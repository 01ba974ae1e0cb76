"""What a device sends in a program of the TPU compiler's, with overlapped all-gathers counted once.

    sent_once.py TOOL HLO DEVICES

TOOL is tpu_compile.py, which counts; HLO is what it dumps. Where the TPU compiler overlaps an all-gather with compute, the same
gather stands in each step of the chain that does so, with one chain_id. Prints one JSON object.
"""
import importlib.util
import json
import re
import sys

_, path, hlo, devices = sys.argv
spec = importlib.util.spec_from_file_location("tool", path)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

seen, kept = set(), []
with open(hlo, encoding="utf-8") as file:
    for line in file:
        chain = re.search(r'chain_id="(\d+)"', line)
        gather = re.search(r" = (\S+?)\{.* all-gather(-start)?\(", line)
        if chain and gather:
            # Chains of several gathers have them of several shapes or places.
            place = re.search(r"source_line=(\d+)", line)
            step = (chain[1], gather[1], place and place[1])
            if step in seen:
                continue
            seen.add(step)
        kept.append(line)
counted = tool.collectives("".join(kept), int(devices))
print(json.dumps({"sent": sum(sent for _, sent in counted.values())}))
