"""The page of a fitted pool: what to do, what was tried and learned, how it did in time, and what it costs in the worst case."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ..learning.records import DEFAULT, REFERENCE
from ..learning.times import stamp
from ..learning.worst_case import worst_case
from ..plots.pools import draw_gain_over_time, draw_weights, ends, gains, running_gains
from ..plots.scores import draw_reliability
from ..plots.style import new_figure, png
from ..wording import counted, estimate, outward
from .page import Page, Picture, Section, Table, write_page
from .pool import form_rows, period_rows, say, signed, starts, to_do, weight_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..learning.records import FittedPool
    from ..learning.worst_case import PoolWorstCase
    from ..typing import FilePath

TITLE = "A pool learned from a track record"
DRAWN_WEIGHTS, LISTED_WEIGHTS = 20, 50
"""Forecasters, at most, in the picture and in the table of the weights."""

BOUND_DIGITS = 6
"""Digits of proved bounds."""


def write_pool(pool: FittedPool, path: FilePath, *, title: str = TITLE, worst: PoolWorstCase | None = None) -> None:
    """Write the page of a fitted pool, whole or not at all; without ``worst``, its worst case is proved first."""
    write_page(pool_page(pool, title=title, worst=worst), path)


def pool_sections(pool: FittedPool) -> tuple[Section, ...]:
    """The beginning of the page, which needs no proof: what to do, what was learned, and whether the forecasts are calibrated."""
    return (Section("The fitted pool", _lead(pool)), _forms(pool), _calibration(pool))


def _lead(pool: FittedPool) -> str:
    return f"{to_do(pool)}\n\n{' '.join(pool.summary)}"


def pool_page(pool: FittedPool, *, title: str = TITLE, worst: PoolWorstCase | None = None) -> Page:
    """The whole page of a fitted pool; without ``worst``, its worst case is proved first, which takes a few seconds."""
    if worst is None:
        worst = worst_case(pool)
    until = None if pool.learned.as_of is None else stamp(pool.learned.as_of)
    return Page(
        title=title,
        lead=_lead(pool),
        sections=(
            _forms(pool),
            _calibration(pool),
            *_weights(pool),
            *period_sections(pool),
            _worst_case(pool, worst),
            Section(
                "What these numbers mean",
                say("meaning", pool, worst=worst),
                points=tuple(say("points", pool).split("\n\n")),
            ),
        ),
        settings=dict(line.split(": ", 1) for line in say("settings", pool, until=until).split("\n\n")),
    )


# --- what was learned -------------------------------------------------------------------------------------------------


def _forms(pool: FittedPool) -> Section:
    text = f"{say('basis', pool)} {say('how_scored', pool)}\n\n{say('rule', pool)}"
    return Section("What was learned", text, (forms_table(pool),), pool.notes)


def forms_table(pool: FittedPool) -> Table:
    """The forms that were tried, with their scores and gains."""
    rows = tuple(
        (f"{name} *" if name == pool.chosen else name, *map(_unbroken, cells)) for name, *cells in form_rows(pool)
    )
    columns = ("form", "Brier score", f"gain over the {REFERENCE}", "95 % interval of the gain")
    return Table("Forms that were tried", columns, rows, say("forms_note", pool))


def _calibration(pool: FittedPool) -> Section:
    return Section("Are the forecasts calibrated?", say("calibration", pool), (calibration_picture(pool),))


def calibration_picture(pool: FittedPool) -> Picture:
    """The reliability diagrams of the mean and of the pool."""
    of = pool.calibration
    figure, axes = new_figure(width=3.7, height=4.3)
    curves = {"mean (before)": of.before, "pool (after)": of.after}
    histograms = dict(zip(curves, (of.histogram_before, of.histogram_after), strict=True))
    draw_reliability(curves, axes[0, 0], histograms=histograms)
    mean = next(form.brier for form in pool.tried if form.name == REFERENCE)
    title = "The forecasts of the mean and of the pool"
    return _picture("diagram", "calibration", title, figure, pool, curves=curves, mean=mean)


def _weights(pool: FittedPool) -> tuple[Section, ...]:
    weights = pool.weights
    if not weights:
        return ()
    figure, axes = new_figure(width=5.4, height=1.3 + 0.22 * min(len(weights), DRAWN_WEIGHTS + 1))
    draw_weights(weights, axes[0, 0], most=DRAWN_WEIGHTS)
    above, below = sum(each.low > 1 for each in weights), sum(each.high < 1 for each in weights)
    numbers = {"above": above, "below": below}
    picture = _picture("weights_picture", "weights", "How much forecasters count", figure, pool, **numbers)
    heaviest, lightest = map(weight_rows, ends(weights, LISTED_WEIGHTS))
    left_out = len(weights) - len(heaviest) - len(lightest)
    rows = tuple((name, *map(_unbroken, cells)) for name, *cells in [*heaviest, *lightest])
    note = say("weights_note", pool, left_out=left_out)
    table = Table("Weights of the forecasters", ("forecaster", "weight", "95 % interval", "questions"), rows, note)
    return (Section("How much each forecaster counts", say("weights", pool), (picture, table)),)


def period_sections(pool: FittedPool) -> tuple[Section, ...]:
    """How the pool did in time, if there are times."""
    periods = pool.periods
    if not periods:
        return ()
    gain, so_far = gains(periods), [signed(each) for each in running_gains(periods).tolist()]
    figure, axes = new_figure(width=5.4, height=3.4)
    draw_gain_over_time(periods, axes[0, 0])
    numbers = {
        "first": starts(periods)[0],
        "above": counted(int((gain > 0).sum()), "block"),
        "below": counted(int((gain < 0).sum()), "block"),
        "least": signed(float(gain.min())),
        "most": signed(float(gain.max())),
        "so_far": so_far[-1],
    }
    picture = _picture("periods_picture", "gain-over-time", "The gain over the mean in time", figure, pool, **numbers)
    robust = [estimate(period.robust) for period in periods]
    rows = tuple(
        (*map(_unbroken, row), total, score)
        for row, total, score in zip(period_rows(periods), so_far, robust, strict=True)
    )
    scores = ("Brier of the pool", "Brier of the mean", "gain over the mean", "gain so far", f"Brier of {DEFAULT}")
    columns = ("block from", "questions", "form", *scores)
    table = Table("Blocks of time", columns, rows, say("periods_note", pool))
    return (Section("How the pool did in time", say("periods", pool), (picture, table)),)


# --- what is proved ---------------------------------------------------------------------------------------------------


def _worst_case(pool: FittedPool, worst: PoolWorstCase) -> Section:
    rows = tuple(
        (
            str(each.agents),
            outward(each.pool, "ROUND_CEILING", BOUND_DIGITS),
            outward(each.robust, "ROUND_CEILING", BOUND_DIGITS),
            signed(each.difference, BOUND_DIGITS),
        )
        for each in worst.bounds
    )
    columns = ("forecasters", "the pool, at most", "robust, at most", "difference")
    note = say("worst_case_note", pool)
    tables = (Table("Worst-case regret, proved", columns, rows, note),) if rows else ()
    points = tuple(refusal[:1].upper() + refusal[1:] for refusal in worst.refusals)
    return Section("What learning costs in the worst case", say("worst_case", pool, worst=worst), tables, points)


def _unbroken(text: str) -> str:
    """The same text, which stays in one line."""
    return text.replace(" ", "\u00a0")


def _picture(block: str, name: str, title: str, figure: Figure, pool: FittedPool, **values: object) -> Picture:
    """A picture with the words of a block of ``pool.txt``."""
    alt, meaning = say(block, pool, **values).split("\n\n")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # of a forecaster's name, which the table has in full
        return Picture(name, title, png(figure), alt, meaning)
