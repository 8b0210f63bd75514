"""A fitted pool as plain data, as the words and numbers that its page shares, and as lines for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..evaluation.advice import TO_DO
from ..html import words
from ..learning.records import REFERENCE
from ..wording import estimate
from .terminal import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..evaluation.records import Interval
    from ..learning.records import FittedPool, Period, Weight
    from ..learning.worst_case import PoolWorstCase

DIGITS = 4
NOTHING = "-"
SHOWN_WEIGHTS = 10
"""Forecasters in the terminal: the five heaviest and the five lightest."""

SHOWN_PERIODS = 12
"""Blocks of time in the terminal: the most recent ones."""

PROCEDURE = "whole procedure"
"""What the row of the whole procedure is called among those of the forms."""


# ------------------------------------------------------------------------------------------------------------------- data


def as_data(pool: FittedPool, output: str | None = None, worst: PoolWorstCase | None = None) -> dict[str, Any]:
    """The pool as a JSON object; ``output`` is the file that it was written to, ``worst`` its worst case, if they are known."""
    learned = pool.learned
    return {
        "output": output,
        "chosen": pool.chosen,
        **_named("brier", pool.brier),
        **_named("gain", pool.over_mean),
        "better": pool.better,
        "over_default": {"gain": pool.over_default.value, "low": pool.over_default.low, "high": pool.over_default.high},
        "questions": learned.questions,
        "answers": learned.answers,
        "forecasters": learned.forecasters,
        "scored": pool.scored,
        "scheme": pool.scheme,
        "formula": pool.aggregator.formula,
        "tried": [{"name": form.name, "brier": form.brier, **_named("gain", form.gain)} for form in pool.tried],
        "weights": [each._asdict() for each in pool.weights],
        "periods": [{**period._asdict(), "start": _moment(period).isoformat()} for period in pool.periods],
        "notes": list(pool.notes),
        "summary": " ".join(pool.summary),
        "worst_case": None if worst is None else _worst_case_data(worst),
    }


def _named(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _worst_case_data(worst: PoolWorstCase) -> dict[str, Any]:
    bounds = [{**each._asdict(), "difference": each.difference} for each in worst.bounds]
    return {"bounds": bounds, "refusals": list(worst.refusals)}


# ------------------------------------------------------------------------------------------------------------------ words


def say(block: str, pool: FittedPool, **values: object) -> str:
    """What ``pool.txt`` says about one thing."""
    return words("pool.txt", block, it=pool, **values)


def to_do(pool: FittedPool) -> str:
    """What to do, with whether the pool is better than the mean."""
    return f"{TO_DO}{say('to_do', pool)}"


def signed(value: float, digits: int = DIGITS) -> str:
    """A gain as text, with its sign unless it is zero.

    >>> signed(0.01), signed(-0.01), signed(-1e-9)
    ('+0.0100', '-0.0100', '0.0000')
    """
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def gain_cells(gain: Interval) -> tuple[str, str]:
    """A gain and its interval as text; what is 0 by definition has no interval.

    >>> from robustpool.evaluation.records import Interval
    >>> gain_cells(Interval(0.0092, -0.0015, 0.0195)), gain_cells(Interval(0.0, 0.0, 0.0))
    (('+0.0092', '-0.0015 to +0.0195'), ('0.0000', '-'))
    """
    same = gain.low == gain.high == 0
    return signed(gain.value), NOTHING if same else f"{signed(gain.low)} to {signed(gain.high)}"


def form_rows(pool: FittedPool) -> list[tuple[str, ...]]:
    """The forms, each with its Brier score, its gain and the interval of that; and the whole procedure."""
    rows = [(form.name, estimate(form.brier), *gain_cells(form.gain)) for form in pool.tried]
    return [*rows, (PROCEDURE, estimate(pool.brier.value), *gain_cells(pool.over_mean))]


def weight_rows(weights: Iterable[Weight]) -> list[tuple[str, ...]]:
    """Forecaster, weight, interval, and the number of questions."""
    return [
        (each.forecaster, f"{each.weight:.2f}", f"{each.low:.2f} to {each.high:.2f}", f"{each.questions:,}")
        for each in weights
    ]


def period_rows(periods: Sequence[Period]) -> list[tuple[str, ...]]:
    """When the block begins, its questions, the form, the Brier scores of pool and mean, and the gain."""
    return [
        (
            start,
            f"{period.questions:,}",
            period.chosen,
            estimate(period.brier),
            estimate(period.mean),
            signed(period.mean - period.brier),
        )
        for start, period in zip(starts(periods), periods, strict=True)
    ]


def starts(periods: Sequence[Period]) -> list[str]:
    """When blocks begin, for people: the day, and the time in UTC if days alone do not tell them apart."""
    days = [f"{_moment(period):%Y-%m-%d}" for period in periods]
    return days if len(set(days)) == len(days) else [f"{_moment(period):%Y-%m-%d %H:%M:%S}" for period in periods]


def _moment(period: Period) -> datetime:
    return datetime.fromtimestamp(period.start, UTC)


# ------------------------------------------------------------------------------------------------------------------ lines


def as_lines(pool: FittedPool, width: int) -> list[str]:
    """What to do and why, the forms, the weights, the blocks of time, and what it rests on; at most ``width`` wide but for long names."""
    lines = [to_do(pool), "", " ".join(pool.summary)]
    lines += ["", *_forms(pool, width), f"   {say('mark', pool)}"]
    if pool.weights:
        lines += ["", *_weights(pool.weights, width)]
    if pool.periods:
        lines += ["", *period_lines(pool.periods, width)]
    rests_on = [say(block, pool) for block in ("rule", "basis", "how_scored")]
    return wrapped([*lines, "", *rests_on, *pool.notes], width)


def _forms(pool: FittedPool, width: int) -> list[str]:
    heads = ("   form", "Brier", f"gain over {REFERENCE}", "95 % interval")
    rows = [(f" {'*' if name == pool.chosen else ' '} {name}", *cells) for name, *cells in form_rows(pool)]
    return _fitting(heads, rows, width, right=heads[1:3], dropped=(heads[1], heads[3]))


def _weights(weights: Sequence[Weight], width: int) -> list[str]:
    from ..plots.pools import ends

    heads = ("   forecaster", "weight", "95 % interval", "questions")
    heaviest, lightest = map(weight_rows, ends(weights, SHOWN_WEIGHTS))
    left_out = len(weights) - len(heaviest) - len(lightest)
    between = [(f"({left_out:,} more)", "", "", "")] if left_out else []
    rows = [(f"   {name}", *cells) for name, *cells in [*heaviest, *between, *lightest]]
    return _fitting(heads, rows, width, right=(heads[1], heads[3]), dropped=(heads[3], heads[2]))


def period_lines(periods: Sequence[Period], width: int) -> list[str]:
    """A line for each block of time."""
    heads = ("   block from", "questions", "form", "Brier", REFERENCE, "gain")
    rows = [(f"   {start}", *cells) for start, *cells in period_rows(periods)][-SHOWN_PERIODS:]
    lines = _fitting(heads, rows, width, right=(heads[1], *heads[3:]), dropped=heads[2:0:-1])
    earlier = len(periods) - len(rows)
    return [*lines, f"   (the first {earlier:,} of {len(periods):,} blocks are not shown)"] if earlier else lines


def _fitting(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, right: Sequence[str], dropped: Sequence[str]
) -> list[str]:
    """A table; short of width without some columns, which are dropped one after the other."""
    columns = dict(zip(heads, zip(*rows, strict=True), strict=True))
    for without in ("", *dropped):
        columns.pop(without, None)
        places = [place for place, head in enumerate(columns) if head in right]
        lines = table(list(columns), zip(*columns.values(), strict=True), places)
        if max(map(len, lines)) <= width:
            break
    return lines
