"""Combine people's probabilities into forecasts.

In practice nobody is certain: a 0 or a 1 is mostly a rounded number, and in most rules it would decide the forecast alone.
Such rules clip reports to [0.01, 0.99] by default. `clip_for` decides this for everything that applies an aggregator to
people's forecasts: `aggregate`, `aggregate_table`, `compare`, `explain` and the estimators. The theory side (`get_rule`,
regret, worst case, certificates) never clips.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from . import checks
from .aggregators.distributions import (
    Combined,
    DistributionRule,
    check_distributions,
    combine_distributions,
    least_share,
)
from .aggregators.grid import GridAggregator
from .aggregators.learned_rule import LearnedRule
from .aggregators.rows import answers, blocks, contradictory
from .aggregators.rules import Rule
from .designs.any_aggregator import AnyAggregator, as_aggregator, is_aggregator_file
from .designs.design import Design
from .errors import InputError
from .wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .typing import Booleans, Floats


CLIP = 0.01
"""Rules in which a certain report decides see reports clipped to [0.01, 0.99] by default."""


CONTRADICTION = "0 and 1 for the same question contradict each other, so the forecast is 0.5; {} has both"
ALL_RULED_OUT = "every option is ruled out by somebody, so all options get the same forecast; the first is {}"


UNNAMED = (
    "the pool weights forecasters by their track record, but these have no names, so all count the same; pass a data frame "
    "with a column for each forecaster, or a table."
)


class ContradictionWarning(UserWarning):
    """One agent is certain that the answer is no, another that it is yes."""


class ClippedWarning(UserWarning):
    """Reports were clipped to [0.01, 0.99] by default."""


@overload
def aggregate(
    probabilities: Sequence[float],
    rule: AnyAggregator = ...,
    *,
    clip: float | None = ...,
    weights: npt.ArrayLike | None = ...,
) -> float: ...
@overload
def aggregate(
    probabilities: Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]],
    rule: AnyAggregator = ...,
    *,
    clip: float | None = ...,
    weights: npt.ArrayLike | None = ...,
) -> Floats: ...
@overload
def aggregate(
    probabilities: npt.ArrayLike,
    rule: AnyAggregator = ...,
    *,
    clip: float | None = ...,
    weights: npt.ArrayLike | None = ...,
) -> float | Floats: ...
def aggregate(
    probabilities: npt.ArrayLike,
    rule: AnyAggregator = "robust",
    *,
    clip: float | None = None,
    weights: npt.ArrayLike | None = None,
) -> float | Floats:
    """Combine the agents' probabilities into one forecast for each question.

    Parameters
    ----------
    probabilities
        One question: a sequence of numbers, one for each agent. Many: an array of shape (questions, agents), or a data
        frame with a column for each agent. Questions with more than two outcomes: an array of shape (questions, agents,
        options), in which each agent's numbers sum to 1. NaN or None: the agent did not answer.
    rule
        The name of a rule (see `robustpool.aggregators.rules.RULES`), a design or a fitted pool (``*.json`` or a path),
        or any callable from reports (m, n) to forecasts (m,).
    clip
        Clip the probabilities to [clip, 1 - clip] first. By default 0.01 for rules in which a certain report decides;
        0 turns clipping off. Averages of probabilities (`mean`, `median`, `trimmed-mean`, `karmarkar`,
        `beta-pool`) are never clipped; a design or a callable only on request.
    weights
        How much each agent counts, in the shape of the probabilities or one number for each agent. Only their ratios within
        a question matter, among those who answered; 0 is the same as no answer. For rules with a formula in sums or means;
        `median`, `trimmed-mean`, designs and callables do not accept weights.

    Returns
    -------
    A float for one question, an array of shape (questions,) for many; for a data frame of pandas a Series with its index.
    Questions with options have forecasts of shape (questions, options). A question without answers gives NaN. If reports
    were clipped by default, one `ClippedWarning` counts them. With ``clip=0`` a question with both a 0 and a 1 contradicts
    itself: it gives 0.5, and one `ContradictionWarning` counts all such questions.
    Averages of probabilities treat 0 and 1 like any other number.

    Raises
    ------
    InputError
        If a number lies outside [0, 1], the shape is wrong, the rule is unknown, or a callable returns
        something other than m probabilities.

    Examples
    --------
    >>> round(aggregate([0.7, 0.7], rule="product"), 4)
    0.8448
    >>> aggregate([[0.9, 0.8], [0.0, 0.4], [0.6, np.nan]], clip=0).round(4)
    array([0.8781, 0.    , 0.6   ])
    """
    forecast = at_once(probabilities, rule, clip) if weights is None else None
    if forecast is not None:
        return forecast
    aggregator = as_aggregator(rule)
    values, combined, remarks = pooled(probabilities, aggregator, clip, weights)
    for remark in remarks:
        warnings.warn(remark.words, remark.category, stacklevel=2)
    return float(combined.forecasts[0]) if values.ndim == 1 else _like(probabilities, combined.forecasts)


class Remark(NamedTuple):
    """What a user should know of reports that were combined all the same."""

    category: type[Warning]
    words: str


def pooled(
    probabilities: npt.ArrayLike,
    aggregator: Callable[[Any], Any],
    clip: float | None = None,
    weights: npt.ArrayLike | None = None,
    forecasters: Sequence[str] | None = None,
) -> tuple[Floats, Combined, list[Remark]]:
    """What `aggregate` computes: the checked reports, the forecasts, and what it would warn of.

    The columns of a data frame name the ``forecasters``, if these are not given.

    >>> values, combined, remarks = pooled([0.0, 0.8], as_aggregator("robust"))
    >>> remarks[0].words
    '1 of 2 reports was clipped to [0.01, 0.99]; clip=0 turns this off.'
    """
    values = _probabilities(probabilities)
    if len(values) == 0 and values.ndim < 3:
        return values, Combined(np.zeros(0), [], 0), []
    options = values.ndim == 3
    if options:
        values = check_distributions(values)
    names = getattr(probabilities, "columns", None) if forecasters is None else forecasters
    remarks = []
    if isinstance(aggregator, LearnedRule) and aggregator.weights is not None:
        if names is None:
            remarks.append(Remark(UserWarning, UNNAMED))
        else:
            weights = _times_learned(weights, aggregator.weights_of([str(name) for name in names]))
    combined = combine(values, aggregator, clip, weights)
    if combined.clipped and clip is None:
        answered = int(np.count_nonzero(~np.isnan(values[..., 0] if options else values)))
        what = "answer" if options else "report"
        words = clipped_words(combined.clipped, answered, "clip=0", what, options=options)
        remarks.append(Remark(ClippedWarning, words))
    count = answers(np.atleast_2d(values)) if not options else np.zeros(0)
    if (few := few_answers(aggregator, count)).any():
        row, size = int(np.argmax(few)), f"{np.count_nonzero(few):,} of {counted(len(few), 'row')}"
        remarks.append(Remark(UserWarning, few_words(aggregator, f"row {row}", int(count[row]), size)))
    if combined.at_odds:
        what = ALL_RULED_OUT if options else CONTRADICTION
        rows = f"({len(combined.at_odds)} of {len(combined.forecasts)} rows)"
        remarks.append(Remark(ContradictionWarning, f"{what.format(f'row {combined.at_odds[0]}')} {rows}."))
    return values, combined, remarks


FEW = 64
"""Up to so many reports of one question are looked at one by one, which is quicker than numpy."""


def at_once(probabilities: Any, rule: Any = "robust", clip: float | None = None) -> float | None:
    """The forecast for one question, if nothing has to be clipped, converted or said; else None.

    It is what a table of one row gives, to the last bit, without the checks that such reports do not need.

    >>> at_once([0.2, 0.8]), at_once([0.2, 0.999])
    (0.5, None)
    """
    if type(probabilities) not in (list, tuple) or not 0 < len(probabilities) <= FEW or type(rule) is not str:
        return None
    if is_aggregator_file(rule):
        return None
    aggregator: Any = as_aggregator(rule)
    low = clip_for(aggregator, clip)
    high = 1 - low
    for x in probabilities:
        if type(x) is not float or not (low <= x <= high and 0.0 < x < 1.0):
            return None
    return aggregator.one(probabilities)


def combine(
    values: Floats,
    aggregator: Callable[[Any], Any] | DistributionRule,
    clip: float | None = None,
    weights: npt.ArrayLike | None = None,
) -> Combined:
    """The forecast of an aggregator for each row, (m, n) or with options (m, n, k); callers issue their own warnings.

    >>> combined = combine(np.array([[0.0, 1.0, 0.8], [0.6, 0.6, 0.6]]), as_aggregator("product"), clip=0)
    >>> combined.at_odds, combined.clipped
    ([0], 0)
    """
    if isinstance(aggregator, LearnedRule):
        pooled = combine(values, _pooling(aggregator, values), clip_for(aggregator, clip), weights)
        return pooled._replace(forecasts=aggregator.corrected(pooled.forecasts))
    low = clip_for(aggregator, clip)
    if weights is not None and not isinstance(aggregator, Rule | DistributionRule):
        raise InputError("weights are for rules that accept them; a design or a callable does not.")
    by_agent = None if weights is None else _by_agent(weights, np.atleast_2d(values).shape[:2])
    if values.ndim == 3 or isinstance(aggregator, DistributionRule):
        return combine_distributions(values, aggregator, low, by_agent)
    if isinstance(aggregator, Rule):
        return _by_rule(aggregator, values, low, by_agent)
    return Combined(_by_function(aggregator, values, low), [], outside(values, low))


def _times_learned(weights: npt.ArrayLike | None, learned: Any) -> Any:
    """The weights, times those that a fitted pool has for the forecasters."""
    return learned if weights is None or learned is None else checks.real_array("weights", weights) * learned


def _pooling(learned: LearnedRule, values: Floats) -> Rule | DistributionRule:
    """The rule by which a fitted pool combines the reports before it recalibrates the result."""
    options = values.ndim == 3
    if options != learned.options:
        two, more = "two outcomes", "more than two outcomes"
        own, given = (more, two) if learned.options else (two, more)
        raise InputError(f"the pool was fitted to questions with {own}; these have {given}.")
    return learned.distribution_base if options else learned.base


# ---------------------------------------------------------------------------------------------------- too few answers


def few_answers(aggregator: Any, count: npt.ArrayLike) -> Booleans:
    """Which numbers of answers are fewer than half of those that a design is for which takes fewer."""
    number, designed = np.asarray(count), getattr(aggregator, "agents", 0) if getattr(aggregator, "fewer", False) else 0
    return np.asarray((number > 0) & (2 * number < designed))


def few_words(aggregator: Any, place: str, count: int, size: str) -> str:
    """What to say of them: the first place, its number of answers, and how many places there are."""
    return (
        f"the design is for {aggregator.agents} answers, and with fewer than half of them it may be too sure; {place} has "
        f"{count} ({size}). Make a design for fewer --agents; a single answer is returned as it is."
    )


# ----------------------------------------------------------------------------------------------------------- clipping


def clip_for(aggregator: Callable[[Any], Any] | DistributionRule, clip: float | None) -> float:
    """The lower end of the interval [low, 1 - low] to which reports are clipped; this is decided only here.

    Averages of probabilities are never clipped, because they treat 0 and 1 like any other number. Every other rule is
    clipped by ``clip``, by default 0.01. So is a design in which a certain report decides; any other design, and your own
    function, is clipped only if ``clip`` is given.

    >>> [clip_for(as_aggregator(name), None) for name in ("robust", "mean")]
    [0.01, 0.0]
    >>> [clip_for(as_aggregator(name), 0.05) for name in ("robust", "mean")]
    [0.05, 0.0]
    """
    low = low_end(clip)
    if not isinstance(aggregator, Rule | DistributionRule | LearnedRule):
        return CLIP if clip is None and getattr(aggregator, "decided_by_one", False) else low
    if aggregator.averages:
        return 0.0
    if clip is None:
        return aggregator.clip if isinstance(aggregator, LearnedRule) else CLIP
    return low


def outside(values: Floats, low: float) -> int:
    """How many reports lie strictly outside [low, 1 - low], and so are clipped.

    >>> outside(np.array([0.0, 0.01, 0.5, 0.995, np.nan]), 0.01)
    2
    """
    return int(np.count_nonzero((values < low) | (values > 1 - low))) if low else 0


def raised(distributions: Floats, clip: float) -> int:
    """How many answers, (..., K) with NaN beyond the options of their question, the clipping changes.

    >>> raised(np.array([[0.0, 0.5, 0.5], [0.3, 0.7, np.nan]]), 0.01)
    1
    """
    sizes = np.count_nonzero(~np.isnan(distributions), axis=-1)
    share = np.array([least_share(clip, max(k, 1)) for k in range(distributions.shape[-1] + 1)])[sizes]
    return int(np.count_nonzero((distributions < share[..., None]).any(axis=-1)))


def clipped_words(clipped: int, of: int, remedy: str, what: str = "report", *, options: bool = False) -> str:
    """What was done to reports by default, and how to turn this off.

    >>> clipped_words(1, 2, "--clip 0")
    '1 of 2 reports was clipped to [0.01, 0.99]; --clip 0 turns this off.'
    """
    return f"{brought(clipped, of, what, options=options)}; {remedy} turns this off."


def brought(clipped: int, of: int, what: str, clip: float = CLIP, *, options: bool = False) -> str:
    """How many reports were clipped, or how many distributions over options were raised.

    >>> brought(3, 40, "answer")
    '3 of 40 answers were clipped to [0.01, 0.99]'
    >>> brought(3, 40, "answer", options=True)
    '3 of 40 answers were raised to at least 0.01 for each option'
    """
    was = "was" if clipped == 1 else "were"
    inside = f"raised to at least {clip:g} for each option" if options else f"clipped to [{clip:g}, {1 - clip:g}]"
    return f"{clipped:,} of {counted(of, what)} {was} {inside}"


# ------------------------------------------------------------------------------------------------------ what comes in


def _probabilities(probabilities: Any) -> Floats:
    """Numbers of any kind as floats, and None as NaN, in one row or in a table; reject everything else."""
    entries = _entries(probabilities)
    if entries.ndim not in (1, 2, 3):
        raise InputError(
            "probabilities must have the shape (agents,), (questions, agents) or (questions, agents, options); "
            f"the shape is {entries.shape}."
        )
    if entries.shape[-1] == 0:
        raise InputError(f"probabilities must hold at least one number; the shape is {entries.shape}.")
    if entries.dtype == object:
        number = Real | Decimal | None
        wrong = np.reshape([not isinstance(entry, number) for entry in entries.flat], entries.shape)
        if wrong.any():
            raise InputError(f"probability must be a number; {_first(entries, wrong, 'are not')}.")
    try:
        return entries.astype(np.float64, copy=False)
    except OverflowError:  # a whole number beyond all floats
        big = np.reshape([isinstance(entry, int) and abs(entry) > 1 for entry in entries.flat], entries.shape)
        raise InputError(f"probability must lie in [0, 1]; {_first(entries, big, 'are out of range')}.") from None


def _entries(probabilities: Any) -> npt.NDArray[Any]:
    """An array of what was given, of numbers or of objects; next to text, numpy alone would turn numbers into text."""
    if hasattr(probabilities, "filled"):  # a masked array, which numpy alone would unmask
        probabilities = probabilities.astype(np.float64).filled(np.nan)
    try:
        entries = np.asarray(probabilities)
    except ValueError:
        raise InputError("probabilities must have rows of equal length; write NaN for a missing answer.") from None
    return entries if entries.dtype.kind in "fiub" else np.asarray(probabilities, dtype=object)


def _check_range(values: Floats, part: Floats) -> None:
    """Reject a part of the values with an entry that is neither in [0, 1] nor NaN; the count is over all values."""
    if part.size and part.min() >= 0 and part.max() <= 1:  # NaN fails, and is looked at more closely
        return
    if _out_of_range(part).any():
        raise InputError(
            f"probability must lie in [0, 1]; {_first(values, _out_of_range(values), 'are out of range')}."
        )


def _out_of_range(values: Floats) -> Booleans:
    return np.asarray(~((values >= 0) & (values <= 1) | np.isnan(values)))


def low_end(clip: float | None) -> float:
    """Check a given clip; None is 0."""
    if clip is None:
        return 0.0
    low = checks.number("clip", clip)
    if not 0 <= low < 0.5:
        raise InputError(f"clip must lie in [0, 0.5); it is {clip!r}.")
    return low


def _by_agent(weights: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """The weights in the shape of the reports."""
    given = checks.real_array("weights", weights)
    if given.shape not in (shape, shape[1:]):
        raise InputError(
            f"weights must have the shape {shape} of the probabilities or {shape[1:]}, one for each agent; the shape is "
            f"{given.shape}."
        )
    bad = given < 0
    if bad.any():
        raise InputError(f"weight must not be negative; {_first(given, bad, 'are')}.")
    return np.broadcast_to(given, shape)


# -------------------------------------------------------------------------------------------------------- in between


def _by_rule(rule: Rule, values: Floats, low: float, by_agent: Floats | None) -> Combined:
    """The forecasts of a rule, in blocks that stay in the cache."""
    reports = np.atleast_2d(values)
    forecasts = np.empty(len(reports))
    at_odds: list[int] = []
    clipped = 0
    for block in blocks(reports):
        part = reports[block]
        _check_range(values, part)
        part = part if by_agent is None else np.where(by_agent[block] > 0, part, np.nan)
        touched = outside(part, low)
        part = np.clip(part, low, 1 - low) if touched else part
        clipped += touched
        forecasts[block] = rule(part) if by_agent is None else rule(part, by_agent[block])
        undecided = np.flatnonzero(forecasts[block] == 0.5)  # the forecast of a rule for a contradiction
        if undecided.size:
            odd = contradictory(part[undecided])
            if rule.averages:  # only if there are no other answers
                odd &= answers(part[undecided]) == 2
            at_odds += (block.start + undecided[odd]).tolist()
    return Combined(forecasts, at_odds, clipped)


def _by_function(aggregator: Callable[[Any], Any], values: Floats, low: float) -> Floats:
    """The forecasts of a design or a user's function for the whole table; contradictions are left to it."""
    reports = np.atleast_2d(values)
    inner = aggregator.aggregator if isinstance(aggregator, Design) else aggregator
    if isinstance(inner, GridAggregator) and not low:
        with suppress(InputError):  # the grid looks at each report once and answers with probabilities, or refuses
            return aggregator(reports)
    for block in blocks(reports):
        _check_range(values, reports[block])
    reports = np.clip(reports, low, 1 - low) if low else reports
    return _forecasts(aggregator(reports), usual=answers(reports) > 0)


# ------------------------------------------------------------------------------------------------------ what goes out


def _like(given: Any, forecasts: Floats) -> Any:
    """The forecasts as a Series with its index, if a data frame of pandas was given."""
    pandas = sys.modules.get("pandas")  # a caller with a data frame has imported it
    if pandas is None or not isinstance(given, pandas.DataFrame):
        return forecasts
    return pandas.Series(forecasts, index=given.index, name="forecast")


def _forecasts(answer: npt.ArrayLike, usual: Booleans) -> Floats:
    """Check what an aggregator returns on the usual rows, those with an answer and no contradiction; NaN elsewhere."""
    try:
        forecasts = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the aggregator must return numbers; it returned {answer!r}.") from None
    if forecasts.shape != usual.shape:
        raise InputError(f"the aggregator must return the shape {usual.shape}; it returned {forecasts.shape}.")
    wrong = usual & ~((forecasts >= 0) & (forecasts <= 1))
    if wrong.any():
        raise InputError(f"the aggregator must return numbers in [0, 1]; {_first(forecasts, wrong, 'are not')}.")
    return np.where(usual, forecasts, np.nan)


def _first(entries: npt.NDArray[Any], wrong: Booleans, what: str) -> str:
    """Name the first wrong entry, its value and how many there are: ``row 17, column 2 is 1.2 (3 of 412 are not)``."""
    where = np.argwhere(wrong)[0].tolist()
    names = {1: ("entry",), 2: ("row", "column"), 3: ("row", "agent", "option")}[wrong.ndim]
    place = ", ".join(f"{name} {at}" for name, at in zip(names, where, strict=True))
    return f"{place} is {entries.item(*where)!r} ({wrong.sum()} of {wrong.size} {what})"
