"""A plugin of pytest: tests of JAX run with shardc as the partitioner, and tests that are excluded are skipped with their reasons."""

import pathlib

import pytest

import shardc
from shardc import _jax

_partitioned = 0
_partition = _jax._partitioned


def _counted(*args):
    global _partitioned
    _partitioned += 1
    return _partition(*args)


_jax._partitioned = _counted


def _excluded():
    """The excluded tests, with their reasons."""
    lines = (pathlib.Path(__file__).parent / "excluded.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def pytest_collection_modifyitems(items):
    excluded = _excluded()
    for item in items:
        reason = excluded.get(f"{item.path.name}::{item.name}")
        if reason:
            item.add_marker(pytest.mark.skip(reason=f"excluded: {reason}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    # Every program is partitioned by shardc, or the test fails.
    with shardc.jax_plugin(warn=False, fallback=False):
        return (yield)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"shardc partitioned {_partitioned} programs")
