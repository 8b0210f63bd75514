"""An explanation in words, from what the rules say to a paragraph that can be repeated to others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..aggregators.rows import contradictory
from ..aggregators.rules import RULES, Rule
from ..certificates.certifiable import can_be_certified
from ..designs.design import Design
from ..wording import between, interval_end, outward, percent, shown

if TYPE_CHECKING:
    from ..typing import Floats
    from .records import KnownRange, Saying, Span

NO_PROMISE = 0.25
"""The least worst case of any rule over all structures of two or more agents, dependent ones included.

If the state is the exclusive or of two fair coins, an agent who sees one of them reports 1/2; whoever sees both knows the
state, and every forecast f loses at least 1/4 + (f - 1/2)^2 to her. To say 1/2 always never loses more than 1/4.
"""

ROUNDING = 1e-12
"""Forecasts and reports that differ by no more are the same."""

DEFAULT = next(iter(RULES))
"""The rule that is used where none is named."""

_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def answer(
    x: Floats, forecast: float, chosen: str, others: tuple[Saying, ...], span: Span | None, known: KnownRange | None
) -> tuple[str, ...]:
    """The short answer: the number, a range over sensible base rates, and one sentence on when to use it."""
    number = f"The answer is {shown(forecast)}."
    if contradictory(x[None])[0]:
        return (number, "It only says that the reports contradict each other: ask again.")
    if x.size == 1:
        return (number, "There is one report, and so nothing to combine.")
    if span is None:
        return (number, "Somebody is certain, and whoever takes that at its word needs no base rate.")
    return (number, _over_base_rates(span), _when_to_use(forecast, chosen, others, known))


def _over_base_rates(span: Span) -> str:
    if span.low == span.high:
        rate, right = f"is {_percent(span.low)}", f"be {shown(span.posterior_low)}"
    else:
        low = interval_end(span.posterior_low, "ROUND_FLOOR")
        high = interval_end(span.posterior_high, "ROUND_CEILING")
        rate, right = f"lies between {_percent(span.low)} and {_percent(span.high)}", f"lie between {low} and {high}"
    return f"If it were known that their evidence is independent and that the base rate {rate}, the right answer would {right}."


def _when_to_use(forecast: float, chosen: str, others: tuple[Saying, ...], known: KnownRange | None) -> str:
    default = others_say(others, DEFAULT)
    if chosen != DEFAULT:
        return f"It is what {chosen} says; the default rule, {DEFAULT}, says {shown(default)}."
    if known is not None:
        return f"Say that if you trust both; otherwise say {shown(forecast)}."
    return f"Say {shown(forecast)} if you know neither the base rate nor how much of their evidence they share."


def others_say(others: tuple[Saying, ...], name: str) -> float | tuple[float, ...]:
    """What one of the rules says."""
    return next(said.forecast for said in others if said.name == name)


def on_rules(n: int, design: Design | None, *, on_record: bool, at_their_word: bool) -> tuple[str, ...]:
    """What the numbers beside the rules mean."""
    own = () if design is None else (of_a_design(design),)
    if n == 1:
        return (
            *own,
            "With one forecaster there is nothing to combine; some rules change the report all the same.",
        )
    if n > 2:
        return (
            *own,
            "Worst cases are on record for two forecasters only; `robustpool certify` and `worst-case` take --agents.",
        )
    if not on_record:
        return (*own, "The worst cases on record are those of the rules without clipping, so none is shown.")
    meaning = (
        "Worst-case regret: how far the expected squared error can lie above that of somebody who knows how the two "
        "came to their numbers, whatever the base rate, if their evidence is independent given the event."
    )
    as_such = "It is that of the rules as such, which take even a 0 or a 1 at its word (--clip 0)."
    return (*own, meaning, *(() if at_their_word else (as_such,)))


def of_a_design(design: Design) -> str:
    """What a design was made for, and the value of its game."""
    settings = design.settings
    how = "the upper bound found by search" if design.bounds.searched else "measured in floating point"
    return (
        f"The design was made for {design.made_for}; the value of its game ({settings.loss} loss, "
        f"{settings.paradigm}) lies {between(design.lower, design.upper, 6)} ({how}, not proved)."
    )


def on_base_rate(x: Floats, name: str, agrees_at: float | None, even_at: float | None) -> tuple[str, ...]:
    """What the base rate has to do with it."""
    if contradictory(x[None])[0]:
        return ("No base rate can produce a 0 and a 1 for the same event: not all of the forecasters can be right.",)
    if x.size == 1:
        return ("A single report is already what it is after the base rate was taken into account, whatever that was.",)
    if not ((x > 0) & (x < 1)).all():
        certain = "0" if (x == 0).any() else "1"
        return (
            (
                f"A report of {certain} is certain, so that somebody who takes it at its word says {certain} at every "
                "base rate."
            ),
        )
    agrees = (
        f"She agrees with {name} if the base rate is {percent(agrees_at)}"
        if agrees_at is not None
        else f"At no base rate strictly between 0 % and 100 % does she agree with {name}"
    )
    even = f"says 0.5 at {percent(even_at)}" if even_at is not None else "says 0.5 only next to 0 % or 100 %"
    return (
        (
            "If their evidence is independent given the event, somebody who knows the base rate says less the higher it "
            "is, since the same reports are then weaker good news: a report above the base rate speaks for the event, one "
            "below it against."
        ),
        f"{agrees}, and she {even}.",
        "The reports themselves do not tell the base rate: any between 0 % and 100 % can produce them.",
    )


def on_range(known: KnownRange, name: str, forecast: float, n: int) -> tuple[str, ...]:
    """What it would change to know that the base rate lies in a range; the first sentence is the gist."""
    if n == 1:
        return ("Knowing the base rate changes nothing about a single report, which has it in it.",)
    if known.posterior_low == known.posterior_high and known.low < known.high:
        return (f"Knowing the base rate changes nothing: the posterior is {shown(known.posterior_low)} at each.",)
    if (known.low, known.high) == (0, 1):
        return ("That the base rate lies between 0 % and 100 % is nothing to know: the posterior can be anything.",)
    if known.low == known.high:
        return (
            (
                f"If the base rate is known to be {_percent(known.low)}, there is one right answer, "
                f"{shown(known.posterior_low)}, that of the rule bordley with this prior; {name} says {shown(forecast)}."
            ),
        )
    where = "inside" if known.contains_forecast else "below" if forecast < known.posterior_low else "above"
    sentences = [
        (
            f"If the base rate is known to lie between {_ends(known)}, the posterior lies between "
            f"{interval_end(known.posterior_low, 'ROUND_FLOOR')} and "
            f"{interval_end(known.posterior_high, 'ROUND_CEILING')}, and the {shown(forecast)} of {name} lies {where}."
        ),
        (
            f"For these reports the middle of that interval, {shown(known.middle)}, is the forecast with the smallest "
            "largest error; this is no promise about a rule for all reports."
        ),
    ]
    if known.command:
        sentences.append(
            "A rule for that range, good whatever is reported, is designed and then used with --rule design.json."
        )
    return tuple(sentences)


def closing(
    x: Floats,
    forecast: float,
    chosen: Saying,
    search: str,
    others: tuple[Saying, ...],
    clip: float,
    agrees_at: float | None,
    known: KnownRange | None,
    *,
    at_their_word: bool,
) -> tuple[str, ...]:
    """What can be repeated to others: the forecast, what it rests on, what it can cost, and when not to use it."""
    clipped = f" (brought into [{clip:g}, {1 - clip:g}])" if clip else ""
    first = (
        f"{say(x.size, tuple(x.tolist()))}{clipped}. {combines(f'The rule {chosen.name}', x.size)} {shown(forecast)}."
    )
    if contradictory(x[None])[0]:
        return (
            first,
            (
                "The reports contradict each other, so that this is no forecast but a way to say so: ask again, or if "
                "they were only rounded, take the default rule without --clip 0, which sees them in [0.01, 0.99]."
            ),
        )
    if x.size == 1:
        return (first, "It is as good as its source: nothing here checks a single forecaster.")
    low, high = float(x.min()), float(x.max())
    certain = (
        "Somebody is certain, and that is taken at its word here; if it was only rounded, most rules see it in "
        "[0.01, 0.99], unless --clip 0 is given."
    )
    return (
        first,
        *_reason(x, agrees_at),
        *(() if known is None else on_range(known, chosen.name, forecast, x.size)[:1]),
        _cost(chosen, search, others, at_their_word=at_their_word),
        *([certain] if low == 0 or high == 1 else []),
        _same_newspaper(forecast, low, high),
        (
            "If nobody knows how their evidence hangs together, no rule whatsoever can promise a worst case below "
            f"{NO_PROMISE:g}."
        ),
    )


def _reason(x: Floats, agrees_at: float | None) -> tuple[str, ...]:
    """Why this number: the base rate that it stands for, and which way to go from there."""
    if agrees_at is None:
        return ()
    above, below = (x > agrees_at + ROUNDING).any(), (x < agrees_at - ROUNDING).any()
    if above and below:
        news = "one report is then good news and the other bad"
        news = news if x.size == 2 else "some reports are then good news and others bad"
    else:
        news = (
            "the reports are then no news"
            if not (above or below)
            else f"the reports are then {'good' if above else 'bad'} news"
        )
    return (
        f"It is what somebody would say who held the event {percent(agrees_at)} likely beforehand: {news}.",
        "Whoever held it less likely beforehand should say more, and whoever held it likelier should say less.",
    )


def _cost(chosen: Saying, search: str, others: tuple[Saying, ...], *, at_their_word: bool) -> str:
    if not chosen.proved or chosen.regret is None:
        return (
            "What it can cost us in the worst case, even if their evidence is independent given the event, is not "
            f"proved here{search}."
        )
    least = chosen.regret <= min(said.regret for said in others if said.proved and said.regret is not None)
    points = outward(100 * math.sqrt(chosen.regret), "ROUND_CEILING", 1)
    bound = outward(chosen.regret, "ROUND_CEILING", 6)
    return (
        "If their evidence is independent given the event, then whatever the base rate and however much each of them "
        f"knows, we lose at most {bound} of expected squared error to somebody who knows all that "
        f"(proved{'' if at_their_word else ', with certain reports taken at their word'}{'; no rule in the list promises less' if least else ''}): over all that they might report we are, in "
        f"the root mean square, at most {points} percentage points away from what she would say."
    )


def where_to_search(name: str, n: int, rule: object, clip: float) -> str:
    """Where to learn what a rule can cost, as the end of a sentence: a command that works, or nothing."""
    if clip:
        return ""
    if not isinstance(rule, Rule | Design):
        return "; `robustpool.worst_case` searches for it"
    agents = "" if isinstance(rule, Design) or n == 2 else f" --agents {n}"
    if rule.certifiable if isinstance(rule, Design) else can_be_certified(rule, n):
        return f"; `robustpool certify {name}{agents}` proves it"
    return f"; `robustpool worst-case {name}{agents}` searches for it"


def _same_newspaper(forecast: float, low: float, high: float) -> str:
    """Where the forecast stands, and what that means if one agent knows all that the others know: hers is the answer."""
    same = "if they have read the same newspaper, so that one of them knows all that the others know, her report is the answer"
    if high - low <= ROUNDING >= abs(forecast - low):
        return f"The forecast is what they all report: {same}, and it is the same one."
    if low - ROUNDING <= forecast <= high + ROUNDING:
        return f"The forecast lies between the lowest and the highest report: {same}, which lies there too."
    word, end = ("above the highest", high) if forecast > high else ("below the lowest", low)
    beyond = f"nothing beyond {_number(end)} is justified"
    if (forecast - 0.5) * (end - 0.5) > 0 and abs(forecast - 0.5) > abs(end - 0.5):
        return f"The forecast lies {word} report, as independent evidence adds up: {same}, and {beyond}."
    return f"The forecast lies {word} report: {same}, and {beyond}."


def combines(who: str, count: int) -> str:
    """Who makes one number of several, or keeps the only one; the number follows.

    >>> combines("The rule mean", 2), combines("The rule mean", 1)
    ('The rule mean combines them into', 'The rule mean says')
    """
    return f"{who} combines them into" if count > 1 else f"{who} says"


def say(n: int, reports: tuple[Any, ...]) -> str:
    """``Two forecasters say 0.7 and 0.6``; of many only how many and from where to where."""
    count = _WORDS[n] if n < len(_WORDS) else f"{n}"
    if n == 1:
        return f"One forecaster says {_number(reports[0])}"
    if n > 6 and not isinstance(reports[0], tuple):
        low, high = _number(min(reports)), _number(max(reports))
        return f"{count} forecasters say {low} to {high}" if low != high else f"{count} forecasters all say {low}"
    texts = [_number(report) for report in reports]
    return f"{count} forecasters say {', '.join(texts[:-1])} and {texts[-1]}"


def _number(report: Any) -> str:
    """A report as it was given, to twelve digits."""
    return "(" + ", ".join(map(_number, report)) + ")" if isinstance(report, tuple) else f"{report:.12g}"


def _ends(known: KnownRange) -> str:
    return f"{_percent(known.low)} and {_percent(known.high)}"


def _percent(given: float) -> str:
    """A base rate as it was given."""
    return f"{100 * given:.12g} %"
