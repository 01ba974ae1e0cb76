"""NF4 round trips of bitsandbytes, for `tests/adapters.rs`: python nf4.py (needs torch, bitsandbytes, numpy, safetensors)."""

import numpy as np
import torch
from bitsandbytes.functional import dequantize_4bit, quantize_4bit
from safetensors.numpy import save_file

n = 64 * 260
words = ((np.arange(n, dtype=np.uint64) * 2654435761) % (1 << 32)).astype(np.uint32)
uniform = (words >> 8).astype(np.float32) / np.float32(1 << 24) - np.float32(0.5)
scale = ((np.arange(n) // 64 * 37) % 101 + 1).astype(np.float32) / np.float32(64)
weights = torch.from_numpy(uniform * scale)

packed, state = quantize_4bit(weights, blocksize=64, quant_type="nf4", compress_statistics=False)
_, double = quantize_4bit(weights, blocksize=64, quant_type="nf4", compress_statistics=True)
every = lambda state: dequantize_4bit(packed, state).numpy().reshape(-1)[::16].copy()
save_file(
    {
        "packed": packed.flatten().numpy(),
        "absmax": state.absmax.numpy(),
        "values": every(state),
        "double.absmax": double.absmax.numpy(),
        "double.scales": double.state2.absmax.numpy(),
        "double.offset": double.offset.reshape(1).numpy(),
        "double.values": every(double),
    },
    "nf4.safetensors",
)
