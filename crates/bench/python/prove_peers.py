"""Proves the partitions that Shardy or XLA makes of programs, and prints the verdicts.

    prove_peers.py shardy|xla FOLDER... [--shardc PATH] [--only TEXT] [--most-bytes N] [--keep FOLDER] [--workers N]

FOLDER has programs, and the `manifest.json` of the corpus with their numbers of devices. Each program is partitioned by
`peer_partition.py` in a process of its own, because a failed check of a peer ends the process. Then `shardc prove` compares the two
programs. The output is a line for each program and the number of programs for each verdict:

* proven, tested, refuted, not decided: the verdicts of `shardc prove`;
* unreadable: shardc rejects the partition or its boundary;
* no partition: the peer fails.
needs: jax
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).with_name("peer_partition.py")
parser = argparse.ArgumentParser()
parser.add_argument("peer", choices=["shardy", "xla"])
parser.add_argument("folders", nargs="+", type=pathlib.Path)
parser.add_argument("--shardc", default="shardc", help="the program")
parser.add_argument("--only", default="", help="a part of the names of the programs")
parser.add_argument("--most-bytes", type=int, default=400_000, help="larger programs are left out")
parser.add_argument("--keep", type=pathlib.Path, help="the folder for the programs; by default they are deleted")
parser.add_argument("--workers", type=int, default=2)
args = parser.parse_args()
scratch = tempfile.TemporaryDirectory()
kept = args.keep or pathlib.Path(scratch.name)
kept.mkdir(parents=True, exist_ok=True)
os.environ["TMPDIR"] = scratch.name  # A peer that aborts leaves its dump.


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def run(command, seconds):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no end after {seconds} s")


def verdict(path, devices):
    original, partitioned = (kept / f"{path.stem}.{part}.mlir" for part in ("original", "partitioned"))
    if not partitioned.exists():
        source = path
        if args.peer == "shardy" and "sdy.mesh" not in path.read_text(encoding="utf-8"):
            # Shardy reads no tile assignments: XLA imports them before.
            source = kept / f"{path.stem}.imported.mlir"
            run([args.shardc, "opt", "--passes", "import-gspmd", path, "-o", source], 60)
        made = run([sys.executable, TOOL, args.peer, source, str(devices), original, partitioned], 300)
        # XLA's back end may fail after the partition is written.
        if not partitioned.exists():
            return "no partition", last_line(made.stderr)
    proof = run([args.shardc, "prove", original, partitioned, "--format", "json"], 300)
    try:
        report = json.loads(proof.stdout)
    except json.JSONDecodeError:
        errors = [line for line in proof.stderr.splitlines() if "message" in line]
        return "unreadable", (errors or [last_line(proof.stderr)])[0][:200]
    place = next(iter(report["places"]), None)
    shown = f"{place['operation']}: {place['needed']}" if place else ""
    return report["verdict"], report["untested"] or shown


def main():
    jobs = []
    for folder in args.folders:
        listed = json.loads((folder / "manifest.json").read_text())["programs"]
        for program in listed:
            path = folder / program["file"]
            if args.only in path.stem and path.stat().st_size <= args.most_bytes:
                jobs.append((path, program.get("devices") or math.prod(program["mesh"]["shape"])))
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        for (path, _), (word, text) in zip(jobs, pool.map(lambda job: verdict(*job), jobs)):
            counts[word] += 1
            print(f"{word}: {path.stem}: {text}" if text else f"{word}: {path.stem}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.most_common()))


main()
