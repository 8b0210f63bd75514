"""How much each forecaster should count, from how she did on the questions that she answered.

Her excess is her Brier score minus that of the others on the same questions, so that hard questions are held against nobody.
With n_i questions the mean excess d_i has a variance of about v/n_i, and skill differs between people with variance t, so that

    E[excess | d_i] = d_i t / (t + v/n_i),            variance t v/n_i / (t + v/n_i)

is what is known of her (empirical Bayes). The excesses on a question sum to 0, so the mean of d_i weighted by n_i is 0 whoever
answered what, and t = (sum n_i d_i^2 - k v) / N for k people and N = sum n_i, the method of moments as in
[DerSimonianLaird1986]. If t = 0, all count the same. Questions of a cluster count as one. Her weight is the fourth power of the score of an average answer over hers, kept between 1/16 and 16.
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
    questions: Integers  # (forecasters,), or clusters of them; 0 if there was nobody to compare with


def skill(history: History, training: Booleans) -> Skill:
    """Weights from the questions in ``training``, (questions,)."""
    table = history.table
    number = len(table.forecasters)
    several = training & (table.answers > 1)
    rows = several[table.question]
    question, forecaster, losses = table.question[rows], table.forecaster[rows], history.losses[rows]
    if not len(losses) or not losses.any():  # nobody to compare with, or all were certain and right
        return _same(number)
    answers = table.answers[question]
    mean = np.bincount(question, losses, history.size)[question] / answers
    excess = (losses - mean) * answers / (answers - 1)  # against the others, without herself
    if table.cluster is not None:
        forecaster, excess = _by_cluster(forecaster, history.clusters[question], excess)
    count = np.bincount(forecaster, minlength=number)
    there = count > 0
    own = np.divide(np.bincount(forecaster, excess, number), count, out=np.zeros(number), where=there)
    within = float(np.sum((excess - own[forecaster]) ** 2)) / max(len(excess) - int(there.sum()), 1)
    between = variance_of_skill(own[there], count[there], within)
    noise = within / np.maximum(count, 1)
    kept = np.where(there, between / (between + noise) if between > 0 else 0.0, 0.0)
    typical = float(losses.mean())
    score, reach = typical + kept * own, NORMAL * np.sqrt(np.where(there, kept * noise, between))
    weights, low, high = (_weight(typical, each) for each in (score, score + reach, score - reach))
    return Skill(weights, low, high, count)


def variance_of_skill(own: Floats, count: Integers, within: float) -> float:
    """The variance t of true excesses, from mean excesses over so many questions and the variance within forecasters.

    >>> variance_of_skill(np.array([0.1, -0.1]), np.array([100, 100]), within=0.25)
    0.0075...
    """
    return max(float(count @ own**2) - len(own) * within, 0.0) / float(count.sum())


def _by_cluster(forecaster: Integers, clusters: Integers, excess: Floats) -> tuple[Integers, Floats]:
    """Questions of a cluster count as one: the forecaster and the mean excess of each of her clusters."""
    pairs, place = np.unique(np.stack([forecaster, clusters]), axis=1, return_inverse=True)
    place = place.ravel()
    return pairs[0], np.bincount(place, excess) / np.bincount(place)


def _same(number: int) -> Skill:
    """All count the same."""
    once = np.ones(number)
    return Skill(once, once, once, np.zeros(number, dtype=np.int64))


def _weight(typical: float, score: Floats) -> Floats:
    """(typical / score)^4, with the ratio kept in [1/2, 2]."""
    return np.asarray((typical / np.clip(score, typical / MOST_RATIO, typical * MOST_RATIO)) ** POWER)
