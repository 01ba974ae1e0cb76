"""Writes what PyTorch and PyTorch/XLA's FSDP save, and what is in it.

    PJRT_DEVICE=CPU python make.py        (made with torch 2.8.0, torch_xla 2.8.1, safetensors 0.8.0; in the folder of this file)

* `objects.pth`: all element types, strides and objects; `objects.safetensors` has the same tensors, made contiguous.
* `legacy.pth`: the format before PyTorch 1.6.
* `LAYOUT_rank-R-of-N.pth`: the files of ranks of a model in three layouts; `LAYOUT.safetensors` has what
  `consolidate_sharded_model_checkpoints` makes of them, and the order of its names as a text.

FSDP shards where it is made, without sending anything, so that one process can be one rank after the other.
"""
import collections, json
import torch

torch.cuda.is_available = lambda: False
import torch_xla.core.xla_model as xm
from safetensors.torch import save_file
from torch_xla.distributed.fsdp import XlaFullyShardedDataParallel as FSDP
from torch_xla.distributed.fsdp import consolidate_sharded_model_checkpoints

torch.manual_seed(0)

base = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
tensors = {
    "f32": torch.randn(3, 4),
    "bf16": torch.randn(5).to(torch.bfloat16),
    "f16": torch.randn(2, 2).half(),
    "f64": torch.randn(2).double(),
    "i64": torch.tensor([-1, 2**40]),
    "i32": torch.tensor([[1, -2]], dtype=torch.int32),
    "i16": torch.tensor([-300], dtype=torch.int16),
    "i8": torch.tensor([-3, 4], dtype=torch.int8),
    "u8": torch.tensor([200], dtype=torch.uint8),
    "bool": torch.tensor([True, False, True]),
    "c64": torch.tensor([1 + 2j, -3j]),
    "u16": torch.tensor([60000], dtype=torch.uint16),
    "u32": torch.tensor([4000000000], dtype=torch.uint32),
    "u64": torch.tensor([2**63], dtype=torch.uint64),
    "f8_e4m3": torch.randn(4).to(torch.float8_e4m3fn),
    "f8_e5m2": torch.randn(4).to(torch.float8_e5m2),
    "scalar": torch.tensor(3.5),
    "empty": torch.zeros(0, 7),
    "transposed": base.permute(2, 0, 1),
    "part": base[1:, 1:, ::2],
    "row": base[1, 2],
    "parameter": torch.nn.Parameter(torch.randn(2, 3)),
    "tied": base,
}
state = collections.OrderedDict(tensors)
state._metadata = collections.OrderedDict({"": {"version": 1}})
torch.save({
    "model": state,
    "numbers": [1, -1, 255, 256, 65535, 65536, -2**31, 2**31, -2**62, 1.5, True, False, None],
    "texts": ("a", "ä€", "x" * 300),
    "nested": {"lr": 1e-3, "betas": (0.9, 0.999), "params": [0, 1], 7: {"step": torch.tensor(4.0)}},
    "size": torch.Size([2, 3]),
    "dtype": torch.bfloat16,
}, "objects.pth")
save_file({name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}, "objects.safetensors", {"format": "pt"})
torch.save({"w": base}, "legacy.pth", _use_new_zipfile_serialization=False)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 5)
        self.norm = torch.nn.BatchNorm1d(5)
        self.norm.running_mean.copy_(torch.randn(5))

    def forward(self, x):
        return self.norm(self.fc(x))


class Model(torch.nn.Module):
    def __init__(self, wrap):
        super().__init__()
        self.first = wrap(Block())
        self.second = torch.nn.Linear(5, 7)
        self.second.bias.requires_grad_(False)
        self.register_buffer("scale", torch.tensor([1.0, 1.0 / 3.0]))

    def forward(self, x):
        return self.second(self.first(x)) * self.scale[1]


LAYOUTS = {
    "flat": (3, dict(_shard_size_multiple=4)),
    "flattened": (2, dict(flatten_parameters=True, buffer_dtype=torch.bfloat16)),
    "first": (4, dict(shard_param_on_dim_0=True)),
    # In one wrapper, as shardc shards.
    "single": (2, dict()),
}
for name, (world, options) in LAYOUTS.items():
    for rank in range(world):
        torch.manual_seed(1)
        wrap = lambda module: FSDP(module, sharding_groups=[list(range(world))], sharding_rank=rank, sharding_world_size=world, **options)
        model = wrap(Model((lambda module: module) if name == "single" else wrap))
        checkpoint = {"model": model.state_dict(), "shard_metadata": model.get_shard_metadata()}
        if rank == 0:
            checkpoint["optimizer"] = {"state": {0: {"step": torch.tensor(1.0)}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
        torch.save(xm._maybe_convert_to_cpu(checkpoint), f"{name}_rank-{rank:08d}-of-{world:08d}.pth")
    full, _ = consolidate_sharded_model_checkpoints(name, "_rank-*-of-*.pth", save_model=False)
    save_file({key: value.contiguous() for key, value in full.items()}, f"{name}.safetensors", {"names": json.dumps(list(full))})
