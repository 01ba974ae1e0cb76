"""The wheel, in new environments of the oldest and the newest Python that are here, runs the first example of the documentation.

maturin would compile every crate again, so the wheel is packed from the package and the program that are tested. `cargo xtask wheel --check` tries the
one that maturin builds. The Python of the tests has its pinned JAX; the newest Python gets the newest JAX.
"""

import base64
import glob
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
import unittest
import zipfile

import shardc

OWN = pathlib.Path(__file__).resolve().parent
PROJECT = tomllib.loads((OWN.parent / "pyproject.toml").read_text())["project"]
VERSION = tomllib.loads((OWN.parents[2] / "Cargo.toml").read_text())["workspace"]["package"]["version"]
TAG = "cp310-abi3-linux_x86_64"


def pack(folder):
    """Writes the wheel of the imported package, with the program on the `PATH`."""
    info = f"shardc-{VERSION}.dist-info"
    package = pathlib.Path(shardc.__file__).parent
    files = {f"shardc/{path.name}": path.read_bytes() for path in package.iterdir() if path.is_file()}
    files["shardc/bin/shardc"] = pathlib.Path(shutil.which("shardc")).read_bytes()
    extras = [f"Provides-Extra: {extra}" for extra in PROJECT["optional-dependencies"]]
    needs = [f'Requires-Dist: {need} ; extra == "{extra}"' for extra, each in PROJECT["optional-dependencies"].items() for need in each]
    about = ["Metadata-Version: 2.3", f"Name: {PROJECT['name']}", f"Version: {VERSION}", f"Requires-Python: {PROJECT['requires-python']}"]
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    texts = {
        "METADATA": [*about, *extras, *needs],
        "WHEEL": ["Wheel-Version: 1.0", "Generator: test_wheel", "Root-Is-Purelib: false", f"Tag: {TAG}"],
        "entry_points.txt": ["[console_scripts]", *scripts],
    }
    files |= {f"{info}/{name}": "\n".join([*lines, ""]).encode() for name, lines in texts.items()}
    record = f"{info}/RECORD"
    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    wheel = pathlib.Path(folder) / f"shardc-{VERSION}-{TAG}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            # pip makes a file executable only if the entry says that it is a regular file.
            entry.external_attr = (stat.S_IFREG | (0o755 if name.endswith("/shardc") else 0o644)) << 16
            archive.writestr(entry, data)
    return wheel


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def newest():
    """The newest Python on the `PATH` and below pyenv's folder, if it is newer than this one."""
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    folders = [*os.environ["PATH"].split(":"), *glob.glob(f"{pyenv}/versions/3.*/bin")]
    found = [(int(name[1]), path) for folder in folders for path in glob.glob(f"{folder}/python3.*") if (name := re.search(r"/python3\.(\d+)$", path))]
    starts = [each for each in found if subprocess.run([each[1], "-m", "venv", "--help"], capture_output=True).returncode == 0]
    version, path = max(starts, default=(0, None))
    return path if version > sys.version_info.minor else None


def first_example():
    """The first Python block of the first page, and what it prints."""
    page = (OWN.parents[2] / "docs/START.md").read_text()
    return re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()


class Wheels(unittest.TestCase):
    def run_in(self, command, **options):
        done = subprocess.run([os.fspath(word) for word in command], capture_output=True, text=True, check=False, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def try_with(self, python, packages):
        """Installs the wheel in a new environment of `python`; `packages` adds JAX to the environment's interpreter."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            self.run_in([python, "-m", "venv", folder / "env"])
            inside = folder / "env/bin/python"
            packages(inside)
            self.run_in([inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", pack(folder)])
            code, printed = first_example()
            (folder / "page.py").write_text(code)
            clean = {"PATH": f"{folder}/env/bin:/usr/bin:/bin", "HOME": os.fspath(folder), "JAX_PLATFORMS": "cpu"}
            self.assertEqual(self.run_in([inside, "page.py"], cwd=folder, env=clean), printed)
            self.assertEqual(self.run_in([folder / "env/bin/shardc", "--version"], env=clean), f"shardc {VERSION}\n")

    def test_the_python_of_the_tests(self):
        def share(inside):
            site = self.run_in([inside, "-c", "import site; print(site.getsitepackages()[0])"]).strip()
            shared = next(path for path in sys.path if path.endswith("site-packages"))
            pathlib.Path(site, "jax.pth").write_text(shared)

        self.try_with(sys.executable, share)

    def test_the_newest_python(self):
        python = newest()
        if python is None:
            self.skipTest("no newer Python than that of the tests is on the PATH or below PYENV_ROOT")

        def install(inside):
            pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
            self.run_in([*pip, "--requirement", OWN / "newest.txt"])

        self.try_with(python, install)


if __name__ == "__main__":
    unittest.main()
