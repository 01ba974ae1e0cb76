"""Programs, options, reports and errors."""

import pathlib
import signal
import tempfile
import threading
import time
import unittest

import shardc

MATMUL = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
"""

PLAIN = "func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> { %0 = stablehlo.tanh %x : tensor<8x4xf32> return %0 : tensor<8x4xf32> }"


class Programs(unittest.TestCase):
    def test_partition_has_local_shapes(self):
        part = shardc.partition(MATMUL)
        self.assertEqual(part.num_devices, 8)
        self.assertEqual(part.manifest["outputs"][0]["spec"], [["data"], ["model"]])
        self.assertIn("(tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>", str(part))

    def test_forms_of_specs(self):
        for specs in ({0: ("data", None)}, {"x": "data,-"}, {"arg0": ["data"]}, {0: (("data",),)}):
            part = shardc.partition(PLAIN, mesh={"data": 4}, specs=specs)
            self.assertEqual(part.manifest["outputs"][0]["local_shape"], [2, 4], specs)
        self.assertEqual(shardc.partition(PLAIN, mesh="data=4", specs={0: ()}).manifest["inputs"][0]["local_shape"], [8, 4])

    def test_bytes_and_text_are_the_same_program(self):
        program = shardc.read(MATMUL)
        for data in (program.bytecode(), program.artifact(), program.text(generic=True)):
            self.assertEqual(str(shardc.partition(data)), str(shardc.partition(MATMUL)))

    def test_files_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "step.mlir"
            path.write_text(MATMUL)
            self.assertEqual(repr(shardc.read(path)), f"<shardc.Program {path}>")

    def test_other_objects_are_refused(self):
        with self.assertRaisesRegex(TypeError, "a list is not a program"):
            shardc.partition([1])

    def test_mistakes_in_arguments_are_named(self):
        for error, call in [
            (TypeError, lambda: shardc.partition(PLAIN, mesh=5)),
            (TypeError, lambda: shardc.partition(PLAIN, mesh="data=4", specs={0: (1,)})),
            (ValueError, lambda: shardc.read("step.mlir")),
            (ValueError, lambda: shardc.read(b"")),
        ]:
            with self.assertRaises(error):
                call()

    def test_errors_have_code_place_and_hint(self):
        with self.assertRaises(shardc.InvalidInputError) as caught:
            shardc.partition("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y : tensor<4xf32>\n}")
        error = caught.exception
        self.assertEqual((error.code, error.line, error.column), ("SH0102", 2, 10))
        self.assertIn("must be defined", error.hint)
        self.assertEqual(error.diagnostics[0]["severity"], "error")
        self.assertIn("2 |   return %y", str(error))

    def test_mistakes_in_options_are_errors(self):
        with self.assertRaises(shardc.InvalidInputError) as caught:
            shardc.partition(PLAIN, mesh="data=x")
        self.assertEqual(caught.exception.code, "SH0306")
        with self.assertRaisesRegex(ValueError, "'partition' or 'replica'"):
            shardc.partition(MATMUL, mode="other")

    def test_hints_name_the_options_of_python(self):
        with self.assertRaises(shardc.InvalidInputError) as caught:
            shardc.partition(PLAIN)
        self.assertIn('mesh={"data": 4, "model": 2}', caught.exception.hint)
        self.assertNotIn("Compiler::", str(caught.exception))

    def test_strict_refuses_an_all_gather(self):
        sort = """func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
          %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          }) : (tensor<64xf32>) -> tensor<64xf32>
          return %0 : tensor<64xf32>
        }"""
        part = shardc.partition(sort, mesh="data=4", specs={0: "data"})
        self.assertIn("SH0310", [warning["code"] for warning in part.warnings])
        self.assertIn("SH0310", part.warning_text())
        with self.assertRaises(shardc.ShardcError):
            shardc.partition(sort, mesh="data=4", specs={0: "data"}, strict=True)

    def test_reports_have_data_text_and_pages(self):
        report = shardc.explain(MATMUL)
        self.assertIn("shards 3 values", str(report))
        self.assertIn("<iframe", report._repr_html_())
        plan = shardc.plan(MATMUL, "v5e:2x4")
        self.assertTrue(plan["memory"]["fits"])
        self.assertEqual(plan.data["target"]["name"], "v5e:2x4")
        self.assertIn("v5e:2x4", plan.html())
        self.assertIsNone(shardc.lint(MATMUL).html())
        lint = shardc.lint(MATMUL, deny=["unused-mesh-axis"])
        self.assertFalse(lint["has_errors"])

    def test_auto_finds_a_sharding(self):
        annotated, report = shardc.auto(MATMUL, "v5e:2x4", ignore_shardings=True)
        self.assertTrue(report["fits"])
        self.assertIn("sdy.mesh", str(annotated))

    def test_gradients_and_strategies_compose(self):
        step = shardc.read(
            """func.func @main(%w: tensor<64x16xf32>, %x: tensor<32x64xf32>) -> (tensor<64x16xf32>, tensor<f32>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
          %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<f32>
          %g = stablehlo.transpose %x, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
          %one = stablehlo.constant dense<0.1> : tensor<32x16xf32>
          %d = stablehlo.dot_general %g, %one, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
          %next = stablehlo.subtract %w, %d : tensor<64x16xf32>
          return %next, %loss : tensor<64x16xf32>, tensor<f32>
        }"""
        )
        part = shardc.partition(shardc.fsdp(step, "full_shard", mesh={"fsdp": 4}))
        self.assertEqual(part.manifest["inputs"][0]["local_shape"], [16, 16])
        loss = "func.func @main(%w: tensor<f32>) -> tensor<f32> { %0 = stablehlo.multiply %w, %w : tensor<f32> return %0 : tensor<f32> }"
        self.assertIn("gradient(w)", str(shardc.grad(loss, "w", value=True)))

    def test_the_compiler_runs_beside_other_threads(self):
        """The lock of the interpreter is released: another thread makes progress during a search."""
        ticks = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        begun = time.monotonic()
        shardc.auto(MATMUL, "v5e:2x4", ignore_shardings=True)
        ended = time.monotonic()
        done.set()
        thread.join()
        during = [t for t in ticks if begun < t < ended]
        self.assertGreater(len(during), 3)

    def test_signals_end_a_compilation(self):
        """A handler that raises, as that of Ctrl-C does, ends the work in progress."""

        class Stop(Exception):
            pass

        def stop(*_):
            raise Stop

        layer = "  %{0} = stablehlo.dot_general %{1}, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n"
        layers = "".join(layer.format(i + 1, i) for i in range(3000))
        text = f"func.func @main(%0: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {{\n{layers}  return %3000 : tensor<64x64xf32>\n}}"
        text = text.replace("%", "%v").replace("%vw", "%w")
        program = shardc.read(text)
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with self.assertRaises(Stop):
                for _ in range(1000):
                    shardc.partition(program, mesh="data=4", specs={0: "data,-"})
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    unittest.main()
