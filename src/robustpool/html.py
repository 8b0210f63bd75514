"""How objects show themselves in notebooks: small pieces of HTML that need nothing from outside.

What takes text escapes it and cuts it short; what takes pieces takes `Html`, which only the functions here make, so that a type
checker sees a text that was forgotten. Colours are inherited from the page, light or dark, but for those of a heat map.
"""

from __future__ import annotations

from html import escape as _escape
from itertools import groupby
from typing import TYPE_CHECKING, NewType

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

Html = NewType("Html", str)
"""Text that is HTML already."""

LONGEST = 600  # characters of a text
CELLS = 41  # of a heat map, at most, along each axis
_HEX = (
    "440154470d6048186a482374472e7c4538824241863e4a893a548c365d8d32658e2e6d8e2b758e287d8e25848e228c8d"
    "1f948c1e9c8920a38625ab822eb37c3aba7648c16e58c7656ccd5a7fd34e93d741a8db34c0df25d5e21aeae51afde725"
)
VIRIDIS = tuple(f"#{_HEX[at : at + 6]}" for at in range(0, len(_HEX), 6))
"""32 colours from 0 to 1, as far apart to the eye as the numbers are."""

_LINE = "1px solid rgba(128,128,128,.35)"
_CARD = f"display:inline-block;max-width:100%;border:{_LINE};border-radius:6px;padding:.5em .8em;margin:.2em 0"
_CELL = "text-align:left;vertical-align:top;padding:.1em .9em .1em 0;background:none"


def escape(text: object) -> Html:
    """A text as HTML, cut where it is longer than anybody reads.

    >>> escape("<script>")
    '&lt;script&gt;'
    """
    said = str(text)
    return Html(_escape(said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."))


def line(text: object) -> Html:
    """A line of text."""
    return Html(f'<div style="margin:.2em 0">{escape(text)}</div>')


def card(title: str, *parts: Html) -> Html:
    """A framed group of pieces under a title."""
    head = f'<div style="font-weight:600;margin-bottom:.2em">{escape(title)}</div>'
    return Html(f'<div role="group" aria-label="{escape(title)}" style="{_CARD}">{head}{"".join(parts)}</div>')


def table(header: Sequence[object], rows: Iterable[Sequence[object]], more: int = 0, things: str = "rows") -> Html:
    """A table of texts; ``more`` says how many ``things`` are not shown.

    >>> table(["x1", "forecast"], [["0.5", "0.6"]]).count("<td")
    2
    """
    head = _row(_cell("th", text, ' scope="col"') for text in header)
    body = "".join(_row(_cell("td", text) for text in row) for row in rows)
    rest = line(f"and {more:,} more {things}") if more > 0 else ""
    return Html(f"{_table(f'<thead>{head}</thead><tbody>{body}</tbody>')}{rest}")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """What is known, a name and a text in each line."""
    rows = (_row((_cell("th", name, ' scope="row"'), _cell("td", text))) for name, text in pairs)
    return Html(_table(f"<tbody>{''.join(rows)}</tbody>"))


def heatmap(values: ArrayLike, label: str = "forecast") -> Html:
    """A picture of numbers between 0 and 1, ``values[i, j]`` at the reports x1 = i/(rows - 1) and x2 = j/(columns - 1).

    x1 goes to the right, x2 upwards. Of a table with more than 41 rows or columns every so-manieth is shown; where there is no
    number, nothing is.

    >>> picture = heatmap([[0.0, 0.5], [0.5, 1.0]])
    >>> picture.count("<rect") - len(VIRIDIS)  # the cells; the others are the scale's
    4
    """
    every = np.asarray(values, dtype=np.float64)
    shown = every[np.ix_(*(_sample(size) for size in every.shape))]
    columns, rows = shown.shape
    colours = _colours(shown)
    cells = "".join(
        f'<rect x="{first}" y="{rows - 1 - j}" width="{width}" height="1" fill="{VIRIDIS[colour]}"/>'
        for j in range(rows)
        for first, width, colour in _runs(colours[:, j])
    )
    scale = "".join(
        f'<rect x="0" y="{len(VIRIDIS) - 1 - k}" width="1" height="1" fill="{colour}"/>'
        for k, colour in enumerate(VIRIDIS)
    )
    size = f"{columns} by {rows}" + ("" if shown.shape == every.shape else f" of {every.shape[0]} by {every.shape[1]}")
    known = every[np.isfinite(every)]
    extent = f", from {known.min():.4g} to {known.max():.4g}" if known.size else ""
    said = escape(f"Heat map of the {label} over the reports x1 and x2, {size} values{extent}")
    crisp = 'preserveAspectRatio="none" shape-rendering="crispEdges"'
    return Html(
        f'<svg role="img" aria-label="{said}" width="250" height="215" viewBox="0 0 250 215" '
        f'style="max-width:100%;display:block" fill="currentColor" font-size="11"><title>{said}</title>'
        f'<svg x="30" y="8" width="170" height="170" viewBox="0 0 {columns} {rows}" {crisp}>{cells}</svg>'
        f'<svg x="210" y="8" width="10" height="170" viewBox="0 0 1 {len(VIRIDIS)}" {crisp}>{scale}</svg>'
        f"{_words()}</svg>"
    )


def reports_grid() -> NDArray[np.float64]:
    """The reports at which a heat map shows a function, 0, 1/40, ..., 1 for each of two agents; shape (41, 41, 2)."""
    return np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, CELLS)] * 2, indexing="ij"), axis=-1)


def numbers(values: Iterable[float], digits: int = 6) -> str:
    """Some numbers as people write them; one stands alone.

    >>> numbers([0.25]), numbers([0.25, 0.75])
    ('0.25', '(0.25, 0.75)')
    """
    texts = [f"{value:.{digits}g}" for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _words() -> str:
    """The axes: 0 and 1 on each, and what they are."""
    places = [
        (26, 177, "end", "0"),
        (26, 17, "end", "1"),
        (14, 97, "middle", "x2"),
        (32, 192, "middle", "0"),
        (198, 192, "middle", "1"),
        (115, 206, "middle", "x1"),
        (224, 177, "start", "0"),
        (224, 17, "start", "1"),
    ]
    return "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in places)


def _sample(size: int) -> NDArray[np.int64]:
    """All of few places, else 41 of them, evenly, with both ends."""
    return np.linspace(0, size - 1, min(size, CELLS)).round().astype(np.int64)


def _colours(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of the colour of each value, -1 for none."""
    there = np.isfinite(values)
    return np.where(there, np.rint(np.clip(np.where(there, values, 0), 0, 1) * (len(VIRIDIS) - 1)), -1).astype(np.int64)


def _runs(colours: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Neighbours of one colour: the first, how many, and the colour."""
    first = 0
    for colour, same in groupby(colours.tolist()):
        width = len(list(same))
        if colour >= 0:
            yield first, width, colour
        first += width


def _table(rows: str) -> str:
    return f'<table style="border-collapse:collapse;margin:.2em 0;font-size:90%">{rows}</table>'


def _row(cells: Iterable[str]) -> str:
    return f'<tr style="background:none">{"".join(cells)}</tr>'


def _cell(tag: str, text: object, scope: str = "") -> str:
    weight = ";font-weight:600;white-space:nowrap" if tag == "th" else ""
    return f'<{tag}{scope} style="{_CELL}{weight}">{escape(text)}</{tag}>'
