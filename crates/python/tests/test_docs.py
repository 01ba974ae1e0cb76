"""The examples in the docstrings of the package, and in the pages of the documentation.

The `python` blocks of a page run in order, with shared names, in a folder of their own. A `text` block after them is what they have printed since
the last one; `SHARDC_BLESS=1` rewrites it. A block that imports a missing package is skipped. Reports depend on the program that JAX lowers, so they
are compared only with the pinned JAX.
"""

import ast
import contextlib
import doctest
import importlib.util
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import shardc
from shardc import _jax, checkpoint

ROOT = pathlib.Path(__file__).resolve().parents[3]
IS_PINNED = f"jax=={jax.__version__}\n" in (ROOT / "crates/xtask/python/requirements.txt").read_text()
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def packages(code):
    """The packages that a block imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def replayed(text):
    """A page with the current output of its `python` blocks."""
    names, printed = {"__name__": "page"}, io.StringIO()

    def run(match):
        language, code = match.groups()
        if language == "text":
            shown = printed.getvalue()
            printed.seek(0)
            printed.truncate()
            return f"```text\n{shown.strip()}\n```" if shown.strip() else match[0]
        missing = {name for name in packages(code) if importlib.util.find_spec(name) is None}
        if missing:
            print(f"SKIPPED: a block that imports {', '.join(sorted(missing))}", file=sys.stderr)
            return match[0]
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "page.py", "exec"), names)
        return match[0]

    return BLOCK.sub(run, text)


class Pages(unittest.TestCase):
    def test_pages_show_what_their_blocks_print(self):
        pages = sorted((ROOT / "docs/tasks").glob("*.md"))
        for page in [ROOT / "docs/START.md", *pages, ROOT / "crates/python/README.md"]:
            with self.subTest(page.name), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                text = page.read_text()
                truth = replayed(text)
                if os.environ.get("SHARDC_BLESS"):
                    page.write_text(truth)
                elif IS_PINNED:
                    self.assertEqual(text, truth)


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
