"""Conditionally independent agents and any number of states: a prior, and what each agent may report and how often.

With q the chance of a signal and x the distribution over the states that is reported after it, Bayes' rule says
Pr[s | omega] = q x_omega / mu_omega, and the mean report of each agent is the prior mu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics import safe_divide
from .information_structure import InformationStructure

if TYPE_CHECKING:
    from ..typing import Floats


@dataclass(frozen=True, eq=False)
class IndependentStructure:
    """A prior over K states, shape (K,), and Pr[s_i | omega] of each agent, shape (agents, signals, K).

    >>> rain = IndependentStructure(np.array([0.3, 0.7]), np.array([[[0.5, 0.0], [0.5, 1.0]]]))
    >>> rain.reports.round(3).tolist()
    [[[1.0, 0.0], [0.176, 0.824]]]
    >>> rain.words()
    {'prior': '0.3, 0.7', 'agent 1': '(1, 0) with chance 0.15, (0.176471, 0.823529) with chance 0.85'}
    """

    prior: Floats
    likelihoods: Floats

    @property
    def chances(self) -> Floats:
        """Pr[s_i], shape (agents, signals)."""
        return np.asarray(self.likelihoods @ self.prior)

    @property
    def reports(self) -> Floats:
        """Pr[omega | s_i], shape (agents, signals, K); a row of zeros for a signal that never comes."""
        return safe_divide(self.likelihoods * self.prior, self.chances[:, :, None])

    def written_out(self) -> InformationStructure:
        """The joint distribution of the state and all signals."""
        joint = self.prior
        for given in self.likelihoods:
            joint = joint[..., None] * given.T.reshape(len(self.prior), *(1,) * (joint.ndim - 1), -1)
        return InformationStructure(joint / joint.sum())

    def as_data(self) -> dict[str, Any]:
        """The prior, and the reports and chances of each agent, as plain data."""
        return {"prior": self.prior.tolist(), "reports": self.reports.tolist(), "chances": self.chances.tolist()}

    def words(self) -> dict[str, str]:
        """The same in words, without the signals that never come."""
        agents = {}
        for number, (chances, reports) in enumerate(zip(self.chances, self.reports, strict=True), 1):
            signals = [
                f"({_numbers(report)}) with chance {chance:.6g}"
                for chance, report in zip(chances.tolist(), reports, strict=True)
                if chance > 0
            ]
            agents[f"agent {number}"] = ", ".join(signals)
        return {"prior": _numbers(self.prior), **agents}


def _numbers(distribution: Floats) -> str:
    return ", ".join(f"{probability:.6g}" for probability in distribution.tolist())


def profile_masses(prior: Floats, likelihoods: Floats) -> tuple[Floats, Floats]:
    """The reports of all profiles of signals and Pr[s, omega]: (m, K), (m, n, S, K) -> (m, S^n, n, K) and (m, S^n, K).

    The signals of the last agent change fastest. Where a signal never comes, its report is the prior.
    """
    joint = likelihoods * prior[:, None, None]
    chance = joint.sum(axis=3, keepdims=True)
    fallback = np.broadcast_to(prior[:, None, None], joint.shape).copy()
    reports = np.divide(joint, chance, out=fallback, where=chance > 0)
    agents, signals = likelihoods.shape[1:3]
    index = np.indices((signals,) * agents).reshape(agents, -1)
    everyone = np.arange(agents)[:, None]
    profiles = reports[:, everyone, index].transpose(0, 2, 1, 3)
    return profiles, prior[:, None] * likelihoods[:, everyone, index].prod(axis=1)
