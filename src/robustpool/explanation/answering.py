"""``answer``: the forecast for one question with everything that a reader asks about it: what is known, what is proved, what can go wrong.

Both the page of `robustpool serve` and `aggregate --explain --report` show what comes from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..aggregators.distributions import DISTRIBUTION_RULES, combine_distributions, distribution_rule
from ..aggregators.rows import contradictory
from ..aggregators.rules import Rule, get_rule
from ..errors import InputError
from ..forecasts import CLIP, clip_for, combine, low_end
from ..html import words
from ..minimax.rows import minimax_rows
from ..structures.binary_structure import omniscient_posterior
from ..wording import interval_end, listed, outward, shown
from .explain import explain
from .knowledge import (
    NOTHING,
    UNKNOWN,
    Knowledge,
    KnowledgeError,
    check,
    has_proof,
    moderated,
    moderated_distributions,
    proved_rule,
)
from .posterior import base_rate_matters, posterior
from .records import Explanation, Saying
from .sentences import NO_PROMISE, called, number_as_given, say
from .worst_world import World, worst_worlds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..minimax.prior_ranges import PriorRange
    from ..typing import Floats

NAMED = 6
"""Forecasters whose habits a world describes one by one, at most."""

BOUND_DIGITS = 6
LEAST_COST = 1e-6
"""A smaller cost of a world has no digit that is shown."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A forecast for one question, and what to say about it.

    ``plain`` is the forecast of the rule if nothing were known. ``why`` is the explanation of the rule that was used;
    None for more than two outcomes. ``knowledge`` has the sentences on each choice, ``worlds`` the worst worlds in words.
    """

    reports: tuple[Any, ...]
    names: tuple[str, ...]
    weights: tuple[float, ...] | None
    rule: str
    used: str
    know: Knowledge
    clip: float | None
    forecast: float | tuple[float, ...]
    plain: float | tuple[float, ...]
    rules: tuple[Saying, ...]
    why: Explanation | None
    knowledge: dict[str, tuple[str, ...]]
    worlds: tuple[World, ...]
    world_sentences: tuple[tuple[str, ...], ...]
    reason: tuple[str, ...]


def answer(
    reports: Sequence[Any],
    rule: str = "robust",
    *,
    clip: float | None = None,
    weights: Sequence[float] | None = None,
    know: Knowledge = NOTHING,
    names: Sequence[str] = (),
) -> Answer:
    """Combine the reports for one question by a named rule, with what is known, and say what there is to say.

    ``reports`` are probabilities; for more than two outcomes, distributions.

    >>> from robustpool.explanation.knowledge import Knowledge
    >>> said = answer([0.7, 0.6], know=Knowledge(base_rate=(0.05, 0.2)))
    >>> print(f"{said.plain:.3f} becomes {said.forecast:.3f}")
    0.654 becomes 0.943
    >>> print(answer([0.7, 0.6]).world_sentences[0][1])
    They say 0.7 and 0.6 on 157 of the 1,000 days. It happens on 47 of 157, which is 29.9 %: the forecast 0.654 is too high there.
    """
    check(know)
    if names and len(names) != len(reports):
        raise InputError(f"names must be one for each of the {len(reports)} reports; there are {len(names)}.")
    if weights is not None and know.knows_all not in (None, UNKNOWN):
        raise KnowledgeError("knows_all", "weights do not apply if one forecaster knows all that the others know.")
    of = _of_outcomes if know.outcomes > 2 else _of_an_event
    return of(reports, rule, clip=clip, weights=weights, know=know, names=tuple(names))


def is_quick(know: Knowledge, agents: int, rule: str, *, weighted: bool) -> bool:
    """Whether `answer` has nothing to prove first, which takes seconds."""
    return (
        know.base_rate is None or not _has_own_rule(know, agents, rule, weighted=weighted) or has_proof(know.base_rate)
    )


STEPS = 100
"""The map of two forecasters has the forecast at all whole percents."""


@lru_cache(maxsize=64)
def forecast_map(
    rule: str, clip: float | None = None, weights: tuple[float, ...] | None = None, know: Knowledge = NOTHING
) -> Floats:
    """The forecast of `answer` at all pairs of whole percents, [first, second].

    >>> round(float(forecast_map("robust")[70, 60]), 3)
    0.654
    """
    chosen = get_rule(rule)
    low = clip_for(chosen, clip)
    grid = np.arange(STEPS + 1) / STEPS
    given = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    x = moderated(np.clip(given, low, 1 - low), know.slope)
    proof = None
    if know.base_rate is not None and _has_own_rule(know, 2, chosen.name, weighted=weights is not None):
        proof = proved_rule(*know.base_rate)
    used = chosen if proof is None else get_rule(proof.rule)
    if isinstance(know.knows_all, int):
        forecasts = x[:, know.knows_all]
    else:
        forecasts = combine(x, used, clip, weights).forecasts
        if know.base_rate is not None:
            forecasts = _within(forecasts, x, know.base_rate)
    table = forecasts.reshape(STEPS + 1, STEPS + 1)
    table.flags.writeable = False
    return table


def _within(forecasts: Floats, x: Floats, ends: tuple[float, float]) -> Floats:
    """Forecasts, brought into what a range of base rates allows; rows with a certain report stay."""
    inner = ((x > 0) & (x < 1)).all(axis=1)
    low, high = ends
    least = omniscient_posterior(high, x[inner]) if high < 1 else 0.0
    most = omniscient_posterior(low, x[inner]) if low > 0 else 1.0
    brought = forecasts.copy()
    brought[inner] = np.minimum(np.maximum(forecasts[inner], least), most)
    return brought


# -------------------------------------------------------------------------------------------------------- two outcomes


def _of_an_event(
    reports: Sequence[Any],
    rule: str,
    *,
    clip: float | None,
    weights: Sequence[float] | None,
    know: Knowledge,
    names: tuple[str, ...],
) -> Answer:
    chosen = get_rule(rule)
    if know.base_rate is not None and chosen.world is not None:
        raise KnowledgeError(
            "base_rate",
            f"a range of base rates is for independent evidence; the rule {chosen.name} is for another world.",
        )
    given = checks.unit_array("reports", reports)
    if given.ndim != 1 or given.size == 0:
        raise InputError(f"reports must be one number for each forecaster; the shape is {given.shape}.")
    plain = _combined(given, chosen, clip, weights)
    low = clip_for(chosen, clip)
    x = moderated(np.clip(given, low, 1 - low), know.slope) if know.slope is not None else given
    known = know.base_rate
    proof = None
    if known is not None and _has_own_rule(know, given.size, chosen.name, weighted=weights is not None):
        proof = proved_rule(*known)
    used = chosen if proof is None else get_rule(proof.rule)
    why = explain(x.tolist(), used.name, clip=clip, weights=weights, names=names)
    before = forecast = float(why.forecast)  # type: ignore[arg-type]
    seen = np.array(why.reports, dtype=np.float64)
    ends = None
    alone = know.knows_all if isinstance(know.knows_all, int) else None
    if alone is not None:
        forecast = float(seen[alone])
    elif known is not None and base_rate_matters(seen):
        ends = posterior(known[1], seen), posterior(known[0], seen)
        forecast = min(max(before, ends[0]), ends[1])
    facts = _Facts(given, seen, chosen, know, names, before, forecast, proof, ends, weights is not None)
    worlds = [] if alone is not None else worst_worlds(seen, forecast, known)
    knowledge = _knowledge(facts)
    return Answer(
        reports=tuple(given.tolist()),
        names=names,
        weights=None if weights is None else tuple(map(float, weights)),
        rule=chosen.name,
        used=used.name,
        know=know,
        clip=clip,
        forecast=forecast,
        plain=plain,
        rules=_beside(why, facts),
        why=why,
        knowledge=knowledge,
        worlds=tuple(worlds),
        world_sentences=_world_sentences(worlds, facts),
        reason=_reason(why, facts, knowledge, plain, weights),
    )


def _combined(x: Floats, rule: Rule, clip: float | None, weights: Sequence[float] | None) -> float:
    return float(combine(x[None], rule, clip, weights).forecasts[0])


def _has_own_rule(know: Knowledge, agents: int, rule: str, *, weighted: bool) -> bool:
    """Whether there is a rule for the range: for two forecasters, unless somebody wants another one."""
    alone = isinstance(know.knows_all, int)
    return agents == 2 and rule in OWN_RULE and not weighted and not alone


OWN_RULE = ("robust", "minimax")
"""Rules that are best for two forecasters if nothing is known; with a range of base rates the rule for that range takes their place."""


@dataclass(frozen=True)
class _Facts:
    """What the sentences need."""

    given: Floats
    seen: Floats
    chosen: Rule
    know: Knowledge
    names: tuple[str, ...]
    before: float
    forecast: float
    proof: PriorRange | None
    ends: tuple[float, float] | None
    weighted: bool

    @property
    def n(self) -> int:
        return self.given.size

    @property
    def alone(self) -> str | None:
        """Who knows all that the others know, by name."""
        return called(self.know.knows_all, self.names) if isinstance(self.know.knows_all, int) else None


def _beside(why: Explanation, facts: _Facts) -> tuple[Saying, ...]:
    """Every rule, and first the one that was used if it is none of them, with what is proved of it for what is known."""
    if facts.alone is not None:
        return tuple(replace(said, chosen=False) for said in why.rules)
    used = next(said for said in why.rules if said.chosen)
    if facts.proof is not None:
        name = used.name if facts.forecast == facts.before else f"{used.name}, moved"
        mine = replace(used, name=name, forecast=facts.forecast, regret=facts.proof.upper, proved=True)
        return (mine, *_others(why, used))
    known = facts.know.base_rate
    if facts.ends is not None and known is not None and known[0] == known[1]:
        return (
            Saying(f"bordley:prior={known[0]:.12g}", facts.forecast, 0.0, proved=True, chosen=True),
            *_unchosen(why),
        )
    if facts.forecast != facts.before:
        moved = replace(used, name=f"{used.name}, moved", forecast=facts.forecast)
        return (moved, *_unchosen(why))
    return why.rules


def _others(why: Explanation, used: Saying) -> tuple[Saying, ...]:
    return tuple(said for said in why.rules if said is not used)


def _unchosen(why: Explanation) -> tuple[Saying, ...]:
    return tuple(replace(said, chosen=False) for said in why.rules)


def _knowledge(facts: _Facts) -> dict[str, tuple[str, ...]]:
    """The sentences on each choice."""
    know, said = facts.know, {}
    common = {"n": facts.n, "shown": shown, "rate": _rate, "forecast": facts.forecast, "knows_all": facts.alone}
    common |= {"floor": _floor, "ceiling": _ceiling, "rule": facts.chosen.name, "base_rate": know.base_rate}
    if know.slope is not None:
        pairs = [
            f"{number_as_given(one)} counts as {shown(other)}"
            for one, other in zip(facts.given.tolist(), facts.seen.tolist(), strict=True)
        ]
        said["slope"] = _sentences(
            "slope", slope=number_as_given(know.slope), pairs=listed(list(dict.fromkeys(pairs))), **common
        )
    if know.base_rate is not None:
        low, high = know.base_rate
        ends = facts.ends or (0.0, 1.0)
        said["base_rate"] = _sentences(
            "base_rate",
            low=low,
            high=high,
            settled=facts.ends is None,
            proof=facts.proof,
            narrow=facts.n == 2 and facts.chosen.name in OWN_RULE,
            end_low=interval_end(ends[0], "ROUND_FLOOR"),
            end_high=interval_end(ends[1], "ROUND_CEILING"),
            before=facts.before,
            moved=facts.forecast != facts.before,
            **common,
        )
    if know.public:
        said["public"] = _sentences("public", **common)
    if know.knows_all is not None:
        best = facts.chosen.name in OWN_RULE and not facts.weighted
        said["knows_all"] = _sentences(
            "knows_all", unknown=know.knows_all == UNKNOWN, name=facts.alone, best=best, **common
        )
    return said


def _reason(
    why: Explanation,
    facts: _Facts,
    knowledge: dict[str, tuple[str, ...]],
    plain: float,
    weights: Sequence[float] | None,
) -> tuple[str, ...]:
    """What can be repeated to others."""
    changes = facts.know.base_rate is not None or facts.know.slope is not None or facts.alone is not None
    every = [sentence for sentences in knowledge.values() for sentence in sentences]
    if not changes:
        return (*why.closing, *every)
    return _sentences(
        "reason",
        reports=say(facts.n, tuple(facts.given.tolist()), facts.names),
        weights="" if weights is None else listed([f"{weight:g}" for weight in weights], most=len(weights)),
        forecast=facts.forecast,
        plain=plain,
        changed=shown(plain) != shown(facts.forecast),
        rule=facts.chosen.name,
        knowledge="\n\n".join(every),
        shown=shown,
        no_promise=f"{NO_PROMISE:g}",
        knows_all=facts.alone,
        outcomes=2,
    )


def _world_sentences(worlds: list[World], facts: _Facts) -> tuple[tuple[str, ...], ...]:
    """The worst worlds in words, or why there is none."""
    reports = tuple(facts.seen.tolist())
    common = {
        "shown": shown,
        "forecast": facts.forecast,
        "n": facts.n,
        "base_rate": facts.know.base_rate,
        "outcomes": 2,
    }
    if not worlds:
        at_odds = bool(contradictory(facts.seen[None])[0])
        certain = bool(((facts.seen == 0) | (facts.seen == 1)).any())
        none = {"knows_all": facts.alone, "name": facts.alone, "contradictory": at_odds, "certain": certain}
        return (_sentences("no_world", **none, **common),)
    together = _together(reports, facts.names)
    return tuple(
        _sentences(
            "world",
            world=world,
            opposite=place > 0,
            habits=_habits(world, reports, facts.names),
            say_these=together,
            cost=_floor(world.cost) if world.cost >= LEAST_COST else f"less than {LEAST_COST:f}",
            **common,
        )
        for place, world in enumerate(worlds)
    )


def _together(reports: tuple[float, ...], names: tuple[str, ...]) -> str:
    """``They say 0.7 and 0.6``, or ``Ann says 0.7 and Bob says 0.6``."""
    if len(reports) > NAMED:
        return "They say what they say here"
    if not any(names):
        return f"They say {listed(list(map(_short, reports)), most=NAMED)}"
    return _capital(listed([f"{called(k, names)} says {_short(each)}" for k, each in enumerate(reports)], most=NAMED))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


SURE = {True: "or is certain that it happens", False: "or is certain that it does not", None: "always"}


def _habits(world: World, reports: tuple[float, ...], names: tuple[str, ...]) -> str:
    """What each forecaster says on such days."""
    kinds = set(world.else_certain)
    if len(reports) > NAMED and len(kinds) == 1:
        return f"Each forecaster says her number, {SURE[kinds.pop()]}."
    if len(reports) > NAMED:
        return "Each forecaster says her number, or is certain, and right."
    parts = [
        f"{called(k, names)} {'always ' if sure is None else ''}says {_short(each)}{'' if sure is None else ' ' + SURE[sure]}"
        for k, (each, sure) in enumerate(zip(reports, world.else_certain, strict=True))
    ]
    return f"{_capital('; '.join(parts))}."


def _short(report: float) -> str:
    """A report as given, unless that is long."""
    text = number_as_given(report)
    return text if len(text) <= 6 else shown(report)


# --------------------------------------------------------------------------------------------------- more than two outcomes


def _of_outcomes(
    reports: Sequence[Any],
    rule: str,
    *,
    clip: float | None,
    weights: Sequence[float] | None,
    know: Knowledge,
    names: tuple[str, ...],
) -> Answer:
    chosen = distribution_rule(rule)
    given = np.array(reports, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != know.outcomes:
        raise InputError(f"reports must be {know.outcomes} numbers for each forecaster; the shape is {given.shape}.")
    from ..aggregators.distributions import check_distributions, clipped

    given = check_distributions(given[None])[0]
    low = CLIP if clip is None else low_end(clip)
    by_agent = None if weights is None else np.array(weights, dtype=np.float64)
    seen = given if chosen.averages or know.slope is None else clipped(given, low)[0]
    seen = moderated_distributions(seen, know.slope)

    def pooled(name: str, x: Floats) -> tuple[float, ...]:
        return tuple(combine_distributions(x[None], name, low, by_agent).forecasts[0].tolist())

    plain = pooled(chosen.name, given)
    alone = know.knows_all if isinstance(know.knows_all, int) else None
    forecast = pooled(chosen.name, seen) if alone is None else tuple(seen[alone].tolist())
    sayings = tuple(
        Saying(name, pooled(name, seen), None, proved=False, chosen=name == chosen.name and alone is None)
        for name in DISTRIBUTION_RULES
    )
    n = len(given)
    row = next(
        (row for row in minimax_rows("several-outcomes") if (row.agents, row.states) == (n, know.outcomes)), None
    )
    name = None if alone is None else called(alone, names)
    common = {
        "n": n,
        "shown": shown,
        "forecast": forecast,
        "floor": _floor,
        "outcomes": know.outcomes,
        "knows_all": name,
    }
    knowledge = {
        "outcomes": _sentences("outcomes", rule=chosen.name, formula=f"`{chosen.formula}`", row=row, **common),
    }
    common |= {"base_rate": None, "name": name, "rule": chosen.name}
    if know.slope is not None:
        pairs = listed(
            [
                f"{_brief(one)} counts as {_brief(other)}"
                for one, other in zip(given.tolist(), seen.tolist(), strict=True)
            ],
            most=n,
        )
        knowledge["slope"] = _sentences("slope", slope=number_as_given(know.slope), pairs=pairs, **common)
    if know.public:
        knowledge["public"] = _sentences("public", **common)
    if know.knows_all is not None:
        knowledge["knows_all"] = _sentences("knows_all", unknown=know.knows_all == UNKNOWN, best=False, **common)
    reason = _sentences(
        "reason",
        reports=say(n, tuple(tuple(row) for row in given.tolist()), names),
        weights="" if weights is None else listed([f"{weight:g}" for weight in weights], most=n),
        plain=plain,
        changed=shown(plain) != shown(forecast),
        knowledge="\n\n".join(sentence for sentences in knowledge.values() for sentence in sentences),
        no_promise=f"{NO_PROMISE:g}",
        **common,
    )
    return Answer(
        reports=tuple(tuple(row) for row in given.tolist()),
        names=names,
        weights=None if weights is None else tuple(map(float, weights)),
        rule=chosen.name,
        used=chosen.name,
        know=know,
        clip=clip,
        forecast=forecast,
        plain=plain,
        rules=sayings,
        why=None,
        knowledge=knowledge,
        worlds=(),
        world_sentences=(_sentences("no_world", **common),),
        reason=reason,
    )


# ------------------------------------------------------------------------------------------------------------------ words


def _sentences(block: str, **values: object) -> tuple[str, ...]:
    return tuple(filter(None, words("knowledge.txt", block, **values).split("\n\n")))


def _rate(probability: float) -> str:
    return f"{100 * probability:.12g} %"


def _brief(distribution: Sequence[float]) -> str:
    return f"({', '.join(map(shown, distribution))})"


def _floor(bound: float) -> str:
    return outward(bound, "ROUND_FLOOR", BOUND_DIGITS)


def _ceiling(bound: float) -> str:
    return outward(bound, "ROUND_CEILING", BOUND_DIGITS)
