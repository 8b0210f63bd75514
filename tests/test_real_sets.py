"""`compare` and `fit` on the four sets of shared/data, where they are to be had: the README's table, and the right advice."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forecasters import of, said, scored_forecasts
from quick import one_of
from robustpool.aggregators.rules import RULES
from robustpool.evaluation.comparison import compare
from robustpool.evaluation.diagnosis import Confidence, Sample, Sharing, diagnose
from robustpool.evaluation.records import Verdict
from robustpool.learning.fitting import fit
from robustpool.learning.pool_file import load_pool
from robustpool.tables.pooling import aggregate_table
from robustpool.tables.reading import read_forecasts

if TYPE_CHECKING:
    from robustpool.tables.records import ForecastTable

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
ALL = {
    "replication_surveys": (0.48, 0.2529, 0.2049, 0.2008),
    "fte_midterms": (1.89, 0.0306, 0.0297, 0.0294),
    "forecastbench_super": (1.04, 0.1275, 0.1197, 0.1194),
    "aggrecat_replication": (1.29, 0.1764, 0.1516, 0.1445),
}
MOST_WORDS = 180
PAIRS = {
    "replication_surveys": (0.2286, 0.2319, 0.2362),
    "fte_midterms": (0.0300, 0.0297, 0.0294),
    "forecastbench_super": (0.1230, 0.1232, 0.1236),
    "aggrecat_replication": (0.1635, 0.1613, 0.1598),
}
FOUND = {
    "replication_surveys": (Sample.ENOUGH, Confidence.OVER, Sharing.PARTLY, "forecasters are over-confident"),
    "fte_midterms": (Sample.ENOUGH, Confidence.UNDER, Sharing.NESTED, "information is nested"),
    "forecastbench_super": (Sample.ENOUGH, Confidence.IN_LINE, Sharing.PARTLY, "there is no guarantee that"),
    "aggrecat_replication": (
        Sample.SMALL,
        Confidence.CANNOT_TELL,
        Sharing.PARTLY,
        "too few to tell which rule is best",
    ),
}
LEARNED = {
    "replication_surveys": ("weighted-recalibrated", 0.031, 0.027, 103),
    "fte_midterms": ("weighted-recalibrated", 0.004, 0.003, 540),
    "forecastbench_super": ("weighted-recalibrated", 0.006, 0.005, 578),
    "aggrecat_replication": ("robust", 0.008, -0.002, 25),
}
"""The form that is chosen, its gain over the mean and over the default rule, and the questions that it is scored on."""


def real(name: str) -> ForecastTable:
    """One of the four sets of shared/data, which the repository does not ship."""
    if not (DATA / f"{name}.csv").is_file():
        pytest.skip(f"{DATA} is not here; the repository ships none of these data")
    return read_forecasts(DATA / f"{name}.csv")


@pytest.mark.parametrize("name", ALL)
def test_real_forecasts_all_of_a_question(name: str) -> None:
    comparison = compare(real(name), draws=500)
    slope, individual, mean, odds = ALL[name]
    assert comparison.individuals.slope is not None
    assert comparison.individuals.slope.value == pytest.approx(slope, abs=0.006)
    assert comparison.individuals.brier == pytest.approx(individual, abs=0.001)
    assert of(comparison, "mean").brier.value == pytest.approx(mean, abs=0.001)
    assert of(comparison, "geometric-odds").brier.value == pytest.approx(odds, abs=0.001)
    found = diagnose(comparison)
    assert (found.sample, found.confidence, found.sharing) == FOUND[name][:3]
    assert FOUND[name][3] in said(comparison)
    assert len(said(comparison).split()) <= MOST_WORDS


@pytest.mark.parametrize("name", ALL)
def test_a_pool_that_learned_from_real_forecasts(name: str, tmp_path: Path) -> None:
    """It is nowhere told to be worse than the default, and it says of itself what was measured."""
    pool = fit(real(name))
    chosen, over_mean, over_default, questions = LEARNED[name]
    assert (pool.chosen, pool.scored) == (chosen, questions)
    assert pool.gain == pytest.approx(over_mean, abs=0.0005)
    assert pool.over_default.value == pytest.approx(over_default, abs=0.0005)
    assert pool.over_default.high >= 0
    assert pool.gain_high > 0
    assert pool.better is (name != "aggrecat_replication")  # 25 questions
    path = tmp_path / "pool.json"
    pool.save(path)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert (kept["gain"], kept["gain_low"], kept["gain_high"]) == tuple(pool.over_mean)
    assert (kept["chosen"], kept["better"]) == (chosen, pool.better)
    words = " ".join(load_pool(path).summary)
    assert f"On {questions} questions that were not learned from, " in words
    assert f" {pool.brier.value:.4f}, and the mean has {pool.brier.value + pool.gain:.4f}." in words
    told = "It is better than" if pool.better else "It is not shown to be better than"
    interval = f"(95 % interval {pool.gain_low:+.4f} to {pool.gain_high:+.4f})"
    assert f"{told} the mean: the gain is {pool.gain:+.4f} {interval}" in words
    own = f"{told} the default rule, robust: the gain is {pool.over_default.value:+.4f}"
    assert (own in words) is (chosen != "robust")  # it gains nothing over itself
    assert "worse" not in words


@pytest.mark.parametrize("name", one_of(2, ALL))
def test_what_the_advice_recommends_on_real_forecasts(name: str) -> None:
    comparison = compare(real(name))
    if name == "aggrecat_replication":
        assert comparison.recommended == "mean"
        assert said(comparison).startswith(
            "What to do: keep your current rule, or use the mean, until 40 questions are "
        )
        return
    assert comparison.fitted is not None
    assert comparison.recommended == "fitted"
    score = comparison.fitted.brier.value
    assert said(comparison).startswith(
        f"What to do: fit a pool to these data and use it ({score:.4f} against {ALL[name][2]:.4f} for the mean, on "
        f"{LEARNED[name][3]} questions that it had not seen; the gain is {comparison.fitted.gain_low:.4f} to "
    )
    assert "--recalibrate" not in said(comparison)


@pytest.mark.parametrize("name", ALL)
def test_the_default_is_nowhere_surely_worse_than_the_mean(name: str) -> None:
    comparison = compare(real(name), rules=["mean", "robust"], fit=False)
    assert of(comparison, "robust").verdict is not Verdict.WORSE


@pytest.mark.parametrize("name", one_of(2, ALL))
def test_what_is_scored_is_what_aggregate_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [rule if rule != "bordley" else "bordley:prior=0.3" for rule in RULES]
    table = real(name)
    with scored_forecasts(monkeypatch) as scored:
        compare(table, rules=rules, fit=False, draws=100)
    for rule in rules:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of what is clipped, and of weights that a rule does not take
            pooled = aggregate_table(DATA / f"{name}.csv", rule)
        given = dict(zip(pooled.questions, pooled.forecasts.tolist(), strict=True))
        assert len(scored[rule, "none"]) > 0
        for question, forecast in scored[rule, "none"].items():
            assert forecast == pytest.approx(given[question], abs=1e-15), (rule, question)


@pytest.mark.parametrize("name", one_of(2, PAIRS))
def test_real_forecasts_two_at_a_time(name: str) -> None:
    comparison = compare(real(name), pairs=2000, draws=500)
    for rule, brier in zip(("mean", "geometric-odds", "average-prior"), PAIRS[name], strict=True):
        assert of(comparison, rule).brier.value == pytest.approx(brier, abs=0.002)
    assert FOUND[name][3] in said(comparison)
    assert len(said(comparison).split()) <= MOST_WORDS


@pytest.mark.slow
def test_over_confident_surveys_two_at_a_time_and_all_at_once() -> None:
    table = real("replication_surveys")
    everyone = compare(table, recalibrate="auto", fit=False)
    two = compare(table, pairs=500, draws=500, recalibrate="auto")
    stretch = everyone.individuals.stretch
    assert stretch is not None
    assert stretch.value == pytest.approx(1.05, abs=0.01)
    assert (diagnose(everyone).stretched, diagnose(everyone).shrunk) == (False, False)
    assert (diagnose(two).stretched, diagnose(two).shrunk) == (False, True)
    assert "It is unclear whether averaging corrects this: " in said(everyone)
    assert "so rules that extremise are expected to do worse than the mean." in said(two)
    for comparison in (everyone, two):
        assert {rule.recalibration for rule in comparison.recalibrated} == {"platt"}  # the mean expects too much
        assert "After recalibration of the individuals (platt), the mean scores 0." in said(comparison)
    assert "Every rule that extremises loses to the mean here, as expected." in said(two)
    best = everyone.recalibrated[0]
    assert (best.name, round(best.brier.value, 4), best.verdict) == ("extremized-odds", 0.1867, Verdict.CANNOT_TELL)
    assert of(everyone, "geometric-mean").stands_out  # it leans towards no, as the outcomes do
    assert everyone.recommended == "mean"
    assert said(everyone).startswith(
        "What to do: use the mean: nothing that was tried is clearly better except geometric-mean, which is"
    )
