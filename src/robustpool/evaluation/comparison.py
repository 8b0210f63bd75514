"""`compare`: score every rule on forecasts with known outcomes, and say what follows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..aggregators.learned_rule import LearnedRule
from ..designs.any_aggregator import as_aggregator
from ..errors import InputError
from ..forecasts import CLIP, brought, clip_for, low_end, outside, raised
from ..learning.fitting import fit as fit_pool
from ..tables.reading import read_forecasts
from ..tables.rejecting import warn_left_out
from ..wording import counted
from .advice import advise
from .bootstrap import affordable
from .contenders import Contenders, contenders, for_options, name_of
from .diagnosis import FEW_QUESTIONS
from .individuals import describe, pair_sample
from .option_scores import base_rate, base_rate_brier
from .panel import Panel, contradictions, forecasts_of, make_panel, resolved, takes_weights
from .recalibration import METHODS
from .recalibration import recalibrate as recalibrate_table
from .records import Comparison, Individuals, Interval
from .scoring import Measured, measure, resample, rule_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..designs.any_aggregator import AnyAggregator
    from ..learning.records import FittedPool
    from ..tables.records import ForecastTable
    from ..typing import Integers

    Progress = Callable[[str, float], None]


def compare(
    source: Any,
    *,
    rules: Iterable[AnyAggregator] | None = None,
    clip: float | None = None,
    pairs: int | None = None,
    seed: int = 0,
    fit: bool = True,
    rolling: bool = False,
    recalibrate: str = "none",
    per_forecaster: bool = False,
    draws: int = 2000,
    reference: str = "mean",
    progress: Progress | None = None,
    **reading: Any,
) -> Comparison:
    """Score rules on forecasts with outcomes, with intervals, and say in plain words what follows.

    Parameters
    ----------
    source
        A `ForecastTable`, or anything that `read_forecasts` reads: a file, or a data frame.
    rules
        Names of rules, design files or callables; by default all rules by name.
    clip
        As in `aggregate`, so the scores are those of its forecasts: by default reports are clipped to [0.01, 0.99] for
        rules in which a certain report decides. Averages of probabilities are never clipped.
    pairs
        Score each rule on up to this many random pairs of answers per question, instead of on all answers at once.
    seed
        Of the pairs, the folds and the resampling.
    fit
        Whether a pool is fitted to these data as well (see `fit`), and scored on questions that it had not seen. It needs
        all answers to a question, so not with ``pairs``; and at least 20 questions (or clusters) with both outcomes.
    rolling
        Score the fitted pool as a platform lives: for each month learn from what was known before, then score the month.
    recalibrate
        Score the rules also on answers that are recalibrated one by one: ``none``, ``slope``, ``platt``, ``isotonic`` (see
        `recalibrate`), or ``auto``: with at least 40 questions (or
        clusters), ``slope`` if the individuals' calibration slope differs significantly from 1, and ``platt`` if their
        intercept (or, with such a slope, that of the reference rule) differs significantly from 0, a bias.
    per_forecaster
        Whether each forecaster is recalibrated separately, if she has enough questions.
    draws
        Bootstrap draws of the questions (or clusters); fewer for tables with more than 50,000 of them.
    reference
        The rule that differences are taken to; it is scored even if it is not among ``rules``.
    progress
        Called with a line and the share of the work that is done.
    reading
        How a file or a data frame is read: ``layout``, ``format``, ``columns``, ``percent``, ``strict``, ``as_of``,
        ``odds``, ``options``, ``decimal``, ``date_format`` and ``outcomes``, as in `read_forecasts`.

    Raises
    ------
    InputError
        If no question has an outcome and enough answers, an option is wrong, or the reference cannot be scored.

    Examples
    --------
    >>> from robustpool.tables.records import ForecastTable
    >>> table = ForecastTable(
    ...     [f"q{q}" for q in range(60)], ["ann", "bob"], np.repeat(np.arange(60), 2), np.tile([0, 1], 60),
    ...     np.tile([0.9, 0.7, 0.2, 0.4, 0.6, 0.3], 20), np.tile([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], 10),
    ... )  # fmt: skip
    >>> comparison = compare(table, rules=["mean", "product"])
    >>> [(rule.name, round(rule.brier.value, 3)) for rule in comparison.rules]
    [('product', 0.095), ('mean', 0.127)]
    """
    say = progress or (lambda *_: None)
    method = checks.choice("recalibrate", recalibrate, ("auto", "none", *METHODS))
    low = CLIP if clip is None else low_end(clip)
    checks.whole("seed", seed, least=0)
    if pairs is not None:
        checks.whole("pairs", pairs, least=1)
    if rolling and (pairs is not None or not fit):
        raise InputError(
            "rolling is for a fitted pool, which needs all answers; it cannot be used with pairs or without fit."
        )
    requested = checks.whole("draws", draws, least=100)
    candidates, unscored = contenders(rules)
    name = _with_reference(candidates, unscored, reference)
    say("reading", 0.0)
    given = read_forecasts(source, **reading)
    if given is not source:
        warn_left_out(given.rejected, given.tally, stacklevel=2)
    table, left_out = _resolved(given, pairs)
    if table.options is not None:
        candidates, unscored = for_options(candidates, unscored)
        if method not in ("auto", "none"):
            raise InputError("recalibrate must be auto or none for questions with options; it is for two outcomes.")
        method = "none"
    panel = make_panel(table, pairs, seed)
    clusters = int(panel.clusters.max()) + 1
    draws = affordable(requested, clusters)

    say("the individuals", 0.1)
    individuals = describe(panel, draws=draws, seed=seed)
    measured, rejected = _measured(candidates, "none", panel, clip, say, 0.2)
    unscored |= rejected
    number = len(measured)
    if name in unscored:
        raise InputError(f"reference must be a rule that can be scored; {name} cannot be: {unscored[name]}")
    at = [rule.name for rule in measured].index(name)
    if method == "auto":
        method = _remedy(individuals, measured[at].intercept) if clusters >= FEW_QUESTIONS else "none"
    if method != "none":
        say(f"recalibrating ({method})", 0.5)
        corrected = recalibrate_table(table, method, per_forecaster=per_forecaster, clip=low or CLIP, seed=seed)
        words = f"{method}, per forecaster" if per_forecaster else method
        # Recalibrated answers are never 0 or 1, and so nothing is clipped again: that would undo part of the correction.
        measured += _measured(candidates, words, replace(panel, table=corrected), 0.0, say, 0.5)[0]

    fitted, why_not = None, ""
    if fit and pairs is None:
        share = (lambda line, done: say(line, 0.6 + 0.2 * done))  # fmt: skip
        fitted, why_not = _fitted(table, low, seed, draws, rolling, share)
    say("bootstrapping the questions", 0.8)
    touched = outside if table.options is None else raised
    clipped = max(touched(table.probability, clip_for(rule, clip)) for rule in candidates.values())
    scores = resample(measured, panel, draws=draws, seed=seed)
    comparison = Comparison(
        questions=len(table.questions),
        left_out=left_out,
        forecasters=len(np.unique(table.forecaster)),
        answers=table.rows,
        clusters=None if table.cluster is None else clusters,
        **_base_rate(table, panel.clusters),
        up_to_two=1.0 if pairs is not None else float(np.mean(table.answers <= 2)),
        up_to_three=1.0 if pairs is not None else float(np.mean(table.answers <= 3)),
        pairs=pairs,
        clip=low,
        clipped=clipped,
        seed=seed,
        draws=draws,
        reference=name,
        individuals=individuals,
        rules=rule_scores(measured, scores, range(number), at),
        recalibrated=rule_scores(measured, scores, range(number, len(measured)), at),
        unscored=unscored,
        advice=(),
        recommended="",
        fitted=fitted,
        pair_sample=pair_sample(table, seed) if table.options is None else (),
        notes=(*_notes(panel, candidates, low, clipped, requested, draws), *filter(None, [why_not])),
        timed=table.timestamp is not None or table.resolved is not None,
        options=None if table.options is None else int(table.option_counts.max()),
    )
    say("done", 1.0)
    return advise(comparison)


# -------------------------------------------------------------------------------------------------------- what comes in


def _resolved(table: ForecastTable, pairs: int | None) -> tuple[ForecastTable, int]:
    """The questions that can be scored, and how many cannot."""
    least = 1 if pairs is None else 2
    kept = resolved(table, least)
    answered = int(np.count_nonzero(table.answers))
    if not kept.questions:
        known = int(np.isfinite(table.outcome[table.answers > 0]).sum())
        raise InputError(
            f"a comparison needs at least one question with an outcome and {counted(least, 'answer')}; "
            f"{known} of {counted(answered, 'question')} have an outcome."
        )
    return kept, answered - len(kept.questions)


def _with_reference(candidates: Contenders, unscored: dict[str, str], reference: str) -> str:
    """Add the reference to the rules, if it is not there; its canonical name."""
    if reference in candidates or reference in unscored:
        return reference
    aggregator = as_aggregator(reference)
    name = name_of(reference, aggregator)
    candidates.setdefault(name, aggregator)
    return name


def _base_rate(table: ForecastTable, clusters: Integers) -> dict[str, float]:
    """How often the event happened (or the most frequent outcome came true), and the score of forecasting that."""
    y, binary = table.outcome, table.options is None
    options = table.options or [("no", "yes")] * len(y)
    score = base_rate_brier(y, options, clusters) / (2 if binary else 1)  # half of the score of two options
    return {"base_rate": float(y.mean()) if binary else base_rate(y, options), "base_rate_brier": score}


# --------------------------------------------------------------------------------------------------------- what is done


def _remedy(individuals: Individuals, of_reference: Interval | None) -> str:
    """What recalibration the individuals call for: none, a slope, or an intercept as well.

    A bias that is lost in the noise of single answers shows in their average, and rules that extremise amplify it.
    """
    slope, intercept = individuals.slope, individuals.intercept
    if slope is None or slope.high < 0:  # not available, or of the wrong sign
        return "none"
    if _off(intercept, 0.0):
        return "platt"
    if not _off(slope, 1.0):
        return "none"
    return "platt" if _off(of_reference, 0.0) else "slope"


def _off(estimate: Interval | None, ideal: float) -> bool:
    """Whether an estimate differs significantly from its ideal value."""
    return estimate is not None and not estimate.low <= ideal <= estimate.high


def _measured(
    rules: Contenders, words: str, panel: Panel, clip: float | None, say: Progress, done: float
) -> tuple[list[Measured], dict[str, str]]:
    """Score each rule; those that reject the reports are left out, with their error message."""
    measured: list[Measured] = []
    unscored: dict[str, str] = {}
    for number, (name, rule) in enumerate(rules.items()):
        say(name, done + 0.3 * number / len(rules))
        try:
            forecasts = forecasts_of(rule, panel, clip)
        except InputError as error:  # a design for two agents, or for other reports
            unscored[name] = str(error)
        else:
            measured.append(measure(name, words, forecasts, panel))
    return measured, unscored


def _fitted(
    table: ForecastTable, clip: float, seed: int, draws: int, rolling: bool, say: Progress
) -> tuple[FittedPool | None, str]:
    """A pool fitted to these questions; or None and why nothing can be learned from them."""
    try:
        # Certain answers have no log-odds, so a pool clips even if the rules do not.
        return fit_pool(table, clip=clip or CLIP, seed=seed, draws=draws, rolling=rolling, progress=say), ""
    except InputError as error:
        if rolling:
            raise
        return None, f"No pool was fitted: {error}"


# -------------------------------------------------------------------------------------------------------- what goes out


def _notes(panel: Panel, rules: Contenders, clip: float, clipped: int, requested: int, draws: int) -> tuple[str, ...]:
    """What was done to the data and might surprise a reader of the table."""
    notes = []
    if clipped:
        done = brought(clipped, panel.table.rows, "answer", clip, options=panel.table.options is not None)
        notes.append(f"{done} for rules in which a certain answer decides, as in `aggregate`; --clip 0 turns this off.")
    at_odds = contradictions(panel)
    if at_odds:
        odd, same = "with both a 0 and a 1", "return 0.5"
        if panel.table.options is not None:
            odd, same = "in which every option is ruled out by somebody", "give all options the same probability"
        what = counted(at_odds, "question" if panel.pair_rows is None else "pair")
        notes.append(f"{what} {odd}: averages use them as numbers{'' if clip else f', all other rules {same}'}.")
    without = [name for name, rule in rules.items() if not takes_weights(rule)]
    if panel.table.weight is not None and without:
        notes.append(f"Scored without weights, because they do not accept any: {', '.join(without)}.")
    learned = [name for name, rule in rules.items() if isinstance(rule, LearnedRule)]
    if learned:
        notes.append(
            f"{', '.join(learned)} learned before; a pool that learned from these questions is flattered here."
        )
    if draws < requested:
        notes.append(
            f"The bootstrap used {draws:,} draws instead of {requested:,}, because there are so many questions."
        )
    return tuple(notes)
