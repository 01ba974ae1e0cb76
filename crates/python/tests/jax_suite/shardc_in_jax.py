"""A plugin of pytest: tests of JAX run with shardc as the partitioner, and tests that are excluded are skipped with their reasons."""

import collections
import pathlib
import warnings

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


_left = collections.Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with shardc.jax_plugin(warn=False), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", shardc.ShardingWarning)
        try:
            return (yield)
        finally:
            for warning in caught:
                if issubclass(warning.category, shardc.ShardingWarning):
                    _left[str(warning.message).partition(": ")[2].splitlines()[0]] += 1


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"shardc partitioned {_partitioned - _left.total()} programs")
    for reason, times in _left.most_common():
        terminalreporter.write_line(f"{times} were left to XLA: {reason}")
