"""Run a sweep: each cell is kept as soon as it is there, so that whatever happens only the cells at work are lost.

In the folder: ``sweep.json``, which says whose it is; ``cells/HASH/`` with ``result.json`` and the design or the certificate of each cell, or with ``failure.json``;
``results.csv`` and ``results.parquet`` with a row for each cell, in the order of the settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import checks
from ..checkpoints import job_hash, remove_checkpoint
from ..errors import InputError
from ..execution import mapped_as_done
from ..files import check_writable, finite, read_limited, write_json, write_whole
from ..locks import HeldError, locked
from ..processes import remove_folders_left_behind
from ..wording import counted
from .settings import read_settings
from .table import write_table
from .work import CHECKPOINT, Outcome, are_numbers, work

if TYPE_CHECKING:
    from ..typing import FilePath
    from .settings import Cell

FORMAT, CELL_FORMAT = "robustpool-sweep/1", "robustpool-sweep-cell/1"
ABOUT, RESULT, FAILURE, LOCK = "sweep.json", "result.json", "failure.json", "sweep.lock"

Tell = Callable[["Sweep", str], None]
"""Called with the sweep after each cell, and a line about the cell."""


@dataclass
class Sweep:
    """A sweep in its folder: what each cell came to, by its hash."""

    folder: Path
    cells: list[Cell]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    kept: int = 0  # cells that an earlier run had done
    others: int = 0  # results in the folder that are of other settings
    finished: bool = False

    @property
    def failures(self) -> list[tuple[Cell, str]]:
        """The cells that ended with an error, each with its sentence."""
        ended = [(cell, self.outcomes.get(cell.digest)) for cell in self.cells]
        return [(cell, outcome.error) for cell, outcome in ended if outcome is not None and outcome.error is not None]

    @property
    def failed(self) -> int:
        """How many cells ended with an error."""
        return len(self.failures)

    @property
    def done(self) -> int:
        """How many cells have a result."""
        return len(self.outcomes) - self.failed

    @property
    def not_converged(self) -> int:
        """How many designs did not reach their tolerance."""
        return sum(outcome.numbers.get("converged") is False for outcome in self.outcomes.values())

    def home(self, cell: Cell) -> Path:
        """The folder of a cell."""
        return self.folder / "cells" / cell.digest[:16]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each cell that ended: its options, what became of it, its numbers, and where its files are."""
        rows = []
        for cell in self.cells:
            if (outcome := self.outcomes.get(cell.digest)) is not None:
                row = {"cell": cell.digest[:16], "kind": cell.kind, **_columns(cell.options)}
                row |= {"status": "done" if outcome.error is None else "failed", **outcome.numbers}
                rows.append(row | {"seconds": outcome.seconds, "error": outcome.error})
        return rows


def sweep(
    settings: FilePath, out: FilePath = "sweep", *, resume: bool = False, tell: Tell = lambda _sweep, _line: None
) -> Sweep:
    """All cells of a file of settings, each by the executor in use, with a table of their results.

    With ``resume``, cells that are done are not done again, unless their settings, the files that they name or the version
    have changed. A cell that fails is recorded with its sentence, and the others go on. Ctrl-C keeps the cells that are done.
    """
    it = Sweep(Path(out), read_settings(settings))
    if any(cell.kind == "design" for cell in it.cells):
        checks.extra("a sweep of designs", "solve")
    _check_folder(it.folder)
    remove_folders_left_behind()
    try:
        it.folder.mkdir(parents=True, exist_ok=True)
        with locked(it.folder / LOCK):
            if not resume and (it.folder / ABOUT).exists():
                raise InputError(
                    f"{str(it.folder)!r} has the results of a sweep: --resume continues it, or name another folder with --out."
                )
            write_json(it.folder / ABOUT, {"format": FORMAT, "cells": len(it.cells)})
            _run(it, tell)
    except HeldError as error:
        raise InputError(
            f"{error.owner} is working on the same sweep, in {str(it.folder)!r}; wait for it, stop it, or name another folder with --out."
        ) from None
    except OSError as error:
        raise InputError(f"{str(it.folder)!r} cannot be written ({error.strerror or error}).") from None
    return it


def _run(it: Sweep, tell: Tell) -> None:
    """Do the cells that are left, and write the table, whatever ends it."""
    it.outcomes = {cell.digest: outcome for cell in it.cells if (outcome := _kept(it.home(cell), cell)) is not None}
    it.kept = len(it.outcomes)
    ours = {cell.digest[:16] for cell in it.cells}
    it.others = sum(path.parent.name not in ours for path in it.folder.glob(f"cells/*/{RESULT}"))
    waiting = [cell for cell in it.cells if cell.digest not in it.outcomes]
    try:
        for cell in waiting:
            it.home(cell).mkdir(parents=True, exist_ok=True)
        items = [(cell, str(it.home(cell).resolve())) for cell in waiting]
        for number, reached in mapped_as_done(work, items, None):
            cell = waiting[number]
            outcome = _checked(cell, reached)
            _keep(it.home(cell), cell, outcome)
            it.outcomes[cell.digest] = outcome
            tell(it, cell.words if outcome.error is None else f"{cell.words}: failed, {outcome.error}")
        it.finished = True
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        with suppress(InputError):  # what ended the sweep is worth more
            _write(it)
        if isinstance(error, InputError):
            raise InputError(
                f"{error} {counted(it.done, 'cell')} of {len(it.cells):,} are done; --resume does the others."
            ) from None
        raise
    _write(it)


def _checked(cell: Cell, outcome: Outcome) -> Outcome:
    """The outcome of a cell, if the files that it is about are still those that were read."""
    changed = cell.changed_file()
    if changed is None:
        return outcome
    sentence = f"{changed!r} was changed while the sweep was at work; --resume does the cell again."
    return Outcome(seconds=outcome.seconds, error=sentence)


def _write(it: Sweep) -> None:
    """The table of the cells that ended."""
    if it.outcomes:
        write_table(it.rows(), it.folder)


def _check_folder(folder: Path) -> None:
    """A folder that is new or empty, or that of a sweep."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out must be a folder; {str(folder)!r} is none.")
    check_writable(folder / "results.csv")
    others = folder.is_dir() and any(path.name != LOCK for path in folder.iterdir())  # a lock alone: killed at once
    if others and not _is_ours(folder / ABOUT):
        raise InputError(f"--out must be a new folder or that of a sweep; {str(folder)!r} is neither.")


def _is_ours(about: Path) -> bool:
    """Whether a file says that its folder is that of a sweep."""
    try:
        return bool(json.loads(_text(about))["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _kept(home: Path, cell: Cell) -> Outcome | None:
    """What an earlier run left of a cell; None if nothing, or if it cannot be read."""
    try:
        data = json.loads(_text(home / RESULT))
        if data["format"] != CELL_FORMAT or data["hash"] != cell.digest or not are_numbers(data["numbers"]):
            return None
        if data["content"] != _content(data, {name: _text(home / name) for name in data["files"]}):
            return None
        return Outcome(numbers=dict(data["numbers"]), data=dict(data["result"]), seconds=float(data["seconds"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _keep(home: Path, cell: Cell, outcome: Outcome) -> None:
    """Write the files of a cell; the result comes last, and says that the others are there."""
    about = {"format": CELL_FORMAT, "hash": cell.digest, "kind": cell.kind, "options": cell.options}
    if outcome.error is not None:
        write_json(home / FAILURE, about | {"error": outcome.error, "seconds": outcome.seconds})
        return
    for name, content in outcome.files.items():
        write_whole(home / name, partial(Path.write_text, data=content, encoding="utf-8"))
    result = {"numbers": finite(outcome.numbers), "result": finite(outcome.data), "seconds": outcome.seconds}
    written = about | result | {"files": list(outcome.files)}
    write_json(home / RESULT, written | {"content": _content(written, outcome.files)})
    (home / FAILURE).unlink(missing_ok=True)
    remove_checkpoint(home / CHECKPOINT)


def _content(result: dict[str, Any], files: dict[str, str]) -> str:
    """A hash of a result and of its files: one that was changed or cut off is computed again."""
    return job_hash({name: value for name, value in result.items() if name != "content"}, files)


def _text(path: Path) -> str:
    """A file of a sweep, if it is one and not huge."""
    return read_limited(path).decode("utf-8")


def _columns(options: dict[str, Any]) -> dict[str, Any]:
    """Options as columns: a range becomes two."""
    columns: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, list):
            columns |= dict(zip((f"{name}_low", f"{name}_high"), value, strict=False))
        else:
            columns[name] = value
    return columns
