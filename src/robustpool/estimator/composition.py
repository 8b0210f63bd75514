"""Named members of an estimator as its parameters, as scikit-learn's own ensembles have them."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Bunch, get_tags

from .members import active, well_formed


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
