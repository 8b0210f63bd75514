"""The games that the table and the figures share, each solved once, when it is first asked for, and the proofs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..certificates.certify import certification
from ..checkpoints import remove_checkpoint
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
    from .table_1 import Row

Tell = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, from 0 to 1."""


def silent(_what: str, _share: float) -> None:
    """Tell nobody."""


@dataclass(eq=False)
class Workbench:
    """Solutions by name; designs and certificates are saved in ``folder`` as soon as they are there."""

    settings: Settings
    folder: Path
    tell: Tell = silent
    solutions: dict[str, Solution] = field(default_factory=dict)
    rows_before: dict[str, Row] = field(default_factory=dict)  # of Table 1, from a run that was stopped

    def checkpoint(self, name: str) -> Path:
        """Where a part of the work is saved until all of it is done."""
        return self.folder / "checkpoints" / f"{name}.npz"

    def forget_checkpoints(self) -> None:
        """Remove what was saved of the parts."""
        for path in (self.folder / "checkpoints").glob("*.npz"):
            remove_checkpoint(path)
        with suppress(OSError):  # somebody else's files are in it
            (self.folder / "checkpoints").rmdir()

    @property
    def family(self) -> ConditionallyIndependent:
        """Theta^bci_{N,M}."""
        return ConditionallyIndependent(2, self.settings.reports, self.settings.priors)

    def algorithm_1(self, paradigm: str = "additive") -> Solution:
        """The paper's own algorithm with the rounds of the settings."""
        name, words = f"algorithm-1-{paradigm}", f"Algorithm 1, {paradigm}"
        options: Any = {"method": "multiplicative-weights", "rounds": self.settings.rounds, "tolerance": 0.0}
        return self._solved(name, words, self.family, paradigm=paradigm, **options)

    def exact(self, paradigm: str = "additive", lipschitz: float | None = None) -> Solution:
        """The same game by cutting planes."""
        name, words = f"exact-{paradigm}", f"the exact solver, {paradigm}"
        return self._solved(name, words, self.family, lipschitz, paradigm=paradigm, tolerance=1e-7)

    def against_continuous_nature(self, knots: int, lipschitz: float | None = None) -> Solution:
        """The best table with these knots when nature chooses any reports and any prior."""
        name, words = f"continuous-{knots}", f"{knots} knots, any reports"
        family = ConditionallyIndependent(2, knots, None)
        return self._solved(name, words, family, lipschitz, nature="continuous", tolerance=self.settings.gap)

    def certificate(self, name: str, aggregator: AnyAggregator) -> Certificate:
        """Proved bounds on the worst-case regret over all structures of two independent agents."""
        kept: Any = {"checkpoint": self.checkpoint(f"certificate-{name}"), "resume": "auto"}
        with closing(certification(aggregator, tolerance=self.settings.proof_gap, **kept)) as steps:
            for state in steps:
                total = state.done + state.left
                self.tell(f"proving {name}", state.done / total if total else 0.0)
        if state.certificate is None:
            raise UnsupportedError(f"no bound could be proved for {name}.")
        certificate = state.certificate()
        certificate.save(self.folder / "certificates" / f"{name}.json")
        return certificate

    def _solved(
        self, name: str, words: str, family: ConditionallyIndependent, lipschitz: float | None = None, **options: Any
    ) -> Solution:
        if lipschitz is not None:
            name, words = f"{name}-slope-{lipschitz:g}", f"{words}, L = {lipschitz:g}"
        if name not in self.solutions:
            self.tell(f"solving: {words}", 0.0)
            progress = lambda state, rounds: self.tell(f"solving: {words}", state.round / rounds)
            kept: Any = {"checkpoint": self.checkpoint(name), "resume": "auto"}
            solution = solve(family, progress=progress, lipschitz=lipschitz, **kept, **options)
            if solution.stopped is Stopped.INTERRUPTED:
                raise KeyboardInterrupt
            self.solutions[name] = solution
            save_design(solution, self.folder / "designs" / f"{name}.json")
        return self.solutions[name]
