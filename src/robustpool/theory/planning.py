"""What the paper's theorems require: grid, rounds and work for a regret within epsilon of the best [Guo2024].

Half of epsilon goes to the grid Theta^bci_{N,M}, half to Algorithm 1 (or 2) on it.

- *Grid, reports in [1/N] given* [Guo2024, Theorem 5.1]. The grid is within 6N/M in total variation (Lemma 5.9), which costs
  105 (6N/M)^(2/9) of regret (Proposition 5.5). At most epsilon/2 of it requires M >= 6 N (210/epsilon)^(9/2).
- *Grid, aggregators L-Lipschitz* [Guo2024, Theorem 6.1]. With M = N^(3/2) the grid is within 24/sqrt(N) in earth mover's distance
  (Proposition 6.8), which costs 134 (24/sqrt(N))^(1/7) + 2 L (24/sqrt(N)) (Proposition 6.3). N is the least square m^2 for which
  that is at most epsilon/2, so that M = m^3 is whole: (epsilon/2 - 48 L/m)^7 >= 134^7 * 24/m.
- *Structures*: n <= (N+1)^4 (M+1), an upper bound.
- *Rounds*: T = ceil(25 ln n / (epsilon/2)^2) for an epsilon/2-optimal aggregator on the grid [Guo2024, Theorem 4.2].
- *Work*: T n regrets. The best responses come on top; a Lipschitz one is a quadratic programme with (N+1)^2 variables.

The numbers are exact integers: epsilon and L are read as the decimals that they print as, and roots are taken in whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from .. import checks
from ..errors import InputError

FINEST = 2**53
"""Floating point cannot distinguish more reports than that."""

A_YEAR = 10**9 * 31_557_600
"""Regrets in a year, at a billion a second."""


@dataclass(frozen=True)
class Plan:
    """What a theorem requires; all counts are exact integers.

    >>> plan(0.01, reports=20).M
    3381956929170801843907
    """

    epsilon: float
    lipschitz: float | None
    theorem: str
    N: int
    M: int
    T: int
    structures: int

    @property
    def work(self) -> int:
        """Regrets to evaluate: one for each structure in each round."""
        return self.T * self.structures

    @property
    def sentence(self) -> str:
        """What the theorem requires, in numbers that a person can read."""
        years = self.work // A_YEAR
        pace = f"{readable(years)} years" if years else f"{readable(self.work // 10**9)} seconds"
        return (
            f"For a regret within {self.epsilon:g} of the best, {self.theorem} requires reports in steps of 1/N and "
            f"priors in steps of 1/M with N = {readable(self.N)} and M = {readable(self.M)}: {readable(self.structures)} structures, "
            f"T = {readable(self.T)} rounds, {readable(self.work)} regrets. At a billion regrets a second that is {pace}"
            f"{', which is not feasible' if years >= 100 else ''}."
        )

    @property
    def practical(self) -> str:
        """What to run instead."""
        grid = f"--reports {self.N}" if self.lipschitz is None else f"--lipschitz {self.lipschitz:g} --reports 20"
        return (
            "In practice, measure the gap instead: "
            f"`robustpool design {grid} --priors 400 --tolerance {self.epsilon:g}` stops when the gap is small enough "
            "and reports it."
        )


def plan(epsilon: float, *, reports: int | None = None, lipschitz: float | None = None) -> Plan:
    """What the theorems require to come within epsilon of the best worst-case regret; two agents, square loss.

    Give ``reports``, the N of reports in [1/N], or ``lipschitz``, the L of the aggregators with any reports.

    >>> smooth = plan(0.1, lipschitz=1)
    >>> readable(smooth.N), readable(smooth.structures)
    ('5.7 x 10^50', '1.4 x 10^279')
    """
    checks.number("epsilon", epsilon, least=1e-12, most=1)
    if (reports is None) == (lipschitz is None):
        raise InputError(f"give either reports or lipschitz; reports is {reports} and lipschitz is {lipschitz}.")
    exact = _decimal(epsilon)
    if lipschitz is None:
        N = checks.whole("reports", reports, least=1)
        if N > FINEST:
            raise InputError(
                f"reports must be at most 2^53, because floating point cannot distinguish more; it is {N}."
            )
        M, theorem = priors_for_reports(N, exact), "[Guo2024, Theorem 5.1]"
    else:
        root = root_for_lipschitz(_decimal(checks.number("lipschitz", lipschitz, above=0)), exact)
        N, M, theorem = root**2, root**3, "[Guo2024, Theorem 6.1]"
    structures = (N + 1) ** 4 * (M + 1)
    return Plan(epsilon, lipschitz, theorem, N, M, rounds(structures, exact / 2), structures)


def priors_for_reports(N: int, epsilon: Fraction) -> int:
    """The least M with 105 (6N/M)^(2/9) <= epsilon/2, that is M^2 >= 36 N^2 (210/epsilon)^9.

    >>> priors_for_reports(1, Fraction(1))
    169097846459
    """
    return math.isqrt(math.ceil(36 * N**2 * (210 / epsilon) ** 9) - 1) + 1


def root_for_lipschitz(L: Fraction, epsilon: Fraction) -> int:
    """The least m with 134 (24/m)^(1/7) + 2 L (24/m) <= epsilon/2.

    >>> root_for_lipschitz(Fraction(1), Fraction(1))
    2383168774598689440
    """

    def enough(m: int) -> bool:
        left = epsilon / 2 - 48 * L / m
        return left > 0 and left**7 >= Fraction(134**7 * 24, m)

    too_few, plenty = 0, 1
    while not enough(plenty):
        too_few, plenty = plenty, 2 * plenty
    while plenty - too_few > 1:
        middle = (too_few + plenty) // 2
        too_few, plenty = (too_few, middle) if enough(middle) else (middle, plenty)
    return plenty


def rounds(structures: int, epsilon: Fraction) -> int:
    """T = ceil(25 ln n / epsilon^2), the rounds of Algorithm 1 for an epsilon-optimal aggregator [Guo2024, Theorem 4.2].

    >>> rounds(1000, Fraction(1, 100))
    1726939
    """
    with localcontext(prec=60):
        return math.ceil(25 * Fraction(Decimal(structures).ln()) / epsilon**2)


def readable(number: int) -> str:
    """A count for people: in full below a million, by its size from there on.

    >>> readable(12345), readable(10**29)
    ('12,345', '1.0 x 10^29')
    """
    if number < 10**6:
        return f"{number:,}"
    leading, exponent = f"{Decimal(number):.1e}".split("e")
    return f"{leading} x 10^{int(exponent)}"


def _decimal(number: float) -> Fraction:
    """The decimal that a float prints as: 1/10 for 0.1."""
    return Fraction(repr(float(number)))
