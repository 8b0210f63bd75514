"""An explanation in words: the sentences of the template, and the numbers and turns of phrase that they need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.rows import contradictory
from ..aggregators.rules import RULES, Rule
from ..certificates.certifiable import can_be_certified
from ..designs.design import Design
from ..html import words
from ..wording import between, interval_end, listed, outward, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Floats
    from .records import Explanation, Saying

NO_PROMISE = 0.25
"""The least worst case of any rule over all structures of two or more agents, dependent ones included.

If the state is the exclusive or of two fair coins, an agent who sees one of them reports 1/2; whoever sees both knows the
state, and every forecast f loses at least 1/4 + (f - 1/2)^2 to her. To say 1/2 always never loses more than 1/4.
"""

ROUNDING = 1e-12
"""Forecasts and reports that differ by no more are the same."""

DEFAULT = next(iter(RULES))
"""The rule that is used where none is named."""

MADE_FOR = {"common-source": "forecasters who share a source that may be wrong; errors of the source are covered"}
"""Whom a rule is made for, if not for forecasters with independent evidence, by its world."""

_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def in_words(why: Explanation, design: Design | None, names: Sequence[str] = (), **values: object) -> dict[str, Any]:
    """All sentences of an explanation, by the field that they are for; ``values`` are those of the template."""
    n = len(why.reports)
    values |= {"design": design, "n": n, "known": why.prior_range, "reports": say(n, why.reports, names)}
    values |= {"shown": shown, "between": between, "rate": _percent, "no_promise": f"{NO_PROMISE:g}"}
    values |= {"floor": lambda end: interval_end(end, "ROUND_FLOOR")}
    values |= {"ceiling": lambda end: interval_end(end, "ROUND_CEILING")}
    if not values["finite"]:
        values |= _of_reports(why, np.array(why.reports))
    blocks = ("answer", "on_rules", "on_base_rate", "on_range")
    sentences = {block: _sentences(block, it=why, **values) for block in blocks}
    gist = "".join(sentences["on_range"][:1])
    return sentences | {"closing": _sentences("closing", it=why, gist=gist, **values)}


def _sentences(block: str, **values: object) -> tuple[str, ...]:
    return tuple(filter(None, words("explanation.txt", block, **values).split("\n\n")))


def _of_reports(why: Explanation, x: Floats) -> dict[str, object]:
    """What the template says of reports that are probabilities."""
    assert isinstance(why.forecast, float)
    chosen = next(said for said in why.rules if said.chosen)
    return {
        "contradictory": contradictory(x[None])[0],
        "certain": "0" if (x == 0).any() else "1" if (x == 1).any() else "",
        "default": next(said for said in why.rules if said.name == DEFAULT),
        "news": "" if why.agrees_at is None else _news(x, why.agrees_at),
        "cost": _cost(chosen, why.rules),
        "made_for": _made_for(why.rule),
        "newspaper": _same_newspaper(why.forecast, float(x.min()), float(x.max())),
    }


def _made_for(name: str) -> str:
    """Whom a rule of the catalogue is made for, if not for forecasters with independent evidence."""
    world = RULES[stem].world if (stem := name.partition(":")[0]) in RULES else None
    return "" if world is None else MADE_FOR[world]


def _news(x: Floats, agrees_at: float) -> str:
    """What the reports are evidence of, if the base rate is ``agrees_at``."""
    above, below = (x > agrees_at + ROUNDING).any(), (x < agrees_at - ROUNDING).any()
    if above and below:
        one_and_other = "one report is then evidence for the event and the other against it"
        return one_and_other if x.size == 2 else "some reports are then evidence for the event and others against it"
    if not (above or below):
        return "the reports are then no evidence either way"
    return f"the reports are then evidence {'for' if above else 'against'} the event"


def _cost(chosen: Saying, rules: tuple[Saying, ...]) -> dict[str, object] | None:
    """What a rule can cost in the worst case, if that is proved."""
    if not chosen.proved or chosen.regret is None:
        return None
    least = chosen.regret <= min(said.regret for said in rules if said.proved and said.regret is not None)
    points = outward(100 * math.sqrt(chosen.regret), "ROUND_CEILING", 1)
    return {"bound": outward(chosen.regret, "ROUND_CEILING", 6), "points": points, "is_least": least}


def where_to_search(name: str, n: int, rule: object, clip: float) -> str:
    """Where to learn what a rule can cost, as the end of a sentence: a command that works, or nothing."""
    if clip:
        return ""
    if not isinstance(rule, Rule | Design):
        return "; `robustpool.worst_case` searches for it"
    agents = "" if isinstance(rule, Design) or n == 2 else f" --agents {n}"
    if isinstance(rule, Rule) and rule.world is not None:
        return f"; `robustpool worst-case {name}{agents} --world {rule.world}` searches for it"
    if rule.certifiable if isinstance(rule, Design) else can_be_certified(rule, n):
        return f"; `robustpool certify {name}{agents}` proves it"
    return f"; `robustpool worst-case {name}{agents}` searches for it"


def _same_newspaper(forecast: float, low: float, high: float) -> str:
    """Where the forecast lies, and the right answer if one agent knows all that the others know: her report."""
    same = "If they read the same newspaper and one of them knows all that the others know, her report is the answer"
    if high - low <= ROUNDING >= abs(forecast - low):
        return f"The forecast is what they all report. {same}, and it is the same number."
    if low - ROUNDING <= forecast <= high + ROUNDING:
        return f"The forecast lies between the lowest and the highest report. {same}, and it also lies there."
    word, end = ("above the highest", high) if forecast > high else ("below the lowest", low)
    beyond = f"nothing beyond {number_as_given(end)} is justified"
    if (forecast - 0.5) * (end - 0.5) > 0 and abs(forecast - 0.5) > abs(end - 0.5):
        return f"The forecast lies {word} report, because independent evidence adds up. {same}, and {beyond}."
    return f"The forecast lies {word} report. {same}, and {beyond}."


def say(n: int, reports: tuple[Any, ...], names: Sequence[str] = ()) -> str:
    """``Two forecasters say 0.7 and 0.6``, or ``Ann says 0.7 and Bob says 0.6``; for many, only their number and range."""
    if any(names) and n <= 6:
        said = listed([f"{called(k, names)} says {number_as_given(each)}" for k, each in enumerate(reports)], most=n)
        return said[:1].upper() + said[1:]
    count = _WORDS[n] if n < len(_WORDS) else f"{n}"
    if n == 1:
        return f"One forecaster says {number_as_given(reports[0])}"
    if n > 6 and not isinstance(reports[0], tuple):
        low, high = number_as_given(min(reports)), number_as_given(max(reports))
        return f"{count} forecasters say {low} to {high}" if low != high else f"{count} forecasters all say {low}"
    texts = [number_as_given(report) for report in reports]
    return f"{count} forecasters say {', '.join(texts[:-1])} and {texts[-1]}"


def called(place: int, names: Sequence[str] = ()) -> str:
    """The name of a forecaster, or ``forecaster 3``.

    >>> called(0, ["Ann"]), called(2)
    ('Ann', 'forecaster 3')
    """
    return (names[place] if place < len(names) else "") or f"forecaster {place + 1}"


def number_as_given(report: Any) -> str:
    """A report as it was given, to twelve digits."""
    return "(" + ", ".join(map(number_as_given, report)) + ")" if isinstance(report, tuple) else f"{report:.12g}"


def _percent(given: float) -> str:
    """A base rate as it was given."""
    return f"{100 * given:.12g} %"
