"""One table of forecasts in the formats that people bring."""

from __future__ import annotations

import io

import openpyxl
import polars as pl

from forecasters import simulated


def rows() -> list[tuple[str, str, float, int]]:
    """Forecasts with outcomes: 80 questions, 3 forecasters, and two rows that cannot be used."""
    table = simulated(80, 3, slope=3.0, shared=0.3, seed=2)
    answers = zip(table.question.tolist(), table.forecaster.tolist(), table.probability.tolist(), strict=True)
    good = [(f"q{q}", f"f{f}", round(p, 3), int(table.outcome[q])) for q, f, p in answers]
    return [*good, ("q1", "eve", 1.2, int(table.outcome[1])), ("q2", "eve", -0.5, int(table.outcome[2]))]


NAMES = ("question_id", "forecaster_id", "probability", "outcome")


def as_csv() -> bytes:
    return "\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in rows())]).encode()


def as_parquet() -> bytes:
    file = io.BytesIO()
    pl.DataFrame(rows(), schema=NAMES, orient="row").write_parquet(file)
    return file.getvalue()


def as_excel() -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in [NAMES, *rows()]:
        book.active.append(row)
    book.save(file)
    return file.getvalue()
