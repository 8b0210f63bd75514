"""``reproduce``: the table and the figures, their numbers, and one page that shows them all."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import InputError
from ..files import check_writable, refuse_foreign, write_whole
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
    what: str = "all", out: FilePath = "reproduction", *, settings: Settings = FULL, tell: Tell = silent
) -> Reproduction:
    """Reproduce the paper's ``table1``, its ``figures`` or ``all`` into a folder, with a page that shows them.

    Each table, figure, design and certificate is written as soon as it is ready. Ctrl-C keeps the results so far: the
    page then has these, and ``finished`` is false.
    """
    result = Reproduction(settings, Path(out), tell)
    began = time.perf_counter()
    try:
        for _ in reproduction(result, what):
            result.seconds = time.perf_counter() - began
        result.finished = True
    except KeyboardInterrupt:
        if not (result.rows or result.numbers):
            raise
    write_page(page(result), result.report)
    return result


def reproduction(result: Reproduction, what: str) -> Iterator[Reproduction]:
    """The same step by step, without the page: the result after each row of the table and each figure."""
    checks.choice("what", what, PARTS)
    for name in ("solve", "plots"):
        checks.extra("reproducing the paper", name)
    _check_folder(result.folder, result.report)
    for row in table_1(result) if what != "figures" else ():
        result.rows.append(row)
        save_table(result.rows, result.folder / "table1.csv")
        yield result
    for figure in FIGURES if what != "table1" else ():
        numbers = figure.compute(result)
        result.tell(f"drawing {figure.name}", 0.0)
        result.pictures[figure.name] = _save(figure, numbers, result.folder / "figures")
        result.numbers[figure.name] = numbers
        yield result


def _check_folder(folder: Path, report: Path) -> None:
    """A folder that is new, or in which nothing of somebody else's would be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} cannot be written to: it is not a folder.")
    check_writable(report)
    refuse_foreign("the report", report, "<!doctype html", "an HTML page")
    refuse_foreign("the table", folder / "table1.csv", ",".join(("name", *HEADER)), "one of an earlier run")


def _save(figure: PaperFigure, numbers: Numbers, folder: Path) -> bytes:
    """The numbers as NPZ, the picture as PNG and PDF, drawn from these numbers alone; the PNG comes back."""
    drawn: Any = figure.draw(numbers)
    picture, arrays, pages = png(drawn), io.BytesIO(), io.BytesIO()
    np.savez_compressed(arrays, **numbers)
    drawn.set_layout_engine("none")  # the PNG has laid it out
    drawn.savefig(pages, format="pdf", dpi=2 * DPI, metadata={"CreationDate": None})
    for ending, content in (("npz", arrays.getvalue()), ("png", picture), ("pdf", pages.getvalue())):
        write_whole(folder / f"{figure.name}.{ending}", partial(Path.write_bytes, data=content))
    return picture
