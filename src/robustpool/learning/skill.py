"""How much each forecaster should count, from how she did on the questions that she answered.

Her excess is her Brier score minus that of the others on the same questions, so that hard questions are held against nobody.
With n_i questions the mean excess d_i has a variance of about v/n_i, and skill differs between people with variance t, so that

    E[excess | d_i] = d_i t / (t + v/n_i),            variance t v/n_i / (t + v/n_i)

is what is known of her (empirical Bayes; t by the method of moments as in [DerSimonianLaird1986]). If t = 0, all count the
same. Her weight is the fourth power of the score of an average answer over hers, kept between 1/16 and 16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..typing import Booleans, Floats, Integers
    from .history import History

POWER = 4
"""A score has a part that no skill removes, so weights that are in inverse proportion to it would differ too little. The power 4
did better than 1 and 2 on three of four real sets, and worse by up to 0.002 on the fourth."""

MOST_RATIO = 2.0
"""Of the scores of two forecasters, as weights see it: one person never counts more than 16 times an average one."""

NORMAL = 1.96


class Skill(NamedTuple):
    """The weights of the forecasters with their 95 % intervals, and on how many questions they rest."""

    weights: Floats  # (forecasters,), 1 for an average one
    low: Floats
    high: Floats
    questions: Integers


def skill(history: History, training: Booleans) -> Skill:
    """Weights from the questions in ``training``, (questions,)."""
    table = history.table
    number = len(table.forecasters)
    several = training & (table.answers > 1)
    rows = several[table.question]
    question, forecaster, losses = table.question[rows], table.forecaster[rows], history.losses[rows]
    count = np.bincount(forecaster, minlength=number)
    if not len(losses):
        return _same(count)
    answers = table.answers[question]
    mean = np.bincount(question, losses, history.size)[question] / answers
    excess = (losses - mean) * answers / (answers - 1)  # against the others, without herself
    there = count > 0
    own = np.divide(np.bincount(forecaster, excess, number), count, out=np.zeros(number), where=there)
    within = float(np.sum((excess - own[forecaster]) ** 2)) / max(len(excess) - int(there.sum()), 1)
    between = _between(own[there], count[there], within)
    noise = within / np.maximum(count, 1)
    kept = np.where(there, between / (between + noise) if between > 0 else 0.0, 0.0)
    typical = float(losses.mean())
    score = typical + kept * own
    reach = NORMAL * np.sqrt(np.where(there, kept * noise, between))
    if typical <= 0:  # all were certain and right
        return _same(count)
    weights, low, high = (_weight(typical, each) for each in (score, score + reach, score - reach))
    return Skill(weights, low, high, count)


def _same(count: Integers) -> Skill:
    """All count the same."""
    once = np.ones(len(count))
    return Skill(once, once, once, count)


def _between(own: Floats, count: Integers, within: float) -> float:
    """The variance of people's true excesses: (sum n d^2 - k v) / (N - sum n^2 / N).

    The excesses on a question sum to 0, so sum n d = 0 whoever answered what: no degree of freedom goes to a mean.
    """
    total = count.sum()
    spread = total - float(count @ count) / total
    return max((float(count @ own**2) - len(own) * within) / spread, 0.0) if spread > 0 else 0.0


def _weight(typical: float, score: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        ratio = np.where(score > 0, typical / np.where(score > 0, score, 1.0), MOST_RATIO)
    return np.asarray(np.clip(ratio, 1 / MOST_RATIO, MOST_RATIO) ** POWER)
