"""The native module; `shardc` has its public names."""

from typing import Any, Final

__version__: Final[str]

class ShardcError(Exception):
    """The base of all errors of shardc."""

    code: str | None
    """The code of the first diagnostic, such as `SH0301`."""
    hint: str | None
    """What to do about it."""
    line: int | None
    """Its line in the program, from 1."""
    column: int | None
    """Its column, from 1."""
    user_location: str | None
    """Its place in the user's own code, if the program has source locations."""
    diagnostics: list[dict[str, Any]]
    """All diagnostics."""

class InvalidInputError(ShardcError):
    """The program or the options are invalid."""

class UnsupportedError(ShardcError):
    """The program uses a feature that shardc does not support."""

class InternalError(ShardcError):
    """A bug in shardc. Please report it."""

class Program:
    """A program in StableHLO. It never changes; transformations return new programs."""

    @staticmethod
    def read(data: bytes, name: str = "<program>") -> Program: ...
    def text(self, *, generic: bool = False, locations: bool = False) -> str: ...
    def bytecode(self) -> bytes: ...
    def artifact(self, version: str = "1.0.0") -> bytes: ...

class Partition:
    """A partitioned program: what each device runs, and how its inputs and outputs are sharded."""

    @property
    def num_devices(self) -> int: ...
    @property
    def program(self) -> Program: ...
    @property
    def manifest(self) -> dict[str, Any]: ...
    @property
    def warnings(self) -> list[dict[str, Any]]: ...
    def manual_computation(self) -> Program: ...
    def bytecode(self) -> bytes: ...
    def warning_text(self) -> str: ...

class Report:
    """A report: `data` has its facts, `str()` is its text, and notebooks show its page."""

    @property
    def data(self) -> dict[str, Any]: ...
    def json(self) -> str: ...
    def html(self) -> str | None: ...
    def __getitem__(self, key: str) -> Any: ...

class Compiler:
    def __init__(
        self,
        *,
        mesh: str | None = None,
        specs: list[tuple[str, str]] = [],
        mode: str = "partition",
        target: str | None = None,
        strict: bool = False,
        warn_bytes: int | None = None,
        combine_bytes: int | None = None,
        inline_budget: int | None = None,
        entry: str | None = None,
        dims: list[tuple[str, int]] = [],
        rules: str | None = None,
        time_limit: float | None = None,
    ) -> None: ...
    def partition(self, program: Program) -> Partition: ...
    def propagate(self, program: Program) -> Program: ...
    def explain(self, program: Program, *, value: str | None = None, collective: int | None = None, remedies: int = 0) -> Report: ...
    def lint(self, program: Program, *, allow: list[str] = [], deny: list[str] = []) -> Report: ...
    def plan(self, program: Program, target: str, *, memory: int | None = None, changes: bool = True) -> Report: ...

def auto(
    compiler: Compiler,
    program: Program,
    target: str,
    *,
    mesh: str | None = None,
    specs: list[tuple[str, str]] = [],
    memory: int | None = None,
    ignore_shardings: bool = False,
) -> tuple[Program, Report]: ...
def grad(program: Program, wrt: list[str], *, value: bool = False) -> Program: ...
def fsdp(program: Program, strategy: str, mesh: str, *, roles: list[str] = [], loss: str | None = None) -> Program: ...
