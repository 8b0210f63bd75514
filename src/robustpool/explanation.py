"""Why this forecast: what other rules say, what somebody who knows the base rate would say, and what is assumed.

Conditionally independent agents with reports x_1, ..., x_n and the prior mu have the omniscient posterior

    logit g = s - (n-1) logit mu,    s = sum_i logit x_i                                      [Guo2024, Lemma 3.2]

so that a forecast f is hers at the one prior with

    logit mu = (s - logit f) / (n-1)

and f = 1/2 is where logit mu = s / (n-1). As mu rises g falls. Any prior strictly between 0 and 1 can produce any reports
strictly between 0 and 1; a report of 0 or 1 decides, whatever the prior; one agent alone already says the posterior.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .aggregators.design import AnyAggregator, Design, load_design
from .aggregators.pools import FloatArray, contradictory, logit, sigma
from .aggregators.rules import RULES, WORST_CASES, Rule, get_rule
from .errors import InputError
from .forecasts import aggregate
from .numerics import between, outward
from .structures.binary_structure import omniscient_posterior
from .structures.conditionally_independent import ConditionallyIndependent

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""The base rates at which an explanation says the posterior."""

NO_PROMISE = 0.25
"""The least worst case of any rule over all structures of two or more agents, dependent ones included.

If the state is the exclusive or of two fair coins, an agent who sees one of them reports 1/2; whoever sees both knows the
state, and every forecast f loses at least 1/4 + (f - 1/2)^2 to her. To say 1/2 always never loses more than 1/4.
"""


@dataclass(frozen=True)
class Saying:
    """What a rule says to the reports, and what it can cost.

    ``regret`` is an upper bound on the worst case for two conditionally independent agents if that is ``proved``, else
    the worst found; None where nothing is on record: other numbers of agents, parameters of one's own, clipped reports.
    """

    name: str
    forecast: float | tuple[float, ...]
    regret: float | None
    proved: bool
    chosen: bool


@dataclass(frozen=True)
class KnownRange:
    """What it would change to know that the prior lies between ``low`` and ``high``.

    The omniscient posterior then lies between ``posterior_low``, which is g(high), and ``posterior_high``, g(low).
    ``middle`` is the forecast whose larger distance to the two is smallest: for these reports, with no promise for others.
    ``command`` is the command for the next step, if there is one.
    """

    low: float
    high: float
    posterior_low: float
    posterior_high: float
    contains_forecast: bool
    middle: float
    command: str | None


@dataclass(frozen=True)
class Explanation:
    """A forecast and its reasons, as data and in sentences.

    ``reports`` are those that count: answered, and clipped if that was asked for. ``posterior`` has pairs (prior, omniscient
    posterior), none where the prior says nothing. ``agrees_at`` is the prior at which the omniscient agrees with the
    forecast, ``even_at`` the one at which she says 1/2; None if there is no single such prior (as a float between 0 and 1).
    """

    reports: tuple[Any, ...]
    rule: str
    forecast: float | tuple[float, ...]
    rules: tuple[Saying, ...]
    posterior: tuple[tuple[float, float], ...]
    agrees_at: float | None
    even_at: float | None
    prior_range: KnownRange | None
    on_rules: tuple[str, ...]
    on_base_rate: tuple[str, ...]
    on_range: tuple[str, ...]
    closing: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said in words, from the rules to the paragraph that can be repeated."""
        return (*self.on_rules, *self.on_base_rate, *self.on_range, *self.closing)

    @property
    def base_rate_matters(self) -> bool:
        """Whether the posterior depends on the prior: two or more reports, conditionally independent, none certain."""
        return bool(self.posterior) and _base_rate_matters(np.array(self.reports, dtype=np.float64))

    def posterior_at(self, prior: float) -> float:
        """What the omniscient says if the agents are conditionally independent with this prior."""
        return _posterior(prior, np.array(self.reports, dtype=np.float64))


def explain(
    reports: Sequence[Any],
    rule: AnyAggregator = "minimax",
    *,
    prior_range: tuple[float, float] | None = None,
    clip: float | None = None,
) -> Explanation:
    """Explain the forecast for one question: the other rules, the base rate, and what is assumed.

    Parameters
    ----------
    reports
        The agents' probabilities; NaN or None: the agent did not answer. For a design, reports of its family.
    rule
        The name of a rule, a design file or a callable, as in `robustpool.aggregate`.
    prior_range
        What is known of the prior, from low to high; the same number twice if it is known.
    clip
        Bring the probabilities into [clip, 1 - clip] first.

    Raises
    ------
    InputError
        If `robustpool.aggregate` would refuse, nobody answered, or a range of priors does not apply.

    Examples
    --------
    >>> why = explain([0.7, 0.6], prior_range=(0.1, 0.2))
    >>> print(f"{why.forecast:.3f}, by somebody who holds the event {100 * why.agrees_at:.0f} % likely beforehand")
    0.661, by somebody who holds the event 64 % likely beforehand
    >>> [(said.name, round(said.forecast, 3), said.proved) for said in why.rules[:2]]
    [('minimax', 0.661, True), ('log-odds', 0.656, True)]
    >>> print(f"{why.prior_range.posterior_low:.3f} to {why.prior_range.posterior_high:.3f}")
    0.933 to 0.969
    >>> print(why.closing[0])
    Two forecasters say 0.7 and 0.6, and minimax makes 0.661 of it.
    """
    design = _design(rule)
    if design is not None and clip is not None:
        raise InputError("clip is for rules; a design takes the reports of its family as they are.")
    name = _name(rule, design)
    if design is not None and design.data["family"]["kind"] == "finite":
        return _of_a_finite_family(list(reports), name, design, prior_range)
    forecast = _one_forecast(reports, design or rule, clip)
    x = _answers(reports, clip)
    known = None if prior_range is None else _known_range(x, forecast, prior_range)
    listed = isinstance(rule, Rule) or (isinstance(rule, str) and design is None)
    sayings = _sayings(x, name if listed else None, clip)
    chosen = next((said for said in sayings if said.chosen), Saying(name, forecast, _regret_of(design), False, True))
    agrees_at, even_at = _prior_of(forecast, x), _prior_of(0.5, x)
    return Explanation(
        reports=tuple(x.tolist()),
        rule=name,
        forecast=forecast,
        rules=sayings if chosen in sayings else (chosen, *sayings),
        posterior=() if contradictory(x[None])[0] else tuple((mu, _posterior(mu, x)) for mu in PRIORS),
        agrees_at=agrees_at,
        even_at=even_at,
        prior_range=known,
        on_rules=_on_rules(x.size, design, clip),
        on_base_rate=_on_base_rate(x, name, agrees_at, even_at),
        on_range=() if known is None else _on_range(known, name, forecast, x.size),
        closing=_closing(x, forecast, chosen, _search(name, x.size, listed or design is not None, clip), sayings, clip),
    )


# ------------------------------------------------------------------------------------------------------- the numbers


def _design(rule: AnyAggregator) -> Design | None:
    if isinstance(rule, os.PathLike) or (isinstance(rule, str) and rule.endswith(".json")):
        return load_design(rule)
    return rule if isinstance(rule, Design) else None


def _name(rule: AnyAggregator, design: Design | None) -> str:
    """What to call it: a rule's canonical name, a design's file, a function's name."""
    if isinstance(rule, str):
        return rule if design is not None else get_rule(rule).name
    if isinstance(rule, os.PathLike):
        return os.fspath(rule)
    return str(getattr(rule, "name", None) or getattr(rule, "__name__", None) or type(rule).__name__)


def _one_forecast(reports: Sequence[Any], rule: AnyAggregator, clip: float | None) -> float:
    forecast = aggregate(reports, rule, clip=clip)
    if not isinstance(forecast, float):
        raise InputError(f"one question is explained at a time; the shape of the reports is {np.shape(reports)}.")
    if math.isnan(forecast):
        raise InputError(
            f"there is nothing to explain without an answer; {len(reports)} of {len(reports)} are missing."
        )
    return forecast


def _answers(reports: Sequence[Any], clip: float | None) -> FloatArray:
    """The reports of those who answered, clipped; they have been checked."""
    x = np.array(reports, dtype=np.float64)
    x = x[~np.isnan(x)]
    return x if clip is None else np.clip(x, clip, 1 - clip)


def _base_rate_matters(x: FloatArray) -> bool:
    """Whether there are two or more reports and none is certain."""
    return x.size > 1 and bool(((x > 0) & (x < 1)).all())


def _posterior(prior: float, x: FloatArray) -> float:
    """The omniscient posterior g at a prior in [0, 1]; at the ends its limit."""
    if 0 < prior < 1:
        return float(omniscient_posterior(prior, x[None])[0])
    return 1.0 - prior if _base_rate_matters(x) else _posterior(0.5, x)


def _prior_of(forecast: float, x: FloatArray) -> float | None:
    """The prior at which the omniscient says ``forecast``: logit mu = (s - logit f) / (n-1)."""
    if not (_base_rate_matters(x) and 0 < forecast < 1):
        return None
    z = (logit(x).sum() - logit(np.array(forecast))) / (x.size - 1)
    prior = float(sigma(z))
    return prior if 0 < prior < 1 else None


def _known_range(x: FloatArray, forecast: float, ends: tuple[float, float]) -> KnownRange:
    low, high = ConditionallyIndependent(x.size, None, None, ends).prior_range  # checks the ends
    if low == high and low in (0, 1):
        raise InputError(f"a base rate of {low:g} leaves nothing to forecast; prior_range is {ends!r}.")
    if contradictory(x[None])[0]:
        raise InputError("0 and 1 for the same question contradict each other, whatever the base rate.")
    below, above = _posterior(high, x), _posterior(low, x)
    within = below - 1e-12 <= forecast <= above + 1e-12  # but for rounding
    known = KnownRange(low, high, below, above, within, (below + above) / 2, None)
    return replace(known, command=_command(known, x.size))


def _command(known: KnownRange, n: int) -> str | None:
    """The rule of a known prior, or a design, which with any reports is made for two agents."""
    low, high = (repr(end).removesuffix(".0") for end in (known.low, known.high))
    if n > 1 and known.low == known.high:
        return f"--rule bordley:prior={low}"
    if n == 2 and known.posterior_low < known.posterior_high:
        return f"robustpool design --prior-range {low} {high} --nature continuous --tolerance 1e-4 --out design.json"
    return None


def _sayings(x: FloatArray, chosen: str | None, clip: float | None) -> tuple[Saying, ...]:
    """What every rule says that takes so many agents and has its parameters by default; the one with a name is chosen.

    The smaller the worst case the earlier; where none is on record, from the lowest forecast to the highest.
    """
    known = json.loads(WORST_CASES.read_text(encoding="utf-8")) if x.size == 2 and not clip else {}
    sayings = []
    for name, definition in RULES.items():
        complete = all(parameter.default is not None for parameter in definition.parameters.values())
        if complete and definition.agents in (None, x.size):
            worst = known.get(name) or {"found": None, "proved": False}
            regret = worst["upper"] if worst["proved"] else worst["found"]
            forecast = float(get_rule(name)(x[None])[0])
            rank = (regret is None, round(forecast if regret is None else regret, 9))  # the catalogue's order in ties
            sayings.append((rank, Saying(name, forecast, regret, worst["proved"], name == chosen)))
    return tuple(said for _, said in sorted(sayings, key=lambda pair: pair[0]))


def _regret_of(design: Design | None) -> float | None:
    """A design's upper bound, if it is a regret under the square loss."""
    if design is None or [design.data["settings"][key] for key in ("loss", "paradigm")] != ["square", "additive"]:
        return None
    return design.upper


def _of_a_finite_family(
    reports: list[Any], name: str, design: Design, prior_range: tuple[float, float] | None
) -> Explanation:
    """A design for a finite family: its own forecast, and nothing about conditional independence."""
    if prior_range is not None:
        raise InputError(
            f"prior_range is for conditionally independent agents; {name!r} is a design for a finite family, "
            "whose structures have their own priors."
        )
    said = design([reports])[0]
    forecast = tuple(said.tolist()) if np.ndim(said) else float(said)
    kept = tuple(tuple(report) if isinstance(report, list) else report for report in reports)
    return Explanation(
        reports=kept,
        rule=name,
        forecast=forecast,
        rules=(Saying(name, forecast, _regret_of(design), proved=False, chosen=True),),
        posterior=(),
        agrees_at=None,
        even_at=None,
        prior_range=None,
        on_rules=(_of_a_design(design),),
        on_base_rate=(
            (
                "What somebody who knows the base rate would say does not apply: the design is for a finite family, "
                "whose structures have their own priors and whose agents need not be conditionally independent."
            ),
        ),
        on_range=(),
        closing=(
            f"{_say(len(reports), kept)}, and the design makes {shown(forecast)} of it.",
            "That is the robust answer if what happened is one of the structures in its family; about any other it says nothing.",
        ),
    )


# ---------------------------------------------------------------------------------------------------- the sentences


def _on_rules(n: int, design: Design | None, clip: float | None) -> tuple[str, ...]:
    own = () if design is None else (_of_a_design(design),)
    if n == 1:
        return (
            *own,
            "With one forecaster there is nothing to combine; some rules change the report all the same.",
        )
    if n > 2:
        return (*own, "Worst cases are on record for two forecasters only; `robustpool worst-case` searches for more.")
    if clip:
        return ("The worst cases on record are those of the rules without clipping, so none is shown.",)
    meaning = (
        "Worst-case regret: how far the expected squared error can lie above that of somebody who knows how the two came to "
        "their numbers, whatever the base rate, if their evidence is independent given the event."
    )
    return (*own, meaning)


def _of_a_design(design: Design) -> str:
    family, settings, bounds = (design.data[key] for key in ("family", "settings", "bounds"))
    if family["kind"] == "finite":
        made_for = f"a finite family of {_count(family['structures'], 'structure')}"
    else:
        low, high = family["prior_range"]
        made_for = f"{family['agents']} conditionally independent agents with base rates from {percent(low)} to {percent(high)}"
    how = "the upper bound found by search" if bounds["upper_is"] == "found by search" else "measured in floating point"
    return (
        f"The design was made for {made_for}; the value of its game ({settings['loss']} loss, {settings['paradigm']}) lies "
        f"{between(design.lower, design.upper, 6)} ({how}, not proved)."
    )


def _on_base_rate(x: FloatArray, name: str, agrees_at: float | None, even_at: float | None) -> tuple[str, ...]:
    if contradictory(x[None])[0]:
        return ("No base rate can produce a 0 and a 1 for the same event: not all of the forecasters can be right.",)
    if x.size == 1:
        return ("A single report is already what it is after the base rate was taken into account, whatever that was.",)
    if not ((x > 0) & (x < 1)).all():
        certain = "0" if (x == 0).any() else "1"
        return (
            f"A report of {certain} is certain, so that somebody who takes it at its word says {certain} at every base rate.",
        )
    agrees = (
        f"She agrees with {name} if the base rate is {percent(agrees_at)}"
        if agrees_at is not None
        else f"At no base rate strictly between 0 % and 100 % does she agree with {name}"
    )
    even = f"says 0.5 at {percent(even_at)}" if even_at is not None else "says 0.5 only next to 0 % or 100 %"
    return (
        (
            "Somebody who knows the base rate says less the higher it is, since the same reports are then weaker good news: a "
            "report above the base rate speaks for the event, one below it against."
        ),
        f"{agrees}, and she {even}.",
        "The reports themselves do not tell the base rate: any between 0 % and 100 % can produce them.",
    )


def _on_range(known: KnownRange, name: str, forecast: float, n: int) -> tuple[str, ...]:
    if n == 1:
        return ("Knowing the base rate changes nothing about a single report, which has it in it.",)
    if known.posterior_low == known.posterior_high and known.low < known.high:
        return (f"Knowing the base rate changes nothing: the posterior is {shown(known.posterior_low)} at each.",)
    if known.low == known.high:
        return (
            (
                f"If the base rate is known to be {percent(known.low)}, there is one right answer, "
                f"{shown(known.posterior_low)}, that of {known.command}; {name} says {shown(forecast)}."
            ),
        )
    where = "inside" if known.contains_forecast else "below" if forecast < known.posterior_low else "above"
    sentences = [
        (
            f"If the base rate is known to lie between {percent(known.low)} and {percent(known.high)}, the posterior lies "
            f"between {_outward(known.posterior_low, 'ROUND_FLOOR')} and {_outward(known.posterior_high, 'ROUND_CEILING')}, and the "
            f"{shown(forecast)} of {name} lies {where}."
        ),
        (
            f"For these reports the middle of that interval, {shown(known.middle)}, is the forecast with the smallest largest error; "
            "this is no promise about a rule for all reports."
        ),
    ]
    if known.command:
        sentences.append(
            "A rule for that range, good whatever is reported, is designed and then used with --rule design.json."
        )
    return tuple(sentences)


def _closing(
    x: FloatArray, forecast: float, chosen: Saying, search: str, others: tuple[Saying, ...], clip: float | None
) -> tuple[str, ...]:
    """What can be repeated to others: the forecast, what it rests on, what it can cost, and when not to use it."""
    clipped = f" (brought into [{clip:g}, {1 - clip:g}])" if clip else ""
    first = f"{_say(x.size, tuple(x.tolist()))}{clipped}, and {chosen.name} makes {shown(forecast)} of it."
    if contradictory(x[None])[0]:
        return (
            first,
            (
                "The reports contradict each other, so that this is no forecast but a way to say so: ask again, or if they were "
                "only rounded, bring them away from 0 and 1 with --clip 0.01."
            ),
        )
    if x.size == 1:
        return (first, "It is as good as its source: nothing here checks a single forecaster.")
    low, high = float(x.min()), float(x.max())
    certain = "Somebody is certain, and most rules take that at its word; if it was only rounded, --clip 0.01 says so."
    return (
        first,
        _cost(chosen, search, others),
        *([certain] if low == 0 or high == 1 else []),
        _same_newspaper(forecast, low, high),
        (
            "If nobody knows how their evidence hangs together, no rule whatsoever can promise a worst case below "
            f"{NO_PROMISE:g}."
        ),
    )


def _cost(chosen: Saying, search: str, others: tuple[Saying, ...]) -> str:
    if not chosen.proved or chosen.regret is None:
        return (
            "It is meant for evidence that is independent given the event; what it can cost us in the worst case is not "
            f"proved here{search}."
        )
    least = chosen.regret <= min(said.regret for said in others if said.proved and said.regret is not None)
    points = outward(100 * math.sqrt(chosen.regret), "ROUND_CEILING", 1)
    return (
        "If their evidence is independent given the event, then whatever the base rate and however much each of them knows, "
        f"we lose at most {outward(chosen.regret, 'ROUND_CEILING', 6)} of expected squared error to somebody who knows all "
        f"that (proved{'; no rule in the list promises less' if least else ''}): over all that they might report we are, in the root mean square, at "
        f"most {points} percentage points away from what she would say."
    )


def _search(name: str, n: int, on_command_line: bool, clip: float | None) -> str:
    """Where to learn what it can cost."""
    if clip:
        return ""
    if not on_command_line:
        return "; `robustpool.worst_case` searches for it"
    return (
        f"; `robustpool certify {name}` proves it"
        if n == 2
        else f"; `robustpool worst-case {name} --agents {n}` searches for it"
    )


def _same_newspaper(forecast: float, low: float, high: float) -> str:
    """Where the forecast stands, and what that means if one agent knows all that the others know: hers is the answer."""
    same = "if they have read the same newspaper, so that one of them knows all that the others know, her report is the answer"
    if low <= forecast <= high:
        return f"The forecast lies between the lowest and the highest report: {same}, which lies there too."
    word, end = ("above the highest", high) if forecast > high else ("below the lowest", low)
    return f"The forecast lies {word} report, as independent evidence adds up: {same}, and nothing beyond {_number(end)} is justified."


# ------------------------------------------------------------------------------------------------ numbers in sentences

MOST_DIGITS = 6
"""From there on a forecast is written by its distance from 0 or 1."""

_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def _say(n: int, reports: tuple[Any, ...]) -> str:
    """``Two forecasters say 0.7 and 0.6``; of many only how many and from where to where."""
    count = _WORDS[n] if n < len(_WORDS) else f"{n}"
    if n == 1:
        return f"One forecaster says {_number(reports[0])}"
    if n > 6 and not isinstance(reports[0], tuple):
        return f"{count} forecasters say {_number(min(reports))} to {_number(max(reports))}"
    texts = [_number(report) for report in reports]
    return f"{count} forecasters say {', '.join(texts[:-1])} and {texts[-1]}"


def _number(report: Any) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in report) + ")" if isinstance(report, tuple) else f"{report:.6g}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def shown(forecast: float | tuple[float, ...]) -> str:
    """A forecast with three digits, or as many as keep it away from 0 and 1.

    >>> shown(0.66077), shown(0.99996), shown(1 - 4e-12), shown(0.0), shown((0.2, 0.8))
    ('0.661', '0.99996', '1 - 4e-12', '0', '(0.200, 0.800)')
    """
    if isinstance(forecast, tuple):
        return "(" + ", ".join(map(shown, forecast)) + ")"
    if 0 < forecast < 1 and _digits(forecast) > MOST_DIGITS:
        return f"{forecast:.1g}" if forecast < 0.5 else f"1 - {1 - forecast:.1g}"
    return f"{forecast:.{_digits(forecast)}f}" if 0 < forecast < 1 else f"{forecast:g}"


def percent(probability: float) -> str:
    """A base rate in per cent, with as many digits as keep it away from 0 and 100.

    >>> percent(0.05), percent(0.6423), percent(0.99999), percent(2e-20), percent(1 - 2e-16)
    ('5 %', '64.2 %', '99.999 %', '2e-18 %', 'just below 100 %')
    """
    if 0 < probability < 1 and _digits(probability) > MOST_DIGITS:
        return f"{100 * probability:.1g} %" if probability < 0.5 else "just below 100 %"
    digits = _digits(probability) - 2 if 0 < probability < 1 else 0
    return f"{100 * probability:.{digits}f}".removesuffix(".0") + " %"


def _outward(posterior: float, rounding: str) -> str:
    """The end of an interval with the digits of a forecast, rounded away from the interval."""
    if not 0 < posterior < 1:
        return shown(posterior)
    return outward(posterior, rounding, min(_digits(posterior), MOST_DIGITS))


def _digits(probability: float) -> int:
    """Three digits, or as many as keep it away from 0 and 1."""
    return max(3, math.ceil(-math.log10(min(probability, 1 - probability)) - 1e-9))
