"""An information structure: what the agents share and the aggregator does not know [Guo2024, Section 3]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import checks, html
from ..errors import InputError
from ..numerics import safe_divide
from ..wording import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..typing import Floats


SHOWN = 10
"""Signals and signal profiles that a notebook shows."""

LARGEST_SHOWN = 1 << 18
"""Entries of a joint distribution that a notebook looks at."""


@dataclass(frozen=True, eq=False)
class InformationStructure:
    """A joint distribution theta of the state omega and the private signals s_1, ..., s_n.

    ``joint[omega, s_1, ..., s_n]`` is Pr[omega, s_1, ..., s_n]: two or more states, one or more agents, each with
    one or more signals; it sums to 1. States and signals are counted from 0.

    >>> rain = InformationStructure([[[0.1, 0.2], [0.2, 0.0]], [[0.0, 0.1], [0.1, 0.3]]])
    >>> rain.states, rain.agents
    (2, 2)
    >>> rain.prior
    array([0.5, 0.5])
    >>> rain.posterior(agent=0).round(3)
    array([[0.75 , 0.25 ],
           [0.333, 0.667]])
    """

    joint: Floats
    name: str | None = None

    def __init__(self, joint: ArrayLike, name: str | None = None) -> None:
        label = "joint" if name is None else f"joint of {checks.shown(name)}"
        array = checks.distributions(label, joint, stacked=False)
        check_shape(label, array.shape)
        object.__setattr__(self, "joint", checks.frozen(array))
        object.__setattr__(self, "name", name)

    @property
    def states(self) -> int:
        """The number of states."""
        return int(self.joint.shape[0])

    @property
    def agents(self) -> int:
        """The number of agents."""
        return self.joint.ndim - 1

    @property
    def prior(self) -> Floats:
        """Pr[omega], shape (states,)."""
        return np.asarray(self.joint.sum(axis=tuple(range(1, self.joint.ndim))))

    def posterior(self, agent: int) -> Floats:
        """Pr[omega | s_i] of one agent, shape (signals_i, states); a row of zeros for a signal that never comes."""
        return np.asarray(posteriors(self.joint[None], agent)[0])

    def __repr__(self) -> str:
        """Its name and how many there are of everything, in a line."""
        named = "" if self.name is None else f"{self.name[:40]!r}, "
        return f"InformationStructure({named}{counted(self.states, 'state')}, {counted(self.agents, 'agent')})"

    def _repr_html_(self) -> html.Html:
        """In a notebook: what each agent sees and thinks, and what an omniscient one thinks who sees all signals."""
        title = "Information structure" if self.name is None else f"Information structure {self.name}"
        signals = " x ".join(f"{count:,}" for count in self.joint.shape[1:])
        said = html.line(f"{self.states:,} states, {self.agents:,} agents, signals {signals}")
        if self.joint.size > LARGEST_SHOWN:
            return html.card(title, said)
        prior = html.line(f"prior {shown_distribution(self.prior)}")
        return html.card(title, said, prior, self._signals_html(), self._profiles_html())

    def _signals_html(self) -> html.Html:
        """The signals of the agents one by one: chance and posterior."""
        signals = [(agent, signal) for agent, count in enumerate(self.joint.shape[1:]) for signal in range(count)]
        rows = []
        for agent, signal in signals[:SHOWN]:
            chance = self.joint.take(signal, axis=agent + 1).sum()
            posterior = shown_distribution(self.posterior(agent)[signal]) if chance > 0 else "never comes"
            rows.append([f"{agent + 1}", f"{signal}", f"{chance:.6g}", posterior])
        return html.table(["agent", "signal", "chance", "posterior"], rows, len(signals) - SHOWN, "signals")

    def _profiles_html(self) -> html.Html:
        """The signal profiles that can come: probability and omniscient posterior."""
        chance = self.joint.sum(axis=0)
        there = np.flatnonzero(chance)
        rows = []
        for number in there[:SHOWN]:
            place = np.unravel_index(number, chance.shape)
            mass = self.joint[(slice(None), *place)]
            rows.append([html.numbers(place), f"{mass.sum():.6g}", shown_distribution(mass / mass.sum())])
        header = ["signals", "probability", "omniscient posterior"]
        return html.table(header, rows, len(there) - len(rows), "signal profiles")


def shown_distribution(distribution: Floats) -> str:
    """Pr[omega = 1] for two states, else all of them."""
    return html.numbers(distribution[1:] if len(distribution) == 2 else distribution)


def check_shape(name: str, shape: tuple[int, ...]) -> None:
    """Two or more states, one or more agents."""
    if len(shape) < 2:
        raise InputError(f"{name} must have an axis for the states and one for each agent; its shape is {shape}.")
    if shape[0] < 2:
        raise InputError(f"{name} must have at least two states; it has {shape[0]}.")


def posteriors(joints: Floats, agent: int) -> Floats:
    """Pr[omega | s_i] for a stack of structures: (m, states, signals...) -> (m, signals_i, states)."""
    others = tuple(axis for axis in range(2, joints.ndim) if axis != agent + 2)
    with_state = np.swapaxes(joints.sum(axis=others), 1, 2)
    return safe_divide(with_state, with_state.sum(axis=2, keepdims=True))
