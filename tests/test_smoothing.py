"""The smoothed omniscient posterior: right where it is kept, Lipschitz everywhere, kept almost always."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import input_error
from robustpool.structures.binary_structure import BinaryStructure, omniscient_posterior
from robustpool.theory.smoothing import lipschitz_constant, smoothed_posterior, trim
from test_binary_structure import priors, structures

law = settings(max_examples=150, deadline=None)

epsilons = st.floats(0.02, 0.5)


def inside(mu: float, x: np.ndarray, epsilon_1: float, epsilon_2: float) -> np.ndarray:
    """The area A_mu as mended: neither contradictory nor with *either* report far from the prior."""
    contradictory = np.abs(x[:, 0] - x[:, 1]) > 1 - epsilon_1
    far = x > mu / epsilon_2 if mu <= 1 / 2 else x < 1 - (1 - mu) / epsilon_2
    return np.asarray(~contradictory & ~far.any(axis=1))


def printed(mu: float, x: np.ndarray, epsilon_1: float, epsilon_2: float) -> np.ndarray:
    """The area as printed: *both* reports far, and > on either side of mu = 1/2."""
    contradictory = np.abs(x[:, 0] - x[:, 1]) > 1 - epsilon_1
    far = x > (mu / epsilon_2 if mu <= 1 / 2 else 1 - (1 - mu) / epsilon_2)
    return np.asarray(~contradictory & ~far.all(axis=1))


def points(seed: int, mu: float, epsilon_1: float, epsilon_2: float, count: int = 400) -> np.ndarray:
    """Reports everywhere, and crowded where the function bends: the prior, its cap, the corners, the band's edges."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** -rng.uniform(0, 10, size=(count, 2))
    centre = rng.choice([0, mu, mu / epsilon_2, 1 - (1 - mu) / epsilon_2, epsilon_1, 1 - epsilon_1, 1], size=(count, 2))
    x = centre + scale * rng.uniform(-1, 1, size=(count, 2))
    x[::4, 1] = x[::4, 0] + 1 - epsilon_1
    x[1::4] = rng.uniform(size=x[1::4].shape)
    return np.clip(x, 0, 1)


@law
@given(priors, epsilons, epsilons, st.integers(0, 10**6))
def test_it_is_lipschitz_everywhere(mu: float, epsilon_1: float, epsilon_2: float, seed: int) -> None:
    """[Guo2024, Lemma 6.6]: along each axis, in steps from 1e-9 to 1; the 1-norm needs no other direction."""
    rng = np.random.default_rng(seed)
    x = points(seed, mu, epsilon_1, epsilon_2)
    y = x.copy()
    axis = rng.integers(2, size=len(x))
    rows = np.arange(len(x))
    y[rows, axis] = np.clip(y[rows, axis] + rng.choice([-1, 1], len(x)) * 10.0 ** -rng.uniform(0, 9, len(x)), 0, 1)
    moved = np.abs(x - y).sum(axis=1)
    changed = np.abs(smoothed_posterior(mu, x, epsilon_1, epsilon_2) - smoothed_posterior(mu, y, epsilon_1, epsilon_2))
    assert np.all(changed <= lipschitz_constant(epsilon_1, epsilon_2) * moved + 1e-12)


@law
@given(priors, epsilons, epsilons, st.integers(0, 10**6))
def test_it_is_the_posterior_where_that_is_kept(mu: float, epsilon_1: float, epsilon_2: float, seed: int) -> None:
    x = points(seed, mu, epsilon_1, epsilon_2)
    kept = inside(mu, x, epsilon_1, epsilon_2)
    moved = trim(mu, x, epsilon_1, epsilon_2)
    assert np.abs(moved[kept] - x[kept]).max(initial=0) <= 1e-15  # on the edge, by rounding
    smoothed = smoothed_posterior(mu, x, epsilon_1, epsilon_2)
    assert smoothed[kept] == pytest.approx(omniscient_posterior(mu, x[kept]), abs=1e-9)


@law
@given(priors, epsilons, epsilons, st.integers(0, 10**6))
def test_trimmed_reports_lie_in_the_area_and_stay(mu: float, epsilon_1: float, epsilon_2: float, seed: int) -> None:
    moved = trim(mu, points(seed, mu, epsilon_1, epsilon_2), epsilon_1, epsilon_2)
    assert np.all((moved >= 0) & (moved <= 1))
    assert np.all(np.abs(moved[:, 0] - moved[:, 1]) <= 1 - epsilon_1 + 1e-15)
    assert np.array_equal(trim(mu, moved, epsilon_1, epsilon_2), moved)


@law
@given(priors, epsilons, epsilons, st.integers(0, 10**6))
def test_it_is_the_extension_of_the_proof(mu: float, epsilon_1: float, epsilon_2: float, seed: int) -> None:
    """[Guo2024, proof of Lemma 6.6] by its four areas, for mu <= 1/2."""
    mu = min(mu, 1 - mu)
    x = points(seed, mu, epsilon_1, epsilon_2)
    cap = min(1, mu / epsilon_2)

    def end(other: float) -> float:
        return cap if other >= cap - (1 - epsilon_1) else 1 - epsilon_1 + other

    for row, (a, b) in zip(trim(mu, x, epsilon_1, epsilon_2), x.tolist(), strict=True):
        if b <= cap and (a > cap or a - b > 1 - epsilon_1):
            wanted = (end(b), b)
        elif a <= cap and (b > cap or b - a > 1 - epsilon_1):
            wanted = (a, end(a))
        else:
            wanted = (cap, cap) if a > cap and b > cap else (a, b)
        assert row == pytest.approx(wanted, abs=1e-15)


@law
@given(st.floats(0.01, 0.499), epsilons, epsilons, st.integers(0, 10**6))
def test_the_mirror_flips_it(mu: float, epsilon_1: float, epsilon_2: float, seed: int) -> None:
    x = points(seed, mu, epsilon_1, epsilon_2)
    mirror = 1 - smoothed_posterior(1 - mu, 1 - x, epsilon_1, epsilon_2)
    assert mirror == pytest.approx(smoothed_posterior(mu, x, epsilon_1, epsilon_2), abs=1e-9)


@law
@given(structures(least=2, most=2), epsilons, epsilons)
def test_almost_all_reports_are_kept(structure: BinaryStructure, epsilon_1: float, epsilon_2: float) -> None:
    """[Guo2024, Lemma 6.5]: Pr[A_mu] >= 1 - 4 eps_1 - 2 eps_2."""
    kept = inside(structure.prior, structure.profiles(), epsilon_1, epsilon_2)
    assert structure.probabilities()[kept].sum() >= 1 - 4 * epsilon_1 - 2 * epsilon_2 - 1e-12


def steepest(mu: float, x: np.ndarray) -> float:
    """The largest slope of the omniscient posterior at x, by its formula."""
    a, b = x.T
    slopes = mu * (1 - mu) * np.maximum(a * (1 - a), b * (1 - b)) / (mu * (1 - a) * (1 - b) + (1 - mu) * a * b) ** 2
    return float(slopes.max())


@pytest.mark.parametrize("mu", [0.001, 0.999])
def test_the_trimming_as_printed_is_too_little(mu: float) -> None:
    """It keeps (1/2, 0) at mu = 0.001 and all low reports at mu = 0.999, where the posterior is steeper than claimed."""
    x = np.stack(np.meshgrid(*[np.linspace(0, 1, 401)] * 2), axis=-1).reshape(-1, 2)
    claimed = lipschitz_constant(0.5, 0.5) / 2  # [Guo2024, Lemma 6.5]: 4/(eps_1^2 eps_2) inside
    assert steepest(mu, x[inside(mu, x, 0.5, 0.5)]) <= claimed
    assert steepest(mu, x[printed(mu, x, 0.5, 0.5)]) > 10 * claimed


@pytest.mark.parametrize(
    ("mu", "x", "epsilon_1", "epsilon_2", "sentence"),
    [
        (0, [[0.1, 0.2]], 0.1, 0.1, r"^prior must lie strictly between 0 and 1; it is 0\.0\.$"),
        (0.5, [0.1, 0.2], 0.1, 0.1, r"^reports must have the shape \(profiles, 2\); the shape is \(2,\)\.$"),
        (0.5, [[0.1, 0.2, 0.3]], 0.1, 0.1, r"^reports must have the shape \(profiles, 2\); the shape is \(1, 3\)\.$"),
        (0.5, [[0.1, 1.2]], 0.1, 0.1, r"^reports must lie in \[0, 1\]; reports\[0\]\[1\] is 1\.2"),
        (0.5, [[0.1, 0.2]], 0, 0.1, r"^epsilon_1 must be a finite number, greater than 0 and at most 0\.5; it is 0\.$"),
        (
            0.5,
            [[0.1, 0.2]],
            0.1,
            0.6,
            r"^epsilon_2 must be a finite number, greater than 0 and at most 0\.5; it is 0\.6\.$",
        ),
        (0.5, [[0.1, 0.2]], float("nan"), 0.1, r"^epsilon_1 must be a finite number, .*; it is nan\.$"),
    ],
)
def test_what_is_refused(mu: float, x: list[list[float]], epsilon_1: float, epsilon_2: float, sentence: str) -> None:
    with input_error(sentence):
        smoothed_posterior(mu, x, epsilon_1, epsilon_2)


def test_the_constant_refuses_too() -> None:
    with input_error(r"^epsilon_2 must be a finite number, greater than 0 and at most 0\.5; it is 1\.$"):
        lipschitz_constant(0.5, 1)
