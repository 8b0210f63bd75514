"""The members of a voting classifier: as its parameters, their names, their calibration and their fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, get_tags
from sklearn.utils.validation import has_fit_parameter

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

DROP = "drop"
"""In place of a classifier: leave this member out."""

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
    copies' probabilities, and so pool by the mean before the rule is asked.
    """
    member = FrozenEstimator(estimator) if prefit else clone(estimator)
    if calibration is None:
        return member
    return CalibratedClassifierCV(member, method=calibration, cv=cv, ensemble=False)


def weights_for(members: Sequence[Member], sample_weight: Any) -> dict[str, dict[str, Any]]:
    """The sample weights for each member's fit; refuse them if a member that is fitted cannot use them."""
    if sample_weight is None:
        return {name: {} for name, _ in members}
    for name, member in members:
        inner = member.estimator if isinstance(member, CalibratedClassifierCV) else member
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
    return classes


def by_name(estimators: Sequence[Member], fitted: Sequence[Any]) -> Any:
    """The fitted members by name, and "drop" where one was dropped."""
    remaining = iter(fitted)
    return Bunch(**{name: DROP if is_dropped(given) else next(remaining) for name, given in estimators})
