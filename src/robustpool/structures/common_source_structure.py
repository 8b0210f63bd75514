"""Agents who share a source: independent given a hidden y, where the event has the chance p_0 or p_1.

The source says y = 0 or y = 1; the event omega has the chance p_y given y. The agents see noisy signals about y, independent given
y. If pi_i is agent i's probability of y = 1, she reports

    x_i = p_0 + (p_1 - p_0) pi_i,

and so does someone who sees all signals, with the posterior of y given all of them. The prior of the event is
m = p_0 + (p_1 - p_0) Pr[y = 1], and p_0 <= x_i <= p_1. With p_0 = 0 and p_1 = 1 the event is y: conditionally independent agents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import InputError
from .binary_structure import BinaryStructure
from .information_structure import InformationStructure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..typing import Floats


@dataclass(frozen=True, eq=False)
class CommonSourceStructure:
    """Agents with two signals each about a hidden y: the prior m of the event, its chances [p_0, p_1], and pairs of reports.

    >>> rain = CommonSourceStructure(prior=0.5, chances=[0.2, 0.8], reports=[[0.2, 0.6], [0.4, 0.8]])
    >>> round(rain.source.prior, 4), rain.source.reports.round(4).tolist()      # what the agents think of y
    (0.5, [[0.0, 0.6667], [0.3333, 1.0]])
    >>> rain.as_data()
    {'prior': 0.5, 'chances': [0.2, 0.8], 'reports': [[0.2, 0.6], [0.4, 0.8]]}
    """

    prior: float
    chances: Floats
    reports: Floats

    def __init__(self, prior: float, chances: ArrayLike, reports: ArrayLike) -> None:
        m, p, x = checks.open_unit("prior", prior), checks.unit_array("chances", chances), np.asarray(reports, float)
        if p.shape != (2,) or not p[0] < m < p[1]:
            raise InputError(
                f"chances must be two numbers with the prior {m!r} strictly between them; they are {chances!r}."
            )
        if not ((x >= p[0]) & (x <= p[1])).all():
            raise InputError(f"reports must lie between the chances {p.tolist()} of the event; they are {x.tolist()}.")
        object.__setattr__(self, "prior", m)
        object.__setattr__(self, "chances", checks.frozen(p))
        object.__setattr__(self, "reports", BinaryStructure(m, x).reports)

    @property
    def agents(self) -> int:
        """The number of agents."""
        return len(self.reports)

    @property
    def source(self) -> BinaryStructure:
        """What the agents know of y: its prior (m - p_0)/(p_1 - p_0), and pi = (x - p_0)/(p_1 - p_0)."""
        low, high = self.chances
        return BinaryStructure(float((self.prior - low) / (high - low)), (self.reports - low) / (high - low))

    def to_information_structure(self) -> InformationStructure:
        """The joint distribution of the event and the signals, shape (2, 2, ..., 2)."""
        masses = event_masses(self.source.joint().T[None], self.chances[None])[0]
        return InformationStructure(masses.T.reshape(2, *(2,) * self.agents))

    def as_data(self) -> dict[str, Any]:
        """The prior, the chances of the event and a pair of reports for each agent, as plain data."""
        return {"prior": self.prior, "chances": self.chances.tolist(), "reports": self.reports.tolist()}

    def words(self) -> dict[str, str]:
        """The same in words.

        >>> CommonSourceStructure(0.5, [0.2, 0.8], [[0.2, 0.6], [0.4, 0.8]]).words()
        {'prior': '0.5', 'chances given y': '0.2 or 0.8', 'reports': '0.2 or 0.6, 0.4 or 0.8'}
        """
        told = BinaryStructure(self.prior, self.reports).words()
        low, high = self.chances
        return {"prior": told["prior"], "chances given y": f"{low:.6g} or {high:.6g}", "reports": told["reports"]}


def event_masses(masses: Floats, chances: Floats) -> Floats:
    """Pr[x, omega] = sum_y Pr[x, y] Pr[omega given y], from Pr[x, y] (m, profiles, 2) and [p_0, p_1] (m, 2)."""
    yes = np.sum(masses * chances[:, None], axis=2)
    no = np.sum(masses * (1 - chances)[:, None], axis=2)
    return np.stack((no, yes), axis=2)


def event_reports(beliefs: Floats, chances: Floats) -> Floats:
    """x = p_0 + (p_1 - p_0) pi, from pi (m, ...) and [p_0, p_1] (m, 2); between p_0 and p_1 whatever the rounding."""
    low, high = chances.reshape(len(chances), 2, *[1] * (beliefs.ndim - 1)).swapaxes(0, 1)
    return np.clip(low + (high - low) * beliefs, low, high)
