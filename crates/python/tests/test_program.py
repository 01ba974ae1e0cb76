"""What the package does through the program `shardc`: verification and checkpoints."""

import json
import pathlib
import struct
import tempfile
import unittest

import shardc
from shardc import checkpoint

MATMUL = """
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
"""


def safetensors(path, arrays):
    """Writes arrays of f32: their shapes and values by name."""
    header, data = {}, b""
    for name, (shape, values) in arrays.items():
        own = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(own)]}
        data += own
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Verification(unittest.TestCase):
    def test_outputs_are_compared(self):
        result = shardc.verify(MATMUL, mesh={"data": 4}, specs={0: ("data", None)})
        self.assertTrue(result["ok"])
        self.assertEqual(result["devices"], 4)
        self.assertEqual(result["outputs"][0]["type"], "tensor<32x16xf32>")

    def test_the_interpreter_needs_no_plugin(self):
        result = shardc.verify(MATMUL, mesh={"data": 4}, specs={0: ("data", None)}, engine="interpreter")
        self.assertTrue(result["ok"])
        self.assertEqual(result["engine"], "interpreter")

    def test_exact_arithmetic_has_no_tolerance(self):
        result = shardc.verify(MATMUL, mesh={"data": 3}, specs={0: ("data", None), 1: ("data", None)}, exact=True)
        self.assertTrue(result["ok"])
        self.assertEqual(result["outputs"][0]["different"], 0)
        self.assertLess(result["chance_of_missed_difference"], 1e-15)
        with self.assertRaises(shardc.InvalidInputError):
            shardc.verify(MATMUL, mesh={"data": 4}, engine="pjrt", exact=True)

    def test_errors_are_exceptions(self):
        with self.assertRaises(shardc.InvalidInputError) as caught:
            shardc.verify(MATMUL)
        self.assertEqual(caught.exception.code, "SH0303")
        self.assertTrue(caught.exception.hint)


class Proofs(unittest.TestCase):
    def test_partitions_are_proven(self):
        part = shardc.partition(MATMUL, mesh={"data": 4}, specs={0: (None, "data"), 1: ("data", None)})
        self.assertEqual(shardc.prove(MATMUL, part)["verdict"], "proven")
        self.assertEqual(shardc.prove(MATMUL, part.program, part.manifest)["outputs"], [True])

    def test_wrong_partitions_are_refuted(self):
        part = shardc.partition(MATMUL, mesh={"data": 4}, specs={0: (None, "data"), 1: ("data", None)})
        wrong = str(part.program).replace("stablehlo.add", "stablehlo.maximum")
        self.assertNotEqual(wrong, str(part.program))
        report = shardc.prove(MATMUL, wrong, part.manifest)
        self.assertEqual((report["verdict"], report["outputs"]), ("refuted", [False]))
        self.assertTrue(report["places"][0]["operation"])
        self.assertEqual(shardc.prove(MATMUL, wrong, part.manifest, test=False)["verdict"], "not decided")

    def test_rewrites_need_no_manifest(self):
        self.assertEqual(shardc.prove(MATMUL, MATMUL)["verdict"], "proven")
        with self.assertRaises(shardc.InvalidInputError) as caught:
            shardc.prove(MATMUL, "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
        self.assertEqual(caught.exception.code, "SH0715")


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "model.safetensors"
        safetensors(self.file, {"w": ([4, 4], range(16)), "b": ([4], range(4))})

    def test_a_state_dict_becomes_a_sharded_checkpoint_and_back(self):
        stored, sharded, back = (self.folder / name for name in ("stored", "sharded", "back.safetensors"))
        checkpoint.convert(self.file, stored, form="zarr")
        shapes = {array["name"]: array["shape"] for array in checkpoint.show(stored)["arrays"]}
        self.assertEqual(shapes, {"w": [4, 4], "b": [4]})
        checkpoint.reshard(stored, sharded, mesh={"data": 2}, specs={"w": ("data", None)})
        blocks = {array["name"]: array["block"] for array in checkpoint.show(sharded)["arrays"]}
        self.assertEqual(blocks["w"], [2, 4])
        self.assertEqual(checkpoint.verify(sharded), [])
        self.assertEqual(checkpoint.compare(stored, sharded)["differences"], [])
        checkpoint.convert(sharded, back)
        self.assertEqual(checkpoint.show(stored)["bytes"], checkpoint.show(sharded)["bytes"])
        self.assertEqual(checkpoint.compare(back, self.file)["differences"], [])

    def test_missing_checkpoints_are_errors(self):
        with self.assertRaises(shardc.ShardcError) as caught:
            checkpoint.show(self.folder / "none")
        self.assertEqual(caught.exception.code, "SH1305")
        with self.assertRaisesRegex(ValueError, "form is"):
            checkpoint.convert(self.file, self.folder / "out", form="npz")


if __name__ == "__main__":
    unittest.main()
