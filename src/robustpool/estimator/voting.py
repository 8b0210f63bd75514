"""A voting classifier that combines the members' probabilities by a rule instead of the mean."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import checks
from ..aggregators.distributions import distribution_rule
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..errors import InputError
from ..forecasts import ContradictionWarning, combine
from . import members as m
from .pooled import PooledClassifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from ..typing import Floats


class RobustVotingClassifier(PooledClassifier, m.Composition):
    """Fit classifiers, calibrate them if asked, and pool their probabilities by a rule.

    Like scikit-learn's ``VotingClassifier(voting="soft")``, which is ``rule="mean"``, but for the rule:
    ``rule="geometric-odds"`` averages log-odds, and the default ``robust`` goes a little beyond that where it is sure.
    With more than two classes the members' distributions are pooled by a rule for more than two outcomes: ``robust``, ``mean``
    or ``geometric-odds``. What is proved of a rule holds for two classes.

    Parameters
    ----------
    estimators
        The members: pairs of a name and a classifier. "drop" in place of a classifier leaves it out.
    rule
        What `robustpool.aggregate` takes: the name of a rule, a design file, or a callable from reports (m, n) to
        forecasts (m,).
    weights
        How much each member counts, one number for each of ``estimators``; for rules that take weights.
    clip
        Bring the members' probabilities into [clip, 1 - clip] first, as in `robustpool.aggregate`: a classifier's 0 or 1
        is mostly a rounded number or a small leaf of a tree, and would decide alone in most rules. By default 0.01 for
        such rules; 0 turns clipping off. There is no warning, because scikit-learn requires silence; `clipped`
        returns the count.
    calibration
        "sigmoid" or "isotonic": calibrate each member, cross-fitted. None: take the probabilities as they are.
    cv
        How the samples are split for the calibration, as for scikit-learn's ``CalibratedClassifierCV``; None: 5 folds.
    prefit
        The members are fitted and stay as they are; `fit` then learns the calibration at most, and should see new
        samples. A clone is not fitted, so for cross-validation wrap the members in ``sklearn.frozen.FrozenEstimator``.
    n_jobs
        How many members are fitted at the same time, as everywhere in scikit-learn.

    Attributes
    ----------
    estimators_
        The fitted members that are not dropped, each in its calibration if there is one.
    named_estimators_
        The same by name, with "drop" for those that are dropped.
    classes_
        The classes.
    aggregator_
        The rule as a function; a design file is read once, by `fit`.
    n_features_in_, feature_names_in_
        As the first member that has them has them.

    See Also
    --------
    RobustPool : pools probabilities that are there already.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> vote = RobustVotingClassifier([("logistic", LogisticRegression(max_iter=500)), ("bayes", GaussianNB())])
    >>> vote.fit(X, y).predict_proba(X[[70, 83]]).round(3)
    array([[0.009, 0.265, 0.726],
           [0.01 , 0.475, 0.515]])
    >>> vote.set_params(rule="mean", bayes="drop").fit(X, y).transform(X[:1]).shape
    (1, 3)
    """

    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012  # the members use it, this router does not

    def __init__(
        self,
        estimators: Sequence[m.Member],
        *,
        rule: AnyAggregator = "robust",
        weights: ArrayLike | None = None,
        clip: float | None = None,
        calibration: str | None = None,
        cv: Any = None,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.rule = rule
        self.weights = weights
        self.clip = clip
        self.calibration = calibration
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    # ---------------------------------------------------------------------------------------------------------- fitting

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **parameters: Any
    ) -> RobustVotingClassifier:
        """Fit the members, and their calibration if there is to be one.

        Parameters
        ----------
        X
            Samples, in whatever form the members take.
        y
            The classes of the samples. Only members that are prefit and not calibrated do without.
        sample_weight
            For the members, all of which have to take them.
        **parameters
            For the members, by metadata routing, where scikit-learn is configured to do so.
        """
        if self.calibration is not None:
            checks.choice("calibration", self.calibration, ("sigmoid", "isotonic"))
        reserved = self.get_params(deep=False)
        given = m.check_members(self.estimators, reserved, calibrated=self.calibration is not None, prefit=self.prefit)
        aggregator = as_aggregator(self.rule)
        combine(np.full((1, len(given)), 0.5), aggregator, self.clip, self._weights())  # refuses before the work begins
        members = [(name, self._prepared(estimator)) for name, estimator in given]
        y = None if y is None else column_or_1d(y, warn=True)
        routed = self._routed(members, sample_weight, parameters)
        fitted = Parallel(n_jobs=self.n_jobs)(delayed(member.fit)(X, y, **routed[name]) for name, member in members)
        classes = m.common_classes([(name, member) for (name, _), member in zip(given, fitted, strict=True)])
        if len(classes) > 2:
            distribution_rule(aggregator)
        self.classes_ = classes
        self.estimators_ = fitted
        self.named_estimators_ = m.by_name(self.estimators, fitted)
        self.aggregator_ = aggregator
        return self

    def _prepared(self, estimator: Any) -> Any:
        return m.prepare(estimator, calibration=self.calibration, cv=self.cv, prefit=self.prefit)

    def _routed(
        self, members: Sequence[m.Member], sample_weight: ArrayLike | None, parameters: dict[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """What is passed to each member's fit."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **parameters)
            return {name: routed[name]["fit"] for name, _ in members}
        if parameters:
            raise InputError(
                f"fit takes {', '.join(parameters)} only with sklearn.set_config(enable_metadata_routing=True)."
            )
        return m.weights_for(members, sample_weight)

    def _weights(self) -> Floats | None:
        """The weights of the members that are not dropped."""
        if self.weights is None:
            return None
        weights = checks.real_array("weights", self.weights)
        if weights.shape != (len(self.estimators),):
            raise InputError(
                f"weights must be one number for each of the {len(self.estimators)} estimators; "
                f"the shape is {weights.shape}."
            )
        active = weights[[not m.is_dropped(estimator) for _, estimator in self.estimators]]
        if active.sum() == 0:
            raise InputError(
                f"weights must have a positive number for a member that is not dropped; they are {weights}."
            )
        return active

    # --------------------------------------------------------------------------------------------------------- predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class, and the first of them if several are: (samples, ...) -> (samples,)."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)  # which says if nothing was fitted
        return self.classes_[likeliest]

    def transform(self, X: Any) -> Floats:
        """What the members say, calibrated if they are, before clipping and pooling.

        With two classes the probability of the second, (samples, members), which `RobustPool` and `robustpool.aggregate`
        take; with more the probabilities of all classes, member by member, (samples, members * classes).
        """
        said = self._said(X)
        return said[:, 1] if len(self.classes_) == 2 else said.transpose(0, 2, 1).reshape(len(said), -1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002  # the caller passes it
        """The names of the columns of `transform`: the members, with more than two classes each with its classes."""
        check_is_fitted(self)
        names = [name for name, member in self.named_estimators_.items() if not m.is_dropped(member)]
        if len(self.classes_) != 2:
            names = [f"{name}_{label}" for name in names for label in self.classes_]
        return np.asarray(names, dtype=object)

    def _said(self, X: Any) -> Floats:
        """The members' probabilities, (samples, classes, members)."""
        check_is_fitted(self)
        return np.stack([member.predict_proba(X) for member in self.estimators_], axis=-1)

    def _reports(self, X: Any) -> Floats:
        """The same as reports to pool: (samples, members), or with more than two classes (samples, members, classes).

        Sums that are not quite 1 are made so; a member that gives nothing to any class gives all the same.
        """
        said = self._said(X)
        if len(self.classes_) == 2:
            return said[:, 1]
        answers = said.transpose(0, 2, 1)
        total = answers.sum(axis=2, keepdims=True)
        return np.divide(answers, total, out=np.full(answers.shape, 1 / answers.shape[2]), where=total > 0)

    def _forecasts(self, X: Any) -> Floats:
        reports = self._reports(X)
        pooled = combine(reports, self.aggregator_, self.clip, self._weights())
        if pooled.at_odds:
            why = (
                "members that give 0 and 1 for the same sample contradict each other, so the forecast is 0.5 "
                "({} of {} forecasts); set clip to avoid this."
                if reports.ndim == 2
                else "every class of a sample is ruled out by some member, so all classes get the same probability "
                "({} of {} samples); set clip to avoid this."
            )
            warnings.warn(why.format(len(pooled.at_odds), len(reports)), ContradictionWarning, stacklevel=3)
        return pooled.forecasts

    # --------------------------------------------------------------------------------------- what scikit-learn asks for

    @property
    def n_features_in_(self) -> int:
        """How many features the members were fitted on."""
        return self._of_a_member("n_features_in_")

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features that the members were fitted on."""
        return self._of_a_member("feature_names_in_")

    def _of_a_member(self, attribute: str) -> Any:
        for member in getattr(self, "estimators_", ()):
            if hasattr(member, attribute):
                return getattr(member, attribute)
        raise AttributeError(f"{type(self).__name__} has no {attribute}: it is not fitted, or no member has it.")

    def get_metadata_routing(self) -> Any:
        """Where the metadata of `fit` go: to the members, and to their calibration."""
        router = MetadataRouter(owner=self)
        for name, estimator in m.active(self.estimators):
            member = m.requesting_weights(self._prepared(estimator))
            router.add(**{name: member}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router
