"""The world *common source*: the agents learn about a source that can itself be wrong, so they share its errors.

They are independent given a hidden y, and the event has the chance p_y: `structures.common_source_structure` has the model. Two
agents of this kind are those with "unknown state values" of [arXiv2604.24517]. The family holds every p_0 < p_1, so conditionally
independent agents are in it. Given p_0 and p_1, the regret is linear in the distribution of each agent's reports, so two
signals an agent are enough, as they are for independent agents [Guo2024, Lemma 3.5].

The search moves in the coordinates logit m, then u = p_0/m and v = (1 - p_1)/(1 - m) of the source, then for each agent
u = (low - p_0)/(m - p_0) and v = (p_1 - high)/(p_1 - m): every point of a box is a structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..errors import InputError, UnsupportedError
from ..structures.common_source_structure import CommonSourceStructure, event_reports
from ..wording import counted
from .compass import climbed
from .world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from ..typing import Floats
    from .few_types import Types
    from .nature import Nature
    from .paired_nature import Circumstance
    from .worst_case import WorstCase

NARROW = 1e-9
"""1 - u and 1 - v of the source are at least this: p_0 < m < p_1."""


@dataclass(frozen=True)
class CommonSource(World):
    """Agents with a common source. In a design, reports, priors and chances are multiples of 1/``reports``; None: continuous.

    ``prior_range`` is about the prior of the event. A search for the worst case takes all of them, whatever the grid is.

    >>> CommonSource(3).words()
    '3 agents with a common source, reports, priors and chances in steps of 1/12'
    """

    agents: int = 2
    reports: int | None = 12
    prior_range: tuple[float, float] = (0.0, 1.0)

    kind: ClassVar[str] = "common-source"

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.whole("agents", self.agents, least=2)
        if self.reports is not None:
            checks.whole("reports", self.reports, least=2)
        object.__setattr__(self, "prior_range", checks.interval("prior_range", self.prior_range, least=0, most=1))

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002
        """See World."""
        grid = f"reports, priors and chances in steps of 1/{self.reports}" if self.reports else "any reports, any prior"
        low, high = self.prior_range
        ends = "" if (low, high) == (0.0, 1.0) else f", priors from {low:g} to {high:g}"
        return f"{counted(self.agents, 'agent')} with a common source, {grid}{ends}"

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:
        """See World: every prior, p_0 and p_1 and every pair of reports on the grid."""
        from .paired_nature import paired_nature

        if self.reports is None:
            raise UnsupportedError("a design for agents with a common source needs a number of reports.")
        return paired_nature(
            self.circumstances(),
            agents=self.agents,
            reports=self.reports,
            loss=loss,
            paradigm=paradigm,
            restrictions=restrictions,
            kind=kind,
            parameters=("prior", "p_0", "p_1"),
            mirrored=abs(sum(self.prior_range) - 1.0) < 1e-12,
        )

    def circumstances(self) -> list[Circumstance]:
        """All priors m and chances p_0 < m < p_1 on the grid of reports; the priors are multiples of 1/reports in the range."""
        from .paired_nature import Circumstance

        size = self.reports or 0
        low, high = self.prior_range
        found = []
        for k in range(1, size):
            m = k / size
            if not low - 1e-12 <= m <= high + 1e-12:
                continue
            for i, j in product(range(k), range(k + 1, size + 1)):
                p = np.array([i, j]) / size
                y = (m - p[0]) / (p[1] - p[0])
                pairs = np.array([*product(range(i, k), range(k + 1, j + 1)), (k, k)])
                beliefs = (pairs - i) / (j - i)
                share = np.divide(
                    y - beliefs[:, 0],
                    np.ptp(beliefs, axis=1),
                    out=np.zeros(len(pairs)),
                    where=np.ptp(beliefs, axis=1) > 0,
                )
                often = np.stack((1 - share, share), axis=1)
                chances = np.stack((often * (1 - beliefs) / (1 - y), often * beliefs / y), axis=2)
                hidden = np.array([[1 - y], [y]]) * np.stack((1 - p, p), axis=1)
                found.append(Circumstance((m, *p.tolist()), hidden, pairs, chances))
        if not found:
            raise InputError(
                f"prior_range must hold a multiple of 1/{size} between 0 and 1; it is {self.prior_range!r}."
            )
        return found

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World: two agents, and any aggregator that has no name, with all agents free; else with few types of agents."""
        from ..aggregators.rules import Rule
        from .worst_case import MOST_AGENTS, STARTS, STEPS, WorstCase

        if self.agents > MOST_AGENTS:
            raise UnsupportedError(
                f"a worst case is searched for at most {MOST_AGENTS} agents; there are {self.agents}."
            )
        search = _Search(aggregator, loss, self.prior_range)
        if isinstance(aggregator, Rule) and self.agents > 2:
            regret, point = search.among_few_types(self.agents, rng)
        else:
            starts = search.clipped(_random_starts(self.agents, 12 * STARTS, rng))
            work = self.agents << self.agents
            values, points = climbed(search.regrets, search.clipped, starts, rng, STEPS, keep=STARTS, work=work)
            regret, point = float(values.max()), points[int(values.argmax())]
        return WorstCase(regret, structure_at(point))


@dataclass(frozen=True)
class _Search:
    """The regrets of an aggregator at points."""

    aggregator: Callable[[Any], Any]
    loss: Loss
    prior_range: tuple[float, float]

    def regrets(self, points: Floats) -> Floats:
        """On the structures with these coordinates: (m, 3 + 2n) -> (m,)."""
        from .worst_case import continuous_regrets

        beliefs, chances = of_source(points)
        return continuous_regrets(self.aggregator, beliefs, self.loss, chances)

    def among_few_types(self, agents: int, rng: np.random.Generator) -> tuple[float, Floats]:
        """The largest regret found, and its point."""
        from .few_types import worst_of_few_types

        return worst_of_few_types(self.regrets_of_types, agents, self.clipped, rng, leading=3)

    def regrets_of_types(self, types: Types, points: Floats) -> Floats:
        """The same for agents of few types."""
        from .few_types import regrets_of_types

        beliefs, chances = of_source(points)
        return regrets_of_types(self.aggregator, types, beliefs, self.loss.divergence, chances)

    def clipped(self, points: Floats) -> Floats:
        """Points brought back into the box."""
        from .worst_case import logit_range

        points[..., 0] = np.clip(points[..., 0], *logit_range(self.prior_range))
        points[..., 1:3] = np.clip(points[..., 1:3], 0.0, 1.0 - NARROW)
        points[..., 3:] = np.clip(points[..., 3:], 0.0, 1.0)
        return points


def of_source(points: Floats) -> tuple[Floats, Floats]:
    """The agents' structure about y, in the coordinates of ``worst_case``, and the chances [p_0, p_1] of the event.

    Pr[y = 1] = (m - p_0)/(p_1 - p_0) has the log-odds logit m + log(1 - u) - log(1 - v).
    """
    m, (u, v) = 1.0 / (1.0 + np.exp(-points[:, 0])), points[:, 1:3].T
    belief = points[:, 0] + np.log1p(-u) - np.log1p(-v)
    return np.column_stack((belief, points[:, 3:])), np.stack((m * u, 1.0 - (1.0 - m) * v), axis=1)


def structure_at(point: Floats) -> CommonSourceStructure:
    """The structure with these coordinates."""
    from .worst_case import decode

    beliefs, chances = of_source(point[None])
    prior, pairs = decode(beliefs)
    low, high = chances[0]
    m = float(low + (high - low) * prior[0])
    reports = event_reports(pairs, chances)[0]
    return CommonSourceStructure(
        m, chances[0], np.stack((np.minimum(reports[:, 0], m), np.maximum(reports[:, 1], m)), axis=1)
    )


def _random_starts(agents: int, count: int, rng: np.random.Generator) -> Floats:
    """Points drawn at random; in a third all agents are alike, in a third low reports are p_0; of every other one p_0 = 0 and p_1 = 1."""
    points = rng.random((count, 3 + 2 * agents))
    points[:, 0] = rng.normal(0.0, 2.0, count)
    alike = slice(0, count // 3)
    points[alike, 3::2], points[alike, 4::2] = points[alike, 3:4], points[alike, 4:5]
    points[count // 3 : 2 * count // 3, 3::2] = 0.0
    points[::2, 1:3] = 0.0
    return points
