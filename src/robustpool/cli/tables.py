"""What the commands that read a table of forecasts share: columns by name, and the rows that were left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..tables.records import RowsLeftOut


def named_columns(texts: Iterable[str]) -> dict[str, str]:
    """The columns that the user named, ``role=name`` each.

    >>> named_columns(["probability=p", "outcome=result"])
    {'probability': 'p', 'outcome': 'result'}
    """
    columns: dict[str, str] = {}
    for text in texts:
        role, equals, name = text.partition("=")
        if not (role and equals and name):
            raise InputError(f"--column must be written as role=name, such as probability=p; it is {text!r}.")
        if columns.get(role, name) != name:
            raise InputError(f"a column must be named once; {role} is {columns[role]!r} and {name!r}.")
        columns[role] = name
    return columns


def rejected_data(rejected: RowsLeftOut) -> dict[str, Any]:
    """The rows that were left out, as a JSON object."""
    first = [{"line": each.line, "reason": each.reason} for each in rejected.first]
    return {"total": rejected.total, "counts": rejected.counts, "first": first}
