"""`fit`: learn a pool from forecasts with outcomes, and estimate honestly what it gains."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, checks
from ..aggregators.learned_rule import LearnedRule
from ..designs.records import Versions
from ..errors import InputError
from ..evaluation.bootstrap import affordable
from ..evaluation.calibration import calibration
from ..evaluation.isotonic import curve, fit_isotonic
from ..evaluation.options import one_against_rest
from ..evaluation.scores import histogram
from ..forecasts import CLIP, low_end
from ..tables.reading import moment, read_forecasts
from ..tables.rejecting import warn_left_out
from ..wording import counted
from .candidates import fit_form
from .cross_fitting import LEAST_TO_LEARN, CrossFitted, even_blocks, shuffled
from .cross_fitting import rolling as rolling_fits
from .gains import measure
from .history import History
from .pool_file import sealed
from .records import DEFAULT, REFERENCE, Calibrations, FittedPool, Learned, Period, Weight
from .skill import skill
from .times import Times, months, question_times, until, without_hindsight
from .words import summary

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ..tables.records import ForecastTable
    from ..typing import Floats

    Progress = Callable[[str, float], None]


def fit(
    source: Any,
    *,
    as_of: float | str | datetime | None = None,
    clip: float | None = None,
    seed: int = 0,
    draws: int = 2000,
    rolling: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> FittedPool:
    """Learn a pool from forecasts with outcomes.

    The pool takes one of five forms: the mean; the default rule; the mean log-odds, recalibrated by an intercept and a slope (Platt) that are
    pulled towards 0 and 1; the default rule with forecasters weighted by their track record, pulled towards equal weights; and
    weights with recalibration. The simplest form within one standard error of the best is chosen by cross-validation. The
    gain is that of the whole procedure, choice included, on questions that it had not seen. If the table has times, the pool is
    always fitted to the past and scored on what came after.

    Parameters
    ----------
    source
        A `ForecastTable`, or anything that `read_forecasts` reads: a file, or a data frame. Questions without an outcome are
        ignored.
    as_of
        Learn only from questions that were resolved by then: ISO 8601, seconds since 1970, or a datetime. Without a column
        resolved, a question counts as resolved when its last answer was given.
    clip
        Answers are clipped to [clip, 1 - clip] before log-odds are taken, by default 0.01; the pool keeps it.
    seed
        Of the folds and the bootstrap.
    draws
        Bootstrap draws of the questions (or clusters); fewer for tables with more than 50,000 of them.
    rolling
        Use the months of the calendar, in UTC, as blocks of time. By default a table with times is cut into ten blocks with about
        as many questions each. The blocks decide what is scored, and so which form is chosen.
    progress
        Called with a line and the share of the work that is done.
    reading
        How a file or a data frame is read, as in `read_forecasts`.

    Raises
    ------
    InputError
        If fewer than 20 questions (or clusters) have an outcome, or all have the same.

    Examples
    --------
    Three forecasters who are too timid:

    >>> from robustpool.numerics import sigma
    >>> from robustpool.tables.records import ForecastTable
    >>> rng = np.random.default_rng(1)
    >>> truth = 2 * rng.standard_normal(400)
    >>> answers = sigma(truth[:, None] / 2 + 0.3 * rng.standard_normal((400, 3)))
    >>> table = ForecastTable(
    ...     [str(q) for q in range(400)], ["ann", "bob", "eve"], np.repeat(np.arange(400), 3), np.tile([0, 1, 2], 400),
    ...     answers.ravel(), (rng.random(400) < sigma(truth)).astype(float),
    ... )  # fmt: skip
    >>> pool = fit(table)
    >>> pool.chosen, pool.better
    ('recalibrated', True)
    >>> pool.aggregate([0.6, 0.7]) > 0.7
    True
    """
    say = progress or (lambda *_: None)
    checks.whole("seed", seed, least=0)
    requested = checks.whole("draws", draws, least=100)
    low = CLIP if clip is None else low_end(clip)
    if not low:
        raise InputError(f"clip must lie in (0, 0.5) to fit a pool, because 0 and 1 have no log-odds; it is {clip!r}.")
    say("reading", 0.0)
    table = read_forecasts(source, **reading)
    if table is not source:
        warn_left_out(table.rejected, table.tally, stacklevel=2)
    until_then = moment(as_of)
    table, notes = without_hindsight(table)
    if until_then is not None:
        table, further = until(table, until_then)
        notes += further
    history = History.of(table, low)
    check_enough(history, table)
    draws = affordable(requested, history.number_of_clusters)
    times, further = question_times(history.table)
    notes += further
    cross_fitted, scheme, further = cross_fit(history, times, rolling, seed, say)
    notes += further
    in_order = None if times is None else cross_fitted.block is not None
    say("fitting", 0.95)
    every = np.ones(history.size, dtype=bool)
    fitted = fit_form(cross_fitted.chosen, history, every)
    weights = () if fitted.weights is None else _weights(history)
    rule = LearnedRule(
        rule=fitted.form.rule,
        intercept=fitted.intercept,
        slope=fitted.slope,
        weights=None if fitted.weights is None else {each.forecaster: each.weight for each in weights},
        clip=low,
        options=history.table.options is not None,
    )
    pool = FittedPool(
        aggregator=rule,
        chosen=fitted.form.name,
        **measure(history, cross_fitted, draws=draws, seed=seed)._asdict(),
        scored=int(cross_fitted.scored.sum()),
        scheme=scheme,
        learned=_learned(history, until_then, in_order, seed, draws),
        weights=weights,
        calibration=_calibrations(history, cross_fitted),
        periods=_periods(history, cross_fitted),
        notes=tuple(notes),
        summary=(),
        versions=Versions(robustpool=__version__, numpy=np.__version__, python=platform.python_version()),
    )
    say("done", 1.0)
    return sealed(summary(pool))


def check_enough(history: History, table: ForecastTable) -> None:
    """Refuse a table from which nothing can be learned."""
    questions, clusters = counted(len(table.questions), "question"), history.number_of_clusters
    if not history.size:
        raise InputError(f"a pool needs outcomes to learn from; none of {questions} has one.")
    what = "resolved questions" if history.table.cluster is None else "clusters of resolved questions"
    if clusters < LEAST_TO_LEARN:
        raise InputError(
            f"a pool needs at least {LEAST_TO_LEARN} {what} to learn from; there are {clusters:,} (of {questions}); until then "
            "use a rule, such as robust."
        )
    outcome = history.table.outcome
    if history.table.options is not None:
        return
    if outcome.min() == outcome.max():
        raise InputError(
            f"a pool needs questions with both outcomes to learn from; all {len(outcome):,} resolved ones have {outcome[0]:g}."
        )
    mean = history.mean()
    measured = calibration(mean, outcome, np.ones(len(outcome)), history.clusters, history.clip)
    slope = "-inf" if measured is None else "{:.2f} ({:.2f} to {:.2f})".format(*measured.slope)
    apart = bool(mean[outcome == 1].max() < mean[outcome == 0].min())  # always wrong, so no slope fits best
    # Four standard errors below 0: forecasts without information are not refused, a reversed column is.
    if apart or (measured is not None and 2 * measured.slope.high < measured.slope.value):
        raise InputError(
            "a pool cannot learn from forecasts that point the wrong way; the calibration slope of their mean is "
            f"{slope}: is the outcome column reversed?"
        )


def cross_fit(
    history: History, times: Times | None, monthly: bool, seed: int, say: Progress
) -> tuple[CrossFitted, str, list[str]]:
    """The cross-fitted forecasts, how they came about, and what a user should know."""

    def scaled(line: str, share: float) -> None:
        say(line, 0.1 + 0.8 * share)

    notes: list[str] = []
    if times is None and monthly:
        raise InputError(
            "rolling months need a time for each question; there is no column timestamp or resolved, or it has gaps."
        )
    if times is not None:
        starts = months(times.time) if monthly else even_blocks(times.time)
        result = rolling_fits(history, times.time, times.known, starts, scaled)
        if result is not None:
            size = "months" if monthly else "blocks of time"
            return (
                result,
                f"{len(result.choices)} {size}, each scored after learning from what was known before it",
                notes,
            )
        needed = f"after {LEAST_TO_LEARN} questions are resolved"
        if monthly:
            raise InputError(
                f"rolling needs at least three months with questions {needed}; there are {counted(len(starts), 'month')} in all."
            )
        notes.append(f"Fewer than three blocks of time come {needed}, so the order in time was not used.")
    result = shuffled(history, seed, scaled)
    what = "questions" if history.table.cluster is None else "clusters of questions"
    return result, f"nested cross-validation with {len(result.choices)} folds of {what}", notes


# ---------------------------------------------------------------------------------------------------------- what is known


def _learned(history: History, as_of: float | None, in_order: bool | None, seed: int, draws: int) -> Learned:
    table = history.table
    options = table.options is not None
    return Learned(
        questions=history.size,
        answers=table.rows,
        forecasters=len(np.unique(table.forecaster)),
        clusters=None if table.cluster is None else history.number_of_clusters,
        options=int(table.option_counts.max()) if options else None,
        base_rate=None if options else float(table.outcome.mean()),
        typical_answers=int(np.median(table.answers)),
        as_of=as_of,
        in_order=in_order,
        seed=seed,
        draws=draws,
    )


def _weights(history: History) -> tuple[Weight, ...]:
    """The forecasters with a track record, heaviest first."""
    people = skill(history, np.ones(history.size, dtype=bool))
    numbers = zip(
        people.weights.tolist(), people.low.tolist(), people.high.tolist(), people.questions.tolist(), strict=True
    )
    named = zip(history.table.forecasters, numbers, strict=True)
    weights = [Weight(name, *values) for name, values in named if values[-1] > 0]
    return tuple(sorted(weights, key=lambda each: -each.weight))


def _calibrations(history: History, fit: CrossFitted) -> Calibrations:
    """On the questions that are scored; with options, each option against the rest."""
    outcome, once = history.table.outcome[fit.scored], np.ones(int(fit.scored.sum()))

    def of(forecasts: Floats) -> Any:
        return fit_isotonic(one_against_rest(forecasts[fit.scored], outcome, once, same=False).together())

    before, after = of(fit.by_form[REFERENCE]), of(fit.forecasts)
    return Calibrations(curve(before), curve(after), histogram(before.at), histogram(after.at))


def _periods(history: History, fit: CrossFitted) -> tuple[Period, ...]:
    if fit.block is None:
        return ()
    losses = [history.brier(each) for each in (fit.forecasts, fit.by_form[REFERENCE], fit.by_form[DEFAULT])]
    numbers = np.unique(fit.block[fit.scored]).tolist()
    periods = []
    for number, chosen in zip(numbers, fit.choices, strict=True):
        here = fit.scored & (fit.block == number)
        scores = (float(each[here].mean()) for each in losses)
        periods.append(Period(fit.blocks[number], int(here.sum()), chosen, *scores))
    return tuple(periods)
