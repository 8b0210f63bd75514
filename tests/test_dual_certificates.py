"""Certificates for two agents by the dual inequality: narrow brackets, no bound too low, stopping, what cannot be done."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from exact_series import density, table_formula
from quick import one_of, slowly
from refusals import input_error, unsupported_error
from robustpool.aggregators.grid import GridAggregator
from robustpool.certificates import cover, dual
from robustpool.certificates.certifiable import describe, problem_of
from robustpool.certificates.certify import certification
from robustpool.certificates.dual import Proved, Split, highest, no_worse, prove_interval, prove_split
from robustpool.verification.dual import Slopes, needed, proved, whole
from robustpool.verification.forecasts import Grid, read_aggregator
from robustpool.verification.reading import Budget

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from robustpool.certificates.progress import Progress

    Floats = NDArray[np.float64]


# ------------------------------------------------------------------------------------------------------------ brackets


def verified(certificate: rp.Certificate) -> bool:
    verdict = rp.verify(certificate)
    assert (verdict.upper, verdict.lower) == (certificate.upper, certificate.lower)
    return verdict.verified


def test_the_mean() -> None:
    certificate: Any = rp.certify("mean")
    assert certificate.lower <= 0.0625 <= certificate.upper <= certificate.lower + 5.1e-7
    assert certificate.value is not None
    assert certificate.value == pytest.approx(0.0225424859, abs=1e-10)
    assert verified(certificate)


def test_a_bound_never_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the halves of an interval prove less than it did, they keep its slopes."""

    def worse(problem: Any, priors: Any, goal: float, slack: float, knots: Any = None) -> Proved:
        proved = prove_interval(problem, priors, goal, slack, knots)
        return proved if knots is None else replace(proved, bound=1.5 * proved.bound)

    monkeypatch.setattr(cover, "prove_interval", worse)
    monkeypatch.setattr(cover, "edges", lambda low, high: [low, 0.2, high])  # too wide
    family = rp.ConditionallyIndependent(2, None, None, (0.1, 0.45))
    steps = list(islice(certification("average-prior", family, tolerance=1e-4), 40))
    bounds = [step.upper for step in steps]
    assert np.isfinite(bounds[-1])
    assert bounds == sorted(bounds, reverse=True)
    assert len(set(bounds)) > 1 or bounds[0] == bounds[-1]
    assert steps[-1].certificate is not None
    assert verified(steps[-1].certificate())


@pytest.mark.parametrize("split", [False, True])
def test_slopes_of_an_interval_hold_on_its_parts(split: bool) -> None:
    """With the same bound or a better one, proved again; better slopes of the part are kept."""
    aggregator = rp.as_aggregator("average-prior")
    problem = problem_of(aggregator, describe(aggregator, 2))
    goal, priors, part = (0.02 if split else 0.03), (0.2, 0.24), (0.2, 0.22)
    parent = (
        prove_split(problem, priors, goal, 1e-3, problem.knots, depth=2)
        if split
        else prove_interval(problem, priors, goal, 1e-3)
    )
    assert isinstance(parent.slopes, Split) == split
    own = replace(prove_interval(problem, part, goal, 1e-3), bound=1.0)
    kept = no_worse(problem, own, parent)
    assert kept.priors == part
    assert 0.5 * parent.bound < kept.bound <= parent.bound
    for first, second in zip(dual._leaves(parent.slopes), dual._leaves(kept.slopes), strict=True):
        np.testing.assert_array_equal(second.values[:, 0], first.values[:, 0])
        np.testing.assert_allclose(second.values[:, 1], first.values.mean(axis=1), rtol=0, atol=1e-15)
        assert (second.priors, second.ranges) == (part, first.ranges)
    better = replace(own, bound=0.9 * parent.bound)
    assert no_worse(problem, better, parent) is better


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "about"), [("average-prior", 0.0259923), ("arieli-tuned", 0.0249898)])
def test_closed_forms(rule: str, about: float) -> None:
    certificate: Any = rp.certify(rule)
    assert certificate.upper - certificate.lower <= 1e-6
    assert certificate.lower == pytest.approx(about, abs=1e-6)
    assert verified(certificate)


def saved(path: Path, family: rp.ConditionallyIndependent, **options: Any) -> Path:
    """A design file."""
    rp.save_design(rp.solve(family, **options), path)
    return path


def test_a_small_design(tmp_path: Path) -> None:
    family = rp.ConditionallyIndependent(2, 4, None)
    design = saved(tmp_path / "design.json", family, nature="continuous", tolerance=1e-3)
    certificate: Any = rp.certify(design, tolerance=1e-3)
    assert certificate.upper - certificate.lower <= 1.01e-3
    assert certificate.data["aggregator"]["kind"] == "grid"
    assert verified(certificate)


@pytest.mark.slow
def test_a_design_as_large_as_the_papers(tmp_path: Path) -> None:
    family = rp.ConditionallyIndependent(2, 20, None)
    design = saved(tmp_path / "design.json", family, nature="continuous", tolerance=1e-6)
    began = time.perf_counter()
    certificate: Any = rp.certify(design, tolerance=5e-7)
    assert time.perf_counter() - began < 360  # three minutes on two cores, with some patience for busy machines
    assert certificate.upper - certificate.lower <= 1e-6
    assert 0.0226 < certificate.upper < 0.02263
    assert verified(certificate)


def smooth_table(n: int, rng: np.random.Generator, roughness: float = 0.02) -> Floats:
    """The mean, shaken a little; agents cannot be exchanged, and the mirror shows something else."""
    x = np.linspace(0, 1, n + 1)
    return np.clip((x[:, None] + x) / 2 + rng.normal(scale=roughness, size=(n + 1, n + 1)), 0, 1)


def test_a_table_without_any_symmetry() -> None:
    table = smooth_table(3, np.random.default_rng(1))
    about = read_aggregator({"kind": "grid", "values": table.tolist()})
    assert (about.exchangeable, about.mirrored) == (False, False)
    certificate: Any = rp.certify(GridAggregator(table), tolerance=1e-3)
    witness = certificate.data["upper"]["witness"]
    assert set(witness["tails"]) == {"low", "high"}
    assert np.shape(witness["intervals"][0]["slopes"])[0] == 2  # one for each agent
    assert certificate.upper - certificate.lower <= 1.01e-3
    assert verified(certificate)


@pytest.mark.parametrize(
    "prior_range", [(0.1, 0.4), slowly(((0.3, 0.7),)), (0.25, 0.75), slowly(((0.99, 1.0),)), (0.0, 0.05)]
)
def test_a_range_of_priors(prior_range: tuple[float, float]) -> None:
    family = rp.ConditionallyIndependent(2, None, None, prior_range)
    certificate: Any = rp.certify("mean", family, tolerance=1e-4)
    assert certificate.upper - certificate.lower <= 1.01e-4
    assert certificate.upper <= 0.0626
    assert set(certificate.data["upper"]["witness"]["tails"]) == {
        end for end, prior in zip(("low", "high"), prior_range, strict=True) if prior in (0, 1)
    }
    assert verified(certificate)


# --------------------------------------------------------------------------------------------- no bound is ever too low


def random_regrets(aggregator: Any, prior_range: tuple[float, float], rng: np.random.Generator, count: int) -> Floats:
    """The regret on random structures with two to four signals an agent, from the definition."""
    signals = int(rng.integers(2, 5))
    mu = rng.uniform(max(prior_range[0], 1e-4), min(prior_range[1], 1 - 1e-4), size=count)
    states = np.stack((1 - mu, mu), axis=1)
    given = rng.dirichlet(np.full(signals, rng.choice([0.2, 1.0])), size=(count, 2, 2))  # structure, agent, state
    if rng.random() < 0.5:
        given[:, 0, 0, 0] = 0.0  # one signal can come in one state only
        given /= given.sum(axis=-1, keepdims=True)
    own = np.einsum("ka,kiax->kiax", states, given)
    reports = own[:, :, 1] / np.maximum(own.sum(axis=2), 1e-300)  # structure, agent, signal
    joint = np.einsum("ka,kax,kay->kaxy", states, given[:, 0], given[:, 1])
    mass = joint.sum(axis=1)
    posterior = joint[:, 1] / np.maximum(mass, 1e-300)
    pairs = np.stack(np.broadcast_arrays(reports[:, 0, :, None], reports[:, 1, None, :]), axis=-1)
    forecasts = np.asarray(aggregator(np.clip(pairs.reshape(-1, 2), 0, 1))).reshape(mass.shape)
    return np.asarray((mass * (forecasts - posterior) ** 2).sum(axis=(1, 2)))


def stop_at_once(progress: Progress) -> None:
    """Be content with the first bound that is proved."""
    if progress.certificate is not None:
        raise KeyboardInterrupt


def random_case(rng: np.random.Generator) -> tuple[Any, tuple[float, float]]:
    """A table, rough or smooth, or a rule with random parameters; and a range of priors, often a narrow one."""
    low = float(rng.uniform(0.02, 0.9))
    prior_range = (low, min(low + float(rng.uniform(0.01, 0.3)), 0.99))
    n, kind = int(rng.integers(1, 5)), rng.random()
    if kind < 0.35:
        return GridAggregator(rng.random((n + 1, n + 1))), prior_range
    if kind < 0.5:
        table = rng.integers(0, 2, size=(n + 1, n + 1)).astype(float)  # as rough as can be
        return GridAggregator(table), prior_range
    if kind < 0.7:
        table = smooth_table(n, rng, 0.1)
        return GridAggregator((table + table.T) / 2), prior_range
    name = rng.choice(["log-odds:alpha={:.3f}", "extremized-odds:d={:.3f}", "minimax:b={:.3f}", "bordley:prior={:.3f}"])
    return rp.get_rule(str(name).format(rng.uniform(0.3, 0.9))), prior_range


def check_random_case(rng: np.random.Generator, *, all_priors: bool = False) -> None:
    aggregator, prior_range = random_case(rng)
    prior_range = (0.0, 1.0) if all_priors else prior_range
    family = rp.ConditionallyIndependent(2, None, None, prior_range)
    certificate: Any = rp.certify(aggregator, family, tolerance=1e-2, progress=stop_at_once)
    assert certificate.lower <= certificate.upper
    assert random_regrets(aggregator, prior_range, rng, 400).max() <= certificate.upper + 1e-12
    assert rp.worst_case(aggregator, family, rng=int(rng.integers(1, 1000))).regret <= certificate.upper + 1e-12


@pytest.mark.parametrize("seed", one_of(2, range(10)))
def test_no_structure_is_worse_than_the_bound(seed: int) -> None:
    check_random_case(np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_no_structure_is_worse_than_the_bound_of_a_thousand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        check_random_case(rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 204))
def test_no_structure_is_worse_than_the_bound_for_all_priors(seed: int) -> None:
    """The same with both tails."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        check_random_case(rng, all_priors=True)


def test_slopes_that_prove_nothing_are_seen_to() -> None:
    """The bound that flat slopes need is the largest density, which is far too much; and less is not proved."""
    piece = Grid(np.array([[0.0, 0.5], [0.5, 1.0]]))
    slopes = Slopes((0.4, 0.5), np.array([0.0, 1.0]), np.zeros((2, 2, 2)))
    enough = highest(partial(needed, piece, slopes), whole(slopes, symmetric=True), 0.0, 1e-6)
    exact = max(
        density(table_formula(piece.values, (0, 0)), Fraction(i, 60), Fraction(j, 60), Fraction(mu, 100))
        for i in range(1, 60)
        for j in range(1, 60)
        for mu in (40, 45, 50)
    )
    assert exact <= Fraction(enough) <= exact + Fraction(1, 50)
    assert proved(piece, slopes, enough + 1e-6, Budget(), symmetric=True)
    assert not proved(piece, slopes, float(exact) - 1e-3, Budget(), symmetric=True)


# ------------------------------------------------------------------------------------------------------------- stopping


def test_ctrl_c_keeps_the_bound_that_was_reached() -> None:
    seen: list[Progress] = []

    def progress(state: Progress) -> None:
        seen.append(state)
        stop_at_once(state)

    table = GridAggregator(np.array([[0.0, 0.9], [0.2, 1.0]]))
    family = rp.ConditionallyIndependent(2, None, None, (0.3, 0.5))
    certificate: Any = rp.certify(table, family, tolerance=1e-9, progress=progress)
    assert [state.certificate is None for state in seen] == [True] * (len(seen) - 1) + [False]
    assert all(state.upper == np.inf for state in seen[:-1])
    assert certificate.upper == seen[-1].upper < np.inf
    assert seen[-1].left > 0
    assert certificate.upper - certificate.lower > 1e-9
    assert verified(certificate)


def test_ctrl_c_before_there_is_a_bound() -> None:
    def progress(state: Progress) -> None:
        assert state.certificate is None
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rp.certify("mean", progress=progress)


# ------------------------------------------------------------------------------------------------------------- refusals


def average(x: Floats) -> Floats:
    return np.asarray(x).mean(axis=1)


@pytest.mark.parametrize(
    ("aggregator", "family", "sentence"),
    [
        (lambda: average, None, "no known formula; a function that is known only by its values, .* can be certified"),
        (
            lambda: "beta-pool",
            rp.ConditionallyIndependent(3, None, None),
            "the rule beta-pool cannot be certified for 3 agents; `robustpool worst-case beta-pool --agents 3` searches",
        ),
        (
            lambda: "minimax-log",
            rp.ConditionallyIndependent(3, None, None),
            (
                "the rule minimax-log cannot be certified for 3 agents; `robustpool certify minimax-log:summed=1 --loss log --agents 3` "
                "certifies another rule for this loss"
            ),
        ),
        (
            lambda: GridAggregator(np.zeros((2, 2, 2))),
            None,
            "only tables for two agents can be certified; this one is for 3, and the family has 3",
        ),
        (
            lambda: GridAggregator(np.zeros((2, 2))),
            rp.ConditionallyIndependent(3, None, None),
            "this one is for 2, and the family has 3",
        ),
        (
            lambda: "mean",
            rp.ConditionallyIndependent(2, None, None, (0.3, 0.3)),
            "a certificate needs a range of priors, not the single prior",
        ),
    ],
)
def test_what_cannot_be_certified(aggregator: Any, family: Any, sentence: str) -> None:
    with unsupported_error(sentence):
        rp.certify(aggregator(), family)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "log"}, "was made for the loss 'log'; .* certified for 'square' only"),
        ({"paradigm": "absolute"}, "was made for the paradigm 'absolute'"),
    ],
)
def test_designs_for_another_game(tmp_path: Path, options: dict[str, str], sentence: str) -> None:
    design = saved(tmp_path / "design.json", rp.ConditionallyIndependent(2, 2, 4), **options)
    with unsupported_error(sentence):
        rp.certify(design)


@pytest.mark.parametrize("tolerance", [0.0, -1e-6, 1.0, float("nan"), float("inf")])
def test_a_tolerance_out_of_range(tolerance: float) -> None:
    with input_error("tolerance must"):
        rp.certify("mean", tolerance=tolerance)


def test_files_that_are_not_there() -> None:
    with input_error(r"nowhere\.json"):
        rp.certify("mean", "nowhere.json")
    with input_error("nosuchrule"):
        rp.certify("nosuchrule")
    with input_error(r"the certificate 'nowhere\.json' does not exist"):
        rp.verify("nowhere.json")
