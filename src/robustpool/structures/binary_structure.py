"""Conditionally independent agents with two signals each, in both of the paper's coordinates [Guo2024, Section 3.2].

An agent with signals low and high is given by what she reports after each (*prediction* parametrisation), or by how
likely the high signal is in each state (*probability* parametrisation). With q the chance of a signal and x the report
after it, the two are tied by Bayes' rule:

    Pr[s | omega = 1] = q x / mu        Pr[s | omega = 0] = q (1 - x) / (1 - mu)
    q_high = (mu - low) / (high - low)  q_low = (high - mu) / (high - low)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks, html
from ..aggregators.rules import get_rule
from ..errors import InputError
from ..numerics import safe_divide
from .information_structure import InformationStructure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..typing import Floats


SHOWN = 10
"""Agents that a notebook shows, and the most for which it looks at all 2^n profiles."""


@dataclass(frozen=True, eq=False)
class BinaryStructure:
    """The structure of n conditionally independent agents with two signals each, by prior and reports [Guo2024, Section 3.2].

    ``prior`` is mu = Pr[omega = 1], strictly between 0 and 1. ``reports[i]`` is [low, high], what agent i says after
    each of her signals, with low <= mu <= high; shape (n, 2). An agent with low = mu = high learns nothing; her two
    signals are then taken to be equally likely. If only one report equals mu, the other signal never comes.

    >>> rain = BinaryStructure(prior=0.3, reports=[[0.2, 0.7], [0.0, 0.4]])
    >>> rain.signal_probabilities
    array([[0.8 , 0.2 ],
           [0.25, 0.75]])
    >>> rain.profiles()
    array([[0.2, 0. ],
           [0.2, 0.4],
           [0.7, 0. ],
           [0.7, 0.4]])
    >>> rain.probabilities().round(4)
    array([0.2286, 0.5714, 0.0214, 0.1786])
    >>> rain.posteriors().round(4)
    array([0.   , 0.28 , 0.   , 0.784])
    """

    prior: float
    reports: Floats

    def __init__(self, prior: float, reports: ArrayLike) -> None:
        mu = checks.open_unit("prior", prior)
        array = checks.unit_array("reports", reports)
        if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
            raise InputError(f"reports must be one pair [low, high] for each agent; their shape is {array.shape}.")
        bad = ~((array[:, 0] <= mu) & (mu <= array[:, 1]))
        if bad.any():
            agent = int(np.argmax(bad))
            low, high = array[agent].tolist()
            raise InputError(
                f"the prior must lie between an agent's low and high report; agent {agent} reports [{low!r}, {high!r}] "
                f"and the prior is {mu!r} ({bad.sum()} of {len(array)} agents)."
            )
        object.__setattr__(self, "prior", mu)
        object.__setattr__(self, "reports", checks.frozen(array))

    @classmethod
    def from_probabilities(cls, prior: float, high_given_0: ArrayLike, high_given_1: ArrayLike) -> BinaryStructure:
        """The structure by Pr[s_i = high | omega = 0] and Pr[s_i = high | omega = 1], shape (n,) each.

        The inverse of ``probability_parametrisation`` [Guo2024, Lemma 3.6]. A signal that is likelier in state 0 is
        renamed to low; an agent whose signals are equally likely in both states learns nothing.

        >>> BinaryStructure.from_probabilities(0.5, [0.1, 0.3], [0.9, 0.3]).reports
        array([[0.1, 0.9],
               [0.5, 0.5]])
        """
        mu = checks.open_unit("prior", prior)
        p0, p1 = checks.unit_array("high_given_0", high_given_0), checks.unit_array("high_given_1", high_given_1)
        if p0.ndim != 1 or p0.shape != p1.shape or p0.size == 0:
            raise InputError(
                "high_given_0 and high_given_1 must have one probability for each agent; "
                f"their shapes are {p0.shape} and {p1.shape}."
            )
        with_1 = mu * np.stack([1 - p1, p1], axis=1)
        with_0 = (1 - mu) * np.stack([1 - p0, p0], axis=1)
        reports = np.sort(safe_divide(with_1, with_0 + with_1), axis=1)
        reports = np.stack([np.minimum(reports[:, 0], mu), np.maximum(reports[:, 1], mu)], axis=1)  # but for rounding
        return cls(mu, np.where((p0 == p1)[:, None], mu, reports))

    @property
    def agents(self) -> int:
        """The number of agents."""
        return len(self.reports)

    @property
    def signal_probabilities(self) -> Floats:
        """q: Pr[low] and Pr[high] of each agent, such that the mean report is the prior; shape (n, 2)."""
        low, high = self.reports.T
        away = np.stack([high - self.prior, self.prior - low], axis=1)
        return np.where((low == high)[:, None], 0.5, safe_divide(away, (high - low)[:, None]))

    @property
    def likelihoods(self) -> Floats:
        """Pr[s_i | omega], shape (2, n, 2): states, agents, signals."""
        q, x, mu = self.signal_probabilities, self.reports, self.prior
        return np.stack([q * (1 - x) / (1 - mu), q * x / mu])

    def probability_parametrisation(self) -> tuple[Floats, Floats]:
        """Pr[s_i = high | omega = 0] and Pr[s_i = high | omega = 1], shape (n,) each [Guo2024, Lemma 3.6].

        With a_0 = low and a_1 = high, p_1 = a_1 (mu - a_0) / (mu (a_1 - a_0)), p_0 the same with 1 - a_1 and 1 - mu
        (the lemma prints the complements, which belong to the low signal).

        >>> p0, p1 = BinaryStructure(0.3, [[0.2, 0.7]]).probability_parametrisation()
        >>> p0.round(4), p1.round(4)
        (array([0.0857]), array([0.4667]))
        """
        given_0, given_1 = self.likelihoods[:, :, 1]
        return given_0, given_1

    def joint(self) -> Floats:
        """Pr[omega] prod_i Pr[s_i | omega], shape (2, 2^n); the signals of the last agent change fastest."""
        joint = np.array([[1 - self.prior], [self.prior]])
        for agent in range(self.agents):
            joint = (joint[:, :, None] * self.likelihoods[:, None, agent]).reshape(2, -1)
        return joint

    def profiles(self) -> Floats:
        """The report profiles x, shape (2^n, n), in the order of ``joint``; two may be equal, some may never come."""
        return np.stack(np.meshgrid(*self.reports, indexing="ij"), axis=-1).reshape(-1, self.agents)

    def probabilities(self) -> Floats:
        """Pr[x] = prod q_i (prod x_i / mu^(n-1) + prod (1-x_i) / (1-mu)^(n-1)), shape (2^n,) [Guo2024, Lemma 3.3]."""
        return np.asarray(self.joint().sum(axis=0))

    def posteriors(self) -> Floats:
        """The omniscient posterior of each profile, shape (2^n,)."""
        return omniscient_posterior(self.prior, self.profiles())

    def mirrored(self) -> BinaryStructure:
        """The same agents with the two states renamed.

        >>> BinaryStructure(0.25, [[0.0, 0.5]]).mirrored()
        BinaryStructure(prior=0.75, reports=[[0.5, 1]])
        """
        return BinaryStructure(1 - self.prior, 1 - self.reports[:, ::-1])

    def to_information_structure(self) -> InformationStructure:
        """The same structure as a joint distribution of the state and the signals, shape (2, 2, ..., 2).

        >>> BinaryStructure(0.5, [[0.0, 1.0]]).to_information_structure().joint
        array([[0.5, 0. ],
               [0. , 0.5]])
        """
        return InformationStructure(self.joint().reshape(2, *(2,) * self.agents))

    def __repr__(self) -> str:
        """The prior and the reports of a few agents, in a line."""
        shown = ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in self.reports[:3])
        more = ", ..." if len(self.reports) > 3 else ""
        return f"BinaryStructure(prior={self.prior:.6g}, reports=[{shown}{more}])"

    def as_data(self) -> dict[str, Any]:
        """The prior and a pair of reports for each agent, as plain data."""
        return {"prior": self.prior, "reports": self.reports.tolist()}

    def words(self) -> dict[str, str]:
        """The same in words.

        >>> BinaryStructure(0.3, [[0.2, 0.7], [0.0, 0.4]]).words()
        {'prior': '0.3', 'reports': '0.2 or 0.7, 0 or 0.4'}
        """
        reports = ", ".join(f"{low:.6g} or {high:.6g}" for low, high in self.reports.tolist())
        return {"prior": f"{self.prior:.10g}", "reports": reports}

    def _repr_html_(self) -> html.Html:
        """In a notebook: what each agent says and how often, and what an omniscient one would say to each profile."""
        agents = zip(self.reports[:SHOWN], self.signal_probabilities[:SHOWN], strict=True)
        rows = [
            [f"{i + 1}", f"{a:.6g}", f"{p:.6g}", f"{b:.6g}", f"{q:.6g}"] for i, ((a, b), (p, q)) in enumerate(agents)
        ]
        header = ["agent", "low report", "its chance", "high report", "its chance"]
        said = html.line(f"{self.agents:,} conditionally independent agents, prior {self.prior:.10g}")
        spoken = html.table(header, rows, self.agents - SHOWN, "agents")
        return html.card("Binary structure", said, spoken, self._profiles_html())

    def _profiles_html(self) -> html.Html:
        """The profiles, if they are not too many: 16 of them."""
        if self.agents > SHOWN:
            return html.line(f"2^{self.agents} report profiles")
        header = [*(f"x{i + 1}" for i in range(self.agents)), "probability", "omniscient posterior"]
        every = zip(self.profiles()[:16], self.probabilities(), self.posteriors(), strict=False)
        rows = [
            [*(f"{report:.6g}" for report in x), f"{chance:.6g}", f"{posterior:.6g}" if chance > 0 else "never comes"]
            for x, chance, posterior in every
        ]
        return html.table(header, rows, 2**self.agents - 16, "profiles")


def omniscient_posterior(prior: float, reports: ArrayLike) -> Floats:
    """What someone says who knows the prior: logit g = sum_i logit x_i - (n-1) logit mu [Bordley1982].

    Reports of shape (m, n) give posteriors of shape (m,) [Guo2024, Lemma 3.2]. A report of 0 or 1 decides; a profile
    with both has probability zero and gets 0.5.

    >>> omniscient_posterior(0.5, [[0.6, 0.6], [0.0, 0.9], [0.0, 1.0]]).round(4)
    array([0.6923, 0.    , 0.5   ])
    """
    mu, x = checks.open_unit("prior", prior), checks.unit_array("reports", reports)
    if x.ndim != 2 or x.shape[1] == 0:
        raise InputError(f"reports must have the shape (profiles, agents); the shape is {x.shape}.")
    return get_rule(f"bordley:prior={mu!r}")(x)


def independent_masses(priors: Floats, reports: Floats) -> Floats:
    """Pr[x, omega] of the 2^n profiles of many structures: priors (m,), reports (m, n, 2) -> (m, 2^n, 2).

    Pr[omega] times each agent's q x / mu or q (1 - x) / (1 - mu); the reports of the last agent change fastest. The
    priors may be 0 or 1, where all is certain. Who learns nothing always has the low signal.

    >>> independent_masses(np.array([0.5]), np.array([[[0.0, 1.0]]]))
    array([[[0.5, 0. ],
            [0. , 0.5]]])
    """
    mu = priors[:, None]
    low, high = reports[:, :, 0], reports[:, :, 1]
    share = safe_divide(mu - low, np.where(high > low, high - low, 0.0))
    chance = np.stack((1.0 - share, share), axis=2)
    inner = np.clip(mu, 1e-300, 1 - 1e-16)[:, :, None]
    given = np.stack((chance * (1.0 - reports) / (1.0 - inner), chance * reports / inner), axis=3)
    masses = np.stack((1.0 - priors, priors), axis=1)[:, None]
    for agent in range(reports.shape[1]):
        masses = (masses[:, :, None] * given[:, agent, None]).reshape(len(priors), -1, 2)
    return np.maximum(masses, 0.0)


def independent_profiles(reports: NDArray[Any]) -> NDArray[Any]:
    """The 2^n profiles of many structures, in the order of ``independent_masses``: (m, n, 2) -> (m, 2^n, n).

    >>> independent_profiles(np.array([[[1, 2], [3, 4]]]))[0].tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    agents = reports.shape[1]
    return reports[:, np.arange(agents), _signals(agents)]


@lru_cache(maxsize=8)  # a search asks thousands of times for the same few agents
def _signals(agents: int) -> NDArray[Any]:
    signals = np.stack(np.meshgrid(*[[0, 1]] * agents, indexing="ij"), axis=-1).reshape(-1, agents)
    signals.flags.writeable = False
    return signals
