"""All work of the library can be sent to another process, with pickle alone: what cannot would silently stay on one core."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from programs import run_robustpool
from robustpool.certificates.certify import certification
from robustpool.execution import InProcess, mapped, using
from robustpool.execution.processes import Processes
from robustpool.execution.sending import NotSentWarning
from robustpool.families.worlds import make_world
from robustpool.verification.stretched import Stretched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


class Posted:
    """An executor whose items and results are pickled on their way, as if there were other processes."""

    def __init__(self) -> None:
        self.sent: set[str] = set()

    def map(
        self, function: Callable[[Any, Any], Any], items: Sequence[Any], common: Any, *, compiled: bool
    ) -> Iterator[Any]:
        del compiled
        there = copied((function, common))
        self.sent.add(getattr(function, "__name__", "partial"))
        with using(InProcess(1)):
            return iter([copied(there[0](there[1], copied(item))) for item in items])


def copied(data: Any) -> Any:
    return pickle.loads(pickle.dumps(data))


def sent_by(job: Callable[[], Any]) -> set[str]:
    """The names of the functions that a job maps, all of which were sent."""
    executor = Posted()
    with using(executor):
        job()
    return executor.sent


INTERVALS = ("mean", "geometric-mean", "karmarkar", "beta-pool", "average-prior", "arieli-tuned")
CERTIFIED = [
    *((rule, 2, {"_proved"}) for rule in INTERVALS),
    *((rule, 3, {"_centred", "_failures"}) for rule in ("mean", "minimax")),
]


@pytest.mark.parametrize(("rule", "agents", "wanted"), CERTIFIED)
def test_steps_of_a_certificate_can_be_sent(rule: str, agents: int, wanted: set[str]) -> None:
    family = rp.ConditionallyIndependent(agents, None, None, (0.3, 0.4))
    sent = sent_by(lambda: list(islice(certification(rule, family, tolerance=1e-2), 4)))
    assert wanted <= sent, sent


def test_the_certificate_of_a_design_can_be_sent() -> None:
    table = rp.solve(rp.ConditionallyIndependent(2, 4, None), tolerance=1e-3).aggregator
    family = rp.ConditionallyIndependent(2, None, None, (0.3, 0.4))
    assert "_proved" in sent_by(lambda: list(islice(certification(table, family, tolerance=1e-2), 4)))


SEARCHES: dict[str, tuple[str, str, dict[str, Any], set[str]]] = {
    "three agents": ("mean", "independent", {"agents": 3, "reports": None, "priors": None}, {"_climb", "_ascended"}),
    "six agents": ("mean", "independent", {"agents": 6, "reports": None, "priors": None}, {"_first", "_last"}),
    "several states": ("mean", "several-states", {"agents": 2, "states": 3}, {"improved", "_polished"}),
    "common source": ("mean", "common-source", {"agents": 2}, {"_climb"}),
    "neglect": ("mean", "neglect", {"agents": 2}, {"_climb", "_by_prior"}),
    "identical": ("mean", "identical", {"agents": 2}, {"_climb"}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_can_be_sent(name: str) -> None:
    rule, world, options, wanted = SEARCHES[name]
    sent = sent_by(lambda: rp.worst_case(rule, make_world(world, options)))
    assert wanted <= sent, sent


DESIGNS: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "two agents": (lambda: rp.solve(rp.ConditionallyIndependent(2, 6, 20)), {"_by_pair"}),
    "any prior": (lambda: rp.solve(rp.ConditionallyIndependent(2, 6, None, (0.1, 0.8))), {"_by_prior"}),
    "three agents": (lambda: rp.solve(rp.ConditionallyIndependent(3, 5, 20)), {"_ascended", "_enumerated"}),
    "a finite family": (
        lambda: rp.solve(rp.random_family(40, resolution=6, rng=1), rounds=5, tolerance=0),
        {"_expected_losses"},
    ),
    "weights": (
        lambda: rp.solve(rp.ConditionallyIndependent(2, 5, 10), method="multiplicative-weights", rounds=5, tolerance=0),
        {"_expected_losses", "_play_chunk", "_masses"},
    ),
    "between the grid points": (
        lambda: rp.solve(rp.ConditionallyIndependent(2, 5, 10), nature="continuous", tolerance=1e-2),
        {"_climb", "_by_prior"},
    ),
    "common source": (
        lambda: rp.solve(make_world("common-source", {"agents": 2, "reports": 4}), tolerance=1e-2),
        {"_worst"},
    ),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_can_be_sent(name: str) -> None:
    job, wanted = DESIGNS[name]
    assert wanted <= sent_by(job)


def test_a_rule_forgets_on_its_way_and_gives_the_same_there() -> None:
    rule = Stretched(3, Fraction(3, 2), Fraction(2), Fraction(1, 8))
    x = np.array([[0.1, 0.5, 0.7], [0.25, 0.5, 0.9]])
    here = rule.near(x)
    assert rule.point.cache_info().currsize == 5
    there = copied(rule)
    assert there.point.cache_info().currsize == 0
    np.testing.assert_array_equal(there.near(x), here, strict=True)
    assert there.point.cache_info().currsize == 5


class Sour:
    """Cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("too sour")


def test_what_stays_here_is_told_once_for_each_function() -> None:
    with Processes(2) as two, using(two):
        with pytest.warns(
            NotSentWarning,
            match=r"^the work 'second' is done in this process, because it cannot be sent to another one \(TypeError: too sour\)\.$",
        ):
            assert list(mapped(second, [1, 2], Sour())) == [1, 2]
        assert list(mapped(second, [1, 2], Sour())) == [1, 2]  # without a second warning, which would be an error


def second(_common: Any, item: Any) -> Any:
    return item


def test_the_command_line_tells_it_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(_: Any) -> Any:
        raise TypeError("nothing can be sent")

    monkeypatch.setattr("robustpool.execution.processes.packed", refuse)
    run = run_robustpool(
        "certify", "mean", "--prior-range", "0.3", "0.4", "--tolerance", "1e-2", "--workers", "2", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("is done in this process, because it cannot be sent to another one") == 1, run.stderr
