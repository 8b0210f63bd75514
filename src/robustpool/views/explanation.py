"""An explanation as plain data, and as lines for people with a plot in plain text."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..wording import percent, shown
from .terminal import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..explanation.records import Explanation, KnownRange, Saying
    from ..typing import Booleans

ROWS = 11
"""Lines of the plot between its axes: one for each tenth."""

BRAILLE = 0x2800
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The bits of a braille character, four dots high and two wide, which stands for eight dots of the curve."""

SENTENCES = ("answer", "on_rules", "on_base_rate", "on_range", "closing")


def as_data(why: Explanation) -> dict[str, Any]:
    """The explanation as a JSON object."""
    data = asdict(why)
    names = ("reports", "rules", "posterior", "agrees_at", "even_at", "prior_range", "span")
    return {name: data[name] for name in names} | {
        "posterior": [{"prior": prior, "posterior": posterior} for prior, posterior in why.posterior],
        "sentences": {name.removeprefix("on_"): data[name] for name in SENTENCES},
    }


def as_lines(why: Explanation, width: int, *, braille: bool) -> list[str]:
    """The explanation as lines, at most ``width`` wide but for commands and long names, which stay in one piece."""
    lines = [" ".join(why.answer), "", "Forecasts of the rules", *_rules(why.rules, width), *why.on_rules]
    lines += ["", "The posterior if the base rate is known"]
    if why.base_rate_matters:
        lines += [*_posteriors(why.posterior, width), "", *plot(why, width, braille=braille), ""]
    lines += why.on_base_rate
    if why.prior_range is not None:
        lines += ["", "With the given range of base rates", *why.on_range]
        if why.prior_range.command is not None:
            lines.append(f"    {why.prior_range.command}")
    lines += ["", "Summary", " ".join(why.closing)]
    return wrapped(lines, width)


def takes_braille() -> bool:
    """Whether standard output is a terminal that shows braille; into a pipe or a file goes ASCII."""
    try:
        chr(BRAILLE).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


# -------------------------------------------------------------------------------------------------------------- tables


def _rules(rules: tuple[Saying, ...], width: int) -> list[str]:
    """A line for each rule, the chosen one with an arrow; short of width, signs for words."""
    on_record = any(said.regret is not None for said in rules)
    for short in (False, True):
        heads = ("   rule", "says", "regret") if short else ("   rule", "forecast", "worst-case regret")
        rows = [
            (f" {'>' if said.chosen else ' '} {said.name}", shown(said.forecast), said.cost(short=short))
            for said in rules
        ]
        columns = 3 if on_record else 2
        lines = table(heads[:columns], [row[:columns] for row in rows], gap=1 if short else 2)
        if max(map(len, lines)) <= width:
            break
    return [*lines, "   (<= is proved, >= is found)"] if on_record and short else lines


def _posteriors(posterior: tuple[tuple[float, float], ...], width: int) -> list[str]:
    """Two lines with base rates and posteriors, or as many pairs of lines as the width needs."""
    cells = [(percent(prior), shown(value)) for prior, value in posterior]
    wide = max(len(text) for cell in cells for text in cell) + 2
    at_once = max(1, (width - 11) // wide)
    lines = []
    for first in range(0, len(cells), at_once):
        part = cells[first : first + at_once]
        lines += [
            f"   {name:9}" + "".join(f"{cell[k]:>{wide}}" for cell in part)[1:]
            for k, name in enumerate(("base rate", "posterior"))
        ]
    return lines


# ---------------------------------------------------------------------------------------------------------------- plot


def plot(why: Explanation, width: int, *, braille: bool) -> list[str]:
    """The posterior against the base rate, with the forecast as a horizontal line, in lines of at most ``width``."""
    assert isinstance(why.forecast, float)  # a base rate is about one number
    forecast, known = shown(why.forecast), why.prior_range
    gutter = 3 + len(forecast)
    columns = min(width, 80) - gutter - 1
    down, across = DOTS.shape if braille else (1, 1)
    dots = _curve(why.posterior_at, columns * across, ROWS * down)
    level = _row(why.forecast, ROWS * down)
    labels = {0: "1.0", ROWS // 2: "0.5", ROWS - 1: "0.0", level // down: forecast}
    drawn = (_braille if braille else _ascii)(dots, level)
    lines = [f"{labels.get(row, ''):>{gutter}}|{line}".rstrip() for row, line in enumerate(drawn)]
    below = ["+" + _axis(columns, known), " " + _base_rates(columns), f" {'base rate':^{columns}}"]
    return ["   posterior", *lines, *(f"{' ' * gutter}{line}".rstrip() for line in below)]


def _curve(posterior: Callable[[float], float], columns: int, rows: int) -> Booleans:
    """The dots of the falling curve, (rows, columns), each column joined to the next so that no gap stays."""
    dots = np.zeros((rows, columns), dtype=bool)
    at = [_row(posterior((column + 0.5) / columns), rows) for column in range(columns)]
    for column, (row, after) in enumerate(pairwise([*at, at[-1]])):
        dots[row : max(row + 1, after), column] = True
    return dots


def _row(value: float, rows: int) -> int:
    """The row of a probability; 0 is the top."""
    return round((1 - value) * (rows - 1))


def _ascii(dots: Booleans, level: int) -> list[str]:
    """A line for each row of dots; the forecast is a dashed line."""
    return [
        "".join("*" if dot else "-" if row == level else " " for dot in line) for row, line in enumerate(dots.tolist())
    ]


def _braille(dots: Booleans, level: int) -> list[str]:
    """Lines of characters with eight dots each; the forecast is every other dot."""
    dots[level, ::2] = True
    down, across = DOTS.shape
    bits = np.einsum("rdca,da->rc", dots.reshape(ROWS, down, -1, across), DOTS)
    return ["".join(chr(BRAILLE + cell) if cell else " " for cell in line) for line in bits.tolist()]


def _axis(columns: int, known: KnownRange | None) -> str:
    """The lower axis, on which what is known of the base rate is marked."""
    if known is None or known.high == 0:
        return "-" * columns
    first = min(int(known.low * columns), columns - 1)
    last = max(round(known.high * columns), first + 1)
    return "-" * first + "=" * (last - first) + "-" * (columns - last)


def _base_rates(columns: int) -> str:
    """The numbers below the axis."""
    text = " " * columns
    for k in range(5):
        label = f"{25 * k} %"
        start = min(max(round(columns * k / 4) - len(label) // 2, 0), columns - len(label))
        text = text[:start] + label + text[start + len(label) :]
    return text
