"""The games that the table and the figures share, each solved once, when it is first asked for, and the proofs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..certificates.certify import certification
from ..checkpoints import keeping, put_checkpoint, remove_checkpoint
from ..designs.design_file import save_design
from ..errors import UnsupportedError
from ..execution import is_remote, mapped_as_done
from ..families.conditionally_independent import ConditionallyIndependent
from ..files import write_bytes
from ..solvers.solution import Solution, Stopped
from ..solvers.solve import solve

if TYPE_CHECKING:
    from ..certificates.certificate import Certificate
    from ..designs.any_aggregator import AnyAggregator
    from .settings import Settings
    from .table_1 import Row

Tell = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, from 0 to 1."""


def silent(_what: str, _share: float) -> None:
    """Tell nobody."""


class Game(NamedTuple):
    """A game that is solved once: its name in files and in sentences, its family, and the options of `solve`."""

    name: str
    words: str
    family: ConditionallyIndependent
    options: dict[str, Any]

    def with_slope(self, L: float | None) -> Game:
        """The same with a bound on the slope of the aggregator, if there is one."""
        if L is None:
            return self
        return Game(
            f"{self.name}-slope-{L:g}", f"{self.words}, L = {L:g}", self.family, {**self.options, "lipschitz": L}
        )


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
        options = {"method": "multiplicative-weights", "rounds": self.settings.rounds, "tolerance": 0.0}
        return self._solved(
            Game(f"algorithm-1-{paradigm}", f"Algorithm 1, {paradigm}", self.family, {"paradigm": paradigm, **options})
        )

    def exact(self, paradigm: str = "additive", lipschitz: float | None = None) -> Solution:
        """The same game by cutting planes."""
        return self._solved(self._exact(paradigm, lipschitz))

    def _exact(self, paradigm: str = "additive", lipschitz: float | None = None) -> Game:
        options = {"paradigm": paradigm, "tolerance": 1e-7}
        return Game(f"exact-{paradigm}", f"the exact solver, {paradigm}", self.family, options).with_slope(lipschitz)

    def against_continuous_nature(self, knots: int, lipschitz: float | None = None) -> Solution:
        """The best table with these knots when nature chooses any reports and any prior."""
        return self._solved(self._continuous(knots, lipschitz))

    def _continuous(self, knots: int, lipschitz: float | None = None) -> Game:
        family, options = (
            ConditionallyIndependent(2, knots, None),
            {"nature": "continuous", "tolerance": self.settings.gap},
        )
        return Game(f"continuous-{knots}", f"{knots} knots, any reports", family, options).with_slope(lipschitz)

    def solve_elsewhere(self, *, table: bool, figures: bool) -> None:
        """If the work can be sent away, solve the games by cutting planes at once: each is its own, whoever solves it.

        Algorithm 1 stays here: its mixture has a weight for each of millions of structures, which would have to come back.
        What a run that was stopped had reached is not done again.
        """
        if not is_remote():
            return
        one, settings = self.settings.reports, self.settings
        games = [self._continuous(knots) for knots in settings.knots] if table else []
        games = [game for game in games if game.name not in self.rows_before]
        if figures:
            games += [self._continuous(one, L) for L in (None, *settings.drawn_slopes)]
            games += [self._exact(lipschitz=L) for L in (None, *settings.slopes)]
        missing = list({game.name: game for game in games if game.name not in self.solutions}.values())
        files = [self.checkpoint(game.name) for game in missing]
        items = [Task(game, str(file.resolve()), _content(file)) for game, file in zip(missing, files, strict=True)]
        self.tell("solving the games", 0.0)
        for done, (number, solved) in enumerate(mapped_as_done(_solved_elsewhere, items, None), 1):
            if solved.checkpoint not in (b"", _content(files[number])):  # it was made on another machine
                put_checkpoint(files[number], solved.checkpoint)
            self._keep(missing[number], solved.solution)
            self.tell("solving the games", done / len(missing))

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

    def _solved(self, game: Game) -> Solution:
        if game.name not in self.solutions:
            self.tell(f"solving: {game.words}", 0.0)
            progress = lambda state, rounds: self.tell(f"solving: {game.words}", state.round / rounds)
            kept: Any = {"checkpoint": self.checkpoint(game.name), "resume": "auto"}
            self._keep(game, solve(game.family, progress=progress, **kept, **game.options))
        return self.solutions[game.name]

    def _keep(self, game: Game, solution: Solution) -> None:
        if solution.stopped is Stopped.INTERRUPTED:
            raise KeyboardInterrupt
        self.solutions[game.name] = solution
        save_design(solution, self.folder / "designs" / f"{game.name}.json")


class Task(NamedTuple):
    """A game to be solved elsewhere: where its checkpoint is kept, if that can be seen there, and what is in it."""

    game: Game
    file: str
    checkpoint: bytes


class Solved(NamedTuple):
    """A solution, and the checkpoint from which it can be had again."""

    solution: Solution
    checkpoint: bytes


def _solved_elsewhere(_: None, task: Task) -> Solved:
    with keeping(Path(task.file)) as path:
        if task.checkpoint and not path.exists():
            write_bytes(path, task.checkpoint)
        solution = solve(task.game.family, checkpoint=path, resume="auto", **task.game.options)
        return Solved(solution, _content(path))


def _content(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""
