"""The smoothed omniscient posterior: trim where it is steep, extend from what is left [Guo2024, Section 6.1].

The posterior g_mu of two agents jumps where their reports contradict each other, and is steep where a report is far
from an extreme prior. Neither happens often, so the proofs replace g_mu there. Kept is the area A_mu with

    |x_1 - x_2| <= 1 - eps_1                                   the reports do not contradict each other, and
    x_1, x_2 <= mu / eps_2              if mu <= 1/2,
    x_1, x_2 >= 1 - (1 - mu) / eps_2    if mu > 1/2            no report is far from the prior

(the paper prints that *both* reports have to be far to be trimmed, and > in the second line for what is trimmed; its proofs
use the above). Outside, the extension takes the value at the end of A_mu in the direction of the axis that leads there:
each report is capped at mu / eps_2, then the larger one at 1 - eps_1 above the smaller; mirrored for mu > 1/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..errors import InputError
from ..structures.binary_structure import omniscient_posterior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..typing import Floats


def smoothed_posterior(prior: float, reports: ArrayLike, epsilon_1: float, epsilon_2: float) -> Floats:
    """A Lipschitz function that is the omniscient posterior on the area kept [Guo2024, Lemma 6.6].

    Reports of shape (m, 2) give values of shape (m,). The constant, in the 1-norm, is ``lipschitz_constant``.

    >>> smoothed_posterior(0.1, [[0.1, 0.2], [0.9, 0.8], [0.0, 1.0]], epsilon_1=0.25, epsilon_2=0.25).round(4)
    array([0.2, 0.8, 0. ])
    """
    return omniscient_posterior(prior, trim(prior, reports, epsilon_1, epsilon_2))


def trim(prior: float, reports: ArrayLike, epsilon_1: float, epsilon_2: float) -> Floats:
    """Move reports of shape (m, 2) into the area kept; those inside stay as they are.

    >>> trim(0.1, [[0.1, 0.2], [0.9, 0.8], [0.0, 1.0]], epsilon_1=0.25, epsilon_2=0.25)
    array([[0.1, 0.2],
           [0.4, 0.4],
           [0. , 0.4]])
    """
    mu, x = checks.open_unit("prior", prior), checks.unit_array("reports", reports)
    if x.ndim != 2 or x.shape[1] != 2:
        raise InputError(f"reports must have the shape (profiles, 2); the shape is {x.shape}.")
    _check(epsilon_1, epsilon_2)
    if mu <= 1 / 2:
        x = np.minimum(x, mu / epsilon_2)
        return np.minimum(x, x.min(axis=1, keepdims=True) + (1 - epsilon_1))
    x = np.maximum(x, 1 - (1 - mu) / epsilon_2)
    return np.maximum(x, x.max(axis=1, keepdims=True) - (1 - epsilon_1))


def lipschitz_constant(epsilon_1: float, epsilon_2: float) -> float:
    """8 / (eps_1^2 eps_2), whatever the prior [Guo2024, Lemma 6.6].

    >>> lipschitz_constant(0.5, 0.25)
    128.0
    """
    _check(epsilon_1, epsilon_2)
    return 8 / (epsilon_1**2 * epsilon_2)


def _check(epsilon_1: float, epsilon_2: float) -> None:
    checks.number("epsilon_1", epsilon_1, above=0, most=0.5)
    checks.number("epsilon_2", epsilon_2, above=0, most=0.5)
