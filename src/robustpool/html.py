"""The one Jinja2 environment: pages, their words, and how objects show themselves in notebooks, with nothing from outside.

In HTML text is escaped wherever it is put in; pieces that are HTML already are `Html`, which only the templates make, so that a type
checker sees a text that was forgotten.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape as _escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jinja2 import Environment
    from numpy.typing import ArrayLike

    from .typing import Floats, Integers

Html = Markup
TEMPLATES = Path(__file__).with_name("templates")
LONGEST = 600  # characters of a text in a notebook
CELLS = 41  # of a heat map, at most, along each axis
_HEX = (
    "440154470d6048186a482374472e7c4538824241863e4a893a548c365d8d32658e2e6d8e2b758e287d8e25848e228c8d"
    "1f948c1e9c8920a38625ab822eb37c3aba7648c16e58c7656ccd5a7fd34e93d741a8db34c0df25d5e21aeae51afde725"
)
VIRIDIS = tuple(f"#{_HEX[at : at + 6]}" for at in range(0, len(_HEX), 6))
"""32 colours from 0 to 1, as far apart to the eye as the numbers are."""


@cache
def templates() -> Environment:
    """The environment of all templates; style and scripts are put in as they are."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from .wording import counted, estimate, percent

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is None or name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    made.globals["source"] = lambda name: Markup((TEMPLATES / name).read_text(encoding="utf-8").strip())
    made.filters |= {"short": escape, "inline": inline, "prose": prose}
    made.filters |= {"counted": counted, "estimate": estimate, "percent": percent}
    return made


def words(template: str, block: str, **values: object) -> str:
    """A block of a template of plain text, whose lines are joined; blank lines stay between paragraphs."""
    source = templates().get_template(template)
    text = "".join(source.blocks[block](source.new_context(dict(values))))
    return "\n\n".join(filter(None, (re.sub(r"[ \n]+", " ", part).strip() for part in text.split("\n\n"))))


def prose(text: str) -> Html:
    """Paragraphs, which blank lines tell apart in the text."""
    paragraphs = filter(None, map(str.strip, re.split(r"\n\s*\n", text)))
    return Markup("\n").join(Markup("<p>{}</p>").format(inline(paragraph)) for paragraph in paragraphs)


def inline(text: str) -> Html:
    """A text with `code` between backticks."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", _escape(text)))


def escape(text: object) -> Html:
    """A text as HTML, cut where it is longer than anybody reads.

    >>> print(escape("<script>"))
    &lt;script&gt;
    """
    whole = str(text)
    return Markup.escape(whole if len(whole) <= LONGEST else f"{whole[:LONGEST]} ...")


def line(text: object) -> Html:
    """A line of text."""
    return _piece("line", text)


def card(title: str, *parts: Html) -> Html:
    """A framed group of pieces under a title."""
    return _piece("card", title, parts)


def table(header: Sequence[object], rows: Iterable[Sequence[object]], more: int = 0, things: str = "rows") -> Html:
    """A table of texts; ``more`` says how many ``things`` are not shown.

    >>> table(["x1", "forecast"], [["0.5", "0.6"]]).count("<td")
    2
    """
    return _piece("table", header, rows, more, things)


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """What is known, a name and a text in each line."""
    return _piece("facts", pairs)


def heatmap(values: ArrayLike, label: str = "forecast") -> Html:
    """A picture of numbers between 0 and 1, ``values[i, j]`` at the reports x1 = i/(rows - 1) and x2 = j/(columns - 1).

    x1 goes to the right, x2 upwards. Of a table with more than 41 rows or columns every k-th is shown; where there is no
    number, nothing is.

    >>> picture = heatmap([[0.0, 0.5], [0.5, 1.0]])
    >>> picture.count("<rect") - len(VIRIDIS)  # the cells; the others are the scale's
    4
    """
    every = np.asarray(values, dtype=np.float64)
    shown = every[np.ix_(*(_sample(size) for size in every.shape))]
    columns, rows = shown.shape
    size = f"{columns} by {rows}" + ("" if shown.shape == every.shape else f" of {every.shape[0]} by {every.shape[1]}")
    finite = every[np.isfinite(every)]
    extent = f", from {finite.min():.4g} to {finite.max():.4g}" if finite.size else ""
    words = f"Heat map of the {label} over the reports x1 and x2, {size} values{extent}"
    cells = [(x, rows - 1 - j, *run) for j, colours in enumerate(_colours(shown).T) for x, *run in _runs(colours)]
    return _piece("heatmap", words, columns, rows, cells, VIRIDIS)


def reports_grid() -> Floats:
    """The reports at which a heat map shows a function, 0, 1/40, ..., 1 for each of two agents; shape (41, 41, 2)."""
    return np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, CELLS)] * 2, indexing="ij"), axis=-1)


def numbers(values: Iterable[float], digits: int = 6) -> str:
    """Some numbers as people write them; one stands alone.

    >>> numbers([0.25]), numbers([0.25, 0.75])
    ('0.25', '(0.25, 0.75)')
    """
    texts = [f"{value:.{digits}g}" for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _piece(name: str, *values: Any) -> Html:
    """A macro of the notebook cards, filled in."""
    return getattr(templates().get_template("cards.html").module, name)(*values)


def _sample(size: int) -> Integers:
    """All of few places, else 41 of them, evenly, with both ends."""
    return np.linspace(0, size - 1, min(size, CELLS)).round().astype(np.int64)


def _colours(values: Floats) -> Integers:
    """The number of the colour of each value, -1 for none."""
    there = np.isfinite(values)
    return np.where(there, np.rint(np.clip(np.where(there, values, 0), 0, 1) * (len(VIRIDIS) - 1)), -1).astype(np.int64)


def _runs(colours: Integers) -> Iterator[tuple[int, int, int]]:
    """Neighbours of one colour: the first, how many, and the colour."""
    first = 0
    for colour, same in groupby(colours.tolist()):
        width = len(list(same))
        if colour >= 0:
            yield first, width, colour
        first += width
