"""Agents who are independent given a hidden state, on a grid: against the nature of conditionally independent agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

import robustpool as rp
from robustpool.errors import UnsupportedError
from robustpool.families.paired_nature import Circumstance, PairedNature, paired_nature
from robustpool.families.world import World
from robustpool.losses import get_loss

if TYPE_CHECKING:
    from robustpool.families.worst_case import WorstCase


@dataclass(frozen=True)
class Revealed(World):
    """The hidden state is the event: conditionally independent agents."""

    agents: int = 2
    reports: int = 10
    priors: int = 20
    mirrored: bool = True
    kind: ClassVar[str] = "revealed"

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002
        return "agents who see the event"

    def worst_case(self, *_: Any) -> WorstCase:
        raise NotImplementedError

    def nature(self, loss: Any, paradigm: str, restrictions: Any, kind: str = "grid") -> PairedNature:
        return paired_nature(
            [self.circumstance(number) for number in range(1, self.priors)],
            agents=self.agents,
            reports=self.reports,
            loss=loss,
            paradigm=paradigm,
            restrictions=restrictions,
            kind=kind,
            parameters=("prior",),
            mirrored=self.mirrored,
        )

    def circumstance(self, number: int) -> Circumstance:
        mu, pairs = number / self.priors, rp.ConditionallyIndependent(1, self.reports, self.priors).pairs(number)
        reports = pairs / self.reports
        away = np.stack((reports[:, 1] - mu, mu - reports[:, 0]), axis=1)
        width = np.where(pairs[:, :1] == pairs[:, 1:], 1.0, reports[:, 1:] - reports[:, :1])
        chance = np.where(pairs[:, :1] == pairs[:, 1:], 0.5, away / width)
        chances = np.stack((chance * (1 - reports) / (1 - mu), chance * reports / mu), axis=2)
        return Circumstance((mu,), np.diag([1 - mu, mu]), pairs, chances)


@pytest.mark.parametrize("loss", ["square", "log"])
@pytest.mark.parametrize("paradigm", ["additive", "absolute"])
@pytest.mark.parametrize(("agents", "reports", "priors"), [(1, 6, 12), (2, 10, 20), (3, 6, 12)])
@pytest.mark.parametrize("mirrored", [True, False])
def test_a_revealed_hidden_state_is_conditional_independence(
    agents: int, reports: int, priors: int, paradigm: str, loss: str, *, mirrored: bool
) -> None:
    ours = rp.solve(Revealed(agents, reports, priors, mirrored), loss=loss, paradigm=paradigm)
    known = rp.solve(rp.ConditionallyIndependent(agents, reports, priors), loss=loss, paradigm=paradigm)
    assert ours.gap <= 1e-6
    assert ours.lower <= known.upper + 1e-12  # but for rounding
    assert known.lower <= ours.upper + 1e-12


def test_the_worst_of_a_table_is_the_worst_of_all_structures() -> None:
    nature = Revealed(2, 6, 12, mirrored=False).nature(get_loss("square"), "additive", [])
    table = np.random.default_rng(1).dirichlet([1, 1], nature.tables.cells)
    labels = np.array(
        [[c, *choice] for c, one in enumerate(nature.circumstances) for choice in nature.choices(one)], dtype=float
    )
    payoffs = nature.cuts(labels).payoffs(nature.tables.loss.table(table))
    answer = nature.answer(table)
    assert answer.value == pytest.approx(payoffs.max(), abs=1e-14)
    assert (answer.labels[0] == labels[payoffs.argmax()]).all()


def test_a_mixture_names_its_structures() -> None:
    solution = rp.solve(Revealed(2, 6, 12))
    assert solution.mixture.symmetries == ("agents", "states")
    assert solution.mixture.heaviest(1)[0][0].startswith("prior 0.")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"nature": "continuous"}, "continuous nature is for conditionally independent agents"),
        ({"paradigm": "ratio"}, "a world of pairs of reports is solved for additive or absolute"),
    ],
)
def test_what_is_not_solved_is_refused(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnsupportedError, match=sentence):
        rp.solve(Revealed(2, 6, 12), **settings)  # type: ignore[arg-type]
