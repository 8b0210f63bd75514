"""The scikit-learn estimators: what `RobustPool` says, and what scikit-learn's own checks say of both."""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, check_estimator

import robustpool as rp
from programs import run_python
from quick import slowly
from refusals import input_error
from robustpool.designs.any_aggregator import as_aggregator
from robustpool.estimator import RobustPool, RobustVotingClassifier
from robustpool.forecasts import ContradictionWarning, aggregate

if TYPE_CHECKING:
    from pathlib import Path

X, Y = make_classification(200, 6, n_informative=4, random_state=0)
FORECASTS = np.array([[0.9, 0.8], [0.3, 0.4], [0.6, np.nan], [0.5, 0.5]])


def vote(**settings: Any) -> RobustVotingClassifier:
    return RobustVotingClassifier([("logistic", LogisticRegression()), ("bayes", GaussianNB())], **settings)


# ---------------------------------------------------------------------------------------------- scikit-learn's own checks

NO_PROBABILITIES = "the check's numbers are no probabilities: they lie outside [0, 1]"
NEGATIVE = "the check allows a failure on negative numbers only with a tag for which all positive numbers are right"
OUTSIDE = """
classifier_data_not_an_array classifiers_classes classifiers_train dict_unchanged dont_overwrite_parameters
estimators_dtypes estimators_fit_returns_self estimators_overwrite_params estimators_pickle
f_contiguous_array_estimator fit2d_1feature fit2d_predict1d fit_check_is_fitted fit_idempotent
methods_sample_order_invariance methods_subset_invariance n_features_in n_features_in_after_fitting
pipeline_consistency readonly_memmap_input
transformer_data_not_an_array transformer_general transformer_preserve_dtypes
"""
EXPECTED_FAILURES = {f"check_{name}": NO_PROBABILITIES for name in OUTSIDE.split()}
EXPECTED_FAILURES["check_positive_only_tag_during_fit"] = NEGATIVE
"""What `RobustPool()` fails, and why. `RobustPool(input="log-odds")`, the same code for any numbers, fails nothing."""


def failures(estimator: Any) -> dict[str, Exception]:
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 50
    return {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}


@pytest.mark.parametrize(
    "estimator",
    [
        RobustPool(input="log-odds"),
        RobustPool("mean", input="log-odds", clip=0.01),
        vote(cv=2),
        *(
            slowly(estimator)  # they fit each member two to three times as often
            for estimator in (
                vote(rule="geometric-odds", weights=[2, 1], calibration="sigmoid", cv=2),
                vote(),
                vote(rule="geometric-odds", weights=[2, 1]),
                vote(calibration="sigmoid", cv=3),
            )
        ),
    ],
    ids=lambda estimator: " ".join(repr(estimator).split()),
)
@pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")  # of a member without one class
def test_all_estimator_checks_pass(estimator: Any) -> None:
    assert failures(estimator) == {}


def test_what_is_expected_to_fail_fails_and_nothing_else() -> None:
    found = failures(RobustPool())
    assert set(found) == set(EXPECTED_FAILURES)
    for name, error in found.items():
        if EXPECTED_FAILURES[name] == NO_PROBABILITIES:
            assert "must lie in [0, 1]" in str(error), name


@pytest.mark.parametrize("estimator", [RobustPool(input="log-odds"), vote()], ids=lambda each: type(each).__name__)
def test_names_of_columns_have_to_stay(estimator: Any) -> None:
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)


# ------------------------------------------------------------------------------------------------------------- RobustPool


@pytest.mark.parametrize("rule", ["robust", "minimax", "mean", "extremized-odds:d=2", lambda reports: reports[:, 0]])
def test_a_pool_says_what_aggregate_says(rule: Any) -> None:
    pool = RobustPool(rule, clip=0.35).fit(FORECASTS)
    expected = np.asarray(aggregate(FORECASTS, rule, clip=0.35))
    np.testing.assert_array_equal(pool.transform(FORECASTS)[:, 0], expected)
    np.testing.assert_array_equal(pool.predict_proba(FORECASTS), np.column_stack([1 - expected, expected]))


def test_a_pool_names_the_classes_as_y_does_and_by_0_and_1_without() -> None:
    y = ["rain", "dry", "rain", "dry"]
    assert RobustPool().fit(FORECASTS, y).predict(FORECASTS).tolist() == ["rain", "dry", "rain", "dry"]
    assert RobustPool().fit(FORECASTS).predict(FORECASTS).tolist() == [1, 0, 1, 0]


def test_log_odds_are_probabilities_by_another_name() -> None:
    log_odds = np.log(FORECASTS / (1 - FORECASTS))
    pooled = RobustPool(input="log-odds").fit_transform(log_odds)[:, 0]
    np.testing.assert_allclose(pooled, aggregate(FORECASTS), rtol=1e-12)


def test_no_log_odds_are_so_large_that_they_are_certain() -> None:
    pooled = RobustPool(input="log-odds", clip=0).fit_transform([[1e300, -1e300], [40.0, -800.0], [1e9, 1e9]])[:, 0]
    np.testing.assert_allclose(pooled[:2], 0.5, rtol=1e-9)
    assert pooled[2] > 1 - 1e-15


def test_a_question_without_answers_has_a_probability_of_nan_and_no_class() -> None:
    table = np.array([[0.2, 0.3], [np.nan, np.nan]])
    pool = RobustPool().fit(table)
    assert np.isnan(pool.predict_proba(table)).tolist() == [[False, False], [True, True]]
    with input_error(r"^a question must have an answer .*; row 1 has none \(1 of 2 rows\)\.$"):
        pool.predict(table)


def test_forecasters_may_have_weights() -> None:
    table = np.array([[0.2, 0.3], [0.9, np.nan]])
    pool = RobustPool("mean", weights=[3, 1]).fit(table)
    np.testing.assert_allclose(pool.transform(table)[:, 0], [0.225, 0.9])
    with input_error(r"^weights must have the shape \(2, 2\) of the probabilities or \(2,\), one for each"):
        RobustPool(weights=[1, 2, 3]).fit(table)


def test_a_pool_clips_by_default_and_counts_it() -> None:
    table = [[0.0, 0.4], [0.995, np.nan], [0.99, 0.01]]
    pool = RobustPool().fit(table)
    np.testing.assert_array_equal(pool.transform(table)[:, 0], aggregate(table, clip=0.01))
    assert pool.clipped(table) == 2
    assert RobustPool(clip=0).fit(table).clipped(table) == 0
    assert RobustPool("mean").fit(table).clipped(table) == 0
    assert RobustPool(input="log-odds").fit(table).clipped([[9.0, 0.0], [-9.0, 4.5]]) == 2


def test_contradictions_warn_where_they_are_pooled_and_only_there() -> None:
    pool = RobustPool(clip=0).fit([[0.0, 1.0]])
    with pytest.warns(ContradictionWarning, match=r"row 0 has both \(1 of 1 rows\)\.$"):
        assert pool.transform([[0.0, 1.0]]) == [[0.5]]


@pytest.mark.parametrize(
    ("settings", "table", "y", "sentence"),
    [
        (
            {},
            [[0.5, 1.2], [3, 0]],
            None,
            r"^probability must lie in \[0, 1\]; row 0, column 1 is 1\.2 \(2 of 4 are out",
        ),
        ({}, [[0.5, np.inf]], None, r"^Input X contains infinity"),
        ({"input": "percent"}, [[0.5]], None, r"^input must be one of probabilities, log-odds; it is 'percent'\.$"),
        ({"rule": "maen"}, [[0.5]], None, r"the closest is 'mean'\.$"),
        ({"rule": lambda reports: reports}, [[0.5] * 3], None, r"^the aggregator must return the shape \(1,\)"),
        ({"clip": 0.5}, [[0.5]], None, r"^clip must lie in \[0, 0\.5\); it is 0\.5\.$"),
        (
            {},
            [[0.5]] * 3,
            [0, 1, 2],
            r"^Only binary classification is supported with 1 columns; 3 classes need 3 columns for each forecaster\.$",
        ),
        ({}, [[0.5]] * 2, ["a", "a"], r"^y must have two classes; it has 1 class, 'a'\.$"),
        ({}, [[0.5]] * 2, [0], r"^Found input variables with inconsistent numbers of samples"),
    ],
)
def test_a_pool_refuses(settings: dict[str, Any], table: Any, y: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        RobustPool(**settings).fit(table, y)


def test_an_unfitted_pool_does_not_answer() -> None:
    with pytest.raises(NotFittedError, match="RobustPool instance is not fitted yet"):
        RobustPool().transform(FORECASTS)


def test_a_pool_in_data_frames() -> None:
    frame = pd.DataFrame(FORECASTS, columns=["ann", "bob"], index=[7, 8, 9, 10])
    pool = RobustPool().set_output(transform="pandas").fit(frame)
    pooled = pool.transform(frame)
    assert pool.feature_names_in_.tolist() == ["ann", "bob"]
    assert pooled.columns.tolist() == pool.get_feature_names_out().tolist() == ["robustpool0"]
    assert pooled.index.tolist() == [7, 8, 9, 10]
    assert isinstance(RobustPool().set_output(transform="polars").fit_transform(pl.DataFrame(frame)), pl.DataFrame)
    with pytest.raises(ValueError, match="feature names should match"):
        pool.transform(frame[["bob", "ann"]])


def test_a_pool_stands_in_a_pipeline_before_a_calibration() -> None:
    """Over-confident forecasters: the pooled column is a feature like any other."""
    rng = np.random.default_rng(0)
    truth = rng.random(500)
    y = (rng.random(500) < truth).astype(int)
    reports = np.clip(truth[:, None] + rng.normal(0, 0.2, (500, 3)), 0.01, 0.99)
    line = make_pipeline(RobustPool(), LogisticRegression())
    assert cross_val_score(line, reports, y, scoring="neg_brier_score").mean() > -0.21
    search = GridSearchCV(line, {"robustpool__rule": ["mean", "minimax", "product"]}, scoring="neg_log_loss")
    assert search.fit(reports, y).best_params_["robustpool__rule"] == "mean"  # all see the same truth


# ------------------------------------------------------------------------------------------------------------------- both


@pytest.mark.parametrize(
    "estimator", [RobustPool("extremized-odds:d=2", input="log-odds"), vote(calibration="isotonic", cv=3)], ids=type
)
def test_saved_and_loaded_they_say_the_same(estimator: Any) -> None:
    fitted = estimator.fit(X, Y)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("name", ["RobustPool", "RobustVotingClassifier"])
def test_without_scikit_learn_one_sentence_says_what_to_install(name: str) -> None:
    hidden = f"import sys; sys.modules['sklearn'] = None; import robustpool; from robustpool.estimator import {name}"
    run = run_python("-c", hidden)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        "robustpool.errors.MissingExtraError: an estimator needs the package of the extra "
        '"sklearn" (scikit-learn); install robustpool[sklearn].'
    )


def test_a_design_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "design.json"
    solution = rp.solve(rp.ConditionallyIndependent(agents=2, reports=4, priors=10), tolerance=1e-3)
    rp.save_design(solution, file)
    pool = RobustPool(file).fit(FORECASTS[:2])
    file.unlink()
    loaded = pickle.loads(pickle.dumps(pool))
    np.testing.assert_array_equal(loaded.transform(FORECASTS[:2])[:, 0], aggregate(FORECASTS[:2], solution.aggregator))


def test_the_rule_is_kept_as_a_function() -> None:
    assert RobustPool("mean").fit(FORECASTS).aggregator_ == as_aggregator("mean")
    assert vote(rule="mean").fit(X, Y).aggregator_ == as_aggregator("mean")
