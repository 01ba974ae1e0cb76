"""Programs of PyTorch/XLA. They are skipped where torch_xla is not installed."""

import os
import sys
import unittest

os.environ.setdefault("PJRT_DEVICE", "CPU")
os.environ["CPU_NUM_DEVICES"] = "8"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import shardc

try:
    import numpy
    import torch
    import torch_xla.distributed.spmd as spmd
    import torch_xla.runtime
except ImportError as error:
    sys.stderr.write(f"SKIPPED: {error}\n")
    sys.exit(0)


class Spmd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch_xla.runtime.use_spmd()
        cls.mesh = spmd.Mesh(numpy.arange(8), (4, 2), ("data", "model"))

    def tensors(self):
        x, w = torch.randn(64, 16).to("xla"), torch.randn(16, 32).to("xla")
        spmd.mark_sharding(x, self.mesh, ("data", None))
        spmd.mark_sharding(w, self.mesh, (None, "model"))
        return x, w

    def test_lazy_tensors_are_the_program_that_computes_them(self):
        x, w = self.tensors()
        part = shardc.partition(torch.tanh(x @ w).sum())
        self.assertEqual(part.num_devices, 8)
        self.assertIn("tensor<16x16xf32>", str(part))
        self.assertIn("all_reduce", str(part))
        report = shardc.explain([x @ w])
        self.assertNotIn("all_reduce", str(report))

    def test_exported_programs_are_read(self):
        from torch_xla.stablehlo import exported_program_to_stablehlo

        module = torch.nn.Linear(16, 32)
        exported = torch.export.export(module, (torch.randn(64, 16),))
        for program in (exported, exported_program_to_stablehlo(exported)):
            part = shardc.partition(program, mesh={"data": 8}, specs={"res0": ("data", None)})
            self.assertEqual(part.manifest["outputs"][0]["local_shape"], [8, 32])


if __name__ == "__main__":
    unittest.main()
