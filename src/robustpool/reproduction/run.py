"""``reproduce``: the table and the figures, their numbers, and one page that shows them all."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, checks
from ..errors import InputError
from ..files import check_writable, refuse_foreign, write_whole
from ..plots.style import DPI, png
from ..views.page import write_page
from .claims import Claim, claims
from .figures import FIGURES
from .page import page
from .settings import FULL, Settings
from .table_1 import HEADER, Row, save_table, table_1
from .workbench import Tell, Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import FilePath
    from .figures.figure import Numbers, PaperFigure

PARTS = ("table1", "figures", "all")
PACKAGES = ("numpy", "scipy", "numba", "clarabel", "python-flint", "matplotlib")


@dataclass
class Reproduction:
    """What has been reproduced so far; it grows with each step."""

    settings: Settings
    folder: Path
    rows: list[Row] = field(default_factory=list)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    finished: bool = False
    bench: Workbench | None = None

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"

    @property
    def claims(self) -> list[Claim]:
        """The paper's claims beside our numbers."""
        return claims(self.rows, self.numbers)

    def versions(self) -> dict[str, str]:
        """What computed it."""
        packages = {name: metadata.version(name) for name in PACKAGES}
        return {"robustpool": __version__, "Python": platform.python_version(), **packages}


def reproduce(
    what: str = "all",
    out: FilePath = "reproduction",
    *,
    settings: Settings = FULL,
    tell: Tell | None = None,
) -> Reproduction:
    """Reproduce the paper's ``table1``, its ``figures`` or ``all`` into a folder, with a page that shows them.

    Each table, figure, design and certificate is written as soon as it is there, so that Ctrl-C keeps what was
    reached: the page then has that, and ``finished`` is false.
    """
    result = Reproduction(settings, Path(out))
    try:
        for _ in reproduction(result, what, tell):
            pass
        result.finished = True
    except KeyboardInterrupt:
        if not (result.rows or result.numbers):
            raise
    write_page(page(result), result.report)
    return result


def reproduction(result: Reproduction, what: str, tell: Tell | None = None) -> Iterator[Reproduction]:
    """The same step by step, without the page: the result after each row of the table and each figure."""
    checks.choice("what", what, PARTS)
    for name in ("solve", "plots"):
        checks.extra("reproducing the paper", name)
    folder = result.folder
    _check_folder(folder, result.report)
    quiet: Tell = lambda _what, _share: None
    bench = Workbench(result.settings, folder, tell or quiet)
    result.bench = bench
    began = time.perf_counter()
    for row in table_1(bench) if what in ("table1", "all") else ():
        result.rows.append(row)
        save_table(result.rows, folder / "table1.csv")
        result.seconds = time.perf_counter() - began
        yield result
    for figure in FIGURES if what in ("figures", "all") else ():
        numbers = figure.compute(bench)
        bench.tell(f"drawing {figure.name}", 0.0)
        result.pictures[figure.name] = _save(figure, numbers, folder / "figures")
        result.numbers[figure.name] = numbers
        result.seconds = time.perf_counter() - began
        yield result


def _check_folder(folder: Path, report: Path) -> None:
    """A folder that is new, or in which nothing of somebody else's would be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} cannot be written to: it is not a folder.")
    check_writable(report)
    refuse_foreign("the report", report, "<!doctype html", "an HTML page")
    table = folder / "table1.csv"
    refuse_foreign("the table", table, ",".join(("name", *HEADER)), "one of an earlier run")


def _save(figure: PaperFigure, numbers: Numbers, folder: Path) -> bytes:
    """The numbers as NPZ, the picture as PNG and PDF, drawn from these numbers alone; the PNG comes back."""
    drawn: Any = figure.draw(numbers)
    picture = png(drawn)
    write_whole(folder / f"{figure.name}.npz", lambda partial: _npz(partial, numbers))
    write_whole(folder / f"{figure.name}.png", lambda partial: partial.write_bytes(picture))
    write_whole(
        folder / f"{figure.name}.pdf",
        lambda partial: drawn.savefig(partial, format="pdf", dpi=2 * DPI, metadata={"CreationDate": None}),
    )
    return picture


def _npz(path: Path, numbers: Numbers) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **numbers)
