"""Estimators that learn their pool: from samples that the members have not seen, with what `robustpool.fit` makes of them."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_gaussian_quantiles
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import robustpool as rp
from refusals import input_error
from robustpool.aggregators.learned_rule import LearnedRule
from robustpool.estimator import RobustPool, RobustVotingClassifier
from robustpool.estimator.learned import table_of
from robustpool.estimator.log_odds import LogOdds
from robustpool.numerics import sigma

if TYPE_CHECKING:
    from pathlib import Path

X, Y = load_breast_cancer(return_X_y=True)
RINGS, RING = make_gaussian_quantiles(n_samples=300, n_features=3, n_classes=3, random_state=0)
FEW, FEW_Y = make_classification(60, 6, n_informative=4, random_state=0)


def members() -> list[tuple[str, Any]]:
    """A good member and an over-confident one."""
    return [("bayes", GaussianNB()), ("logistic", make_pipeline(StandardScaler(), LogisticRegression()))]


def vote(**settings: Any) -> RobustVotingClassifier:
    return RobustVotingClassifier(members(), **settings)


def learning(**settings: Any) -> RobustVotingClassifier:
    return vote(learn=True, **settings)


def unseen(table: Any, y: Any, folds: int = 5) -> Any:
    """What the members say of samples that they were not fitted to, by scikit-learn: (samples, members, classes)."""
    split = StratifiedKFold(folds)
    said = [cross_val_predict(member, table, y, cv=split, method="predict_proba") for _, member in members()]
    return np.stack(said, axis=1)


# ------------------------------------------------------------------------------------------------------------- calibration


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({}, "sigmoid"),
        ({"rule": "geometric-odds"}, "sigmoid"),
        ({"rule": lambda reports: reports[:, 0]}, "sigmoid"),
        ({"rule": "mean"}, None),
        ({"calibration": None}, None),
        ({"learn": True}, None),
        ({"rule": "mean", "calibration": "isotonic"}, "isotonic"),
        ({"learn": True, "calibration": "sigmoid"}, "sigmoid"),
    ],
)
def test_members_are_calibrated_unless_the_rule_averages_or_the_pool_is_learned(settings: Any, method: Any) -> None:
    fitted = vote(**settings).fit(FEW, FEW_Y)
    methods = [each.method if isinstance(each, CalibratedClassifierCV) else None for each in fitted.estimators_]
    assert methods == [method, method]


def test_by_default_an_over_confident_member_costs_nothing_against_soft_voting() -> None:
    """Naive Bayes is nearly always certain on these data; before it was calibrated, the default lost a quarter."""

    def brier(estimator: Any) -> float:
        forecasts = cross_val_predict(estimator, X, Y, cv=5, method="predict_proba")[:, 1]
        return float(np.mean((forecasts - Y) ** 2))

    soft = brier(VotingClassifier(members(), voting="soft"))
    assert brier(vote(calibration=None)) > 1.25 * soft
    assert brier(vote()) < soft
    assert brier(learning()) < 0.8 * soft


def test_a_rare_class_has_fewer_folds_and_a_single_sample_none() -> None:
    table, y = FEW[:20], np.repeat(["often", "rare"], [17, 3])
    by_default = vote().fit(table, y).transform(table)
    np.testing.assert_array_equal(by_default, vote(cv=3).fit(table, y).transform(table))
    with pytest.raises(ValueError, match="5-fold"):
        vote(cv=5).fit(table, y)
    y[-2:] = "often"
    with input_error(
        r"^each class must have at least 2 samples .*; class rare has 1 sample; calibration=None needs fewer"
    ):
        vote().fit(table, y)
    assert vote(calibration=None).fit(table, y).predict_proba(table).shape == (20, 2)


def test_members_fitted_elsewhere_are_calibrated_on_the_classes_that_they_know() -> None:
    fitted = [(name, FrozenEstimator(member.fit(X, Y))) for name, member in members()]
    with input_error(r"^y must have the classes of the fitted members .*; they know \[0, 1\], y has \[1, 2\]\.$"):
        RobustVotingClassifier(fitted).fit(X, Y + 1)


def test_one_class_is_refused() -> None:
    with input_error(r"^members must know two classes; they know 1 class, 0\.$"):
        RobustVotingClassifier([("bayes", GaussianNB())], calibration=None).fit(FEW, np.zeros(60, dtype=int))


# ------------------------------------------------------------------------------------------------------ a vote that learns


def test_a_vote_learns_what_fit_learns_from_unseen_samples() -> None:
    fitted = learning().fit(X, Y)
    reports = unseen(X, Y)[:, :, 1]
    expected = rp.fit(table_of(reports, Y, ["bayes", "logistic"]))
    assert fitted.aggregator_ == fitted.pool_.aggregator == expected.aggregator
    assert (fitted.pool_.gain, fitted.pool_.gain_low) == (expected.gain, expected.gain_low)
    assert fitted.pool_.better


def test_learned_weights_go_to_the_members_by_name() -> None:
    fitted = learning().fit(X, Y)
    weights = fitted.aggregator_.weights
    assert weights["logistic"] > 2 * weights["bayes"]
    said = pd.DataFrame(fitted.transform(X), columns=["bayes", "logistic"])
    expected = rp.aggregate(said, fitted.aggregator_, clip=0.01)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], expected, rtol=1e-12)
    assert np.abs(expected - rp.aggregate(said, clip=0.01)).max() > 0.1
    others = [("dropped", "drop"), *reversed(members())]
    turned = RobustVotingClassifier(others, learn=True).fit(X, Y)
    np.testing.assert_allclose(turned.predict_proba(X), fitted.predict_proba(X), rtol=1e-9)


def test_a_vote_with_several_classes_learns_too() -> None:
    names = np.array(["core", "middle", "rim"])[RING]
    fitted = learning().fit(RINGS, names)
    expected = rp.fit(table_of(unseen(RINGS, RING), RING, ["bayes", "logistic"]))
    assert fitted.pool_.chosen == expected.chosen == "weighted-recalibrated"
    assert fitted.aggregator_.slope == pytest.approx(expected.aggregator.slope)
    assert fitted.aggregator_.weights == pytest.approx(expected.aggregator.weights)
    assert fitted.pool_.better
    reports = fitted.transform(RINGS).reshape(-1, 2, 3)
    weights = fitted.aggregator_.weights_of(["bayes", "logistic"])
    by_hand = rp.aggregate(reports, fitted.aggregator_.rule, clip=0.01, weights=weights)
    by_hand = by_hand**fitted.aggregator_.slope
    by_hand /= by_hand.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(RINGS), by_hand, rtol=1e-9)
    assert set(fitted.predict(RINGS)) == {"core", "middle", "rim"}


def test_what_is_learned_of_a_member_is_what_it_says_of_unseen_samples() -> None:
    """A nearest neighbour knows each sample that it has seen: of these it would learn to trust it alone."""
    rng = np.random.default_rng(0)
    known = rng.normal(size=(300, 2))
    y = (rng.random(300) < sigma(known[:, 0])).astype(int)
    both = [("memory", KNeighborsClassifier(1)), ("logistic", LogisticRegression())]
    fitted = RobustVotingClassifier(both, learn=True).fit(known, y)
    weights = fitted.aggregator_.weights
    assert weights["logistic"] > weights["memory"]
    assert np.mean((fitted.predict_proba(known)[:, 1] - y) ** 2) > 0.1  # it cannot know better


def test_prefit_members_are_taken_at_their_word() -> None:
    fitted = [(name, member.fit(X[:300], Y[:300])) for name, member in members()]
    names = np.array(["bad", "good"])
    new, y = X[300:], names[Y[300:]]
    named = [(name, member.fit(X[:300], names[Y[:300]])) for name, member in members()]
    pooled = RobustVotingClassifier(named, prefit=True, learn=True).fit(new, y)
    said = np.stack([member.predict_proba(new)[:, 1] for _, member in fitted], axis=1)
    expected = rp.fit(table_of(said, Y[300:], ["bayes", "logistic"])).aggregator
    assert pooled.aggregator_ == expected
    once = RobustVotingClassifier(named, prefit=True, learn=True).fit(new, ["good"] * 268 + ["bad"])
    assert once.pool_.learned.base_rate == 268 / 269  # nothing is split, so one sample of a class is enough
    calibrated = RobustVotingClassifier(named, prefit=True, learn=True, calibration="sigmoid").fit(new, y)
    assert calibrated.score(new, y) > 0.9
    with input_error(r"^y must have only classes that the members know; row 0 is 'other' \(2 of 269 rows\)\.$"):
        RobustVotingClassifier(named, prefit=True, learn=True).fit(new, ["other"] * 2 + y[2:].tolist())


def test_members_that_are_calibrated_and_pooled_by_what_is_learned() -> None:
    """Each calibration is fitted without the samples of which the pool learns; a class of seven is split twice."""
    y = np.repeat([0, 1], [53, 7])
    fitted = learning(calibration="sigmoid").fit(FEW, y)
    split = StratifiedKFold(3)
    said = [
        cross_val_predict(
            CalibratedClassifierCV(LogOdds(member), cv=3, ensemble=False), FEW, y, cv=split, method="predict_proba"
        )[:, 1]
        for _, member in members()
    ]
    assert fitted.aggregator_ == rp.fit(table_of(np.stack(said, axis=1), y, ["bayes", "logistic"])).aggregator
    with input_error(
        r"^each class must have at least 4 samples .*; class 1 has 3 samples; calibration=None needs fewer\.$"
    ):
        learning(calibration="sigmoid").fit(FEW, np.repeat([0, 1], [57, 3]))


@pytest.mark.parametrize("routing", [False, True])
def test_sample_weights_reach_the_members_that_speak_of_unseen_samples(routing: bool) -> None:
    weight = np.where(FEW_Y == 1, 9.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=routing):
        one = GaussianNB().set_fit_request(sample_weight=True) if routing else GaussianNB()
        pooled = RobustVotingClassifier([("one", one)], learn=True).fit(FEW, FEW_Y, sample_weight=weight)
        said = np.zeros((60, 1))
        for train, test in StratifiedKFold(5).split(FEW, FEW_Y):
            fold = GaussianNB().fit(FEW[train], FEW_Y[train], weight[train])
            said[test, 0] = fold.predict_proba(FEW[test])[:, 1]
    assert pooled.pool_.brier == rp.fit(table_of(said, FEW_Y, ["one"])).brier


@pytest.mark.slow
def test_samples_in_any_form_and_in_several_processes() -> None:
    frame = pd.DataFrame(FEW).rename(columns=str)
    plain = learning().fit(FEW, FEW_Y).predict_proba(FEW)
    np.testing.assert_allclose(learning(n_jobs=2).fit(frame, FEW_Y).predict_proba(frame), plain, rtol=1e-9)


def test_a_vote_that_learned_is_saved_and_forgets_when_it_is_fitted_again() -> None:
    fitted = learning().fit(FEW, FEW_Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(FEW), fitted.predict_proba(FEW))
    assert again.pool_.gain == fitted.pool_.gain
    assert fitted.set_params(learn=False).fit(FEW, FEW_Y).pool_ is None
    assert not isinstance(fitted.aggregator_, LearnedRule)


@pytest.mark.parametrize(
    ("settings", "y", "sentence"),
    [
        ({}, FEW_Y[:19], r"^learn=True needs at least 20 samples; y has 19 samples, so use learn=False\.$"),
        ({}, np.zeros(60, dtype=int), r"^y must have two classes; it has 1 class, 0\.$"),
        ({}, None, r"^learn=True requires y to be passed, but the target y is None\.$"),
        ({"rule": "mean"}, FEW_Y, r"^rule must be 'robust', as it is by default, if learn is True; it is 'mean'\.$"),
        (
            {"weights": [1, 2]},
            FEW_Y,
            r"^weights must be None, as it is by default, if learn is True; it is \[1, 2\]\.$",
        ),
        ({"clip": 0}, FEW_Y, r"^clip must lie in \(0, 0\.5\) to fit a pool"),
    ],
)
def test_what_cannot_be_learned_is_refused(settings: Any, y: Any, sentence: str) -> None:
    with input_error(sentence):
        learning(**settings).fit(FEW[: 60 if y is None else len(y)], y)
    reports = unseen(FEW, FEW_Y)[:, :, 1]
    with input_error(sentence):
        RobustPool(learn=True, **settings).fit(reports[: 60 if y is None else len(y)], y)


def test_members_that_point_the_wrong_way_teach_nothing() -> None:
    class Liar(GaussianNB):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> Any:
            return super().predict_proba(X)[:, ::-1]

    with input_error(r"^a pool cannot learn from forecasts that point the wrong way"):
        RobustVotingClassifier([("liar", Liar())], learn=True).fit(X, Y)


def test_a_split_that_is_no_partition_is_refused() -> None:
    twice = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    with input_error(
        r"^cv must hold out each sample once if learn is True; it holds out sample 0 2 times \(60 of 60 samp"
    ):
        learning(cv=twice).fit(FEW, FEW_Y)


# --------------------------------------------------------------------------------------------------- members without answer


class Silent(GaussianNB):  # type: ignore[misc]
    """Has nothing to say of samples whose first number is above 1."""

    def predict_proba(self, X: Any) -> Any:
        return np.where(X[:, :1] > 1, np.nan, super().predict_proba(X))


@pytest.mark.parametrize(("table", "y"), [(FEW, FEW_Y), (RINGS, RING)], ids=["2 classes", "3 classes"])
def test_a_sample_of_which_no_member_speaks_has_no_class(table: Any, y: Any) -> None:
    silent = table[:, 0] > 1
    both = [("one", Silent()), ("two", Silent())]
    fitted = RobustVotingClassifier(both, calibration=None).fit(table, y)
    assert np.isnan(fitted.predict_proba(table)).all(axis=1).tolist() == silent.tolist()
    place = int(np.argmax(silent))
    sentence = rf"^a sample must have a probability from some member .*; row {place} has none \({silent.sum()} of "
    with input_error(sentence):
        fitted.predict(table)
    assert fitted.predict(table[~silent]).shape == (len(y) - silent.sum(),)


@pytest.mark.parametrize(("table", "y"), [(FEW, FEW_Y), (RINGS, RING)], ids=["2 classes", "3 classes"])
@pytest.mark.parametrize("learn", [False, True])
def test_a_member_that_is_silent_leaves_the_class_to_the_others(table: Any, y: Any, learn: bool) -> None:
    silent = table[:, 0] > 1
    both = RobustVotingClassifier([("silent", Silent()), ("tree", DecisionTreeClassifier(max_depth=2))], learn=learn)
    fitted = both.set_params(calibration=None, clip=0.3).fit(table, y)
    alone = RobustVotingClassifier([("tree", DecisionTreeClassifier(max_depth=2))], calibration=None, clip=0.3).fit(
        table, y
    )
    if learn:
        assert np.isfinite(fitted.predict_proba(table)).all()
    else:
        expected = alone.predict_proba(table[silent])
        np.testing.assert_allclose(fitted.predict_proba(table)[silent], expected, rtol=1e-9)


# ------------------------------------------------------------------------------------------------------ columns of forecasts


def timid(questions: int = 300, forecasters: int = 3) -> tuple[Any, Any]:
    """Forecasters who share evidence and are too close to 1/2, one of whom knows nothing."""
    rng = np.random.default_rng(2)
    truth = 2 * rng.standard_normal(questions)
    reports = sigma(truth[:, None] / 2 + 0.3 * rng.standard_normal((questions, forecasters)))
    reports[:, -1] = rng.random(questions)
    reports[rng.random(reports.shape) < 0.1] = np.nan
    return reports, (rng.random(questions) < sigma(truth)).astype(int)


def test_a_pool_learns_what_fit_learns_and_applies_it_by_name() -> None:
    reports, y = timid()
    frame = pd.DataFrame(reports, columns=["ann", "bob", "eve"])
    pool = RobustPool(learn=True).fit(frame, np.array(["no", "yes"])[y])
    expected = rp.fit(frame.assign(question_id=range(300), outcome=y), layout="wide")
    assert pool.aggregator_ == expected.aggregator
    assert pool.pool_.better
    assert pool.aggregator_.weights["ann"] > 2 * pool.aggregator_.weights["eve"]
    forecasts = rp.aggregate(frame, pool.pool_.aggregator, clip=0.01)
    np.testing.assert_allclose(pool.transform(frame)[:, 0], forecasts, rtol=1e-12)
    unnamed = RobustPool(learn=True).fit(reports, y)
    np.testing.assert_array_equal(unnamed.transform(reports), pool.transform(frame))
    assert [each.forecaster for each in unnamed.pool_.weights][-1] == "forecaster 2"


def test_log_odds_and_other_clips_reach_what_is_learned() -> None:
    reports, y = timid()
    pool = RobustPool(learn=True, clip=0.1).fit(reports, y)
    assert pool.aggregator_.clip == 0.1
    log_odds = RobustPool(learn=True, clip=0.1, input="log-odds").fit(np.log(reports / (1 - reports)), y)
    np.testing.assert_allclose(log_odds.transform(np.log(reports / (1 - reports))), pool.transform(reports), rtol=1e-9)
    assert pool.clipped(reports) == np.count_nonzero((reports < 0.1) | (reports > 0.9))


def test_a_pool_with_several_classes_learns_too() -> None:
    """Two forecasters of three classes: one timid, one who knows nothing."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([0.3, 0.3, 0.3], size=300) * 0.96 + 0.02 * 2 / 3
    truth /= truth.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=each) for each in truth])
    good = np.sqrt(truth) / np.sqrt(truth).sum(axis=1, keepdims=True)
    reports = np.stack([good, rng.dirichlet([1, 1, 1], size=300)], axis=1)
    reports[:20, 1] = np.nan
    columns = reports.reshape(300, 6)
    pool = RobustPool(learn=True).fit(columns, np.array(["a", "b", "c"])[y])
    learned = pool.aggregator_
    assert learned == rp.fit(table_of(reports, y, ["forecaster 0", "forecaster 1"])).aggregator
    assert learned.options
    assert pool.pool_.better
    weights = learned.weights_of(["forecaster 0", "forecaster 1"])
    base = rp.aggregate(reports, learned.rule, clip=0.01, weights=weights)
    expected = base**learned.slope / (base**learned.slope).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pool.predict_proba(columns), expected, rtol=1e-9)
    assert pool.predict(columns).tolist() == np.array(["a", "b", "c"])[expected.argmax(axis=1)].tolist()
    with input_error(r"must sum to 1 \(within 1e-06\); row 0, agent 0 sums to 0\.9"):
        pool.predict_proba(0.9 * columns)


def test_rows_that_nobody_answered_teach_nothing() -> None:
    reports, y = timid(40)
    reports[15:] = np.nan
    with input_error(r"^a pool needs at least 20 resolved questions to learn from; there are 15 \(of 40 questions\)"):
        RobustPool(learn=True).fit(reports, y)


# ------------------------------------------------------------------------------------------------------ pools from elsewhere


def test_a_pool_that_was_learned_elsewhere_weights_members_by_name(tmp_path: Path) -> None:
    learned = LearnedRule(rule="geometric-odds", weights={"bayes": 1.0, "logistic": 3.0}, slope=0.5, intercept=1.0)
    fitted = vote(rule=learned, calibration=None).fit(FEW, FEW_Y)
    said = fitted.transform(FEW)
    base = np.asarray(rp.aggregate(said, "geometric-odds", clip=0.01, weights=[1, 3]))
    expected = sigma(1 + 0.5 * np.log(base / (1 - base)))
    np.testing.assert_allclose(fitted.predict_proba(FEW)[:, 1], expected, rtol=1e-9)
    columns = pd.DataFrame(said, columns=["bayes", "logistic"])
    np.testing.assert_allclose(RobustPool(learned).fit(columns).transform(columns)[:, 0], expected, rtol=1e-9)
    double = RobustPool(learned, weights=[3, 1]).fit(columns).transform(columns)[:, 0]
    equal = np.asarray(rp.aggregate(said, "geometric-odds", clip=0.01))
    np.testing.assert_allclose(double, sigma(1 + 0.5 * np.log(equal / (1 - equal))), rtol=1e-9)
    file = tmp_path / "pool.json"
    learning().fit(X, Y).pool_.save(file)
    read = vote(rule=file, calibration=None).fit(X, Y)
    np.testing.assert_allclose(read.predict_proba(X), learning().fit(X, Y).predict_proba(X), rtol=1e-9)


def test_a_pool_that_knows_none_of_the_forecasters_says_so() -> None:
    learned = LearnedRule(rule="robust", weights={"ann": 1.0})
    sentence = r"but knows none of these \(forecaster 0, forecaster 1\), so all count the same\.$"
    with pytest.warns(UserWarning, match=sentence):
        RobustPool(learned).fit([[0.2, 0.3]])
    with pytest.warns(UserWarning, match=r"knows none of these \(bayes, logistic\)"):
        vote(rule=learned).fit(FEW, FEW_Y)


def test_a_pool_for_options_is_for_several_classes() -> None:
    learned = LearnedRule(rule="robust", options=True)
    flowers, kind = load_iris(return_X_y=True)
    fitted = vote(rule=learned).fit(flowers, kind)
    np.testing.assert_array_equal(fitted.predict_proba(flowers), vote().fit(flowers, kind).predict_proba(flowers))
    with input_error(r"^the pool was fitted to questions with more than two outcomes; these have two outcomes\.$"):
        vote(rule=learned).fit(FEW, FEW_Y).predict_proba(FEW)
    with input_error(r"^the pool was fitted to questions with two outcomes; these have more than two outcomes\.$"):
        vote(rule=LearnedRule(rule="robust")).fit(flowers, kind)


# ---------------------------------------------------------------------------------------------- scikit-learn's own checks

TOO_FEW = """
check_n_features_in_after_fitting check_classifier_data_not_an_array check_fit2d_1feature
"""
WRONG_WAY = "check_classifiers_classes check_classifiers_train"  # their numbers are smaller for the second class
TOO_FEW_FOR_A_VOTE = """
check_sample_weights_pandas_series check_sample_weights_not_an_array check_sample_weights_shape
check_sample_weights_not_overwritten check_estimators_empty_data_messages check_estimators_nan_inf
check_classifiers_one_label_sample_weights
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (RobustPool(input="log-odds", learn=True), TOO_FEW + WRONG_WAY),
        (
            RobustVotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], learn=True),
            TOO_FEW + TOO_FEW_FOR_A_VOTE,
        ),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")  # of a member without one class
def test_estimator_checks_fail_only_where_nothing_can_be_learned(estimator: Any, expected: str) -> None:
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] == "failed"}
    assert set(failed) == set(expected.split())
    for name, error in failed.items():
        causes = f"{error} {error.__cause__} {error.__context__}"
        sentence = "point the wrong way" if name in WRONG_WAY.split() else "learn=True needs at least 20 samples"
        assert sentence in causes, name
