"""Recompute the bounds of the minimax table: without this the table could not be checked, or grow."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..errors import SolverError
from ..files import write_json
from ..wording import outward
from .rows import RECORD, Bound, Row, verb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    Run = Callable[[str], dict[str, Any]]
    Keep = Callable[[str, str], object]

BUDGET = 10**12
"""Steps that the check of a certificate may take: our own files are not hostile, and some need many."""

DIGITS = 9
"""Decimals of the bounds on record."""

SAME = 1e-6
"""How near a number has to be to the theorem that it confirms, and a bound that is found to that on record."""

SAME_PROVED = 2e-9
"""How near a proved bound has to be to that on record."""


def recompute(rows: Iterable[Row], run: Run, keep: Keep = lambda command, file: None) -> Iterator[Row]:  # noqa: ARG005
    """The rows with new bounds, one after the other; ``run`` runs a command and returns its JSON object.

    Each command runs once for a row. What `certify` proves is verified before it counts; ``keep`` is given the command and the file.
    """
    for row in rows:
        answers = {command: run(command) for command in row.commands}
        for command, answer in answers.items():
            if verb(command) == "certify":
                if not run(f"verify {answer['output']} --budget {BUDGET}")["verified"]:
                    raise SolverError(f"the certificate of `robustpool {command}` is not verified.")
                keep(command, answer["output"])
        lower, upper = (_value(bound, answers) for bound in (row.lower_from, row.upper_from))
        yield replace(row, lower=rounded(lower), upper=rounded(upper, up=row.upper_from.proved))


def rounded(bound: float | Fraction, *, up: bool = False) -> float:
    """A bound with the decimals of the record: proved upper bounds rounded up, lower bounds and found worst cases down.

    >>> rounded(0.0225424859373), rounded(0.0225424859373, up=True)
    (0.022542485, 0.022542486)
    """
    return float(outward(float(bound), "ROUND_CEILING" if up else "ROUND_FLOOR", DIGITS))


def agrees(row: Row, record: Row) -> bool:
    """Whether recomputed bounds are those on record, as far as there is a record."""
    sides = ((row.lower, record.lower, row.lower_from), (row.upper, record.upper, row.upper_from))
    return all(
        old is None or (new is not None and abs(new - old) <= (SAME_PROVED if bound.proved else SAME))
        for new, old, bound in sides
    )


def save_record(rows: Iterable[Row], file: Path = RECORD) -> None:
    """Write the bounds of these rows over those on record; the others stay."""
    record = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    write_json(file, record | {row.name: {"lower": row.lower, "upper": row.upper} for row in rows})


def _value(bound: Bound, answers: dict[str, dict[str, Any]]) -> float | Fraction:
    """The number that a bound names; that of a theorem, if the command finds the same."""
    computed = None if bound.command is None else _field(bound.command, bound.field or "", answers[bound.command])
    if bound.value is None:
        assert computed is not None
        return computed
    exact = Fraction(bound.value)
    if computed is not None and not abs(computed - exact) <= SAME:
        raise SolverError(f"`robustpool {bound.command}` finds {computed!r}, and the theorem says {bound.value}.")
    return exact


def _field(command: str, name: str, answer: Any) -> float:
    """The number in an answer, by its name; dots lead into lists and objects."""
    value = answer
    for key in name.split("."):
        value = value[int(key)] if isinstance(value, list) else (value or {}).get(key)
    if value is None:
        raise SolverError(f"the answer to `robustpool {command}` has no {name!r}.")
    return float(value)
