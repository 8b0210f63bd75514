"""How large a reproduction is."""

from __future__ import annotations

from dataclasses import dataclass

from .table_1 import RULES


@dataclass(frozen=True)
class Settings:
    """The paper's sizes, unless said otherwise."""

    rules: tuple[str, ...] = tuple(RULES)  # in Table 1
    reports: int = 20  # N
    priors: int = 400  # M
    rounds: int = 1000  # of Algorithm 1
    knots: tuple[int, ...] = (20, 50, 100)  # of the tables against continuous nature
    cells: int = 100  # R(x_1, x_2) is searched on reports in steps of 1/cells
    slopes: tuple[float, ...] = (1, 1.5, 2, 3, 4, 6, 8, 12, 20)  # L
    drawn_slopes: tuple[float, ...] = (1, 2, 4)
    gap: float = 2e-6  # between the bounds of the tables against continuous nature
    proof_gap: float | None = None  # between the proved bounds; None: as `robustpool certify` has it


FULL = Settings()
QUICK = Settings(rounds=300, knots=(20, 50), cells=50, slopes=(1, 2, 4, 8, 20))
