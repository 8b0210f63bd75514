"""Combined classifiers on fifteen data sets that come with scikit-learn: what each way to combine them scores beside soft voting.

    python benchmarks/classifiers.py

writes docs/classifiers.csv in a few minutes and prints the tables of docs/how-to/pool-classifiers.md. All ways combine the same
three members, those of scikit-learn's own example of a voting classifier. Each data set is split ten times (5 folds, twice), and everything is fitted on four fifths and scored on the rest. The
splits share samples, so ten differences say less than ten independent ones. The 95 % intervals allow for this with the corrected
resampled t-test of Nadeau and Bengio (2003): mean +- t sqrt((1/J + n_test/n_train) s^2) over J = 10 splits, with J - 1 degrees of
freedom.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student
from sklearn import datasets
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robustpool as rp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RESULTS = Path(__file__).parent.parent / "docs" / "classifiers.csv"
FOLDS, REPEATS = 5, 2
MOST = 1000  # samples of a data set; more are left out at random

Row = dict[str, str]

# ------------------------------------------------------------------------------------------------------------ data sets


def digits(of: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Images of handwritten digits, classified by some function of the digit."""
    X, digit = datasets.load_digits(return_X_y=True)
    return X, of(digit)


def made(name: str, **settings: Any) -> Callable[[], tuple[Any, Any]]:
    """A data set that is generated."""
    return lambda: getattr(datasets, f"make_{name}")(**settings, random_state=0)


def loaded(name: str) -> Callable[[], tuple[Any, Any]]:
    """A data set that comes with scikit-learn."""
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


DATA: dict[str, Callable[[], tuple[Any, Any]]] = {
    "breast cancer": loaded("breast_cancer"),
    "digits, odd or even": lambda: digits(lambda digit: digit % 2),
    "digits, all ten": lambda: digits(lambda digit: digit),
    "wine": loaded("wine"),
    "iris": loaded("iris"),
    "informative columns": made("classification", n_samples=1000, n_features=20, n_informative=10),
    "redundant columns": made("classification", n_samples=1000, n_features=20, n_informative=3, n_redundant=12),
    "noisy labels": made("classification", n_samples=1000, n_features=20, n_informative=5, flip_y=0.3),
    "a rare class": made("classification", n_samples=1000, n_features=20, n_informative=5, weights=[0.95]),
    "four classes": made("classification", n_samples=1000, n_features=20, n_informative=8, n_classes=4),
    "few samples": made("classification", n_samples=100, n_features=20, n_informative=5),
    "moons": made("moons", n_samples=500, noise=0.3),
    "circles": made("circles", n_samples=500, noise=0.2, factor=0.5),
    "hastie": made("hastie_10_2", n_samples=1000),
    "gaussian quantiles": made("gaussian_quantiles", n_samples=1000, n_features=5, n_classes=3),
}


def load(name: str) -> tuple[Any, Any]:
    """Samples, and their classes as numbers from 0."""
    X, y = DATA[name]()
    y = np.unique(y, return_inverse=True)[1]
    kept = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
    return X[kept], y[kept]


# ----------------------------------------------------------------------------------------------- members, and ways to combine

MEMBERS = [
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("forest", RandomForestClassifier(25, random_state=0)),
    ("bayes", GaussianNB()),
]

WAYS: dict[str, Any] = {
    "soft voting": VotingClassifier(MEMBERS, voting="soft"),
    "robust, uncalibrated": rp.RobustVotingClassifier(MEMBERS, calibration=None),
    "robust": rp.RobustVotingClassifier(MEMBERS),
    "learn=True": rp.RobustVotingClassifier(MEMBERS, learn=True),
    "stacking": StackingClassifier(MEMBERS, LogisticRegression(max_iter=1000)),
}
REFERENCE = "soft voting"


# -------------------------------------------------------------------------------------------------------------- scores


def brier(forecasts: Any, y: Any) -> float:
    """The mean of (p - y)^2; with more than two classes of its sum over the classes."""
    squares = (forecasts - np.eye(forecasts.shape[1])[y]) ** 2
    return float((squares[:, 1] if forecasts.shape[1] == 2 else squares.sum(axis=1)).mean())


def log_score(forecasts: Any, y: Any) -> float:
    """The mean of -log of the probability of the true class, which is at least 2.2e-16, as in scikit-learn."""
    return float(-np.log(np.maximum(forecasts[np.arange(len(y)), y], np.finfo(float).eps)).mean())


SCORES = {"brier": brier, "log": log_score}


def scored(name: str) -> dict[tuple[str, str], list[float]]:
    """For each way and score the scores on the test samples of each split."""
    X, y = load(name)
    found: dict[tuple[str, str], list[float]] = {(way, score): [] for way in WAYS for score in SCORES}
    for train, test in RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0).split(X, y):
        for way, classifier in WAYS.items():
            forecasts = clone(classifier).fit(X[train], y[train]).predict_proba(X[test])
            for score, function in SCORES.items():
                found[way, score].append(function(forecasts, y[test]))
    return found


def interval(differences: Any) -> tuple[float, float, float]:
    """The mean difference, and its corrected 95 % interval.

    >>> [round(end, 3) for end in interval([0.1, 0.2, 0.1, 0.2])]
    [0.15, 0.02, 0.28]
    """
    splits = len(differences)
    ratio = 1 / (FOLDS - 1)  # test samples for each sample that was fitted to
    error = np.sqrt((1 / splits + ratio) * np.var(differences, ddof=1))
    mean, half = float(np.mean(differences)), float(student.ppf(0.975, splits - 1) * error)
    return mean, mean - half, mean + half


def rows(name: str) -> list[Row]:
    """What the file has for a data set: a row for each way to combine."""
    X, y = load(name)
    found = scored(name)
    result = []
    for way in WAYS:
        row = {"data": name, "samples": str(len(X)), "classes": str(len(np.unique(y))), "way": way}
        for score in SCORES:
            own, reference = np.array(found[way, score]), np.array(found[REFERENCE, score])
            numbers = (float(own.mean()), *interval(own - reference))
            columns = (score, f"{score}_difference", f"{score}_low", f"{score}_high")
            row |= {column: f"{number:.5f}" for column, number in zip(columns, numbers, strict=True)}
        result.append(row)
    return result


# ------------------------------------------------------------------------------------------------------------ files, tables


def read() -> list[Row]:
    """The rows of the committed file."""
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(results: Iterable[Row]) -> None:
    results = list(results)
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(results[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)


def thousandths(number: float) -> str:
    """A difference with its sign.

    >>> thousandths(-0.0071), thousandths(-0.00001)
    ('-7.1', '+0.0')
    """
    return f"{round(1000 * number, 1) + 0.0:+.1f}"


def table(results: list[Row], score: str) -> str:
    """A table for the page: the score of soft voting, and what is added to it, in thousandths; bold if the interval lacks 0."""
    others = [way for way in WAYS if way != REFERENCE]
    lines = [f"| data set | {REFERENCE} | {' | '.join(others)} |", f"|{'---|' * (len(others) + 2)}"]
    for name in dict.fromkeys(row["data"] for row in results):
        by_way = {row["way"]: row for row in results if row["data"] == name}
        cells = [f"{name}", f"{1000 * float(by_way[REFERENCE][score]):.1f}"]
        for way in others:
            value, low, high = (float(by_way[way][f"{score}_{part}"]) for part in ("difference", "low", "high"))
            text = f"{thousandths(value)} ({thousandths(low)} to {thousandths(high)})"
            cells.append(f"**{text}**" if low > 0 or high < 0 else text)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def tally(results: list[Row], score: str) -> dict[str, tuple[int, int, int]]:
    """For each way: on how many data sets it is better than soft voting and worse, by more than its interval, and the best."""
    best = [
        min((row for row in results if row["data"] == name), key=lambda row: float(row[score]))["way"]
        for name in dict.fromkeys(row["data"] for row in results)
    ]
    found = {}
    for way in WAYS:
        ends = [(float(row[f"{score}_low"]), float(row[f"{score}_high"])) for row in results if row["way"] == way]
        found[way] = sum(high < 0 for _, high in ends), sum(low > 0 for low, _ in ends), best.count(way)
    return found


def summary(results: list[Row]) -> str:
    """A table for the page: how often each way is better than soft voting, worse, and the best of all, by both scores."""
    scores = [tally(results, score) for score in SCORES]
    lines = ["| | Brier: better | worse | best of all | log: better | worse | best of all |", f"|{'---|' * 7}"]
    for way in WAYS:
        counts = [str(count) for each in scores for count in each[way]]
        if way == REFERENCE:
            counts[0:2] = counts[3:5] = ["", ""]
        lines.append(f"| {' | '.join([way, *counts])} |")
    return "\n".join(lines)


def main() -> None:
    began = time.perf_counter()
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of members that did not converge
        for name in DATA:
            results += rows(name)
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    write(results)
    for score in SCORES:
        print(f"\n{score}\n\n{table(results, score)}")
    print(f"\n{summary(results)}")


if __name__ == "__main__":
    main()
