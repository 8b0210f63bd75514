"""A report as plain records, and the one HTML file that they become.

The file loads nothing: pictures, style and script are in it, and its content security policy forbids the rest. Text is
plain text, with blank lines between paragraphs and `code` between backticks; whatever else it holds is escaped.
"""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError
from ..files import write_text
from ..html import templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..typing import FilePath

NUMBER = re.compile(r"[<≤≥~±+\u2212-]?\s*\d[\d,.\s]*(e[+-]?\d+)?\s*%?")
NOTHING = {"", "-", "–", "—"}
PIXELS_AN_INCH = 120
"""How large a picture is shown: small print of 8 points is then about 13 pixels high."""

TOOLS = {"calculator": "Try it", "lookup": "Look up a forecast"}
"""What a page can have above its sections, by the name of its files."""


@dataclass(frozen=True)
class Picture:
    """A picture with what it means in about two sentences, and the name of the file that has its numbers."""

    name: str
    title: str
    png: bytes
    alt: str
    meaning: str
    numbers: str | None = None

    @property
    def key(self) -> str:
        """The name as an identifier."""
        return re.sub(r"[^A-Za-z0-9_-]+", "-", self.name).strip("-") or "untitled"

    @property
    def data(self) -> str:
        """The picture in letters."""
        return base64.b64encode(self.png).decode("ascii")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in CSS pixels: by the resolution that the PNG names, or pixel by pixel if it names none."""
        if self.png[:8] != b"\x89PNG\r\n\x1a\n" or self.png[12:16] != b"IHDR":
            raise InputError(f"a picture must be a PNG; it begins with {self.png[:8]!r}.")
        width, height = struct.unpack(">II", self.png[16:24])
        at = self.png.find(b"pHYs", 33, self.png.find(b"IDAT", 33))
        if at < 0:
            return int(width), int(height)
        a_metre, _, unit = struct.unpack(">IIB", self.png[at + 4 : at + 13])
        scale = PIXELS_AN_INCH / (a_metre * 0.0254) if unit == 1 and a_metre else 1.0
        return max(1, round(width * scale)), max(1, round(height * scale))


@dataclass(frozen=True)
class Table:
    """A table of text; the first column heads the rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        """Check the width of the rows."""
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InputError(
                    f"a row of a table must have a cell for each of the {len(self.columns)} columns; row {number} of "
                    f"{self.title!r} has {len(row)}."
                )

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers, which are aligned right."""
        columns = [[cell.strip() for cell in column] for column in zip(*self.rows, strict=True)]
        filled = [[cell for cell in column if cell not in NOTHING] for column in columns]
        return [bool(cells) and all(map(NUMBER.fullmatch, cells)) for cells in filled] or [False] * len(self.columns)


@dataclass(frozen=True)
class Section:
    """A title, text, a list of points, then pictures and tables."""

    title: str
    text: str
    parts: tuple[Picture | Table, ...] = ()
    points: tuple[str, ...] = ()

    @property
    def runs(self) -> list[tuple[bool, list[Picture | Table]]]:
        """The parts in their order: pictures that follow each other, and what is between them."""
        return [(are, list(run)) for are, run in groupby(self.parts, lambda part: isinstance(part, Picture))]


@dataclass(frozen=True)
class Page:
    """A report. ``calculator`` and ``lookup`` are what the functions of these names in `robustpool.views` return."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    settings: Mapping[str, str]
    calculator: Mapping[str, Any] | None = None
    lookup: Mapping[str, Any] | None = None


def write_page(page: Page, path: FilePath) -> None:
    """Write the page, whole or not at all."""
    text = render(page)
    write_text(path, text)


def render(page: Page) -> str:
    """The whole page as HTML.

    >>> text = render(Page("Is 1 < 2?", "Yes.", (), {}))
    >>> text[:15], "<h1>Is 1 &lt; 2?</h1>" in text, "http" in text.replace("http-equiv", "")
    ('<!doctype html>', True, False)
    """
    tools = {name: data for name in TOOLS if (data := getattr(page, name)) is not None}
    return templates().get_template("page.html").render(page=page, tools=tools, titles=TOOLS, version=__version__)


def fragment(sections: Iterable[Section], key: str) -> str:
    """Sections as HTML for a page that has its own style and policy; ``key`` begins their identifiers.

    >>> "<style" in (text := fragment([Section("Is 1 < 2?", "Yes.")], "a")), "Is 1 &lt; 2?" in text
    (False, True)
    """
    return templates().get_template("sections.html").render(sections=list(sections), key=key)
