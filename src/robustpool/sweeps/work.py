"""What is done for a cell of a sweep, wherever it is done: the numbers for the table, and the files that are kept."""

from __future__ import annotations

import time
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..certificates.certify import certification
from ..checkpoints import keeping
from ..designs.design_file import design_to_json
from ..errors import InputError, RobustpoolError, UnsupportedError
from ..families.asked_world import AskedWorld
from ..families.family_file import load_family
from ..families.worst_case import worst_case
from ..files import json_text
from ..solvers.asked_design import asked_restrictions, asked_world
from ..solvers.solution import Stopped
from ..solvers.solve import solve
from ..views import results
from .settings import LARGEST, SOLVING, WORLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from .settings import Cell

CHECKPOINT = "checkpoint.npz"
"""What a cell has reached, in its folder, until its result is there."""


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: numbers and files, or the sentence of its error."""

    numbers: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # name -> content
    data: dict[str, Any] = field(default_factory=dict)  # what the command would say
    seconds: float = 0.0
    error: str | None = None


NUMBERS = ("lower", "upper", "gap", "rounds_played", "converged", "regret", "proved", "value", "finished")
"""What a cell comes to, by the columns of the table; none is also the name of an option."""


def are_numbers(data: Any) -> bool:
    """Whether plain data are numbers that a cell can come to."""
    return isinstance(data, dict) and all(
        name in NUMBERS
        and (value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < LARGEST))
        for name, value in data.items()
    )


def work(_: None, item: tuple[Cell, str]) -> Outcome:
    """Do a cell. A folder, where it exists, is for checkpoints: a worker elsewhere may not have it."""
    cell, folder = item
    began = time.perf_counter()
    try:
        numbers, files, data = KINDS[cell.kind](cell.options, Path(folder))
    except Exception as error:  # noqa: BLE001  # whatever a cell asks for, the others go on
        sentence = str(error) if isinstance(error, RobustpoolError) else f"{type(error).__name__}: {error}"
        return Outcome(error=sentence, seconds=time.perf_counter() - began)
    return Outcome(numbers, files, data, time.perf_counter() - began)


Result = tuple[dict[str, Any], dict[str, str], dict[str, Any]]


def _design(options: dict[str, Any], folder: Path) -> Result:
    solving = {name: options[name] for name in SOLVING if name in options}
    if "family" in options:
        _world(options).check_no_family(options["family"], reports=options.get("reports"), priors=options.get("priors"))
        family: Any = load_family(options["family"])
    else:
        priors = options.get("priors")
        grids = options.get("reports"), None if priors is None else str(priors)
        family = asked_world(_world(options), *grids, options.get("nature", "grid"))
    limits = asked_restrictions(symmetric=bool(options.get("symmetric")), monotone=bool(options.get("monotone")))
    with keeping(folder / CHECKPOINT) as checkpoint:
        solution = solve(family, restrictions=limits, checkpoint=checkpoint, resume="auto", **solving)
    if solution.stopped is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    data, _ = results.design(solution, "design.json", None, "")
    numbers = {name: data[name] for name in ("lower", "upper", "gap")}
    numbers |= {"rounds_played": data["rounds"], "converged": solution.converged}
    return numbers, {"design.json": json_text(design_to_json(solution.design))}, data


def _worst_case(options: dict[str, Any], _: Path) -> Result:
    rule = _rule(options)
    worst = worst_case(rule, _world(options).of(rule), loss=options.get("loss", "square"), rng=options.get("seed", 0))
    data, _lines = results.worst_case(rule, worst)
    return {"regret": worst.regret, "proved": worst.proved}, {}, data


def _certificate(options: dict[str, Any], folder: Path) -> Result:
    rule = _rule(options)
    if "family" in options:
        _world(options).check_no_family(options["family"])
    about: Any = options["family"] if "family" in options else _world(options).about(rule)
    proving = {name: options[name] for name in ("loss", "paradigm", "tolerance") if name in options}
    with (
        keeping(folder / CHECKPOINT) as checkpoint,
        closing(certification(rule, about, checkpoint=checkpoint, resume="auto", **proving)) as steps,
    ):
        (last,) = deque(steps, maxlen=1)  # no step is kept but the last
    if last.certificate is None:
        raise UnsupportedError(f"no bound could be proved for {rule}.")
    certificate = last.certificate()
    ending: dict[str, Any] = {"finished": last.left == 0, "seconds": 0.0, "obstacle": last.obstacle}
    data, _lines = results.certificate(rule, certificate, "certificate.json", **ending)
    numbers = {name: data[name] for name in ("lower", "upper", "value", "finished")}
    return numbers, {"certificate.json": json_text(certificate.data)}, data


KINDS: dict[str, Callable[[dict[str, Any], Path], Result]] = {
    "design": _design,
    "worst-case": _worst_case,
    "certify": _certificate,
}


def _rule(options: dict[str, Any]) -> str:
    rule = options.get("rule")
    if not isinstance(rule, str):
        raise InputError(f"a cell needs a rule, by its name or the file of a design; it is {rule!r}.")
    return rule


def _world(options: dict[str, Any]) -> AskedWorld:
    given: dict[str, Any] = {name: options[name] for name in WORLD if name in options}
    return AskedWorld(**given | {name: tuple(value) for name, value in given.items() if isinstance(value, list)})
