"""A report as plain records, and the one HTML file that they become.

The file loads nothing: pictures, style and script are in it, and its content security policy forbids the rest. Text is
plain text, with blank lines between paragraphs and `code` between backticks; whatever else it holds is escaped.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError
from ..files import write_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

HERE = Path(__file__).parent
NUMBER = re.compile(r"[<≤≥~±+\u2212-]?\s*\d[\d,.\s]*(e[+-]?\d+)?\s*%?")
NOTHING = {"", "-", "–", "—"}
PIXELS_AN_INCH = 120
"""How large a picture is shown: small print of 8 points is then about 13 pixels high."""


TOOLS = {"calculator": "Try it", "lookup": "Look up a forecast"}
"""What a page can have above its sections, by the name of its files."""

WIDE = 700
"""Pixels from which on a picture is taken to have several panels."""


@dataclass(frozen=True)
class Picture:
    """A picture with what it means in about two sentences, and the name of the file that has its numbers."""

    name: str
    title: str
    png: bytes
    alt: str
    meaning: str
    numbers: str | None = None


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


@dataclass(frozen=True)
class Section:
    """A title, text, a list of points, then pictures and tables."""

    title: str
    text: str
    parts: tuple[Picture | Table, ...] = ()
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A report. ``calculator`` and ``lookup`` are what the functions of these names in `robustpool.report` return."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    settings: Mapping[str, str]
    calculator: Mapping[str, Any] | None = None
    lookup: Mapping[str, Any] | None = None


def write_page(page: Page, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    text = render(page)
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def render(page: Page) -> str:
    """The whole page as HTML.

    >>> text = render(Page("Is 1 < 2?", "Yes.", (), {}))
    >>> text[:15], "<h1>Is 1 &lt; 2?</h1>" in text, "http" in text.replace("http-equiv", "")
    ('<!doctype html>', True, False)
    """
    sections = [(f"s{number}", section) for number, section in enumerate(page.sections, 1)]
    tools = {"calculator": page.calculator, "lookup": page.lookup}
    filled = {name: data for name, data in tools.items() if data is not None}
    entries = [(name, TOOLS[name]) for name in filled]
    entries += [(key, section.title) for key, section in sections]
    entries += [("settings", "Settings")] if page.settings else []
    return Template(_piece("page.html")).substitute(
        title=_text(page.title),
        version=_text(__version__),
        css=_piece("page.css"),
        contents="\n".join(f'<li><a href="#{key}">{_text(title)}</a></li>' for key, title in entries),
        lead=_prose(page.lead),
        tools="\n".join(_piece(f"{name}.html") for name in filled),
        sections="\n".join(_section(key, section) for key, section in sections),
        settings=_settings(page.settings),
        scripts="\n".join([_script("page"), *(_with_data(name, data) for name, data in filled.items())]),
    )


def _piece(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8").strip()


def _text(text: str) -> str:
    return escape(str(text), quote=True)


def _inline(text: str) -> str:
    """Escaped text with `code`."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", _text(text))


def _prose(text: str) -> str:
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    return "\n".join(f"<p>{_inline(paragraph)}</p>" for paragraph in paragraphs)


def _section(key: str, section: Section) -> str:
    parts = [_picture(part) if isinstance(part, Picture) else _table(part) for part in section.parts]
    points = "\n".join(f"<li>{_inline(point)}</li>" for point in section.points)
    return "\n".join(
        [
            f'<section id="{key}" aria-labelledby="{key}-title">',
            f'<h2 id="{key}-title">{_text(section.title)}</h2>',
            _prose(section.text),
            *([f"<ul>\n{points}\n</ul>"] if points else []),
            *_in_rows(section.parts, parts),
            "</section>",
        ]
    )


def _in_rows(parts: tuple[Picture | Table, ...], html: list[str]) -> list[str]:
    """Pictures that follow each other share the width of the page."""
    lines: list[str] = []
    for number, (part, text) in enumerate(zip(parts, html, strict=True)):
        picture = isinstance(part, Picture)
        if picture and (number == 0 or not isinstance(parts[number - 1], Picture)):
            lines.append('<div class="pictures">')
        lines.append(text)
        if picture and (number + 1 == len(parts) or not isinstance(parts[number + 1], Picture)):
            lines.append("</div>")
    return lines


def _picture(picture: Picture) -> str:
    width, height = _size(picture.png)
    data = base64.b64encode(picture.png).decode("ascii")
    numbers = f'<p class="numbers">numbers: {_text(picture.numbers)}</p>' if picture.numbers is not None else ""
    return (
        f'<figure id="picture-{_text(_identifier(picture.name))}" style="flex-basis:{width}px">\n'
        f"<h3>{_text(picture.title)}</h3>\n"
        f'<div class="scroll" role="region" aria-label="Picture: {_text(picture.title)}" tabindex="0">'
        f'<img src="data:image/png;base64,{data}" alt="{_text(picture.alt)}" width="{width}" height="{height}" '
        f"{_wide(width)}></div>\n"
        f"<figcaption>{_prose(picture.meaning)}{numbers}</figcaption>\n</figure>"
    )


def _wide(width: int) -> str:
    """Pictures of several panels stay large enough to read on a phone, where they scroll; others shrink."""
    return f' style="min-width:min({width}px,42rem)"' if width > WIDE else ""


def _identifier(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "untitled"


def _size(png: bytes) -> tuple[int, int]:
    """Width and height in CSS pixels: by the resolution that the PNG names, or pixel by pixel if it names none."""
    if png[:8] != b"\x89PNG\r\n\x1a\n" or png[12:16] != b"IHDR":
        raise InputError(f"a picture must be a PNG; it begins with {png[:8]!r}.")
    width, height = struct.unpack(">II", png[16:24])
    at = png.find(b"pHYs", 33, png.find(b"IDAT", 33))
    if at < 0:
        return int(width), int(height)
    a_metre, _, unit = struct.unpack(">IIB", png[at + 4 : at + 13])
    scale = PIXELS_AN_INCH / (a_metre * 0.0254) if unit == 1 and a_metre else 1.0
    return max(1, round(width * scale)), max(1, round(height * scale))


def _table(table: Table) -> str:
    columns = list(zip(*table.rows, strict=True)) if table.rows else [() for _ in table.columns]
    right = [_numeric(column) for column in columns]
    style = [' class="number"' if number else "" for number in right]
    head = "".join(f'<th scope="col"{look}>{_text(name)}</th>' for name, look in zip(table.columns, style, strict=True))
    rows = "\n".join(
        f'<tr><th scope="row"{style[0]}>{_text(row[0])}</th>'
        + "".join(f"<td{look}>{_text(cell)}</td>" for cell, look in zip(row[1:], style[1:], strict=True))
        + "</tr>"
        for row in table.rows
    )
    note = f'<div class="note">{_prose(table.note)}</div>' if table.note else ""
    return (
        f'<div class="table"><div class="scroll" role="region" aria-label="{_text(table.title)}" tabindex="0">\n'
        f"<table><caption>{_text(table.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody></table></div>{note}</div>"
    )


def _numeric(cells: tuple[str, ...]) -> bool:
    """Whether a column holds numbers, which are aligned right."""
    filled = [cell.strip() for cell in cells if cell.strip() not in NOTHING]
    return bool(filled) and all(NUMBER.fullmatch(cell) for cell in filled)


def _settings(settings: Mapping[str, str]) -> str:
    if not settings:
        return ""
    lines = "\n".join(f"<div><dt>{_text(key)}</dt><dd>{_text(value)}</dd></div>" for key, value in settings.items())
    return (
        '<section id="settings" aria-labelledby="settings-title">\n<h2 id="settings-title">Settings</h2>\n'
        f'<dl class="settings">\n{lines}\n</dl>\n</section>'
    )


def _script(name: str) -> str:
    return f"<script>\n{_piece(f'{name}.js')}\n</script>"


def _with_data(name: str, data: Mapping[str, Any]) -> str:
    """The numbers and the script that looks them up; no text in the numbers can end the element that holds them."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}-data">{text}</script>\n{_script(name)}'
