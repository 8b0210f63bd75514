"""The embedded engine: a private DuckDB that keeps what does not fit into memory in a temporary folder, and SQL as text."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..processes import own_name, remove_folders_left_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import duckdb

    Progress = Callable[[int, int], object]

MEGABYTES = 96
"""Memory that the engine may use for a small table; beyond it, it works in its folder. Arrays that it gives come on top."""

SPACES = " \t\r\n"


@dataclass
class Engine:
    """A connection, the folder that belongs to it, which is made when it is needed, and the memory that it may use."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    megabytes: int = MEGABYTES

    def allow(self, megabytes: int) -> None:
        """Use so much memory from now on."""
        self.connection.execute(f"SET memory_limit = '{megabytes}MB'")

    def expect(self, size: int, columns: int) -> None:
        """Use the memory that a table of so many bytes and columns needs: some of it cannot go to the folder."""
        self.megabytes = MEGABYTES + size // 8_000_000 + columns // 2 + 24 * max(0, _threads() - 2)
        self.allow(self.megabytes)

    def read_only_from(self, path: Path) -> None:
        """From now on no file but this one, and those in the folder, whatever a query says."""
        self.connection.execute(
            f"SET allowed_paths = [{literal(str(path))}]; SET allowed_directories = [{literal(str(self.folder))}]; "
            "SET enable_external_access = false"
        )

    def place(self, name: str, what: str) -> Path:
        """Where a file of this name can stand in the folder, for ``what`` needs it."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise no_folder(what, error) from None
        return self.folder / name

    def run(self, query: str, progress: Progress | None = None) -> None:
        """Run a query in a thread of its own, so that its progress can be told and Ctrl-C stops it."""
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(self.connection.execute, query)
            try:
                while not _ended(running):
                    if progress is not None:  # of 200: what comes after the query is the other half
                        progress(int(max(self.connection.query_progress(), 0)), 200)
            except BaseException:
                self.connection.interrupt()
                raise

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives, row by row."""
        return self.connection.execute(query).fetchall()

    def arrays(self, query: str) -> dict[str, Any]:
        """What a query gives, by columns; nothing in it may be NULL but text."""
        return self.connection.execute(query).fetchnumpy()


@contextmanager
def engine() -> Iterator[Engine]:
    """An engine of one's own; its folder is removed, and so are those of processes that were killed."""
    import duckdb

    remove_folders_left_behind()
    folder = Path(tempfile.gettempdir()) / own_name()
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": _threads(),
        "memory_limit": f"{MEGABYTES}MB",
        "temp_directory": str(folder),
        "pandas_analyze_sample": 0,  # columns of objects are text, whatever the first rows hold
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    connection = duckdb.connect(":memory:", config=settings)
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    try:
        yield Engine(connection, folder)
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def no_folder(what: str, error: OSError | str) -> InputError:
    """Say that something needs a temporary folder."""
    why = error if isinstance(error, str) else error.strerror or error
    return InputError(f"{what} a temporary folder, set by TMPDIR; it cannot be used ({why}).")


def _threads() -> int:
    """At most four: more need more memory, and read a table hardly faster."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4)


def literal(text: str) -> str:
    """A text in SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """The name of a column in SQL.

    >>> identifier('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def among(expression: str, texts: Iterable[str]) -> str:
    """Whether an expression is one of some texts; IN would be a join to the engine, which loses the order of the rows."""
    return f"regexp_full_match({expression}, {literal('|'.join(map(re.escape, sorted(texts))))})"


def stripped(expression: str) -> str:
    """A text without spaces around it."""
    return f"trim({expression}, {literal(SPACES)})"


def from_system(text: str) -> OSError:
    """What the system told the engine, as Python would say it: the disk is full, say."""
    number = re.search(r'"errno":"(\d+)"', text)
    return OSError(text.splitlines()[0]) if number is None else OSError(int(number[1]), os.strerror(int(number[1])))


def _ended(running: Any) -> bool:
    """Whether a query ends within a moment; its error is raised."""
    try:
        running.result(timeout=0.1)
    except NotYet:
        return False
    return True
