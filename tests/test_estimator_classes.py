"""`RobustPool` with more than two classes: a column for each forecaster and class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import robustpool as rp
from refusals import input_error
from robustpool.estimator import RobustPool, RobustVotingClassifier
from robustpool.forecasts import ContradictionWarning

NAN = np.nan
REPORTS = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=(60, 4))  # four forecasters, three classes
TABLE = REPORTS.reshape(60, 12)
Y = np.tile(["away", "draw", "home"], 20)


@pytest.mark.parametrize("rule", ["robust", "mean", "geometric-odds"])
def test_a_pool_says_what_aggregate_says(rule: str) -> None:
    pool = RobustPool(rule, weights=[1, 2, 3, 4]).fit(TABLE, Y)
    expected = rp.aggregate(REPORTS, rule, clip=0.01, weights=[1, 2, 3, 4])
    np.testing.assert_array_equal(pool.predict_proba(TABLE), expected)
    np.testing.assert_array_equal(pool.transform(TABLE), expected)
    np.testing.assert_allclose(pool.predict_proba(TABLE).sum(axis=1), 1, rtol=1e-12)
    likeliest = np.array(["away", "draw", "home"])[np.asarray(expected).argmax(axis=1)]
    assert pool.predict(TABLE).tolist() == likeliest.tolist()


def test_logarithms_are_probabilities_by_another_name() -> None:
    logs = np.log(REPORTS) + np.arange(4)[None, :, None]  # a constant for each forecaster says nothing
    pool = RobustPool(input="log-odds", clip=0).fit(logs.reshape(60, 12), Y)
    np.testing.assert_allclose(pool.transform(logs.reshape(60, 12)), rp.aggregate(REPORTS, clip=0), rtol=1e-9)
    assert np.isfinite(pool.transform(np.tile([1e300, -1e300, 0.0], (1, 4)))).all()


def test_missing_forecasters_are_left_out_and_a_question_without_any_has_no_class() -> None:
    table = TABLE[:3].copy()
    table[0, 3:] = NAN
    table[1] = NAN
    pool = RobustPool(clip=0).fit(TABLE, Y)
    np.testing.assert_allclose(pool.predict_proba(table)[0], table[0, :3])
    assert np.isnan(pool.predict_proba(table)[1]).all()
    with input_error(r"row 1 has none \(1 of 3 rows\)\.$"):
        pool.predict(table)


def test_distributions_that_are_clipped_are_counted_and_contradictions_warn() -> None:
    table = TABLE.copy()
    table[0, :6] = [1, 0, 0, 0, 0.5, 0.5]
    low = int((REPORTS[1:] < 0.01).any(axis=2).sum() + (REPORTS[0, 2:] < 0.01).any(axis=1).sum())
    assert RobustPool().fit(table, Y).clipped(table) == low + 2
    assert RobustPool("mean").fit(table, Y).clipped(table) == RobustPool(clip=0).fit(table, Y).clipped(table) == 0
    with pytest.warns(ContradictionWarning, match=r"the first is row 0"):
        np.testing.assert_allclose(RobustPool(clip=0).fit(table, Y).transform(table)[0], 1 / 3)


@pytest.mark.parametrize(
    ("settings", "columns", "sentence"),
    [
        (
            {"rule": "product"},
            12,
            r"^rule product is for two outcomes; for more: robust, mean, geometric-odds, minimax\.$",
        ),
        (
            {},
            11,
            r"^Only binary classification is supported with 11 columns; 3 classes need 3 columns for each forecaster",
        ),
        ({"weights": [1, 2]}, 12, r"^weights must have the shape \(60, 4\) of the probabilities or \(4,\)"),
    ],
)
def test_a_pool_refuses(settings: dict[str, Any], columns: int, sentence: str) -> None:
    with input_error(sentence):
        RobustPool(**settings).fit(TABLE[:, :columns], Y)


def test_columns_that_are_no_distributions_are_refused() -> None:
    with input_error(r"must sum to 1 \(within 1e-06\); row 0, agent 0 sums to"):
        RobustPool().fit(TABLE * 0.9, Y)
    with pytest.raises(ValueError, match=r"^y must have classes; the type of the target is continuous\.$"):
        RobustPool().fit(TABLE, np.linspace(0, 1, 60))


def test_names_of_columns() -> None:
    pool = RobustPool().set_output(transform="pandas").fit(pd.DataFrame(TABLE).rename(columns=str), Y)
    assert pool.get_feature_names_out().tolist() == ["robustpool0", "robustpool1", "robustpool2"]


def test_a_vote_as_columns_is_pooled_as_the_vote_itself() -> None:
    """`RobustVotingClassifier.transform` gives what `RobustPool` takes."""
    X, y = load_iris(return_X_y=True)
    vote = RobustVotingClassifier([("a", LogisticRegression(max_iter=500)), ("b", GaussianNB())]).fit(X, y)
    pool = RobustPool().fit(vote.transform(X), y)
    np.testing.assert_allclose(pool.predict_proba(vote.transform(X)), vote.predict_proba(X), rtol=1e-9)
    line = make_pipeline(vote, RobustPool())
    assert cross_val_score(line, X, y, scoring="neg_log_loss").mean() > -0.2
