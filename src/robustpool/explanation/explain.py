"""``explain``: the forecast for one question with what other rules say, what the base rate would change, and what is assumed."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.rows import contradictory
from ..aggregators.rules import RULES, Rule, get_rule
from ..aggregators.worst_cases import UNKNOWN, worst_case_on_record
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..designs.design import Design
from ..errors import InputError
from ..families.conditionally_independent import ConditionallyIndependent
from ..forecasts import ClippedWarning, aggregate, clip_for, combine, outside
from . import sentences
from .posterior import base_rate_matters, posterior, prior_of
from .records import Explanation, KnownRange, Saying, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Floats

SENSIBLE = (0.25, 0.75)
"""Base rates between which the short answer looks, where none is known: an event that is neither rare nor usual."""

PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""The base rates at which an explanation says the posterior."""


def explain(
    reports: Sequence[Any],
    rule: AnyAggregator = "robust",
    *,
    prior_range: tuple[float, float] | None = None,
    clip: float | None = None,
    weights: Sequence[float] | None = None,
    names: Sequence[str] = (),
) -> Explanation:
    """Explain the forecast for one question: the other rules, the base rate, and what is assumed.

    Parameters
    ----------
    reports
        The agents' probabilities; NaN or None: the agent did not answer. For a design, reports of its family.
    rule
        The name of a rule, a design file or a callable, as in `robustpool.aggregate`.
    prior_range
        A range that contains the prior, from low to high; the same number twice if the prior is known.
    clip
        Clip the probabilities to [clip, 1 - clip] first, as in `robustpool.aggregate`: by default 0.01 for rules in
        which a certain report decides.
    weights
        How much each agent counts, as in `robustpool.aggregate`. Nothing is proved of weighted rules.
    names
        The agents' names, for the sentences; an empty one where there is none.

    Raises
    ------
    InputError
        If `robustpool.aggregate` would reject the reports, nobody answered, or a range of priors does not apply.

    Examples
    --------
    >>> why = explain([0.7, 0.6], prior_range=(0.1, 0.2))
    >>> print(f"{why.forecast:.3f}, which is right at a base rate of {100 * why.agrees_at:.0f} %")
    0.654, which is right at a base rate of 65 %
    >>> [(said.name, round(said.forecast, 3), said.proved) for said in why.rules[:2]]
    [('robust', 0.654, True), ('minimax', 0.654, True)]
    >>> print(f"{why.prior_range.posterior_low:.3f} to {why.prior_range.posterior_high:.3f}")
    0.933 to 0.969
    >>> print(why.closing[0])
    Two forecasters say 0.7 and 0.6. The rule robust combines them into 0.654.
    """
    aggregator = as_aggregator(rule)
    design = aggregator if isinstance(aggregator, Design) else None
    if design is not None and clip is not None and not design.decided_by_one:
        raise InputError("clip is for rules; a design uses the reports of its family unchanged.")
    name = _name(rule, aggregator)
    if design is not None and not isinstance(design.family, ConditionallyIndependent):
        return _of_another_family(list(reports), name, design, prior_range, clip_for(design, clip))
    forecast = _one_forecast(reports, aggregator, clip, weights)
    answers = np.array(reports, dtype=np.float64)
    given = answers[~np.isnan(answers)]
    low = clip_for(aggregator, clip)
    clipped = low if outside(given, low) else 0.0  # what the words have to say
    others = clip_for(get_rule(sentences.DEFAULT), clip)
    on_record = (
        given.size == 2 and weights is None and not outside(given, others)
    )  # no worst case is known with clipping
    x = np.clip(given, low, 1 - low)
    known = None if prior_range is None else _known_range(x, forecast, prior_range)
    by_agent = None if weights is None else np.array(weights, dtype=np.float64)[~np.isnan(answers)]
    chosen_rule = name if isinstance(aggregator, Rule) else None
    sayings = rules_beside(given, chosen_rule, clip, on_record=on_record, weights=by_agent)
    chosen = next((said for said in sayings if said.chosen), Saying(name, forecast, _regret_of(design), False, True))
    facts = Explanation(
        reports=tuple(x.tolist()),
        rule=name,
        forecast=forecast,
        rules=sayings if chosen in sayings else (chosen, *sayings),
        posterior=() if contradictory(x[None])[0] else tuple((mu, posterior(mu, x)) for mu in PRIORS),
        agrees_at=prior_of(forecast, x),
        even_at=prior_of(0.5, x),
        prior_range=known,
        span=_span(x, prior_range),
    )
    search = "" if weights is not None else sentences.where_to_search(name, x.size, aggregator, clipped)
    clipping: dict[str, object] = {"clip": clipped, "clipping_is_off": clip == 0, "unclipped": low == 0}
    words = sentences.in_words(
        facts,
        design,
        finite=False,
        on_record=on_record,
        search=search,
        weighted=weights is not None,
        names=names,
        **clipping,
    )
    return replace(facts, **words)


def _name(rule: AnyAggregator, aggregator: object) -> str:
    """What to call it: a rule's canonical name, a design's file, a function's name."""
    if isinstance(aggregator, Rule):
        return aggregator.name
    if isinstance(rule, str | os.PathLike):
        return os.fspath(rule)
    return str(getattr(rule, "name", None) or getattr(rule, "__name__", None) or type(rule).__name__)


def _one_forecast(
    reports: Sequence[Any], rule: AnyAggregator, clip: float | None, weights: Sequence[float] | None
) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClippedWarning)  # the words say so
        forecast = aggregate(reports, rule, clip=clip, weights=weights)
    if not isinstance(forecast, float):
        raise InputError(f"one question is explained at a time; the shape of the reports is {np.shape(reports)}.")
    if math.isnan(forecast):
        raise InputError(f"explain needs at least one answer; {len(reports)} of {len(reports)} are missing.")
    return forecast


def _span(x: Floats, prior_range: tuple[float, float] | None) -> Span | None:
    """The range of the omniscient posterior over plausible, or known, base rates."""
    if not base_rate_matters(x):
        return None
    low, high = SENSIBLE if prior_range is None else prior_range
    return Span(low, high, posterior(high, x), posterior(low, x))


def _known_range(x: Floats, forecast: float, ends: tuple[float, float]) -> KnownRange:
    low, high = ConditionallyIndependent(x.size, None, None, ends).prior_range  # checks the ends
    if low == high and low in (0, 1):
        raise InputError(f"a base rate of {low:g} leaves nothing to forecast; prior_range is {ends!r}.")
    if contradictory(x[None])[0]:
        raise InputError("0 and 1 for the same question contradict each other, whatever the base rate.")
    below, above = posterior(high, x), posterior(low, x)
    within = below - 1e-12 <= forecast <= above + 1e-12  # but for rounding
    command, (start, end) = None, (repr(end).removesuffix(".0") for end in (low, high))
    if x.size > 1 and low == high:
        reports = " ".join(map(repr, x.tolist()))
        command = f"robustpool aggregate {reports} --rule bordley:prior={start}"
    elif x.size == 2 and below < above and (low, high) != (0, 1):  # with any reports a design is made for two agents
        range_only = f"--prior-range {start} {end} --nature continuous"
        command = f"robustpool design {range_only} --tolerance 1e-4 --out design.json"
    return KnownRange(low, high, below, above, within, (below + above) / 2, command)


def rules_beside(
    x: Floats, chosen: str | None, clip: float | None, *, on_record: bool, weights: Floats | None = None
) -> tuple[Saying, ...]:
    """The forecast of every rule with default parameters, each clipped as usual; the named one is marked as chosen.

    With weights, only rules that take them.

    The smaller the worst case the earlier; where none is on record, from the lowest forecast to the highest.
    """
    sayings = []
    for name, definition in RULES.items():
        if weights is not None and not definition.takes_weights:
            continue
        if all(parameter.default is not None for parameter in definition.parameters.values()):
            worst = worst_case_on_record(name) if on_record else UNKNOWN
            regret = worst.regret
            forecast = float(combine(x[None], _default(name), clip, weights).forecasts[0])
            rank = (regret is None, round(forecast if regret is None else regret, 9))  # the catalogue's order in ties
            sayings.append((rank, Saying(name, forecast, regret, worst.proved, name == chosen)))
    return tuple(said for _, said in sorted(sayings, key=lambda pair: pair[0]))


@cache
def _default(name: str) -> Rule:
    return get_rule(name)


def _regret_of(design: Design | None) -> float | None:
    """The worst regret found of a design over any reports and any prior; None for one that was made for less."""
    every_prior = design is not None and getattr(design.family, "prior_range", None) == (0.0, 1.0)
    return design.upper if design is not None and design.off_grid and every_prior else None


def _of_another_family(
    reports: list[Any], name: str, design: Design, prior_range: tuple[float, float] | None, low: float
) -> Explanation:
    """A design for other agents: its own forecast, and nothing about conditional independence."""
    if prior_range is not None:
        raise InputError(
            f"prior_range is for conditionally independent agents; {name!r} is a design for {design.made_for}, whose "
            "structures have their own priors."
        )
    said = design([np.clip(np.array(reports, dtype=float), low, 1 - low) if low else reports])[0]
    forecast = tuple(said.tolist()) if np.ndim(said) else float(said)
    facts = Explanation(
        reports=tuple(tuple(report) if isinstance(report, list) else report for report in reports),
        rule=name,
        forecast=forecast,
        rules=(Saying(name, forecast, _regret_of(design), proved=False, chosen=True),),
    )
    return replace(facts, **sentences.in_words(facts, design, finite=True, clip=0.0, weighted=False))
