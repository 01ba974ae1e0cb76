"""The examples in the docstrings of the package."""

import doctest
import os
import sys
import unittest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import shardc
from shardc import _jax, checkpoint


def load_tests(loader, tests, pattern):
    for module in (shardc, _jax, checkpoint):
        tests.addTests(doctest.DocTestSuite(module, extraglobs={"shardc": shardc}))
    return tests


class Public(unittest.TestCase):
    def test_every_public_name_has_documentation(self):
        for name in shardc.__all__:
            if name != "__version__":
                self.assertTrue(getattr(shardc, name).__doc__, name)

    def test_stubs_name_what_the_native_module_has(self):
        import ast
        import pathlib

        from shardc import _shardc

        stubs = ast.parse((pathlib.Path(shardc.__file__).parent / "_shardc.pyi").read_text())
        for node in stubs.body:
            if isinstance(node, ast.FunctionDef):
                self.assertTrue(callable(getattr(_shardc, node.name)), node.name)
            elif isinstance(node, ast.ClassDef) and not node.bases and node.name != "ShardcError":
                known = getattr(_shardc, node.name)
                members = {m.name for m in node.body if isinstance(m, ast.FunctionDef) and m.name != "__init__"}
                public = {name for name in vars(known) if not name.startswith("_")}
                self.assertEqual(members - {"__getitem__"}, public, node.name)


if __name__ == "__main__":
    sys.exit(unittest.main())
