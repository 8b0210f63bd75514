"""The world of a second question: each of two independent agents also says what she expects the other to report.

An agent who reports x_1 expects y_1 = E[x_2 | s_1] = mu + (x_1 - mu) d_2, where d_2 = Var(x_2) / (mu (1 - mu)) says how much the
other one knows. A finite grid has few such numbers, so that an exact y_1 would tell the structure by its digits. Therefore
second answers are rounded to multiples of 1/R, as people round (docs/worlds/a-second-question.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..aggregators.rules import Rule
from ..errors import InputError, UnsupportedError
from ..numerics import safe_divide, unique_rows
from ..structures.report_formats import HigherOrder
from .conditionally_independent import ConditionallyIndependent, EnumeratedFamily
from .family_file import FORMAT
from .nature import NO_CONTINUUM
from .world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from ..typing import Floats
    from .finite_game import FiniteNature
    from .worst_case import WorstCase


HARD_PRIOR, HARD_REPORT, HARD_ANSWER = Fraction(297, 1000), Fraction(47, 50), Fraction(81, 100)
"""The structure of the lower bound, found by search: the first agent says 0.94 and expects 0.81, the second 0.06 and 0.19."""


@dataclass(frozen=True)
class SecondQuestion(World):
    """Two conditionally independent agents, reports and priors on grids, second answers in steps of 1/``second_answers``.

    With None for all three it has any reports, any prior and exact second answers; a lower bound is proved for it only.

    >>> SecondQuestion(reports=6, priors=12, second_answers=4).words()
    '2 conditionally independent agents, reports in steps of 1/6, priors in steps of 1/12, second answers in steps of 1/4'
    """

    agents: int = 2
    reports: int | None = 8
    priors: int | None = 24
    second_answers: int | None = 4

    kind: ClassVar[str] = "second-question"
    open_fields: ClassVar[tuple[str, ...]] = ("reports", "priors", "second_answers")

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.agents != 2:
            raise UnsupportedError(f"a second question is for two agents; there are {checks.shown(self.agents)}.")
        grids = {name: getattr(self, name) for name in self.open_fields}
        if None in grids.values() and not self.open:
            raise InputError(
                f"reports, priors and second_answers must be three numbers, or None for all; they are {grids}."
            )
        if self.second_answers is not None:
            checks.whole("second_answers", self.second_answers, least=1)
        _ = self.first_question

    @property
    def open(self) -> bool:
        """Whether it has any reports, any prior and exact second answers."""
        return self.reports is None and self.priors is None and self.second_answers is None

    @property
    def first_question(self) -> ConditionallyIndependent:
        """The same agents without the second question."""
        return ConditionallyIndependent(self.agents, self.reports, self.priors)

    def words(self, nature: str = "grid") -> str:
        """See World."""
        answers = "exact second answers" if self.open else f"second answers in steps of 1/{self.second_answers:,}"
        return f"{self.first_question.words(nature)}, {answers}"

    def enumerate(self) -> EnumeratedFamily:
        """Every structure; a report is (x, y)."""
        if self.reports is None or self.second_answers is None:
            raise UnsupportedError(f"the structures of {self.words()} cannot be listed; give numbers for its grids.")
        listed = self.first_question.enumerate(pruned=False)
        prior, reports = listed.parameters(slice(None))
        answers = second_answers(prior, reports)
        own = np.rint(reports * self.reports).astype(np.int64)
        other = np.rint(np.round(answers * self.second_answers, 9)).astype(np.int64)  # halves, whatever the rounding
        spoken = np.stack((own, other), axis=3)  # (structures, agents, signals, 2)
        low, high = np.indices((2, 2)).reshape(2, -1)
        shown = np.stack((spoken[:, 0, low], spoken[:, 1, high]), axis=2)  # (structures, profiles, agents, 2)
        rows, profile = unique_rows(shown.reshape(-1, 4))
        steps = np.array([self.reports, self.second_answers])
        flat = replace(
            listed.flat,
            report=HigherOrder(),
            reports=checks.frozen(rows.reshape(-1, 2, 2) / steps),
            profile=checks.frozen(profile.astype(np.int32)),
        )
        return replace(listed, flat=flat)

    def nature(
        self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid"
    ) -> FiniteNature:
        """See World: every structure in a list."""
        from .finite_game import FiniteNature, finite_game

        if kind == "continuous":
            raise UnsupportedError(NO_CONTINUUM)
        listed = self.enumerate()
        return FiniteNature(finite_game(listed.flat, loss, paradigm, restrictions), listed)

    def heard(self, aggregator: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """See World: a named rule hears the first answers only."""
        return (lambda reports: aggregator(reports[:, :, 0])) if isinstance(aggregator, Rule) else aggregator

    def hard_structures(self) -> dict[str, Any] | None:
        """See World: two mirrored structures with the same reports, exact second answers included, that disagree.

        They are not on the grids, so they say nothing about a world that has some.
        """
        if not self.open:
            return None
        first = _joint(HARD_PRIOR, (HARD_REPORT, 1 - HARD_REPORT), (HARD_ANSWER, 1 - HARD_ANSWER))
        second = first[::-1].transpose(0, 2, 1)  # states and agents exchanged
        joints = [{"name": name, "joint": joint.tolist()} for name, joint in (("rare", first), ("common", second))]
        named = {"states": ["no", "yes"], "agents": ["first", "second"]}
        return {"format": FORMAT, **named, "report": "higher-order", "structures": joints}

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World: the worst structure of the grids."""
        from .regret import regrets
        from .worst_case import WorstCase

        if self.open and isinstance(aggregator, Rule):  # which hears the first answers only
            return self.first_question.worst_case(aggregator, loss, rng)
        listed = self.enumerate()
        values = regrets(self.heard(aggregator), listed.flat, loss=loss)
        inner = np.flatnonzero((listed.priors > 0) & (listed.priors < listed.M))  # else all is certain
        worst = int(inner[np.argmax(values[inner])])
        return WorstCase(float(values[worst]), listed.structure(worst), exhaustive=bool(values.max() <= values[worst]))


def second_answers(prior: Floats, reports: Floats) -> Floats:
    """y_i = mu + (x_i - mu) (mu - low_j)(high_j - mu) / (mu (1 - mu)): priors (m,), reports (m, 2, 2) -> (m, 2, 2).

    >>> second_answers(np.array([0.5]), np.array([[[0.0, 1.0], [0.5, 0.5]]]))  # the second agent knows nothing, and knows it
    array([[[0.5, 0.5],
            [0.5, 0.5]]])
    """
    mu = prior[:, None]
    variance = (mu - reports[:, :, 0]) * (reports[:, :, 1] - mu)
    knows = safe_divide(variance, mu * (1 - mu))[:, ::-1]  # of the other one
    return mu[:, :, None] + (reports - mu[:, :, None]) * knows[:, :, None]


def _joint(mu: Fraction, reports: tuple[Fraction, Fraction], answers: tuple[Fraction, Fraction]) -> NDArray[Any]:
    """Pr[omega, s_1, s_2] in texts of fractions: at their second signals the agents give these reports and second answers.

    Agent i must know d_i = (y_j - mu) / (x_j - mu). With two signals Var(x_i) = (x_i - mu)(mu - a_i), so that her other report is
    a_i = mu - d_i mu (1 - mu) / (x_i - mu).
    """
    joint = np.array([1 - mu, mu], dtype=object)
    for i, x in enumerate(reports):
        knows = (answers[1 - i] - mu) / (reports[1 - i] - mu)
        other = mu - knows * mu * (1 - mu) / (x - mu)
        chance = (mu - other) / (x - other)
        signals = ((1 - chance, other), (chance, x))
        given = np.array([[q * (1 - r) / (1 - mu), q * r / mu] for q, r in signals], dtype=object).T  # states, signals
        joint = joint[..., None] * given.reshape(2, *(1,) * (joint.ndim - 1), 2)
    return joint.astype(str).astype(object)
