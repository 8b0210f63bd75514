"""Nature's best response to a table of forecasts on a grid, for two conditionally independent agents.

Exact for each prior, by concave envelopes instead of enumeration (``envelopes``). With continuous priors, mu is the one
parameter left: the priors between the best ones are searched by golden sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import checks
from ..errors import UnsupportedError
from ..execution import mapped
from ..losses import get_loss
from ..structures.binary_structure import BinaryStructure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..losses.loss import Loss
    from ..typing import Floats

TINY = 1e-9
PARTS = 16
"""Into how many parts many priors are dealt out; whatever the number of workers."""

A_TRIPLE = 4e-10
"""Seconds for three reports and a prior, roughly."""

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0

Grid = tuple["Floats", "Floats", int]
"""The reports x, the forecasts at each two of them, and the case of ``envelopes.penalty``."""


class WorstStructures(NamedTuple):
    """Bad structures: the payoff of each, and its label, the prior and then low and high of each agent."""

    values: Floats  # (structures,)
    labels: Floats  # (structures, 1 + 2 agents)

    @property
    def value(self) -> float:
        """The largest payoff."""
        return float(self.values.max())

    def worst(self, most: int) -> Floats:
        """The labels of the worst structures, at most so many, the worst first."""
        return self.labels[np.argsort(-self.values, kind="stable")[:most]]

    def structure(self) -> BinaryStructure:
        """The worst structure."""
        label = self.labels[self.values.argmax()]
        return BinaryStructure(float(label[0]), label[1:].reshape(-1, 2))


def joined(parts: Iterable[WorstStructures], agents: int = 2) -> WorstStructures:
    """The structures of all parts, in order."""
    none = WorstStructures(np.zeros(0), np.zeros((0, 1 + 2 * agents)))
    return WorstStructures(*map(np.concatenate, zip(none, *parts, strict=True)))


def parameters(labels: Floats) -> tuple[Floats, Floats]:
    """Labels prior, low, high, low, high, ... as priors (m,) and reports (m, agents, 2)."""
    return labels[:, 0], labels[:, 1:].reshape(len(labels), -1, 2)


def oracle_grid(x: Floats, f: Floats, *, loss: str | Loss = "square", paradigm: str = "additive") -> Grid:
    """What the compiled oracle takes: the reports, the forecasts and the case of the game."""
    return x, np.ascontiguousarray(f, dtype=np.float64), compiled_case(loss, paradigm)


def compiled_case(loss: str | Loss, paradigm: str) -> int:
    """The case of ``envelopes.penalty``: the loss's own number, and 2 more where the payoff is the whole loss."""
    loss = get_loss(loss)
    if loss.kernel is None:
        raise UnsupportedError(
            f"the exact worst case is compiled for the square and the log loss, not for {loss.name!r}."
        )
    return loss.kernel + 2 * (paradigm == "absolute")


def worst_by_prior(x: Floats, f: Floats, priors: Floats, **game: Any) -> WorstStructures:
    """The worst structure for each prior, with reports among ``x`` and forecasts ``f[i, j]`` at the reports x[i], x[j].

    Priors are strictly between 0 and 1. The game is a ``loss`` with a kernel and a ``paradigm``, additive or absolute:
    for both the payoff is bilinear in the report distributions.

    >>> x = np.array([0.0, 0.5, 1.0])
    >>> mean = (x[:, None] + x) / 2
    >>> worst_by_prior(x, mean, np.array([0.5])).value     # one agent knows the state, the other nothing
    0.0625
    """
    checks.extra("the worst case of two agents", "solve")
    order = np.argsort(np.abs(priors - 0.5), kind="stable")  # the costly ones first, dealt out evenly
    count = PARTS if len(x) ** 3 * len(priors) >= 1e6 else 1
    parts = [order[k::count] for k in range(count)]
    grid, seconds = oracle_grid(x, f, **game), A_TRIPLE * len(x) ** 3 * len(priors)
    dealt = joined(mapped(_by_prior, [priors[part] for part in parts], grid, compiled=True, seconds=seconds))
    back = np.argsort(np.concatenate(parts))  # to the order of the priors
    return WorstStructures(dealt.values[back], dealt.labels[back])


def worst_by_pair(x: Floats, f: Floats, priors: Floats, **game: Any) -> WorstStructures:
    """The worst structure for each prior *and* pair of reports of the first agent; for when there are few priors."""
    grid, seconds = oracle_grid(x, f, **game), A_TRIPLE * len(x) ** 3 * len(priors)
    return joined(mapped(_by_pair, priors.tolist(), grid, compiled=True, seconds=seconds))


def _by_prior(grid: Grid, priors: Floats) -> WorstStructures:
    from .envelopes import worst_by_prior

    values, found = np.empty(len(priors)), np.zeros((len(priors), 4), dtype=np.int64)
    worst_by_prior(priors, *grid, values, found)
    return WorstStructures(values, np.column_stack((priors, grid[0][found])))


def _by_pair(grid: Grid, prior: float) -> WorstStructures:
    from .envelopes import worst_by_pair

    size = len(grid[0]) ** 2
    values, found = np.empty(size), np.zeros((size, 4), dtype=np.int64)
    count = worst_by_pair(prior, *grid, values, found)
    return WorstStructures(values[:count], np.column_stack((np.full(count, prior), grid[0][found[:count]])))


def worst_any_prior(
    x: Floats, f: Floats, *, prior_range: tuple[float, float] = (0.0, 1.0), **game: Any
) -> WorstStructures:
    """The same over all priors of a range: the best of a fine grid, then golden sections around its peaks.

    The regret of the worst structure is piecewise smooth in mu; peaks narrower than the grid can be missed, so the
    result is found, not proved. The game is a loss and a paradigm, as above.
    """
    coarse, peaks = peaks_over_priors(x, prior_range, lambda priors: worst_by_prior(x, f, priors, **game))
    if len(peaks.priors) == 0:
        return coarse
    low, high = peaks.low, peaks.high
    for _ in range(60):
        one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        values = worst_by_prior(x, f, np.concatenate((one, other)), **game).values
        better = values[: len(low)] >= values[len(low) :]
        low, high = np.where(better, low, one), np.where(better, other, high)
    return joined((coarse, worst_by_prior(x, f, np.concatenate((peaks.priors, (low + high) / 2)), **game)))


class Peaks(NamedTuple):
    """Priors of a grid with a larger payoff than their neighbours, which are the ends of an interval."""

    priors: Floats
    low: Floats
    high: Floats


def peaks_over_priors(
    x: Floats, prior_range: tuple[float, float], worst: Callable[[Floats], WorstStructures]
) -> tuple[WorstStructures, Peaks]:
    """What is worst at the priors of a fine grid (``worst`` says it), and the highest peaks over it."""
    least, most = max(prior_range[0], TINY), min(prior_range[1], 1 - TINY)
    count = max(200, 8 * len(x))
    tails = 10.0 ** np.arange(-9, -2)
    priors = np.unique(np.concatenate((np.linspace(least, most, count), tails, 1 - tails, x)))
    priors = priors[(priors >= least) & (priors <= most)]
    coarse = worst(priors)
    heights = np.array([coarse.values[coarse.labels[:, 0] == prior].max(initial=-np.inf) for prior in priors])
    padded = np.concatenate(([-np.inf], heights, [-np.inf]))
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    peaks = peaks[np.argsort(-heights[peaks], kind="stable")][:16]
    last = max(len(priors) - 1, 0)
    return coarse, Peaks(priors[peaks], priors[np.maximum(peaks - 1, 0)], priors[np.minimum(peaks + 1, last)])
