"""A design as a job: the options of `robustpool design`, checkpoints as it goes on, and at the end its file and its report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...checkpoints import remove_checkpoint
from ...designs.design_file import save_design
from ...families.asked_world import AskedWorld
from ...families.conditionally_independent import ConditionallyIndependent
from ...families.family_file import family_from_json
from ...solvers.asked_design import asked_restrictions, asked_world
from ...solvers.solution import Stopped
from ...solvers.solve import rounds, solve
from ...views import results
from ...views.design_page import write_design
from ...views.progress import bounds_so_far
from .. import options as read
from ..jobs.task import Paused

if TYPE_CHECKING:
    from ...solvers.solver import State
    from ..jobs.task import Task

OPTIONS = {
    **read.WORLD,
    "reports": read.whole,
    "priors": read.steps,
    "family": read.content,
    "symmetric": read.flag,
    "monotone": read.flag,
    "nature": read.text,
    "lipschitz": read.number,
    "loss": read.text,
    "paradigm": read.text,
    "canonical": read.word,
    "method": read.text,
    "tolerance": read.number,
    "rounds": read.whole,
    "epsilon": read.number,
}
SOLVING = ("nature", "lipschitz", "loss", "paradigm", "canonical", "method", "tolerance", "rounds", "epsilon")
TOLERANCE = 1e-6
MOST_POINTS = 120
"""Rounds in the picture of the bounds; when there are more, every second one is left out."""


def prepare() -> None:
    """Solve a small game, so that the first one of a user finds everything loaded and compiled."""
    solve(ConditionallyIndependent(agents=2, reports=2, priors=4), rounds=1)


def check(task: Task) -> dict[str, Any]:
    """Refuse options that no design can have; the work itself is not begun."""
    game = _game(task.options)
    rounds(**game)
    loss, paradigm = game.get("loss", "square"), game.get("paradigm", "additive")
    nature, reports = game.get("nature", "grid"), getattr(game["family"], "reports", None)
    knots = f", a table with knots in steps of 1/{reports}" if nature == "continuous" and reports else ""
    return {"title": f"{game['family'].words(nature)}{knots}, {loss} loss, {paradigm}"}


def run(task: Task) -> dict[str, Any]:
    """Solve the game, from the last checkpoint if there is one."""
    game = _game(task.options)
    checkpoint = task.folder / "checkpoint.npz"
    trace = Trace(task, None if "epsilon" in game else game["tolerance"])
    solution = solve(
        **game,
        progress=trace,
        checkpoint=checkpoint,
        checkpoint_seconds=task.checkpoint_seconds,
        resume="auto",
    )
    if solution.stopped is Stopped.INTERRUPTED:
        raise Paused
    trace.say("searching between the grid points")
    solution = solution.with_off_grid()
    save_design(solution, task.results / "design.json")
    trace.say("writing the report")
    write_design(solution.design, "design.json", task.results / "report.html")
    remove_checkpoint(checkpoint)
    data, _ = results.design(solution, "design.json", "report.html", "")
    facts = {name: text for name, text in results.design_facts(solution).items() if text is not None}
    return data | {
        "title": results.design_title(solution),
        "facts": facts,
        "converged": solution.converged,
        "certifiable": solution.design.certifiable,
    }


class Trace:
    """The bounds after each round, as the page draws them."""

    def __init__(self, task: Task, tolerance: float | None) -> None:
        self.task = task
        self.tolerance = tolerance
        self.points: list[tuple[int, float, float]] = []
        self.every = 1
        self.last: dict[str, Any] = {}

    def __call__(self, state: State, limit: int) -> None:
        """Note a round and say how far it is."""
        point = (state.round, state.lower, state.upper)
        if state.round % self.every == 0 or not self.points:
            self.points.append(point)
        if len(self.points) > MOST_POINTS:
            self.points, self.every = self.points[::2], self.every * 2
        points = self.points if self.points[-1] == point else [*self.points, point]
        self.last = {
            "doing": f"round {state.round:,} of at most {limit:,}",
            "round": state.round,
            **bounds_so_far(state, self.tolerance),
            **_window(points),
        }
        self.task.progress(self.last)

    def say(self, doing: str) -> None:
        """Say what comes after the rounds."""
        self.last = self.last | {"doing": doing}
        self.task.tell(self.last)


def _window(points: list[tuple[int, float, float]]) -> dict[str, Any]:
    """The points to draw, and the part of the scale to show: the first quarter of the rounds may leave it."""
    shown = [point for point in points if all(map(math.isfinite, point))]
    if not shown:
        return {"points": []}
    late = shown[len(shown) // 4 :]
    low, high = min(lower for _, lower, _ in late), max(upper for _, _, upper in late)
    ends = {"low": low, "high": high, "low_text": f"{low:.6f}", "high_text": f"{high:.6f}"}
    return {"points": shown, "scale": ends}


def _game(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `solve` for the options of a request."""
    options = read.read_options(given, OPTIONS)
    world = AskedWorld(**{name: options[name] for name in read.WORLD if name in options})
    reports, priors, nature = options.get("reports"), options.get("priors"), options.get("nature", "grid")
    if "family" in options:
        world.check_no_family(reports=reports, priors=priors)
        family: Any = family_from_json(options["family"])
    else:
        family = asked_world(world, reports, priors, nature)
    flags = {name: options.get(name, False) for name in ("symmetric", "monotone")}
    solving = {name: options[name] for name in SOLVING if name in options}
    return {"family": family, "restrictions": asked_restrictions(**flags), "tolerance": TOLERANCE} | solving
