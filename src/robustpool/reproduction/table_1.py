"""Table 1: the worst-case regret of each aggregator, as the paper prints it, as a search finds it, and as it is proved."""

from __future__ import annotations

import csv
import io
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..checkpoints import CheckpointWarning
from ..errors import InputError
from ..families.worst_case import worst_case
from ..files import write_text
from ..verification.verify import verify
from ..wording import outward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ..designs.any_aggregator import AnyAggregator
    from .workbench import Workbench

PUBLISHED = {"mean": 0.0625, "average-prior": 0.0260, "arieli-tuned": 0.0250, "algorithm-1": 0.0226}
"""[Guo2024, Table 1]."""

RULES = {"mean": "simple averaging", "average-prior": "average prior", "arieli-tuned": "state of the art"}
"""The paper's three closed forms, and what it calls them."""


@dataclass(frozen=True)
class Row:
    """An aggregator's worst-case regret over all structures of two conditionally independent agents."""

    name: str
    words: str
    published: float | None
    found: float  # by a search over continuous structures
    lower: float  # proved: some structure costs at least this
    upper: float  # proved: none costs more
    certificate: str  # its file

    @property
    def agrees(self) -> bool | None:
        """Whether the proved bounds, to the paper's four digits, are the published number."""
        if self.published is None:
            return None
        return round(self.lower, 4) == round(self.upper, 4) == self.published

    @property
    def improves(self) -> bool:
        """Whether the regret is proved to be less than every number that prints as the best of the paper, to its four digits."""
        return self.upper < PUBLISHED["algorithm-1"] - 5e-5


def table_1(bench: Workbench) -> Iterator[Row]:
    """The paper's three closed forms, its algorithm's table as we compute it, and our own aggregators, one by one."""
    settings = bench.settings
    for name in settings.rules:
        yield _row(bench, name, lambda name=name: name, RULES[name])  # type: ignore[misc]
    words = f"Algorithm 1, N = {settings.reports}, M = {settings.priors}, {settings.rounds:,} rounds, interpolated"
    yield _row(bench, "algorithm-1", lambda: bench.algorithm_1().aggregator, words)
    for knots in settings.knots:
        words = f"ours: the best table with N = {knots} against any reports and any prior"
        solved = partial(bench.against_continuous_nature, knots)
        yield _row(bench, f"continuous-{knots}", lambda solved=solved: solved().aggregator, words)  # type: ignore[misc]
    yield _row(bench, "minimax", lambda: "minimax", "ours: the rule minimax, a closed form")


def _row(bench: Workbench, name: str, made: Callable[[], AnyAggregator], words: str) -> Row:
    """A row; one that is there already, from a run that was stopped, is not computed again, but its bounds are proved again."""
    before = bench.rows_before.get(name)
    if before is not None and _is_proved(bench, before):
        return before
    aggregator = made()
    bench.tell(f"searching the worst case of {name}", 0.0)
    found = worst_case(aggregator).regret
    certificate = bench.certificate(name, aggregator)
    assert certificate.upper is not None  # the rules of the table have proofs
    file = f"certificates/{name}.json"
    return Row(name, words, PUBLISHED.get(name), found, certificate.lower, certificate.upper, file)


def _is_proved(bench: Workbench, row: Row) -> bool:
    """Whether the certificate of a row that was saved still proves its bounds."""
    with suppress(InputError):  # there is no such file, or it is no certificate
        watch = lambda share: bench.tell(f"verifying the certificate of {row.name}", share)
        check = verify(bench.folder / row.certificate, watch)
        known = check.label in (None, row.name)  # a table has none
        if check.verified and known and (check.lower, check.upper) == (row.lower, row.upper):
            return True
    why = f"the certificate of {row.name} is missing or does not prove its row, which is computed again."
    warnings.warn(why, CheckpointWarning, stacklevel=2)
    return False


HEADER = ("aggregator", "published", "found", "proved at least", "proved at most", "certificate")


def cells(row: Row, digits: int = 9) -> tuple[str, ...]:
    """A row as text; what is proved is rounded outward, what is found is cut."""
    return (
        row.words,
        "" if row.published is None else f"{row.published:.4f}",
        outward(row.found, "ROUND_FLOOR", digits),
        outward(row.lower, "ROUND_FLOOR", digits),
        outward(row.upper, "ROUND_CEILING", digits),
        row.certificate,
    )


def save_table(rows: Sequence[Row], path: Path, *, whole: bool) -> None:
    """The table as CSV; as long as it is not the ``whole`` one, it replaces no longer one."""
    if not whole and path.exists() and path.read_text(encoding="utf-8").count("\n") > len(rows) + 1:
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("name", *HEADER))
    writer.writerows((row.name, *cells(row, 12)) for row in rows)
    write_text(path, text.getvalue())
