"""A rule with numbers that were learned from a track record: pool first, then recalibrate.

With L the mean log-odds of the answers, each weighted by its forecaster's weight,

    logit f = a + b L,

and for questions with more than two outcomes f_k ~ g_k^b, with g the log-linear pool. A rule that learned nothing, or weights
alone, is `mean` or `robust` of the (weighted) answers.

>>> rule = LearnedRule(rule="geometric-odds", intercept=-0.2, slope=1.5)
>>> rule([[0.7, 0.6], [0.0, 0.4]]).round(4)
array([0.6769, 0.    ])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003  # the reader of files looks at the types
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from ..checks import shown
from ..errors import InputError
from ..numerics import logit, sigma
from .distributions import DISTRIBUTION_RULES, DistributionRule, softmax
from .rules import Rule, get_rule

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..typing import Floats

BASES = ("mean", "robust", "geometric-odds")
"""The rules that pool before anything is recalibrated; all take weights, and all are for any number of outcomes."""


@final
@dataclass(frozen=True, kw_only=True)
class LearnedRule:
    """What `robustpool.fit` learned, as a function of reports (m, n) or, with options, (m, n, k)."""

    rule: str  # one of `BASES`
    intercept: float = 0.0  # a
    slope: float = 1.0  # b; with options the power
    weights: Mapping[str, float] | None = field(default=None, hash=False)  # by forecaster; None: all count the same
    clip: float = 0.01  # answers are clipped to [clip, 1 - clip] in practice; the mean never is
    options: bool = False  # it is for questions with more than two outcomes

    def __post_init__(self) -> None:
        """Check that it is a rule, and an increasing one."""
        if self.rule not in BASES:
            raise InputError(f"aggregator.rule must be one of {', '.join(BASES)}; it is {shown(self.rule)}.")
        if not (self.slope > 0 and np.isfinite([self.slope, self.intercept]).all()):
            raise InputError(
                f"aggregator.slope must be positive, and slope and intercept finite; they are {self.slope!r} and "
                f"{self.intercept!r}."
            )
        if self.options and self.intercept:
            raise InputError(f"aggregator.intercept must be 0 for options; it is {self.intercept!r}.")
        if not 0 < self.clip < 0.5:
            raise InputError(f"aggregator.clip must lie in (0, 0.5); it is {self.clip!r}.")
        if self.weights is not None:
            object.__setattr__(self, "weights", dict(self.weights))
        for name, weight in (self.weights or {}).items():
            if not 0 < weight < np.inf:
                raise InputError(
                    f"weight must be positive and finite; that of forecaster {shown(name)[1:-1]} is {weight!r}."
                )

    def __call__(self, reports: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Floats:
        """The forecasts for reports (m, n), unclipped as in theory; who reports is not known, so all count the same."""
        return self.corrected(self.base(reports, weights))

    @cached_property
    def base(self) -> Rule:
        """The rule that pools."""
        return get_rule(self.rule)

    @property
    def distribution_base(self) -> DistributionRule:
        """The rule that pools distributions over options."""
        return DISTRIBUTION_RULES[self.rule]

    @property
    def averages(self) -> bool:
        """Whether 0 and 1 are numbers like others to it."""
        return self.base.averages

    @property
    def recalibrates(self) -> bool:
        """Whether a slope or an intercept was learned."""
        return (self.intercept, self.slope) != (0.0, 1.0)

    def corrected(self, forecasts: Floats) -> Floats:
        """The recalibrated forecasts, (m,) or (m, k)."""
        if not self.recalibrates:
            return forecasts
        with np.errstate(divide="ignore"):  # 0 and 1 stay what they are
            if forecasts.ndim == 1:
                return sigma(self.intercept + self.slope * logit(forecasts))
            there = ~np.isnan(forecasts).any(axis=1)
            corrected = forecasts.copy()
            corrected[there] = softmax(self.slope * np.log(forecasts[there]))
            return corrected

    def weights_of(self, forecasters: Sequence[str]) -> Floats | None:
        """The weights of these forecasters, 1 for those without a track record; None if all count the same."""
        if self.weights is None:
            return None
        return np.array([self.weights.get(name, 1.0) for name in forecasters])

    def strangers(self, forecasters: Sequence[str]) -> tuple[int, int]:
        """How many of these forecasters have no weight, and how many who have one are not among them."""
        known = set(self.weights or {})
        return sum(name not in known for name in forecasters), len(known.difference(forecasters))

    @property
    def formula(self) -> str:
        """What it computes, in a line.

        >>> LearnedRule(rule="geometric-odds", intercept=-0.2, slope=1.5).formula
        'logit f = -0.2 + 1.5 L, L the mean log-odds'
        >>> LearnedRule(rule="mean").formula
        'the mean'
        """
        whose = "" if self.weights is None else " weighted by track record"
        if not self.recalibrates:
            return f"{'the mean' if self.rule == 'mean' else self.rule}{f' of answers{whose}' if whose else ''}"
        if self.options:
            return f"f ~ g^{self.slope:.6g}, g the log-linear pool{f' of answers{whose}' if whose else ''}"
        return f"logit f = {self.intercept:.6g} + {self.slope:.6g} L, L the mean log-odds{whose}"
