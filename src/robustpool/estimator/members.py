"""The members of a voting classifier: as its parameters, their names, their calibration, their fit and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, _safe_indexing, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from ..errors import InputError
from ..wording import counted
from .log_odds import LogOdds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ..typing import Floats

DROP = "drop"
"""In place of a classifier: leave this member out."""

FOLDS = 5
"""Folds of the samples, if they are not chosen; fewer if a class has fewer samples."""

Member = tuple[str, Any]


def well_formed(estimators: object) -> list[Member]:
    """The pairs of a name and something else among what a user gave, without complaints about all the rest.

    >>> well_formed([("a", "drop"), ("b", 7), "c"])
    [('a', 'drop'), ('b', 7)]
    """
    given = estimators if isinstance(estimators, list | tuple) else ()
    pairs = [item for item in given if isinstance(item, list | tuple) and len(item) == 2]
    return [(name, estimator) for name, estimator in pairs if isinstance(name, str)]


def is_dropped(estimator: object) -> bool:
    """Whether a member is left out."""
    return isinstance(estimator, str) and estimator == DROP


def active(estimators: object) -> list[Member]:
    """The members that are not left out.

    >>> active([("a", "drop"), ("b", 7)])
    [('b', 7)]
    """
    return [(name, estimator) for name, estimator in well_formed(estimators) if not is_dropped(estimator)]


class Composition(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator with a parameter ``estimators``, a list of pairs of a name and an estimator.

    A member is a parameter by its name, and ``member__parameter`` is one of its own; so a member can be replaced or
    dropped, and its parameters searched. scikit-learn has this in a class that is private.
    """

    estimators: Any

    @property
    def named_estimators(self) -> Any:
        """The members by name, as they were given."""
        return Bunch(**dict(well_formed(self.estimators)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with ``deep`` the members by name, and their parameters as ``member__parameter``."""
        parameters: dict[str, Any] = super().get_params(deep=deep)
        for name, estimator in well_formed(self.estimators) if deep else ():
            parameters[name] = estimator
            if hasattr(estimator, "get_params") and not isinstance(estimator, type):
                inner = estimator.get_params(deep=True)
                parameters |= {f"{name}__{key}": value for key, value in inner.items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters: the list of members first, then whole members by name, then all others."""
        if "estimators" in parameters:
            self.estimators = parameters.pop("estimators")
        names = {name for name, _ in well_formed(self.estimators)}
        changed = {name: parameters.pop(name) for name in names & parameters.keys()}
        if changed:
            self.estimators = [(name, changed.get(name, estimator)) for name, estimator in self.estimators]
        super().set_params(**parameters)
        return self

    def __sklearn_tags__(self) -> Any:
        """What the members can do, all of them."""
        tags = super().__sklearn_tags__()
        of_members = [
            get_tags(estimator)
            for _, estimator in active(self.estimators)
            if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)
        ]
        tags.input_tags.allow_nan = bool(of_members) and all(each.input_tags.allow_nan for each in of_members)
        tags.input_tags.sparse = bool(of_members) and all(each.input_tags.sparse for each in of_members)
        return tags


def check_members(estimators: Any, reserved: Iterable[str], *, calibrated: bool, prefit: bool) -> list[Member]:
    """The members that are not left out, if all of them can take part."""
    if not isinstance(estimators, list | tuple) or not estimators or len(well_formed(estimators)) < len(estimators):
        raise InputError(f"estimators must be a list of pairs of a name and a classifier; it is {estimators!r}.")
    _check_names([name for name, _ in estimators], reserved)
    members = active(estimators)
    if not members:
        raise InputError(f"at least one member must take part; all {len(estimators)} are dropped.")
    for name, estimator in members:
        if isinstance(estimator, type) or not is_classifier(estimator):
            raise InputError(f"members must be classifiers; {name} is {estimator!r}.")
        if not calibrated and not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"members must have predict_proba; {name} has none (calibration='sigmoid' derives it from scores)."
            )
        if prefit and not hasattr(estimator, "classes_"):
            raise InputError(
                f"members must be fitted if prefit is True; {name} is not (clones never are: for cross-validation "
                "wrap members in sklearn.frozen.FrozenEstimator instead)."
            )
    return members


def _check_names(names: Sequence[str], reserved: Iterable[str]) -> None:
    """Each name is to be a parameter's name, and its parameters ``name__parameter``."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"names of members must differ; {name!r} occurs {names.count(name)} times.")
        if "__" in name or name in reserved:
            raise InputError(f"the name of a member must have no __ and not be a parameter's; it is {name!r}.")


def prepare(estimator: Any, *, calibration: str | None, cv: Any, prefit: bool) -> Any:
    """What is to be fitted: a copy of the member, or (prefit) the member itself, in its calibration if there is one.

    The calibration is cross-fitted: its one map is learnt from predictions for samples on which the predicting copy was
    not fitted, and is then put behind the member that is fitted on all of them. ``ensemble=True`` would average the
    copies' probabilities, and so pool by the mean before the rule is asked. The map is one of log-odds, see `LogOdds`; of
    the scores, if a member has no probabilities.
    """
    member = FrozenEstimator(estimator) if prefit else clone(estimator)
    if calibration is None:
        return member
    scored = LogOdds(member) if hasattr(member, "predict_proba") else member
    return CalibratedClassifierCV(scored, method=calibration, cv=cv, ensemble=False)


def folds(cv: Any, y: NDArray[Any] | None, *, calibrated: bool, learn: bool) -> Any:
    """How the samples are split: as chosen, or into 5 stratified folds, fewer if a class has fewer samples.

    To calibrate and to learn, the samples outside of a fold are split again in the same way.

    >>> y = np.array([0, 0, 0, 0, 1, 1, 1])
    >>> folds(None, y, calibrated=True, learn=False), folds(7, y, calibrated=True, learn=False)
    (3, 7)
    """
    if cv is not None or y is None or not (calibrated or learn):
        return cv
    check_classification_targets(y)
    classes, counts = np.unique(y, return_counts=True)
    parts = 2 if calibrated and learn else 1
    if counts.min() < 2 * parts:
        raise InputError(
            f"each class must have at least {2 * parts} samples to be split into folds; class "
            f"{classes[counts.argmin()]!s} has {counted(int(counts.min()), 'sample')}"
            f"{'; calibration=None needs fewer' if calibrated else ''}."
        )
    return min(FOLDS, int(counts.min()) // parts)


def weights_for(members: Sequence[Member], sample_weight: Any) -> dict[str, dict[str, Any]]:
    """The sample weights for each member's fit; refuse them if a member that is fitted cannot use them."""
    if sample_weight is None:
        return {name: {} for name, _ in members}
    for name, member in members:
        inner = member.estimator if isinstance(member, CalibratedClassifierCV) else member
        inner = inner.estimator if isinstance(inner, LogOdds) else inner
        if not isinstance(inner, FrozenEstimator) and not has_fit_parameter(inner, "sample_weight"):
            raise InputError(f"members must take sample_weight if there is one; {name} does not.")
    return {name: {"sample_weight": sample_weight} for name, _ in members}


def requesting_weights(member: Any) -> Any:
    """The same for metadata routing: a calibration uses whatever sample weights there are."""
    return member.set_fit_request(sample_weight=True) if isinstance(member, CalibratedClassifierCV) else member


def common_classes(members: Sequence[Member]) -> NDArray[Any]:
    """The classes that all fitted members know."""
    first, member = members[0]
    classes = np.asarray(member.classes_)
    for name, other in members:
        if not np.array_equal(other.classes_, classes):
            raise InputError(
                f"members must know the same classes; {first} knows {classes.tolist()}, "
                f"{name} knows {np.asarray(other.classes_).tolist()}."
            )
    if len(classes) == 1:
        raise InputError(f"members must know two classes; they know 1 class, {classes.tolist()[0]!r}.")
    return classes


def check_known_classes(given: Sequence[Member], y: NDArray[Any] | None, *, calibrated: bool, prefit: bool) -> None:
    """Refuse members fitted elsewhere that know different classes, or, if they are to be calibrated, others than y has."""
    needed = None if y is None else np.unique(y)
    if calibrated and needed is None:
        raise InputError(
            "calibration requires y to be passed, but the target y is None; calibration=None takes prefit members as they are."
        )
    fitted = [(name, each) for name, each in given if prefit or isinstance(each, FrozenEstimator)]
    fitted = [(name, each) for name, each in fitted if hasattr(each, "classes_")]
    if not fitted:
        return
    classes = common_classes(fitted)
    if calibrated and needed is not None and not np.array_equal(needed, classes):
        raise InputError(
            f"y must have the classes of the fitted members to calibrate them; they know {classes.tolist()}, "
            f"y has {needed.tolist()}."
        )


def by_name(estimators: Sequence[Member], fitted: Sequence[Any]) -> Any:
    """The fitted members by name, and "drop" where one was dropped."""
    remaining = iter(fitted)
    return Bunch(**{name: DROP if is_dropped(given) else next(remaining) for name, given in estimators})


# ------------------------------------------------------------------------------------------------------- what they say


def said_of_unseen(
    members: Sequence[Member],
    X: Any,
    y: NDArray[Any],
    *,
    classes: NDArray[Any],
    cv: Any,
    routed: dict[str, dict[str, Any]],
    n_jobs: int | None,
) -> Floats:
    """Each member's probabilities for samples to which it was not fitted: (samples, classes, members).

    A frozen member was fitted elsewhere, so it is taken as it is. A calibration of it is fitted here, and so cross-fitted.
    """
    if all(isinstance(member, FrozenEstimator) for _, member in members):
        return np.stack([member.predict_proba(X) for _, member in members], axis=-1)
    (X,) = indexable(X)
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    held_out = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(y))
    wrong = held_out != 1
    if wrong.any():
        raise InputError(
            f"cv must hold out each sample once if learn is True; it holds out sample {np.argmax(wrong)} "
            f"{held_out[wrong][0]} times ({wrong.sum()} of {len(y)} samples)."
        )
    said = Parallel(n_jobs=n_jobs)(
        delayed(_said_of_unseen)(member, X, y, splits, classes, routed[name]) for name, member in members
    )
    return np.stack(said, axis=-1)


def _said_of_unseen(
    member: Any, X: Any, y: NDArray[Any], splits: Sequence[Any], classes: NDArray[Any], parameters: dict[str, Any]
) -> Floats:
    if isinstance(member, FrozenEstimator):
        return np.asarray(member.predict_proba(X))
    said = np.zeros((len(y), len(classes)))
    for train, test in splits:
        own = {
            name: _safe_indexing(value, train) if hasattr(value, "__len__") and len(value) == len(y) else value
            for name, value in parameters.items()
        }
        fitted = clone(member).fit(_safe_indexing(X, train), y[train], **own)
        columns = np.searchsorted(classes, fitted.classes_)
        said[np.ix_(test, columns)] = fitted.predict_proba(_safe_indexing(X, test))
    return said


def as_reports(said: Floats) -> Floats:
    """Probabilities (samples, classes, members) as reports to pool: (samples, members), or (samples, members, classes).

    Sums that are not quite 1 are made so; a member that gives nothing to any class gives all the same, and one that has NaN
    gives no answer.
    """
    if said.shape[1] == 2:
        return said[:, 1]
    answers = said.transpose(0, 2, 1)
    total = answers.sum(axis=2, keepdims=True)
    equal = np.where(np.isnan(total), np.nan, np.full(answers.shape, 1 / answers.shape[2]))
    return np.divide(answers, total, out=equal, where=total > 0)
