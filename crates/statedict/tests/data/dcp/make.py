"""Writes the checkpoints of torch.distributed.checkpoint that are beside this file.

Run with torch 2.15.0 on a CPU: `python make.py FOLDER`. Two processes of this machine save together.
"""

import os
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh


def numbers(shape, dtype):
    return torch.arange(int(torch.tensor(shape).prod()) if shape else 1).reshape(shape).to(dtype)


def state(mesh=None):
    def put(tensor, *placements):
        return distribute_tensor(tensor, mesh, list(placements)) if mesh else tensor

    return {
        "model": {
            "w": put(numbers((5, 4), torch.float32), Shard(0)),
            "cols": put(numbers((3, 6), torch.bfloat16), Shard(1)),
            "b": put(numbers((4,), torch.float16), Replicate()),
            "flags": torch.tensor([True, False]),
        },
        "optim": {"state": {"w": {"step": torch.tensor(3.0), "exp_avg": put(numbers((5, 4), torch.float32) / 2, Shard(0))}}},
        "step": 7,
        "lr": [0.1, {"name": "adam"}],
    }


def process(rank, folder):
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "29517"}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    dcp.save(state(mesh), checkpoint_id=folder / "two")
    if rank == 0:
        print("two processes saved")
    from torch.distributed.checkpoint import HuggingFaceStorageWriter

    model = {"w": distribute_tensor(numbers((5, 4), torch.float32), mesh, [Shard(0)]), "b": numbers((4,), torch.float32)}
    writer = HuggingFaceStorageWriter(str(folder / "hf"), save_distributed=True)
    dcp.save(model, storage_writer=writer)
    dist.destroy_process_group()


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    dcp.save(state(), checkpoint_id=folder / "one")
    mp.spawn(process, args=(folder,), nprocs=2)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            print(path.relative_to(folder), path.stat().st_size)
