"""The game once more, by other means: exact fractions for the reports, plain loops, one cvxpy programme for the value.

Shares no code with the package, so that agreement means something.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import cvxpy as cp
import numpy as np

Joint = dict[tuple[int, tuple[int, ...]], Fraction]
Profile = tuple[tuple[Fraction, ...], ...]


def exact_joint(joint: Any, denominator: int = 10**6) -> Joint:
    """The fractions that a float array stands for."""
    array = np.asarray(joint)
    cells = product(*(range(n) for n in array.shape))
    return {(i[0], i[1:]): Fraction(float(array[i])).limit_denominator(denominator) for i in cells}


def posterior(joint: Joint, agent: int, signal: int) -> tuple[Fraction, ...]:
    states = 1 + max(state for state, _ in joint)
    seen = {state: Fraction(0) for state in range(states)}
    for (state, signals), p in joint.items():
        seen[state] += p * (signals[agent] == signal)
    return tuple(mass / sum(seen.values()) for mass in seen.values())


def shown(distribution: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return distribution[1:] if len(distribution) == 2 else distribution


def report(joint: Joint, agent: int, signal: int, how: str) -> tuple[Fraction, ...]:
    own = posterior(joint, agent, signal)
    if how == "posterior":
        return shown(own)
    if how == "decision":
        return shown(tuple(Fraction(int(k == own.index(max(own)))) for k in range(len(own))))
    assert how == "higher-order"
    agents = len(next(iter(joint))[1])
    result = list(shown(own))
    chance = sum(p for (_, s), p in joint.items() if s[agent] == signal)
    for other in range(agents):
        if other != agent:
            expected = [Fraction(0)] * len(shown(own))
            for (_, s), p in joint.items():
                if s[agent] == signal and p > 0:
                    others = shown(posterior(joint, other, s[other]))
                    expected = [e + p / chance * x for e, x in zip(expected, others, strict=True)]
            result.extend(expected)
    return tuple(result)


def support(joint: Joint, how: str) -> list[tuple[Profile, tuple[Fraction, ...]]]:
    """(report profile, Pr[s, state] for each state) of each signal profile that can come."""
    masses: dict[tuple[int, ...], dict[int, Fraction]] = defaultdict(dict)
    for (state, signals), p in joint.items():
        masses[signals][state] = p
    return [
        (tuple(report(joint, a, s, how) for a, s in enumerate(signals)), tuple(by[k] for k in sorted(by)))
        for signals, by in masses.items()
        if sum(by.values()) > 0
    ]


def bayes_risk(masses: tuple[Fraction, ...], loss: str) -> float:
    total = sum(masses)
    if loss == "square":
        whole = float(sum(m * (1 - m / total) for m in masses))
        return whole / 2 if len(masses) == 2 else whole
    return -sum(float(m) * np.log(float(m / total)) for m in masses if m > 0)


def value(
    joints: list[Any],
    *,
    how: str = "posterior",
    loss: str = "square",
    paradigm: str = "additive",
    lipschitz: float | None = None,
    symmetric: bool = False,
    monotone: bool = False,
    box: tuple[float, float] | None = None,
) -> float:
    """The value of the game with every structure and every pair of profiles written out."""
    exact = [support(exact_joint(joint), how) for joint in joints]
    profiles = sorted({profile for points in exact for profile, _ in points})
    if symmetric:  # posterior and decision reports only: they simply change places
        profiles = sorted({tuple(order) for profile in profiles for order in permutations(profile)})
    index = {profile: i for i, profile in enumerate(profiles)}
    states = len(exact[0][0][1])
    f = cp.Variable((len(profiles), states))
    worst = cp.Variable()
    rules = [f >= 0, cp.sum(f, axis=1) == 1]
    for points in exact:
        omniscient = sum(bayes_risk(masses, loss) for _, masses in points)
        if paradigm == "ratio" and omniscient == 0:
            for profile, masses in points:
                rules.append(f[index[profile], masses.index(max(masses))] == 1)
            rules.append(worst >= 1)
            continue
        rows = f[[index[profile] for profile, _ in points]]
        total = 0
        for k in range(states):
            chances = np.array([float(by[k]) for _, by in points])
            if loss == "square":
                certain = np.tile(np.eye(states)[k], (len(points), 1))
                total += chances @ cp.sum(cp.square(rows - certain), axis=1) * (0.5 if states == 2 else 1)
            else:
                seen = np.flatnonzero(chances)
                total -= chances[seen] @ cp.log(rows[seen, k])
        cost = {"additive": total - omniscient, "absolute": total, "ratio": total / max(omniscient, 1e-300)}[paradigm]
        rules.append(cost <= worst)
    same, near, below = [], [], []  # pairs of profiles; many constraints of one kind are one of vectors
    for i, x in enumerate(profiles):
        for j, z in enumerate(profiles):
            if symmetric and i < j and sorted(x) == sorted(z):
                same.append((i, j))
            if lipschitz is not None and i != j:
                pairs = (zip(one, other, strict=True) for one, other in zip(x, z, strict=True))
                near.append((i, j, float(sum(abs(a - b) for pair in pairs for a, b in pair))))
            if monotone and i != j and all(a[0] <= b[0] and a[1:] == b[1:] for a, b in zip(x, z, strict=True)):
                below.append((i, j))
    if same:
        one, other = zip(*same, strict=True)
        rules.append(f[list(one)] == f[list(other)])
    if near:
        one, other, distances = zip(*near, strict=True)
        slack = np.repeat(lipschitz * np.array(distances)[:, None], states, axis=1)
        rules.append(f[list(other)] - f[list(one)] <= slack)
    if below:
        one, other = zip(*below, strict=True)
        rules.append(f[list(one), 1] <= f[list(other), 1])
    if box is not None:
        rules += [f[:, 1] >= box[0], f[:, 1] <= box[1]]
    return least(worst, rules)


def least(worst: cp.Variable, rules: list[Any]) -> float:
    """The least value of a variable under constraints."""
    problem = cp.Problem(cp.Minimize(worst), rules)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # it is still good to 1e-7
        problem.solve(solver=cp.CLARABEL)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value)


@cache
def independent_structures(N: int, M: int) -> list[tuple[Fraction, list[tuple[Fraction, ...]]]]:
    """Theta^bci_{N,M} for two agents by plain loops: (mu, [(x_1, x_2, Pr[x, 0], Pr[x, 1]), ...])."""
    found = []
    for m in range(M + 1):
        mu = Fraction(m, M)
        marginals: list[dict[Fraction, Fraction]] = []
        for low in range(N + 1):
            for high in range(low, N + 1):
                a, b = Fraction(low, N), Fraction(high, N)
                if a < mu < b:
                    marginals.append({a: (b - mu) / (b - a), b: (mu - a) / (b - a)})
                elif a == mu == b:
                    marginals.append({a: Fraction(1)})
        for one, other in product(marginals, marginals):
            points: list[tuple[Fraction, ...]] = []
            for (x, p), (z, q) in product(one.items(), other.items()):
                with_1 = p * q * x * z / mu if mu > 0 else Fraction(0)
                with_0 = p * q * (1 - x) * (1 - z) / (1 - mu) if mu < 1 else Fraction(0)
                points.append((x, z, with_0, with_1))
            found.append((mu, points))
    return found


def independent_value(N: int, M: int, lipschitz: float | None = None) -> float:
    """The value of the game of two conditionally independent agents, square loss, every structure written out."""
    structures = independent_structures(N, M)
    zeros, ones = np.zeros((len(structures), (N + 1) ** 2)), np.zeros((len(structures), (N + 1) ** 2))
    omniscient = np.zeros(len(structures))
    for t, (_, points) in enumerate(structures):
        for x, z, with_0, with_1 in points:
            cell = int(x * N) * (N + 1) + int(z * N)
            zeros[t, cell] += float(with_0)
            ones[t, cell] += float(with_1)
            if with_0 + with_1 > 0:
                omniscient[t] += float(with_0 * with_1 / (with_0 + with_1))
    f, worst = cp.Variable((N + 1) ** 2), cp.Variable()
    rules = [zeros @ cp.square(f) + ones @ cp.square(1 - f) - omniscient <= worst, f >= 0, f <= 1]
    if lipschitz is not None:
        table = cp.reshape(f, (N + 1, N + 1), order="C")
        rules += [cp.abs(cp.diff(table, axis=0)) <= lipschitz / N, cp.abs(cp.diff(table, axis=1)) <= lipschitz / N]
    return least(worst, rules)
