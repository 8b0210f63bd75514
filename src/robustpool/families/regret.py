"""The regret of any aggregator on given structures [Guo2024, Section 3]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..aggregators.distributions import distribution_rule
from ..aggregators.rules import Rule
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..errors import InputError, RobustpoolError
from ..game.paradigms import NO_LOSS, payoff_terms
from ..game.response import cost_by_cell
from ..losses import get_loss
from .finite import FiniteFamily
from .finite_game import omniscient_losses

if TYPE_CHECKING:
    from ..losses.loss import Loss
    from ..structures.information_structure import InformationStructure
    from ..structures.report_formats import ReportFormat, ReportFunction
    from ..typing import Floats


def regret(
    aggregator: AnyAggregator,
    structure: InformationStructure,
    *,
    loss: str | Loss = "square",
    paradigm: str = "additive",
    report: str | ReportFunction | ReportFormat = "posterior",
) -> float:
    """E[l(f(x), omega)] - E[l(opt(s), omega)] of an aggregator on one structure (or its loss, or the ratio of both).

    The omniscient aggregator sees the signals s, the aggregator only the reports x.

    >>> from robustpool import InformationStructure
    >>> coin = InformationStructure([[0.5, 0.0], [0.0, 0.5]])   # one agent who knows the state
    >>> regret(lambda reports: 0.5 + 0 * reports[:, 0], coin)
    0.25
    """
    family = FiniteFamily.from_structures([structure], report=report)
    return float(regrets(aggregator, family, loss=loss, paradigm=paradigm)[0])


def regrets(
    aggregator: AnyAggregator, family: FiniteFamily, *, loss: str | Loss = "square", paradigm: str = "additive"
) -> Floats:
    """The regret on each structure of a family, shape (structures,); the worst case is their maximum."""
    loss = get_loss(loss)
    table = forecasts_of(aggregator, family.profiles, len(family.states))
    costs = cost_by_cell(family.mass, loss.table(table)[family.profile])
    losses = np.add.reduceat(costs, family.start[:-1])
    scale, offset, pinning = payoff_terms(paradigm, omniscient_losses(family, loss))
    payoffs = np.where(scale > 0, scale * losses, 0.0) - offset
    return np.where(pinning & (losses > NO_LOSS), np.inf, payoffs)


def expected_divergence(aggregator: AnyAggregator, profiles: Floats, masses: Floats, loss: Loss) -> Floats:
    """The regret E[D(f, g)] of structures with profiles (m, C, n) of two states and Pr[profile, omega] (m, C, 2): (m,).

    f is what the aggregator says and g the posterior. Where a profile never comes, the aggregator is not asked.
    """
    chance = masses.sum(axis=2)
    comes = chance > 0
    f = np.full((*chance.shape, 2), 0.5)
    f[comes] = forecasts_of(aggregator, profiles[comes], 2)
    g = np.divide(masses, chance[:, :, None], out=np.full(masses.shape, 0.5), where=comes[:, :, None])
    return np.sum(chance * loss.divergence(f.reshape(-1, 2), g.reshape(-1, 2)).reshape(chance.shape), axis=1)


def forecasts_of(aggregator: AnyAggregator, profiles: Floats, states: int) -> Floats:
    """What an aggregator says at each profile, checked, as probability vectors of shape (profiles, states)."""
    function = as_aggregator(aggregator)
    if states > 2 and isinstance(function, Rule):
        function = distribution_rule(function)
    name = getattr(function, "name", None) or getattr(function, "__name__", None) or type(function).__name__
    try:
        forecasts = np.asarray(function(profiles), dtype=np.float64)
    except RobustpoolError:
        raise
    except Exception as error:
        raise InputError(
            f"aggregator {name!r} failed on {len(profiles)} profiles: {type(error).__name__}: {error}."
        ) from error
    shape = (len(profiles),) if states == 2 else (len(profiles), states)
    if forecasts.shape != shape:
        raise InputError(f"aggregator {name!r} must return the shape {shape}; it returned {forecasts.shape}.")
    bad = ~((forecasts >= 0) & (forecasts <= 1))
    if bad.any():
        at = int(np.argwhere(bad)[0][0])
        raise InputError(
            f"forecast must lie in [0, 1]; aggregator {name!r} says {forecasts[at]} at reports {profiles[at].tolist()} "
            f"({bad.any(axis=tuple(range(1, bad.ndim))).sum()} of {len(profiles)} profiles)."
        )
    if states == 2:
        return np.stack((1.0 - forecasts, forecasts), axis=1)
    off = np.abs(forecasts.sum(axis=1) - 1.0) > 1e-9
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise InputError(
            f"a forecast must sum to 1; aggregator {name!r} says {forecasts[at]} ({off.sum()} of {len(forecasts)} profiles)."
        )
    return forecasts
