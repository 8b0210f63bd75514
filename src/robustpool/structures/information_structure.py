"""An information structure: what the agents share and the aggregator does not know [Guo2024, Section 3]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..errors import InputError
from ..numerics import safe_divide

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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

    joint: NDArray[np.float64]
    name: str | None = None

    def __init__(self, joint: ArrayLike, name: str | None = None) -> None:
        label = "joint" if name is None else f"joint of {name!r}"
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
    def prior(self) -> NDArray[np.float64]:
        """Pr[omega], shape (states,)."""
        return np.asarray(self.joint.sum(axis=tuple(range(1, self.joint.ndim))))

    def posterior(self, agent: int) -> NDArray[np.float64]:
        """Pr[omega | s_i] of one agent, shape (signals_i, states); a row of zeros for a signal that never comes."""
        return np.asarray(posteriors(self.joint[None], agent)[0])


def check_shape(name: str, shape: tuple[int, ...]) -> None:
    """Two or more states, one or more agents."""
    if len(shape) < 2:
        raise InputError(f"{name} must have an axis for the states and one for each agent; its shape is {shape}.")
    if shape[0] < 2:
        raise InputError(f"{name} must have at least two states; it has {shape[0]}.")


def posteriors(joints: NDArray[np.float64], agent: int) -> NDArray[np.float64]:
    """Pr[omega | s_i] for a stack of structures: (m, states, signals...) -> (m, signals_i, states)."""
    others = tuple(axis for axis in range(2, joints.ndim) if axis != agent + 2)
    with_state = np.swapaxes(joints.sum(axis=others), 1, 2)
    return safe_divide(with_state, with_state.sum(axis=2, keepdims=True))
