"""``reproduce``: the table and the figures, their numbers, and one page that shows them all."""

from __future__ import annotations

import io
import math
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import __version__, checks
from ..checkpoints import Checkpoint, CheckpointWarning, check, job_hash
from ..errors import InputError
from ..files import check_writable, refuse_foreign, write_bytes
from ..plots.style import DPI, png
from ..views.page import write_page
from .claims import Claim, claims
from .figures import FIGURES
from .page import page
from .settings import FULL, Settings
from .table_1 import HEADER, Row, save_table, table_1
from .workbench import Tell, Workbench, silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import FilePath
    from .figures.figure import Numbers, PaperFigure

PARTS = ("table1", "figures", "all")


@dataclass(eq=False)
class Reproduction(Workbench):
    """The workbench with what has been reproduced on it so far; it grows with each step."""

    rows: list[Row] = field(default_factory=list)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    finished: bool = False

    def __post_init__(self) -> None:
        """Say where the page will be."""
        self.report = self.folder / "report.html"

    @property
    def claims(self) -> list[Claim]:
        """The paper's claims beside our numbers."""
        return claims(self.rows, self.numbers)


def reproduce(
    what: str = "all",
    out: FilePath = "reproduction",
    *,
    settings: Settings = FULL,
    tell: Tell = silent,
    resume: bool = False,
) -> Reproduction:
    """Reproduce the paper's ``table1``, its ``figures`` or ``all`` into a folder, with a page that shows them.

    Each table, figure, design and certificate is written as soon as it is ready. Ctrl-C keeps the results so far: the
    page then has these, and ``finished`` is false. With ``resume``, what an earlier run with the same settings reached in the
    folder is kept; without it, a run that was stopped there is not overwritten: that is an error.
    """
    result = Reproduction(settings, Path(out), tell)
    began = time.perf_counter()
    steps = reproduction(result, what, resume=resume)
    try:
        for _ in steps:
            result.seconds = time.perf_counter() - began
        result.finished = True
    except KeyboardInterrupt:
        if not (result.rows or result.numbers):
            raise
    write_page(page(result), result.report)
    if result.finished:
        result.forget_checkpoints()
    return result


def reproduction(result: Reproduction, what: str, *, resume: bool = False) -> Iterator[Reproduction]:
    """The same step by step, without the page: the result after each row of the table and each figure."""
    checks.choice("what", what, PARTS)
    for name in ("solve", "plots"):
        checks.extra("reproducing the paper", name)
    _check_folder(result.folder, result.report)
    job = job_hash("reproduction", __version__, asdict(result.settings))
    with Checkpoint(result.checkpoint("parts"), job, _parts) as saved:
        parts = saved.begin("auto" if resume else False) or Parts({}, {})
        result.rows_before = dict(parts.rows)
        saved.offer(parts.to_data, now=True)
        drawn = parts.numbers.keys() >= {figure.name for figure in FIGURES}
        result.solve_elsewhere(table=what != "figures", figures=what != "table1" and not drawn)
        for row in table_1(result) if what != "figures" else ():
            result.rows.append(row)
            save_table(result.rows, result.folder / "table1.csv", whole=False)
            parts.rows[row.name] = row
            saved.offer(parts.to_data, now=True)
            yield result
        if result.rows:
            save_table(result.rows, result.folder / "table1.csv", whole=True)
        for figure in FIGURES if what != "table1" else ():
            numbers, picture = parts.numbers.get(figure.name), None
            if numbers is not None:
                result.tell(f"drawing {figure.name}", 0.0)
                picture = _drawn_again(figure, numbers, result.folder / "figures")
            if numbers is None or picture is None:
                numbers = figure.compute(result)
                result.tell(f"drawing {figure.name}", 0.0)
                picture = _save(figure, numbers, result.folder / "figures")
            result.pictures[figure.name] = picture
            result.numbers[figure.name] = parts.numbers[figure.name] = numbers
            saved.offer(parts.to_data, now=True)
            yield result


class Parts(NamedTuple):
    """What is done: rows of the table and numbers of figures, by name."""

    rows: dict[str, Row]
    numbers: dict[str, Numbers]

    def to_data(self) -> dict[str, Any]:
        """The same as a checkpoint keeps it."""
        return {"rows": {name: asdict(row) for name, row in self.rows.items()}, "numbers": self.numbers}


def _parts(data: Any) -> Parts:
    rows = {name: Row(**row) for name, row in data["rows"].items()}
    for name, row in rows.items():
        bounds = [row.found, row.lower, row.upper]
        check(
            "a row", row.name == name and all(isinstance(bound, float) for bound in bounds) and row.lower <= row.upper
        )
        check("a row", all(map(math.isfinite, bounds)) and isinstance(row.published, float | None))
        texts: list[Any] = [row.words, row.certificate]
        check("a row", all(isinstance(text, str) for text in texts))
    for name, numbers in data["numbers"].items():
        check("a figure", name in {figure.name for figure in FIGURES})
        check("its numbers", all(isinstance(values, np.ndarray) for values in numbers.values()))
    return Parts(rows, data["numbers"])


def _check_folder(folder: Path, report: Path) -> None:
    """A folder that is new, or in which nothing of somebody else's would be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} cannot be written to: it is not a folder.")
    check_writable(report)
    refuse_foreign("the report", report, "<!doctype html", "an HTML page")
    refuse_foreign("the table", folder / "table1.csv", ",".join(("name", *HEADER)), "one of an earlier run")


def _drawn_again(figure: PaperFigure, numbers: Numbers, folder: Path) -> bytes | None:
    """The picture of saved numbers; None if they cannot be those of the figure, whatever they are."""
    try:
        figure.meaning(numbers)
        claims([], {figure.name: numbers})
        return _save(figure, numbers, folder)
    except (OSError, InputError):  # the disk
        raise
    except Exception as error:  # noqa: BLE001
        sentence = (
            f"the saved numbers of {figure.name} cannot be drawn ({type(error).__name__}); they are computed again."
        )
        warnings.warn(sentence, CheckpointWarning, stacklevel=2)
        return None


def _save(figure: PaperFigure, numbers: Numbers, folder: Path) -> bytes:
    """The numbers as NPZ, the picture as PNG and PDF, drawn from these numbers alone; the PNG comes back."""
    drawn: Any = figure.draw(numbers)
    picture, arrays, pages = png(drawn), io.BytesIO(), io.BytesIO()
    np.savez_compressed(arrays, **numbers)
    drawn.set_layout_engine("none")  # the PNG has laid it out
    drawn.savefig(pages, format="pdf", dpi=2 * DPI, metadata={"CreationDate": None})
    for ending, content in (("npz", arrays.getvalue()), ("png", picture), ("pdf", pages.getvalue())):
        write_bytes(folder / f"{figure.name}.{ending}", content)
    return picture
