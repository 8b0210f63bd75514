"""What the rules are scored on: all answers of a question at once, or pairs of them; and what each rule gets to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..aggregators.rows import contradictory
from ..aggregators.rules import Rule
from ..forecasts import combine
from ..tables.records import ANSWERS_AT_ONCE, ForecastTable, Group
from .pairs import sample_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..typing import Floats, Integers


@dataclass(frozen=True, eq=False)
class Panel:
    """Resolved questions, and the profiles of reports that each of them has: one with all answers, or many pairs.

    Profiles are ordered by question. Each question counts once: its profiles share its weight.
    """

    table: ForecastTable  # every question has an outcome, and answers
    clusters: Integers  # (questions,), numbers from 0
    question: Integers  # (profiles,)
    pair_rows: Integers | None  # (profiles, 2), rows of the table; None: all answers of a question

    @property
    def outcome(self) -> Floats:
        """The outcome of each profile's question."""
        return self.table.outcome[self.question]

    @property
    def weight(self) -> Floats:
        """The weights of the profiles; those of a question sum to 1."""
        return 1.0 / np.bincount(self.question)[self.question]

    def by_question(self, losses: Floats) -> Floats:
        """The mean loss of each question's profiles."""
        return np.bincount(self.question, losses) / np.bincount(self.question)

    def profiles(self) -> Iterator[Group]:
        """All profiles, in bounded pieces; their numbers stand in place of those of questions."""
        table = self.table
        if self.pair_rows is None:
            yield from table.groups()
            return
        for first in range(0, len(self.pair_rows), ANSWERS_AT_ONCE):
            rows = self.pair_rows[first : first + ANSWERS_AT_ONCE]
            sizes = table.option_counts[self.question[first : first + ANSWERS_AT_ONCE]]
            for k in np.unique(sizes).tolist():
                these = np.flatnonzero(sizes == k)
                reports = table.probability[rows[these]]
                weights = None if table.weight is None else table.weight[rows[these]]
                yield Group(first + these, reports if table.options is None else reports[:, :, :k], weights)


def resolved(table: ForecastTable, least: int) -> ForecastTable:
    """The questions that have an outcome and at least so many answers."""
    kept = np.isfinite(table.outcome) & (table.answers >= least)
    rows = kept[table.question]
    number = np.cumsum(kept) - 1
    return ForecastTable(
        questions=[name for name, keep in zip(table.questions, kept.tolist(), strict=True) if keep],
        forecasters=table.forecasters,
        question=number[table.question[rows]],
        forecaster=table.forecaster[rows],
        probability=table.probability[rows],
        outcome=table.outcome[kept],
        weight=None if table.weight is None else table.weight[rows],
        cluster=None if table.cluster is None else table.cluster[kept],
        rejected=table.rejected,
        options=None if table.options is None else [table.options[q] for q in np.flatnonzero(kept).tolist()],
    )


def make_panel(table: ForecastTable, pairs: int | None, seed: int) -> Panel:
    """The profiles of a table whose questions are all resolved."""
    clusters = np.arange(len(table.questions))
    if table.cluster is not None:
        clusters = np.unique(table.cluster, return_inverse=True)[1]
    if pairs is None:
        return Panel(table, clusters, np.arange(len(table.questions)), None)
    total = float(np.minimum(table.answers * (table.answers - 1) // 2, pairs).sum())
    checks.fits_in_memory(f"scoring {total:,.0f} pairs (fewer pairs a question would do)", 200 * total)
    question, first, second = sample_pairs(table.answers, pairs, seed)
    start = table.offsets[question]
    return Panel(table, clusters, question, np.stack([start + first, start + second], axis=1))


def forecasts_of(rule: Callable[[Any], Any], panel: Panel, clip: float | None) -> Floats:
    """What a rule says to each profile, clipped as `robustpool.aggregate` does it: (profiles,).

    With options it is (profiles, K), with NaN beyond a question's own. Weights go to the rules that take them.
    """
    weighted = isinstance(rule, Rule) and rule.takes_weights
    answers = np.full((len(panel.question), *panel.table.probability.shape[1:]), np.nan)
    for places, reports, weights in panel.profiles():
        own = answers[:, : reports.shape[2]] if reports.ndim == 3 else answers
        own[places] = combine(reports, rule, clip, weights if weighted else None).forecasts
    return answers


def contradictions(panel: Panel) -> int:
    """How many profiles have both a 0 and a 1; with options: in how many each option is ruled out by somebody."""
    if panel.table.options is None:
        return sum(int(contradictory(profiles.reports).sum()) for profiles in panel.profiles())
    return sum(int((profiles.reports == 0).any(axis=1).all(axis=1).sum()) for profiles in panel.profiles())
