"""What the agents are asked: x_i(s_i, theta), a number or a vector for each signal [Guo2024, Section 3].

A report format is a word (``"posterior"``, ``"higher-order"``, ``"decision"``) or any function
``report(agent, signal, structure)`` that returns a number or a vector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import InputError
from ..numerics import SAME_RELATIVE, safe_divide
from .information_structure import InformationStructure, posteriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Floats, Integers

Names = tuple[str, ...] | None
ReportFunction = Callable[[int, int, InformationStructure], float | Sequence[float]]


class ReportFormat(ABC):
    """How reports come from signals, for a stack of structures of one shape."""

    name: str
    """The word for it in files."""

    @abstractmethod
    def reports(self, joints: Floats, agent: int, numbers: Integers, names: Names) -> Floats:
        """x_i(s_i, theta): (m, states, signals...) -> (m, signals_i, coordinates).

        ``numbers`` are those of the m structures in their family, ``names`` the names of the whole family.
        """

    def permuted(self, profiles: Floats, order: Sequence[int]) -> Floats:
        """The profiles (m, agents, coordinates) that come about when agent i takes the place of agent order[i]."""
        return profiles[:, list(order)]

    def ordered(self, states: int) -> int:
        """How many leading coordinates of a report are better news for the second state the larger they are."""
        return 1 if states == 2 else 0


def _shown(probabilities: Floats) -> Floats:
    """A distribution over states as it is reported: a number for two states, the vector for more."""
    return probabilities[..., 1:] if probabilities.shape[-1] == 2 else probabilities


class Posterior(ReportFormat):
    """Pr[omega | s_i]: the probability of the second state, or the vector over more states."""

    name = "posterior"

    def reports(self, joints: Floats, agent: int, numbers: Integers, names: Names) -> Floats:  # noqa: ARG002
        """See ReportFormat."""
        return _shown(posteriors(joints, agent))


class Decision(ReportFormat):
    """The likelier state only: 0 or 1, or the unit vector for more than two states; a tie goes to the earlier state."""

    name = "decision"

    def reports(self, joints: Floats, agent: int, numbers: Integers, names: Names) -> Floats:  # noqa: ARG002
        """See ReportFormat."""
        posterior = posteriors(joints, agent)
        best = posterior.max(axis=2, keepdims=True)
        likeliest = np.argmax(posterior >= best * (1 - SAME_RELATIVE), axis=2)  # the first within rounding
        return _shown(np.eye(posterior.shape[2])[likeliest])


class HigherOrder(ReportFormat):
    """Her posterior, then her expectation E[x_j | s_i] of each other agent's posterior, in the agents' order.

    Only her own posterior is ordered; what a higher expectation of the others means is left open.
    """

    name = "higher-order"

    def reports(self, joints: Floats, agent: int, numbers: Integers, names: Names) -> Floats:  # noqa: ARG002
        """See ReportFormat."""
        agents = joints.ndim - 2
        parts = [_shown(posteriors(joints, agent))]
        for other in range(agents):
            if other != agent:
                rest = tuple(axis for axis in range(2, joints.ndim) if axis not in (agent + 2, other + 2))
                pair = joints.sum(axis=(1, *rest))  # Pr[s_i, s_j], its axes in the agents' order
                pair = pair if agent < other else np.swapaxes(pair, 1, 2)
                chance = safe_divide(pair, pair.sum(axis=2, keepdims=True))
                parts.append(chance @ _shown(posteriors(joints, other)))
        return np.concatenate(parts, axis=2)

    def permuted(self, profiles: Floats, order: Sequence[int]) -> Floats:
        """See ReportFormat: what she says *about* the others moves with them."""
        count, agents, _ = profiles.shape
        blocks = profiles.reshape(count, agents, agents, -1)
        about = [[i, *(j for j in range(agents) if j != i)] for i in range(agents)]  # of whom each block of agent i is
        result = np.empty_like(blocks)
        for i, mover in enumerate(order):
            result[:, i] = blocks[:, mover, [about[mover].index(order[j]) for j in about[i]]]
        return result.reshape(profiles.shape)


@dataclass(frozen=True)
class Custom(ReportFormat):
    """Any x_i(s_i, theta) that the user supplies, called once for every agent, signal and structure."""

    function: ReportFunction

    @property
    def name(self) -> str:  # type: ignore[override]
        """The function's own name."""
        return f"custom:{getattr(self.function, '__name__', type(self.function).__name__)}"

    def reports(self, joints: Floats, agent: int, numbers: Integers, names: Names) -> Floats:
        """See ReportFormat."""
        rows: list[list[Floats]] = []
        for joint, number in zip(joints, numbers.tolist(), strict=True):
            structure = InformationStructure(joint, names[number] if names else None)
            rows.append([self._report(agent, signal, number, structure) for signal in range(joint.shape[agent + 1])])
        sizes = {report.shape for row in rows for report in row}
        if len(sizes) > 1:
            raise InputError(f"{self.name} must return reports of one length; it returned the shapes {sorted(sizes)}.")
        return np.array(rows)

    def _report(self, agent: int, signal: int, number: int, structure: InformationStructure) -> Floats:
        comes = np.asarray(structure.posterior(agent).any(axis=1))
        signal = signal if comes[signal] else int(np.argmax(comes))  # a signal that never comes is not asked
        place = f"structure {number}, agent {agent}, signal {signal}"
        try:
            value = self.function(agent, signal, structure)
        except Exception as error:
            raise InputError(
                f"{self.name} must take (agent, signal, structure); for {place} it failed: {type(error).__name__}: {error}."
            ) from error
        label = f"the report of {self.name} for {place}"
        return np.atleast_1d(checks.real_array(label, value)).ravel()

    def ordered(self, states: int) -> int:
        """See ReportFormat: every coordinate."""
        return 10**6 if states == 2 else 0


FORMATS: dict[str, ReportFormat] = {format.name: format for format in (Posterior(), HigherOrder(), Decision())}


def report_format(report: str | ReportFunction | ReportFormat) -> ReportFormat:
    """The report format for a word or a function.

    >>> report_format("decision").name
    'decision'
    """
    if isinstance(report, str):
        return FORMATS[checks.choice("report", report, FORMATS)]
    if isinstance(report, ReportFormat):
        return report
    if callable(report):
        return Custom(report)
    raise InputError(f"report must be a word or a function of (agent, signal, structure); it is {report!r}.")


def as_seen(reports: NDArray[Any]) -> NDArray[Any]:
    """Profiles as an aggregator takes them: (m, agents) when a report is one number, else (m, agents, coordinates)."""
    return reports[:, :, 0] if reports.shape[2] == 1 else reports
