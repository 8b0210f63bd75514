"""Partial information: agents who each see a part of what can be known, in Gaussian pieces [Satopaa2016].

X ~ N(0, 1) is all that can be known, and the event is X > t, so that the prior is mu = Phi(-t). Agent i sees X_i, with

    Var X_i = Cov(X_i, X) = delta        Cov(X_i, X_j) = rho        (X, X_1, ..., X_n jointly normal),

and reports p_i = Phi(z_i) with z_i = (X_i - t) / sqrt(1 - delta). With m = n / (1 + (n - 1) rho / delta) and the mean
of the X_i = sqrt(delta / m) u, u ~ N(0, 1), all that the agents know together is

    v = m delta,    g = Phi((sqrt(v) u - t) / sqrt(1 - v)),    mean z = (sqrt(delta / m) u - t) / sqrt(1 - delta)

(docs/derivations/partial-information).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import InputError
from ..numerics import normal_cdf, probit

if TYPE_CHECKING:
    from ..typing import Floats

MOST_INFORMATION = 1.0 - 1e-9
"""An agent who knows everything reports 0 or 1; this is as near to it as the formulas go."""


def breadth(agents: int, overlap: Any) -> Any:
    """m = n / (1 + (n - 1) rho / delta): how many agents without overlap would know as much together.

    >>> round(breadth(20, 0.2), 4), breadth(20, 1.0)
    (4.1667, 1.0)
    """
    return agents / (1.0 + (agents - 1) * overlap)


@dataclass(frozen=True)
class GaussianStructure:
    """One structure: ``information`` is delta, ``overlap`` rho / delta, the share of an agent's information that each other has.

    >>> round(GaussianStructure(agents=20, prior=0.5, information=0.2, overlap=0.2).together, 4)
    0.8333
    """

    agents: int
    prior: float
    information: float
    overlap: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.whole("agents", self.agents, least=1)
        checks.open_unit("prior", self.prior)
        for name in ("information", "overlap"):
            checks.number(name, getattr(self, name), least=0, most=1)
        if self.together > 1 + 1e-9:
            raise InputError(
                f"the agents cannot know more than everything together; they would know {self.together:g}."
            )

    @property
    def threshold(self) -> float:
        """T."""
        return -float(probit(np.array(self.prior)))

    @property
    def together(self) -> float:
        """The share of what can be known that all agents know together: v."""
        return float(breadth(self.agents, self.overlap)) * self.information

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Reports (count, agents), the omniscient's forecasts (count,) and outcomes (count,), at random.

        Each X_i is sqrt(rho) times a part that all share, plus a part of its own; X is the best guess from all X_i plus
        what nobody knows.
        """
        delta, rho, t, v = self.information, self.information * self.overlap, self.threshold, min(self.together, 1.0)
        shared = rng.standard_normal((count, 1))
        seen = np.sqrt(rho) * shared + np.sqrt(delta - rho) * rng.standard_normal((count, self.agents))
        guess = breadth(self.agents, self.overlap) * seen.mean(axis=1)
        everything = guess + np.sqrt(1 - v) * rng.standard_normal(count)
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = normal_cdf((guess - t) / np.sqrt(1 - v))
            return normal_cdf((seen - t) / np.sqrt(1 - delta)), posterior, (everything > t).astype(np.float64)

    def as_data(self) -> dict[str, Any]:
        """Its numbers, as plain data."""
        return {
            "prior": self.prior,
            "information": self.information,
            "overlap": self.overlap,
            "agents": self.agents,
            "together": self.together,
        }

    def words(self) -> dict[str, str]:
        """The same in words."""
        return {
            "prior": f"{self.prior:.10g}",
            "information": f"each agent knows {self.information:.6g} of what can be known",
            "overlap": f"each other agent has {self.overlap:.6g} of that too",
            "together": f"the {self.agents} agents know {self.together:.6g} of what can be known",
        }
