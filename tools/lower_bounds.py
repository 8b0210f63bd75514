"""Write the mixtures behind the lower bounds for six and more agents: src/robustpool/certificates/lower_bounds.json.

Every agent reports 0, a, 1 - a or 1. A profile with a 0 or a 1 is certain, so the aggregator loses only where j agents
report 1 - a and n - j report a. Mirror images count as one, so that it chooses f_j for j <= n/2, and f = 1/2 at 2j = n.
A structure has a prior mu and agents of three types: for mu <= a "0 or a" and "0 or 1 - a", for a <= mu <= 1/2 "0 or 1 - a",
"a or 1 - a" and "a or 1". It costs sum_j P_j (f_j - g_j)^2 with logit g_j = (2j - n) logit(1 - a) - (n - 1) logit mu.

For each a this is a game with few unknowns. It is solved here in floats by adding the worst structures to a list until
no structure is worse; a is found by a line search. What is written are fractions, and what they prove is computed anew
by `robustpool.certificates.mixtures`. docs/derivations/exact-bounds derives it.

    python tools/lower_bounds.py            # all numbers of agents, some minutes
    python tools/lower_bounds.py 6 7        # only these; the others stay
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from scipy.special import gammaln

from robustpool.certificates.mixtures import LOWER_BOUNDS, value_bound

AGENTS = (*range(6, 13), 20)
PARTS = 10_000  # of the weights
DENOMINATOR = 1000  # of a and of the priors
Floats = Any


class Structures(NamedTuple):
    """Structures as rows: prior, counts of the types, and P_j and P_j g_j, folded to j <= n/2."""

    prior: Floats
    types: Floats  # how many report 0 or a, 0 or 1 - a, a or 1 - a, a or 1
    chance: Floats
    ones: Floats
    squares: Floats  # sum_j P_j g_j^2

    def take(self, rows: Floats) -> Structures:
        """Some of them."""
        return Structures(*(part[rows] for part in self))

    def costs(self, f: Floats) -> Floats:
        """sum_j P_j (f_j - g_j)^2."""
        return self.chance @ f**2 - 2 * self.ones @ f + self.squares


def structures(n: int, a: float, prior: Floats, types: Floats) -> Structures:
    """The rows of given priors and types."""
    b, mu = 1 - a, prior[:, None]
    pairs = np.array([(0, a), (0, b), (a, b), (a, 1)])
    low, high = pairs.T
    share = np.clip((mu - low) / (high - low), 0, 1)  # chance of the high report
    with np.errstate(divide="ignore", invalid="ignore"):
        # the chances, given the state, that an agent of each type reports a, and that she reports 1 - a
        says_a = [
            np.where(low == a, (1 - share) * x, np.where(high == a, share * x, 0.0)) for x in (b / (1 - mu), a / mu)
        ]
        says_b = [np.where(high == b, share * x, 0.0) for x in (a / (1 - mu), b / mu)]
        mass = np.zeros((2, len(prior), n + 1))
        for state in (0, 1):
            pa, pb = says_a[state], says_b[state]
            fixed = _power(pa[:, 0], types[:, 0]) * _power(pb[:, 1], types[:, 1]) * _power(pa[:, 3], types[:, 3])
            m = types[:, 2:3]
            k = np.arange(n + 1)[None] - types[:, 1:2]  # of those who say a or 1 - a, so many say 1 - a
            inside = (k >= 0) & (k <= m)
            k = np.where(inside, k, 0)
            binomial = np.exp(gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1))
            both = binomial * _power(pb[:, 2:3], k) * _power(pa[:, 2:3], m - k)
            mass[state] = np.where(inside, fixed[:, None] * both, 0.0) * (prior if state else 1 - prior)[:, None]
    chance = mass.sum(axis=0)
    g = np.divide(mass[1], chance, out=np.zeros_like(chance), where=chance > 0)
    half = n // 2 + 1
    folded = np.zeros((2, len(prior), half))
    folded[0] = chance[:, :half]
    folded[1] = (chance * g)[:, :half]
    for j in range(half, n + 1):
        folded[0][:, n - j] += chance[:, j]
        folded[1][:, n - j] += chance[:, j] * (1 - g[:, j])
    squares = (chance * g**2)[:, :half].sum(axis=1) + (chance * (1 - g) ** 2)[:, half:].sum(axis=1)
    return Structures(prior, types, folded[0], folded[1], squares)


def _power(x: Floats, k: Floats) -> Floats:
    """x^k with 0^0 = 1."""
    return np.where(k == 0, 1.0, np.power(x, np.maximum(k, 1)))


def compositions(n: int) -> tuple[Floats, Floats]:
    """The counts of the types for priors up to a, and for those from a to 1/2."""
    low = [(n - k, k, 0, 0) for k in range(n + 1)]
    step = max(1, n // 25)
    counts = sorted({*range(0, n + 1, step), *range(min(n, 12) + 1), n})
    high = [(0, k, n - k - m, m) for k in counts for m in counts if k + m <= n]
    return np.array(low), np.array(high)


def every(n: int, a: Fraction) -> Structures:
    """All structures with priors that are multiples of 1/1000, and with the prior a."""
    low, high = compositions(n)
    steps = np.arange(1, DENOMINATOR // 2 + 1) / DENOMINATOR
    end = float(a)
    below, above = steps[steps < end - 1e-12], np.append(end, steps[steps > end + 1e-12][:: max(1, n // 10)])
    parts = []
    alone = high[high[:, 3] == 0]  # at the prior a, who reports a or 1 knows nothing, as who reports a or 1 - a
    for types, priors in ((low, below), (alone, above[:1]), (high, above[1:])):
        prior = np.repeat(priors, len(types))
        parts.append(structures(n, end, prior, np.tile(types, (len(priors), 1))))
    return Structures(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def equilibrium(n: int, rows: Structures) -> tuple[Floats, Floats]:
    """The f whose largest cost over some structures is least, and the weights of the structures under which it is best."""
    f, most = cp.Variable(n // 2 + 1), cp.Variable()
    limits = [f[-1] == 0.5] * (n % 2 == 0)
    worst = []
    for chance, ones, squares in zip(rows.chance, rows.ones, rows.squares, strict=True):
        j = np.flatnonzero(chance > 1e-14)
        root = np.sqrt(chance[j])
        rest = squares - np.sum(ones[j] ** 2 / chance[j])
        worst.append(cp.sum_squares(cp.multiply(root, f[j]) - ones[j] / root) + rest <= most)
    cp.Problem(cp.Minimize(most), [f >= 0, f <= 1, *limits, *worst]).solve(solver="CLARABEL")
    weights = np.clip([np.sum(row.dual_value) for row in worst], 0, None)
    return np.asarray(f.value), weights / weights.sum()


class Game(NamedTuple):
    """The value for one a, with the structures and their weights."""

    value: float
    a: Fraction
    rows: Structures
    weights: Floats


def solve(n: int, a: Fraction, tolerance: float = 1e-7) -> Game:
    """Add the worst structures to a list until no structure is worse."""
    grid = every(n, a)
    chosen = [int(np.argmax(grid.squares))]
    while True:
        rows = grid.take(chosen)
        f, weights = equilibrium(n, rows)
        value, costs = float(rows.costs(f).max()), grid.costs(f)
        worse = [k for k in peaks(costs, grid.types)[:8] if costs[k] > value + tolerance and k not in chosen]
        if not worse or len(chosen) > 200:
            return Game(float(weights @ rows.costs(f)), a, rows, weights)
        chosen += worse


def peaks(costs: Floats, types: Floats) -> list[int]:
    """The worst structure of each composition, the worst first."""
    chosen, seen = [], set()
    for k in np.argsort(-costs)[:3000]:
        if (key := tuple(types[k])) not in seen:
            seen.add(key)
            chosen.append(int(k))
    return chosen


def best_game(n: int) -> Game:
    """The best a among multiples of 1/50, then around it of 1/200 and of 1/1000."""
    best = max((solve(n, Fraction(k, 50), 1e-4) for k in range(10, 23)), key=lambda game: game.value)
    for step, tolerance in ((Fraction(1, 200), 1e-5), (Fraction(1, 1000), 1e-6)):
        near = [best.a + k * step for k in range(-3, 4)]
        best = max((solve(n, a, tolerance) for a in near), key=lambda game: game.value)
    return solve(n, best.a)


def written(n: int, game: Game) -> list[dict[str, Any]]:
    """The mixture with its mirror image as a certificate holds it; small weights are left out, and the others found again."""
    rows = game.rows.take(np.flatnonzero(game.weights > 1e-3))
    _, weights = equilibrium(n, rows)
    a, b, zero, one = game.a, 1 - game.a, Fraction(0), Fraction(1)
    pairs = ((zero, a), (zero, b), (a, b), (a, one))
    parts: dict[Any, Fraction] = {}
    for weight, prior, counts in zip(np.round(weights * PARTS), rows.prior, rows.types.tolist(), strict=True):
        mu = Fraction(round(float(prior) * DENOMINATOR), DENOMINATOR)
        agents = [
            ((mu, mu) if mu == a == low else (low, high), k) for (low, high), k in zip(pairs, counts, strict=True) if k
        ]
        mirror = [((1 - high, 1 - low), k) for (low, high), k in agents]
        for key in ((mu, tuple(sorted(agents))), (1 - mu, tuple(sorted(mirror)))):
            parts[key] = parts.get(key, zero) + Fraction(int(weight))
    total = sum(parts.values())
    return [
        {
            "weight": str(weight / total),
            "prior": str(mu),
            "reports": [[str(low), str(high)] for (low, high), _ in agents],
            "agents": [k for _, k in agents],
        }
        for (mu, agents), weight in sorted(parts.items())
        if weight
    ]


def main() -> None:
    """Write the file."""
    chosen = [int(n) for n in sys.argv[1:]] or AGENTS
    table = json.loads(LOWER_BOUNDS.read_text()) if LOWER_BOUNDS.exists() else {}
    for n in chosen:
        game = best_game(n)
        table[str(n)] = written(n, game)
        bound = float(value_bound(table[str(n)], n))
        sys.stderr.write(f"{n} agents: {game.value:.9f} in floats, {bound:.9f} in fractions, a = {game.a}\n")
        rows = [f'"{k}": [\n' + ",\n".join(map(json.dumps, table[k])) + "\n]" for k in sorted(table, key=int)]
        LOWER_BOUNDS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
