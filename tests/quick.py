"""Which cases of a test are quick enough for `make test`; the others are for `make test-all`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def one_of(step: int, cases: Iterable[Any]) -> list[Any]:
    """The cases of a test, every ``step``-th of them quick; a step that divides no size of a product meets all values of it."""
    return [case if number % step == 0 else slowly(case) for number, case in enumerate(cases)]


def only(quick: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """The cases of a test, these of them quick."""
    return [case if case in quick else slowly(case) for case in cases]


def slowly(case: Any) -> Any:
    """A case for `make test-all`."""
    values = case.values if isinstance(case, type(pytest.param())) else case
    return pytest.param(*(values if isinstance(values, tuple) else (values,)), marks=pytest.mark.slow)
