"""An explanation as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import html
from ..wording import outward, percent, shown
from .posterior import base_rate_matters, posterior


@dataclass(frozen=True)
class Saying:
    """The forecast of a rule for the reports, and its worst-case regret.

    ``regret`` is an upper bound on the worst case for two conditionally independent agents if that is ``proved``, else
    the worst found; None where nothing is on record: other numbers of agents, parameters of one's own, clipped reports,
    designs for a grid, a list of structures or a range of priors.
    """

    name: str
    forecast: float | tuple[float, ...]
    regret: float | None
    proved: bool
    chosen: bool

    def cost(self, *, short: bool = False) -> str:
        """The worst case in words, rounded away from what it bounds."""
        if self.regret is None:
            return "-" if short else "not on record"
        bound = outward(self.regret, "ROUND_CEILING" if self.proved else "ROUND_FLOOR", 6)
        if short:
            return f"<={bound}" if self.proved else f">={bound}"
        return f"at most {bound}, proved" if self.proved else f"at least {bound}, found"


@dataclass(frozen=True)
class Span:
    """Over the base rates from ``low`` to ``high`` the omniscient posterior falls from ``posterior_high`` to ``posterior_low``."""

    low: float
    high: float
    posterior_low: float
    posterior_high: float


@dataclass(frozen=True)
class KnownRange(Span):
    """The effect of knowing that the prior lies between ``low`` and ``high``.

    The omniscient posterior then lies between ``posterior_low``, which is g(high), and ``posterior_high``, g(low).
    ``middle`` is the midpoint, which minimises the larger distance to the two for these reports only.
    ``command`` is the command for the next step, if there is one.
    """

    contains_forecast: bool
    middle: float
    command: str | None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A forecast and its reasons, as data and in sentences.

    ``reports`` are those that count: answered, and clipped as the rule sees them. ``span`` is the range of the short answer,
    ``answer``; None where the base rate says nothing. ``posterior`` has pairs (prior, omniscient
    posterior), none where the prior says nothing. ``agrees_at`` is the prior at which the omniscient agrees with the
    forecast, ``even_at`` the one at which she says 1/2; None if there is no single such prior (as a float between 0 and 1).
    """

    reports: tuple[Any, ...]
    rule: str
    forecast: float | tuple[float, ...]
    rules: tuple[Saying, ...]
    posterior: tuple[tuple[float, float], ...] = ()
    agrees_at: float | None = None
    even_at: float | None = None
    prior_range: KnownRange | None = None
    span: Span | None = None
    answer: tuple[str, ...] = ()
    on_rules: tuple[str, ...] = ()
    on_base_rate: tuple[str, ...] = ()
    on_range: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, from the short answer to the summary."""
        return (*self.answer, *self.on_rules, *self.on_base_rate, *self.on_range, *self.closing)

    @property
    def base_rate_matters(self) -> bool:
        """Whether the posterior depends on the prior: two or more reports, conditionally independent, none certain."""
        return bool(self.posterior) and base_rate_matters(np.array(self.reports, dtype=np.float64))

    def __repr__(self) -> str:
        """The forecast, in a line."""
        return f"Explanation(rule={self.rule!r}, forecast={shown(self.forecast)})"

    def __str__(self) -> str:
        """All sentences."""
        return "\n".join(self.sentences)

    def _repr_html_(self) -> html.Html:
        """In a notebook: the words to repeat, what the rules say, and the base rate."""
        rules = [[said.name, shown(said.forecast), said.cost()] for said in self.rules]
        rates = [[percent(prior), shown(value)] for prior, value in self.posterior]
        parts = [html.line(sentence) for sentence in (*self.answer, *self.closing)]
        parts.append(html.table(["rule", "forecast", "worst-case regret"], rules, 0, "rules"))
        if self.base_rate_matters:
            parts.append(html.table(["base rate", "posterior"], rates, 0, "base rates"))
        return html.card(f"Forecast {shown(self.forecast)}", *parts)

    def posterior_at(self, prior: float) -> float:
        """What the omniscient says if the agents are conditionally independent with this prior."""
        return posterior(prior, np.array(self.reports, dtype=np.float64))
