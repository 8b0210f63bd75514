"""Nature's best response to a table of forecasts on a grid, for two conditionally independent agents.

Exact for each prior, by concave envelopes instead of enumeration (``envelopes``). With continuous priors, mu is the one
parameter left: priors climb from the best ones of a grid.
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
    from collections.abc import Iterable

    from ..losses.loss import Loss
    from ..typing import Floats

TINY = 1e-9
PARTS = 16
"""Into how many parts many priors are dealt out; whatever the number of workers."""

PRIORS, PEAKS, CLIMBS = 200, 16, 8
"""With continuous priors: how many are looked at first, from how many of the best they climb, and how often at most."""

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
    order = np.argsort(priors, kind="stable")  # the worst structure of a prior is a good guess for the next one
    count = PARTS if len(x) ** 3 * len(priors) >= 1e6 else 1
    parts = [priors[part] for part in np.array_split(order, count)]
    grid, seconds = oracle_grid(x, f, **game), A_TRIPLE * len(x) ** 3 * len(priors)
    sorted_ = joined(mapped(_by_prior, parts, grid, compiled=True, seconds=seconds))
    back = np.argsort(order)
    return WorstStructures(sorted_.values[back], sorted_.labels[back])


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
    """Bad structures over all priors of a range: the worst at each prior of a grid, each moved to its own best prior.

    The payoff of one structure is smooth in mu, and where the largest payoff of all has a peak, so has that of the structure
    that attains it: let the prior climb for given reports and the reports for given priors, in turn. Peaks that no structure
    of the grid leads to can be missed, so the result is found, not proved. The game is a loss and a paradigm, as above.
    """
    grid, priors = oracle_grid(x, f, **game), prior_grid(x, prior_range, PRIORS)
    worst, last = worst_by_prior(x, f, priors, **game), len(priors) - 1
    if last < 0:
        return worst
    low, high = (priors[np.clip(np.arange(len(priors)) + step, 0, last)] for step in (-1, 1))
    parts = [worst]
    for _ in range(CLIMBS):
        climbed, payoffs = _best_priors(grid, worst.labels, low, high)
        top = np.argsort(-payoffs, kind="stable")[:PEAKS]
        low, high = low[top], high[top]
        worst = worst_by_prior(x, f, climbed[top], **game)
        parts.append(worst)
        if not worst.value > parts[-2].value:
            break
    every = joined(parts)
    return _once(every, *_best_priors(grid, every.labels, priors[:1], priors[-1:]))


def _best_priors(grid: Grid, labels: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The best prior between low and high of the structures with these labels, as far as it suits their reports; its payoff."""
    from .envelopes import best_priors

    _, reports = parameters(labels)
    low, high = np.maximum(low, reports[:, :, 0].max(axis=1)), np.minimum(high, reports[:, :, 1].min(axis=1))
    priors, payoffs = np.empty(len(labels)), np.empty(len(labels))
    best_priors(low, high, *grid, np.searchsorted(grid[0], labels[:, 1:]), priors, payoffs)
    return priors, payoffs


def _once(worst: WorstStructures, priors: Floats, payoffs: Floats) -> WorstStructures:
    """The structures, each at another prior where that pays more; of those with the same reports the one that pays most."""
    better = payoffs > worst.values
    values, labels = np.where(better, payoffs, worst.values), worst.labels.copy()
    labels[better, 0] = priors[better]
    order = np.argsort(-values, kind="stable")
    keep = order[np.sort(np.unique(labels[order, 1:], axis=0, return_index=True)[1])]
    return WorstStructures(values[keep], labels[keep])


def prior_grid(x: Floats, prior_range: tuple[float, float], count: int) -> Floats:
    """Priors of a range strictly between 0 and 1: so many with equal steps, the reports, and some near 0 and 1."""
    least, most = max(prior_range[0], TINY), min(prior_range[1], 1 - TINY)
    tails = 10.0 ** np.arange(-9, -2)
    priors = np.unique(np.concatenate((np.linspace(least, most, count), tails, 1 - tails, x)))
    return priors[(priors >= least) & (priors <= most)]
