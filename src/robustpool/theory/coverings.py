"""The grid Theta^bci_{N,M} comes close to every structure: the nearest member, and how near [Guo2024, Sections 5.2, 6.2].

A member has its prior in [1/M] = {0, 1/M, ..., 1} and its reports in [1/N]. The proofs construct a near one in two steps.

1. *Round the reports outward*, low down and high up, to multiples of 1/N; keep the prior mu.
2. *Move the prior* to the nearest multiple of 1/M between the low and the high reports; keep the reports. An agent who
   learns nothing says a multiple of 1/N that need not be one of 1/M (the proof of Lemma 5.9 takes it to be one). She
   gets the reports next to the new prior, one of which she said before and says still, almost always.

The paper's bounds on the distance are generous. Sharper ones, for n agents, by two couplings:

- Raise mu by d with the reports kept. The high signal gets likelier in each state, and the state 1, which makes it
  likelier still, comes more often: so the two structures can be coupled with every report moving up or not at all. The
  mean of x_i is mu and rises by d. Hence d_EM = n d exactly; and as Pr[x_i = high] = (mu - low)/(high - low) rises by
  d/(high - low) <= N d, d_TV <= n N d. Here d <= 1/M.
- Lower low_i by e with mu kept. The high signal gets likelier in each state, so reports either move from low to high, or
  fall by e, which happens with probability Pr[low_i]. The mean is kept: the ways up and the ways down are equally long in sum,
  2 e Pr[low_i] together. Raising high_i by e afterwards costs at most 2 e Pr[high_i] in the same way, with a Pr[high_i]
  that has fallen. For e <= 1/N an agent costs at most 2/N, and d_EM <= 2 n / N.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..errors import InputError
from ..numerics import rounding
from ..structures.binary_structure import BinaryStructure

if TYPE_CHECKING:
    from ..typing import Floats


def nearest_on_grid(structure: BinaryStructure, N: int, M: int) -> BinaryStructure:
    """A member of Theta^bci_{N,M} near to any binary structure [Guo2024, Proposition 6.8]; M > N.

    The earth mover's distance is at most ``lipschitz_covering_bound(N, M)``, and ``sharper_em_bound(N, M, agents)``.
    If the reports are multiples of 1/N, only the prior moves [Guo2024, Lemma 5.9]: then the total variation is at most
    ``tv_covering_bound(N, M)``, and ``sharper_tv_bound(N, M, agents)``.

    >>> nearest_on_grid(BinaryStructure(0.27, [[0.11, 0.48], [0.27, 0.27]]), N=10, M=25)
    BinaryStructure(prior=0.28, reports=[[0.1, 0.5], [0.2, 0.3]])
    """
    check_grid(N, M)
    low, high = _floor(structure.reports[:, 0], N), _ceil(structure.reports[:, 1], N)
    (below,), (above,) = _floor(np.array([structure.prior]), N), _ceil(np.array([structure.prior]), N)
    # None: she learns nothing, the prior is one of her reports
    pairs = [(a, b) if a < above and below < b else None for a, b in zip(low, high, strict=True)]
    informed = [pair for pair in pairs if pair]
    lowest = max([1, *(-(-M * a // N) for a, _ in informed)])
    highest = min([M - 1, *(M * b // N for _, b in informed)])
    k = min(max(round(M * structure.prior), lowest), highest)
    beside = (N * k // M, -(-N * k // M))
    return BinaryStructure(k / M, np.array([pair or beside for pair in pairs]) / N)


def tv_covering_bound(N: int, M: int) -> float:
    """6N/M: the total variation from structures with reports in [1/N] to the grid, two agents [Guo2024, Lemma 5.9].

    >>> tv_covering_bound(20, 400)
    0.3
    """
    check_grid(N, M)
    return 6 * N / M


def em_covering_bound(N: int) -> float:
    """8/sqrt(N) + 4/N: the earth mover's distance from any structure to reports in [1/N] [Guo2024, Lemma 6.9].

    >>> em_covering_bound(16)
    2.25
    """
    checks.whole("N", N, least=1)
    return 8 / math.sqrt(N) + 4 / N


def lipschitz_covering_bound(N: int, M: int) -> float:
    """12N/M + 8/sqrt(N) + 4/N: the earth mover's distance from any structure to the grid [Guo2024, Proposition 6.8].

    >>> lipschitz_covering_bound(400, 8000)
    1.01
    """
    return 2 * tv_covering_bound(N, M) + em_covering_bound(N)


def sharper_tv_bound(N: int, M: int, agents: int = 2) -> float:
    """nN/M for n agents where Lemma 5.9 has 6N/M for two; derived above.

    >>> sharper_tv_bound(20, 400)
    0.1
    """
    check_grid(N, M)
    return checks.whole("agents", agents, least=1) * N / M


def sharper_em_bound(N: int, M: int, agents: int = 2) -> float:
    """n (2/N + 1/M) for n agents where Proposition 6.8 has 12N/M + 8/sqrt(N) + 4/N for two; derived above.

    >>> sharper_em_bound(400, 8000)
    0.01025
    """
    check_grid(N, M)
    return checks.whole("agents", agents, least=1) * (2 / N + 1 / M)


def check_grid(N: int, M: int) -> None:
    """Whole numbers with M > N >= 1: a cell of the reports has a prior inside."""
    if not checks.whole("M", M, least=1) > checks.whole("N", N, least=1):
        raise InputError(f"M must be greater than N; M is {M} and N is {N}.")


def _floor(values: Floats, N: int) -> list[int]:
    """The largest k with k/N <= value, where equal up to rounding is equal."""
    nearest = np.rint(N * values)
    return [int(k) for k in nearest - (nearest / N > values + rounding(values))]


def _ceil(values: Floats, N: int) -> list[int]:
    """The smallest k with k/N >= value, where equal up to rounding is equal."""
    nearest = np.rint(N * values)
    return [int(k) for k in nearest + (nearest / N < values - rounding(values))]
