"""How good is a pool that is chosen and fitted by looking at the outcomes? Only outcomes that it has not seen can tell.

The choice: among the forms, the simplest whose score is within one standard error of the best, the scores being those on questions
that the form was not fitted to. The whole procedure, choice included, is then scored on questions that neither the choice
nor the fit has seen (nested cross-validation).

Without times the questions are dealt out to folds at random, clusters together. For each fold the forms are chosen and fitted on
the other folds. A fit that leaves out folds j and k serves twice: to choose for fold k, and to choose for fold j.

With times the pool lives as on a platform: for each block of time it is fitted to the questions resolved before the block begins, and
the form is chosen by how the forms did on earlier blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.scoring import CLUSTERS_FOR_A_VERDICT
from .candidates import FORMS, fit_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Booleans, Floats, Integers
    from .candidates import Form
    from .history import History

    Progress = Callable[[str, float], None]

FOLDS = ((20, 200), (10, 2000), (5, float("inf")))
"""So many folds up to so many clusters: on a hundred questions the luck of the draw shows with fewer."""

MOST_WORK = 4e6
"""Answers that all fits together may see, if fewer folds than that can do: a few seconds."""

LEARNING = tuple(form for form in FORMS if form.learns)

LEAST_TO_LEARN = 20
"""Questions (or clusters) that a pool must have seen before its forecasts count as those of a fitted pool."""

BLOCKS = 10
"""Blocks of time, with about the same number of questions each."""


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Forecasts for questions whose outcomes had no influence on them."""

    scored: Booleans  # (questions,): those that have such forecasts
    forecasts: (
        Floats  # of the pool, chosen and fitted without the question: (questions,) or (questions, K), NaN if not scored
    )
    by_form: dict[str, Floats]  # of each form, fitted without the question
    chosen: Form  # by all questions
    choices: tuple[str, ...]  # the forms that were chosen for the folds or blocks
    block: Integers | None  # (questions,): the block of time, if there are times
    blocks: tuple[float, ...] = ()  # when each block begins


def simplest(losses: Sequence[Floats], clusters: Integers) -> int:
    """The first whose mean loss is within one standard error of the smallest.

    The standard error is that of the paired difference, with questions of a cluster taken together.

    >>> best, wobble = np.full(100, 0.2), np.tile([0.1, -0.1], 50)  # the standard error is 0.01
    >>> simplest([best + wobble + 0.02, best + wobble + 0.005, best], np.arange(100))
    1
    """
    means = np.array([each.mean() for each in losses])
    best = int(np.argmin(means))
    size = len(losses[best])
    for place, each in enumerate(losses[:best]):
        away = each - losses[best]
        centred = np.bincount(clusters, away - away.mean())
        if means[place] - means[best] <= np.sqrt(np.sum(centred**2)) / size:
            return place
    return best


# --------------------------------------------------------------------------------------------------------- without times


def shuffled(history: History, seed: int, say: Progress) -> CrossFitted:
    """Nested cross-validation over questions, or clusters of them."""
    clusters = history.number_of_clusters
    affordable = [each for each in FOLDS if each[0] * (each[0] + 1) / 2 * history.table.rows <= MOST_WORK]
    folds = next(folds for folds, most in (*affordable, FOLDS[-1]) if clusters <= most or folds == FOLDS[-1][0])
    fold = (np.random.default_rng(seed).permutation(clusters) % folds)[history.clusters]
    steps = folds * (folds + 1) // 2
    done = 0

    def fitted(without: tuple[int, ...]) -> dict[str, Floats]:
        nonlocal done
        say("learning", done / steps)
        done += 1
        training = ~np.isin(fold, without)
        return {name: form.forecasts(history) for name, form in fit_forms(LEARNING, history, training).items()}

    fixed = _fixed(history)
    by_form = {form.name: fixed[form.name].copy() if form.name in fixed else _blank(history) for form in FORMS}
    alone = [fitted((k,)) for k in range(folds)]
    for k, learned in enumerate(alone):
        for name, values in learned.items():
            by_form[name][fold == k] = values[fold == k]
    # inner[k][form]: the losses on the other folds j of fits that left out both j and k
    inner = [{form.name: history.brier(by_form[form.name]) for form in FORMS} for _ in range(folds)]
    for j, k in combinations(range(folds), 2):
        for name, values in fitted((j, k)).items():
            losses = history.brier(values)
            inner[k][name][fold == j] = losses[fold == j]
            inner[j][name][fold == k] = losses[fold == k]
    forecasts = _blank(history)
    choices = []
    for k in range(folds):
        others = fold != k
        form = FORMS[simplest([inner[k][form.name][others] for form in FORMS], numbered(history.clusters[others]))]
        forecasts[~others] = by_form[form.name][~others]
        choices.append(form.name)
    every = np.ones(history.size, dtype=bool)
    return CrossFitted(every, forecasts, by_form, _choice(history, by_form, every), tuple(choices), None)


# ------------------------------------------------------------------------------------------------------------ with times


def rolling(
    history: History, time: Floats, known: Floats, starts: Sequence[float], say: Progress
) -> CrossFitted | None:
    """Learn on the past, score the next block: blocks begin at ``starts``, and the last has no end.

    ``time`` says when the forecast of a question was made, ``known`` when its outcome was. The first block with forecasts only
    serves to choose. None if fewer than three blocks have a past to learn from, of which two can then be scored.
    """
    block = np.searchsorted(np.asarray(starts), time, side="right") - 1
    fixed = _fixed(history)
    by_form = {form.name: _blank(history) for form in FORMS}
    forecasts = _blank(history)
    fitted = np.zeros(history.size, dtype=bool)
    scored = fitted.copy()
    choices = []
    for number, start in enumerate(starts):
        say("learning", number / len(starts))
        here, past = block == number, known < start
        if not here.any() or len(np.unique(history.clusters[past])) < LEAST_TO_LEARN:
            continue
        learned = {name: form.forecasts(history) for name, form in fit_forms(LEARNING, history, past).items()}
        for name, values in (fixed | learned).items():
            by_form[name][here] = values[here]
        judged = past & fitted
        if judged.any():
            form = _choice(history, by_form, recent(judged, block, 1 / 2))
            forecasts[here] = by_form[form.name][here]
            scored |= here
            choices.append(form.name)
        fitted |= here
    if len(choices) < 2 or len(np.unique(history.clusters[scored])) < CLUSTERS_FOR_A_VERDICT:
        return None
    chosen = _choice(history, by_form, recent(fitted, block, 1 / 2))
    return CrossFitted(scored, forecasts, by_form, chosen, tuple(choices), block, tuple(starts))


def even_blocks(time: Floats) -> list[float]:
    """Where blocks of time begin that have about as many questions each; the first begins with the first question."""
    return np.unique(np.sort(time)[np.arange(BLOCKS) * len(time) // BLOCKS]).tolist()


# ---------------------------------------------------------------------------------------------------------------- helpers


def _fixed(history: History) -> dict[str, Floats]:
    """The forecasts of the forms that learn nothing."""
    every = np.ones(history.size, dtype=bool)
    forms = [form for form in FORMS if not form.learns]
    return {name: form.forecasts(history) for name, form in fit_forms(forms, history, every).items()}


def _blank(history: History) -> Floats:
    return np.full((history.size, *history.table.probability.shape[1:]), np.nan)


def _choice(history: History, by_form: dict[str, Any], which: Booleans) -> Form:
    losses = [history.brier(by_form[form.name])[which] for form in FORMS]
    return FORMS[simplest(losses, numbered(history.clusters[which]))]


def numbered(clusters: Integers) -> Integers:
    """The same clusters with numbers from 0."""
    return np.unique(clusters, return_inverse=True)[1]


def recent(which: Booleans, block: Integers, share: float) -> Booleans:
    """Those of these questions that are in the most recent share of their blocks."""
    numbers = np.unique(block[which])
    first = numbers[len(numbers) - max(1, round(share * len(numbers)))]
    return which & (block >= first)
