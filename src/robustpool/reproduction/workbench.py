"""The games and proofs that the table and the figures share, each done once, when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..certificates.certify import certification
from ..designs.design_file import save_design
from ..errors import UnsupportedError
from ..families.conditionally_independent import ConditionallyIndependent
from ..solvers.solution import Solution, Stopped
from ..solvers.solve import solve

if TYPE_CHECKING:
    from pathlib import Path

    from ..certificates.certificate import Certificate
    from ..designs.any_aggregator import AnyAggregator
    from .settings import Settings

Tell = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Workbench:
    """Solutions and certificates by name; designs and certificates are saved in ``folder`` as soon as they are there."""

    settings: Settings
    folder: Path
    tell: Tell = lambda _what, _share: None
    solutions: dict[str, Solution] = field(default_factory=dict)
    certificates: dict[str, Certificate] = field(default_factory=dict)

    @property
    def family(self) -> ConditionallyIndependent:
        """Theta^bci_{N,M}."""
        return ConditionallyIndependent(2, self.settings.reports, self.settings.priors)

    def algorithm_1(self, paradigm: str = "additive") -> Solution:
        """The paper's own algorithm with the rounds of the settings."""
        rounds = self.settings.rounds
        name = f"algorithm-1-{paradigm}"
        options = {"method": "multiplicative-weights", "rounds": rounds, "tolerance": 0.0, "paradigm": paradigm}
        return self._solved(name, f"Algorithm 1, {paradigm}", self.family, options)

    def exact(self, paradigm: str = "additive", lipschitz: float | None = None) -> Solution:
        """The same game by cutting planes."""
        slope = "" if lipschitz is None else f"-slope-{lipschitz:g}"
        options = {"paradigm": paradigm, "lipschitz": lipschitz, "tolerance": 1e-7}
        return self._solved(
            f"exact-{paradigm}{slope}", f"the exact solver, {paradigm}{_words(lipschitz)}", self.family, options
        )

    def against_continuous_nature(self, knots: int, lipschitz: float | None = None) -> Solution:
        """The best table with these knots when nature chooses any reports and any prior."""
        slope = "" if lipschitz is None else f"-slope-{lipschitz:g}"
        family = ConditionallyIndependent(2, knots, None)
        options = {"nature": "continuous", "tolerance": self.settings.gap, "lipschitz": lipschitz}
        return self._solved(
            f"continuous-{knots}{slope}", f"{knots} knots, any reports{_words(lipschitz)}", family, options
        )

    def certificate(self, name: str, aggregator: AnyAggregator) -> Certificate:
        """Proved bounds on the worst-case regret over all structures of two independent agents."""
        if name not in self.certificates:
            state: Any = None
            for state in certification(aggregator, tolerance=self.settings.proof_gap):
                total = state.done + state.left
                self.tell(f"proving {name}", state.done / total if total else 0.0)
            if state is None or state.certificate is None:
                raise UnsupportedError(f"no bound could be proved for {name}.")
            self.certificates[name] = state.certificate()
            self.certificates[name].save(self.folder / "certificates" / f"{name}.json")
        return self.certificates[name]

    def _solved(self, name: str, words: str, family: ConditionallyIndependent, options: dict[str, Any]) -> Solution:
        if name not in self.solutions:
            self.tell(f"solving: {words}", 0.0)
            progress = lambda state, rounds: self.tell(f"solving: {words}", state.round / rounds)
            solution = solve(family, progress=progress, **options)
            if solution.stopped is Stopped.INTERRUPTED:
                raise KeyboardInterrupt
            self.solutions[name] = solution
            save_design(solution, self.folder / "designs" / f"{name}.json")
        return self.solutions[name]


def _words(lipschitz: float | None) -> str:
    return "" if lipschitz is None else f", L = {lipschitz:g}"
