"""What the rules are scored on: all answers of a question at once, or pairs of them; and what each rule gets to see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..aggregators.learned_rule import LearnedRule
from ..aggregators.rows import contradictory
from ..aggregators.rules import Rule
from ..forecasts import combine
from ..tables.pooling import weighed
from ..tables.records import ANSWERS_AT_ONCE, ForecastTable, Group

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
    rows, places = kept[table.question], np.flatnonzero(kept).tolist()
    return replace(
        table,
        questions=[table.questions[q] for q in places],
        question=(np.cumsum(kept) - 1)[table.question[rows]],
        forecaster=table.forecaster[rows],
        probability=table.probability[rows],
        outcome=table.outcome[kept],
        weight=None if table.weight is None else table.weight[rows],
        timestamp=None if table.timestamp is None else table.timestamp[rows],
        cluster=None if table.cluster is None else table.cluster[kept],
        options=None if table.options is None else [table.options[q] for q in places],
        resolved=None if table.resolved is None else table.resolved[kept],
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


def numbered_pair(number: Integers) -> tuple[Integers, Integers]:
    """The pairs i < j in the order (0,1), (0,2), (1,2), (0,3), ...: number = j (j - 1)/2 + i.

    >>> [(int(i), int(j)) for i, j in zip(*numbered_pair(np.arange(4)))]
    [(0, 1), (0, 2), (1, 2), (0, 3)]
    """
    j = ((1 + np.sqrt(8.0 * number + 1)) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > number  # a root that was rounded up
    return number - j * (j - 1) // 2, j


def sample_pairs(answers: Integers, most: int, seed: int) -> tuple[Integers, Integers, Integers]:
    """Up to ``most`` different pairs of answers of each question, all of them if there are no more.

    ``answers`` says how many each question has. Returned are the question of each pair, in order, and the places of the two
    answers within the question.

    >>> question, first, second = sample_pairs(np.array([3, 1, 2]), most=10, seed=0)
    >>> question, first, second
    (array([0, 0, 0, 2]), array([0, 0, 1, 0]), array([1, 2, 2, 1]))
    """
    rng = np.random.default_rng(seed)
    available = answers * (answers - 1) // 2
    taken = np.minimum(available, most)
    question = np.repeat(np.arange(len(answers)), taken)
    starts = np.cumsum(taken) - taken
    number = np.arange(len(question)) - np.repeat(starts, taken)
    for q in np.flatnonzero(available > most).tolist():
        number[starts[q] : starts[q] + most] = rng.choice(available[q], size=most, replace=False, shuffle=False)
    return question, *numbered_pair(number)


def takes_weights(rule: object) -> bool:
    """Whether a rule uses the weights of answers."""
    return isinstance(rule, LearnedRule) or (isinstance(rule, Rule) and rule.takes_weights)


def forecasts_of(rule: Callable[[Any], Any], panel: Panel, clip: float | None) -> Floats:
    """What a rule says to each profile, clipped as `robustpool.aggregate` does it: (profiles,).

    With options it is (profiles, K), with NaN beyond a question's own. Weights go to the rules that take them.
    """
    weighted = takes_weights(rule)
    if isinstance(rule, LearnedRule):
        panel = replace(panel, table=weighed(panel.table, rule.weights_of(panel.table.forecasters)))
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
