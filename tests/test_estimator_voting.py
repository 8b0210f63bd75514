"""`RobustVotingClassifier` says what `aggregate` says of its members, and learns from them only what it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from refusals import input_error
from robustpool.estimator import RobustPool, RobustVotingClassifier
from robustpool.estimator.members import DROP
from robustpool.forecasts import ContradictionWarning, aggregate

if TYPE_CHECKING:
    from collections.abc import Iterator

X, Y = make_classification(200, 6, n_informative=4, random_state=0)
FLOWERS, KINDS = load_iris(return_X_y=True)


def members(**more: Any) -> list[tuple[str, Any]]:
    return [("logistic", LogisticRegression(max_iter=500)), ("bayes", GaussianNB()), *more.items()]


def vote(**settings: Any) -> RobustVotingClassifier:
    return RobustVotingClassifier(members(), **settings)


def plain(estimators: Any = None, **settings: Any) -> RobustVotingClassifier:
    """A vote of members that are not calibrated."""
    return RobustVotingClassifier(members() if estimators is None else estimators, calibration=None, **settings)


# ---------------------------------------------------------------------------------------------------- what a vote says


@pytest.mark.parametrize("rule", ["robust", "minimax", "geometric-odds", "product"])
def test_a_vote_says_what_aggregate_says_of_its_members(rule: str) -> None:
    fitted = plain(rule=rule).fit(X, Y)
    by_hand = np.column_stack([member.fit(X, Y).predict_proba(X)[:, 1] for _, member in members()])
    np.testing.assert_array_equal(fitted.transform(X), by_hand)
    expected = aggregate(by_hand, rule, clip=0.01)
    np.testing.assert_array_equal(fitted.predict_proba(X)[:, 1], expected)
    assert fitted.predict(X).tolist() == (np.asarray(expected) > 0.5).astype(int).tolist()


@pytest.mark.parametrize(("table", "y"), [(X, Y), (FLOWERS, KINDS)], ids=["2 classes", "3 classes"])
def test_the_mean_is_scikit_learns_soft_vote(table: Any, y: Any) -> None:
    ours = vote(rule="mean", clip=None, weights=[3, 1]).fit(table, y)
    theirs = VotingClassifier(members(), voting="soft", weights=[3, 1]).fit(table, y)
    np.testing.assert_allclose(ours.predict_proba(table), theirs.predict_proba(table), rtol=1e-12)


def test_the_mean_of_certain_members_is_their_mean() -> None:
    """Trees say 0 and 1, and no average takes that for a contradiction."""
    trees = [(f"tree {seed}", DecisionTreeClassifier(max_features=1, random_state=seed)) for seed in range(3)]
    ours = RobustVotingClassifier(trees, rule="mean", clip=None).fit(X[::2], Y[::2])
    theirs = VotingClassifier(trees, voting="soft").fit(X[::2], Y[::2])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-15)


@pytest.mark.parametrize(("table", "y"), [(X, Y), (FLOWERS, KINDS)], ids=["2 classes", "3 classes"])
def test_a_vote_counts_what_it_clips(table: Any, y: Any) -> None:
    fitted = plain().fit(table, y)
    said = fitted.transform(table)
    if len(fitted.classes_) == 2:
        clipped = np.count_nonzero((said < 0.01) | (said > 0.99))
    else:  # distributions are counted
        clipped = np.count_nonzero((said.reshape(-1, 2, 3) < 0.01).any(axis=2))
    assert fitted.clipped(table) == clipped > 0
    assert fitted.set_params(clip=0).clipped(table) == 0
    assert vote(rule="mean").fit(table, y).clipped(table) == 0


def test_members_that_contradict_each_other_are_told() -> None:
    trees = [(f"tree {seed}", DecisionTreeClassifier(max_features=1, random_state=seed)) for seed in range(2)]
    fitted = plain(trees, clip=0).fit(X[::2], Y[::2])
    sentence = r"so the forecast is 0\.5 \(\d+ of \d+ forecasts\); set clip"
    with pytest.warns(ContradictionWarning, match=sentence):
        assert 0.5 in fitted.predict_proba(X)


@pytest.mark.parametrize("weights", [[0, 0], [0, 1]])
def test_some_member_has_to_count(weights: list[float]) -> None:
    some = vote(weights=weights)
    with input_error(r"^weights must have a positive number for a member that is not dropped; they are \[0\. "):
        some.set_params(bayes="drop").fit(X, Y)


@pytest.mark.parametrize("rule", ["robust", "geometric-odds"])
def test_several_classes_are_pooled_as_distributions(rule: str) -> None:
    fitted = vote(rule=rule, weights=[2, 1]).fit(FLOWERS, KINDS)
    said = fitted.transform(FLOWERS).reshape(-1, 2, 3)
    expected = aggregate(said, rule, clip=0.01, weights=[2, 1])
    np.testing.assert_allclose(fitted.predict_proba(FLOWERS), expected, rtol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(FLOWERS).sum(axis=1), 1, rtol=1e-12)
    names = [f"{member}_{label}" for member in ("logistic", "bayes") for label in range(3)]
    assert fitted.get_feature_names_out().tolist() == names


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("product", r"^rule product is for two outcomes; for more: robust, mean, geometric-odds, minimax\.$"),
        (lambda reports: reports[:, 0], r"^a design or a function is for two outcomes; for more: robust, mean"),
    ],
)
def test_rules_for_two_classes_say_so(rule: Any, sentence: str) -> None:
    with input_error(sentence):
        vote(rule=rule).fit(FLOWERS, KINDS)


def test_members_that_rule_out_every_class_are_told() -> None:
    certain = [(f"says_{label}", DummyClassifier(strategy="constant", constant=label)) for label in (0, 1)]
    fitted = plain(certain, clip=0).fit(FLOWERS, KINDS)
    sentence = r"^every class of a sample is ruled out .* \(150 of 150 samples\); set clip"
    with pytest.warns(ContradictionWarning, match=sentence):
        np.testing.assert_allclose(fitted.predict_proba(FLOWERS), 1 / 3)
    g = np.sqrt(0.98 * 0.01)  # of each of the two, beside 0.01 of the third
    clipped = fitted.set_params(clip=0.01).predict_proba(FLOWERS)
    np.testing.assert_allclose(clipped[0, :2], g / (2 * g + 0.01), rtol=1e-9)


def test_a_member_whose_probabilities_do_not_quite_sum_to_1_takes_part() -> None:
    class Loose(GaussianNB):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> Any:
            return 0.5 * super().predict_proba(X)

    loose = plain([("a", Loose()), ("b", LogisticRegression(max_iter=500))]).fit(FLOWERS, KINDS)
    strict = plain([("a", GaussianNB()), ("b", LogisticRegression(max_iter=500))]).fit(FLOWERS, KINDS)
    np.testing.assert_allclose(loose.predict_proba(FLOWERS), strict.predict_proba(FLOWERS), rtol=1e-9)


def test_weights_go_with_their_members() -> None:
    fitted = plain(rule="geometric-odds", weights=[2, 1]).fit(X, Y)
    expected = aggregate(fitted.transform(X), "geometric-odds", clip=0.01, weights=[2, 1])
    np.testing.assert_array_equal(fitted.predict_proba(X)[:, 1], expected)
    third = plain(members(dropped=DROP, tree=DecisionTreeClassifier()), weights=[0, 1, 5, 0]).fit(X, Y)
    alone = np.clip(GaussianNB().fit(X, Y).predict_proba(X)[:, 1], 0.01, 0.99)
    np.testing.assert_allclose(third.predict_proba(X)[:, 1], alone, rtol=1e-12)


def test_names_of_classes_and_dropped_members() -> None:
    named = np.array(["no", "yes"])[Y]
    fitted = vote().set_params(bayes=DROP).fit(X, named)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert set(fitted.predict(X)) == {"no", "yes"}
    assert len(fitted.estimators_) == 1
    assert fitted.named_estimators_.bayes == DROP
    assert fitted.named_estimators_["logistic"] is fitted.estimators_[0]
    assert fitted.get_feature_names_out().tolist() == ["logistic"]
    assert fitted.n_features_in_ == 6
    assert not hasattr(fitted, "feature_names_in_")


# ------------------------------------------------------------------------------------------------ prefit and calibration


class Counting(LogisticRegression):  # type: ignore[misc]
    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("calibration", [None, "sigmoid"])
@pytest.mark.parametrize("frozen", [False, True])
def test_what_is_fitted_is_not_fitted_again(calibration: str | None, frozen: bool) -> None:
    Counting.fits = 0
    member = Counting().fit(X[:100], Y[:100])
    before = member.coef_.copy()
    wrapped = FrozenEstimator(member) if frozen else member
    fitted = RobustVotingClassifier([("one", wrapped)], prefit=not frozen, calibration=calibration, cv=3)
    fitted.fit(X[100:], 1 - Y[100:])  # a second fit would learn the opposite
    assert Counting.fits == 1
    np.testing.assert_array_equal(member.coef_, before)
    if calibration is None:
        np.testing.assert_array_equal(fitted.transform(X), member.predict_proba(X)[:, 1:])


def test_prefit_members_need_no_y_and_stay_themselves() -> None:
    fitted = [(name, member.fit(X, Y)) for name, member in members()]
    assert plain(fitted, prefit=True).fit(X).predict_proba(X).shape == (200, 2)
    with input_error(r"^calibration requires y to be passed, but the target y is None; calibration=None takes prefit"):
        RobustVotingClassifier(fitted, prefit=True).fit(X)


def test_a_clone_of_a_prefit_vote_says_what_to_do() -> None:
    fitted = RobustVotingClassifier([("one", LogisticRegression().fit(X, Y))], prefit=True)
    with input_error(r"^members must be fitted if prefit is True; one is not .*FrozenEstimator inst"):
        clone(fitted).fit(X, Y)
    frozen = RobustVotingClassifier([("one", FrozenEstimator(LogisticRegression().fit(X, Y)))])
    assert cross_val_score(frozen, X, Y).mean() > 0.7


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_calibration_is_cross_fitted(calibration: str) -> None:
    """On noise a nearest neighbour knows each sample that it has seen and nothing else: calibrated, it must not be sure."""
    rng = np.random.default_rng(0)
    noise, coin = rng.normal(size=(400, 3)), rng.integers(2, size=400)
    memory = [("memory", KNeighborsClassifier(1))]
    sure = plain(memory).fit(noise, coin)
    assert sure.score(noise, coin) == 1
    modest = RobustVotingClassifier(memory, calibration=calibration, cv=5).fit(noise, coin)
    assert np.abs(modest.transform(noise) - 0.5).max() < 0.1


class Scoring(GaussianNB):  # type: ignore[misc]
    """Naive Bayes whose scores are log-odds."""

    def decision_function(self, X: Any) -> Any:
        p = np.clip(self.predict_proba(X)[:, 1], 0.01, 0.99)
        return np.log(p / (1 - p))


def test_calibration_is_that_of_scikit_learn_with_one_model_for_all_folds() -> None:
    split = KFold(4, shuffle=True, random_state=1)
    fitted = vote(calibration="sigmoid", cv=split).fit(X, Y)
    calibrated = CalibratedClassifierCV(Scoring(), method="sigmoid", cv=split, ensemble=False).fit(X, Y)
    np.testing.assert_array_equal(fitted.transform(X)[:, 1], calibrated.predict_proba(X)[:, 1])


def test_calibration_leaves_a_calibrated_member_as_it_is() -> None:
    """A sigmoid of probabilities would not: it has no identity among its curves."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(4000, 2))
    y = rng.random(4000) < 1 / (1 + np.exp(-2 * table[:, 0]))
    alone = [("bayes", GaussianNB())]
    raw, calibrated = plain(alone).fit(table, y), RobustVotingClassifier(alone).fit(table, y)
    np.testing.assert_allclose(calibrated.transform(table), raw.transform(table), atol=0.015)
    sigmoid = CalibratedClassifierCV(GaussianNB(), cv=5, ensemble=False).fit(table, y)
    assert np.abs(sigmoid.predict_proba(table) - raw.predict_proba(table)).max() > 0.05


def test_calibration_gives_probabilities_to_a_decision_function() -> None:
    with input_error(r"^members must have predict_proba; machine has none \(calibration='sigmoid'"):
        plain([("machine", LinearSVC())]).fit(X, Y)
    assert RobustVotingClassifier([("machine", LinearSVC())], calibration="sigmoid").fit(X, Y).score(X, Y) > 0.7


# ----------------------------------------------------------------------------------------------------------- sample weights


@pytest.fixture
def _routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_sample_weights_reach_the_members() -> None:
    weight = np.where(Y == 1, 5.0, 1.0)
    fitted = plain().fit(X, Y, sample_weight=weight)
    for (_, member), ours in zip(members(), fitted.estimators_, strict=True):
        np.testing.assert_array_equal(ours.predict_proba(X), member.fit(X, Y, weight).predict_proba(X))
    calibrated = vote(calibration="sigmoid")
    weighted = calibrated.fit(X, Y, sample_weight=weight).predict_proba(X)[:, 1]
    assert weighted.mean() > calibrated.fit(X, Y).predict_proba(X)[:, 1].mean()


def test_sample_weights_that_a_member_would_ignore_are_refused() -> None:
    several = RobustVotingClassifier(members(near=KNeighborsClassifier()))
    with input_error(r"^members must take sample_weight if there is one; near does not\.$"):
        several.fit(X, Y, sample_weight=np.ones(200))
    with input_error(r"^fit takes colour only with sklearn\.set_config\(enable_metadata_routing=True"):
        several.fit(X, Y, colour=np.ones(200))


@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize("calibration", [None, "sigmoid"])
def test_metadata_are_routed(calibration: str | None) -> None:
    weight = np.where(Y == 1, 5.0, 1.0)
    asking = LogisticRegression().set_fit_request(sample_weight=True)
    declining = GaussianNB().set_fit_request(sample_weight=False)
    both = RobustVotingClassifier([("asks", asking), ("declines", declining)], calibration=calibration)
    routed, plain = both.fit(X, Y, sample_weight=weight).transform(X), clone(both).fit(X, Y).transform(X)
    assert routed[:, 0].mean() > plain[:, 0].mean() + 0.05
    if calibration is None:
        np.testing.assert_array_equal(routed[:, 1], plain[:, 1])


# --------------------------------------------------------------------------------------------------- refusals of a vote


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"estimators": []}, r"^estimators must be a list of pairs of a name and a classifier; it is \[\]\.$"),
        ({"estimators": [GaussianNB()]}, r"pairs of a name and a classifier; it is \[GaussianNB\(\)\]\.$"),
        ({"estimators": [("a", GaussianNB())] * 2}, r"^names of members must differ; 'a' occurs 2 times\.$"),
        ({"estimators": [("a__b", GaussianNB())]}, r"must have no __ and not be a parameter's; it is 'a__b'\.$"),
        ({"estimators": [("rule", GaussianNB())]}, r"not be a parameter's; it is 'rule'\.$"),
        ({"estimators": [("a", DROP)]}, r"^at least one member must take part; all 1 are dropped\.$"),
        ({"estimators": [("a", LinearRegression())]}, r"^members must be classifiers; a is LinearRegression\(\)\.$"),
        ({"estimators": [("a", GaussianNB)]}, r"^members must be classifiers; a is <class .*GaussianNB'>\.$"),
        ({"calibration": "platt"}, r"^calibration must be one of auto, sigmoid, isotonic; it is 'platt'\.$"),
        ({"weights": [1]}, r"^weights must be one number for each of the 2 estimators; the shape is \(1,\)\.$"),
        ({"weights": [1, np.nan]}, r"^weights must be finite; weights\[1\] is nan"),
        ({"rule": "maen"}, r"the closest is 'mean'\.$"),
        ({"rule": "median", "weights": [1, 2]}, r"^rule median does not accept weights\.$"),
        ({"clip": 0.5}, r"^clip must lie in \[0, 0\.5\); it is 0\.5\.$"),
    ],
)
def test_a_vote_refuses(settings: dict[str, Any], sentence: str) -> None:
    with input_error(sentence):
        RobustVotingClassifier(**{"estimators": members(), **settings}).fit(X, Y)


def test_members_that_know_different_classes_are_refused() -> None:
    frozen = [("two", FrozenEstimator(GaussianNB().fit(X, Y))), ("names", FrozenEstimator(GaussianNB().fit(X, Y + 1)))]
    with input_error(r"^members must know the same classes; two knows \[0, 1\], names knows \[1, 2\]"):
        RobustVotingClassifier(frozen).fit(X, Y)


# --------------------------------------------------------------------------------------------- in scikit-learn's company


def test_parameters_of_members() -> None:
    given = vote()
    assert given.get_params()["logistic__max_iter"] == 500
    given.set_params(logistic__C=0.5, bayes=DecisionTreeClassifier(max_depth=2), rule="mean")
    assert given.named_estimators.logistic.C == 0.5
    assert given.get_params()["bayes__max_depth"] == 2
    given.set_params(estimators=[("only", GaussianNB())], only__var_smoothing=0.1)
    assert given.get_params()["only__var_smoothing"] == 0.1
    with pytest.raises(ValueError, match="Invalid parameter 'logistic'"):
        given.set_params(logistic=DROP)


def test_a_clone_has_members_of_its_own() -> None:
    given = vote()
    copy = clone(given).set_params(logistic__C=0.01)
    assert given.named_estimators.logistic.C == 1.0
    assert copy.named_estimators.logistic is not given.named_estimators.logistic


def test_a_search_over_rules_and_members() -> None:
    grid = {"rule": ["mean", "minimax"], "logistic__C": [1e-6, 1.0], "bayes": [DROP, GaussianNB()]}
    search = GridSearchCV(vote(), grid, scoring="neg_brier_score", cv=3).fit(X, Y)
    assert search.best_params_["logistic__C"] == 1.0
    assert len(search.cv_results_["params"]) == 8
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0


def test_views_of_a_data_frame_and_what_the_members_say() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"))
    views = [
        (name, make_pipeline(make_column_transformer(("passthrough", list(view))), LogisticRegression()))
        for name, view in (("first", "abc"), ("second", "def"))
    ]
    fitted = RobustVotingClassifier(views).set_output(transform="pandas").fit(frame, Y)
    assert fitted.transform(frame).columns.tolist() == ["first", "second"]
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    assert cross_val_predict(fitted, frame, Y, method="predict_proba").shape == (200, 2)
    pooled = RobustPool(clip=0.001).fit(fitted.transform(frame), Y)
    np.testing.assert_array_equal(pooled.predict_proba(fitted.transform(frame)), fitted.predict_proba(frame))


def test_members_may_read_text() -> None:
    texts, y = ["sun", "sun and sea", "rain", "rain and wind"] * 5, [1, 1, 0, 0] * 5
    words = [("bayes", make_pipeline(CountVectorizer(), MultinomialNB()))]
    assert RobustVotingClassifier(words).fit(texts, y).predict(["sun", "wind"]).tolist() == [1, 0]


def test_several_processes_give_the_same() -> None:
    np.testing.assert_array_equal(vote(n_jobs=2).fit(X, Y).predict_proba(X), vote().fit(X, Y).predict_proba(X))
