"""What the columns of a table are called, in our format and in the exports of others.

Names are compared in small letters, with one underscore for everything between the words: ``Question ID`` is
``question_id``. Of a format we know which columns tell that it is this one, and which of them plays which role.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES = ("question_id", "forecaster_id", "probability", "outcome", "timestamp", "weight", "cluster")
"""What a column can be."""

NEEDED = ROLES[:3]


@dataclass(frozen=True)
class Format:
    """Which columns a format has; the first name of a role that is there is taken."""

    name: str
    signs: frozenset[str]  # a table with all of these columns is in this format
    roles: Mapping[str, tuple[str, ...]]
    extras: Mapping[str, str] = field(default_factory=dict)  # columns that say which rows are forecasts
    sieves: tuple[tuple[str, str, str], ...] = ()  # column, rule, and in SQL what does not pass it ("given": anything)
    question_is_the_rest: bool = False  # the columns without a role name the question together


OURS = Format(
    "robustpool",
    frozenset(),
    {
        "question_id": ("question_id", "question", "qid", "event_id", "event", "ifp_id"),
        "forecaster_id": ("forecaster_id", "forecaster", "user_id", "user", "agent_id", "agent", "expert", "model_id"),
        "probability": ("probability", "prob", "p", "forecast", "prediction", "report"),
        "outcome": ("outcome", "resolution", "resolved_to"),
        "timestamp": ("timestamp", "time", "datetime", "date", "created_at", "forecast_time", "forecast_date"),
        "weight": ("weight",),
        "cluster": ("cluster", "cluster_id"),
    },
)
"""The plain long format."""

OUR_NAMES = {name: role for role, names in OURS.roles.items() for name in names}
"""The role of each name that is understood."""

METACULUS = Format(
    "metaculus",
    frozenset({"question_id", "probability_yes"}),
    {
        "question_id": ("question_id",),
        "forecaster_id": ("forecaster_id", "forecaster_anonymized", "forecaster_username"),
        "probability": ("probability_yes",),
        "outcome": ("outcome", "resolution"),
        "timestamp": ("start_time",),
    },
    {
        "count": "forecaster_count",
        "categories": "probability_yes_per_category",
        "cdf": "continuous_cdf",
        "end": "end_time",
    },
    (
        ("count", "a row must be the forecast of one forecaster, not an aggregate of so many", "given"),
        ("categories", "a forecast must be on a binary question", "given"),
        ("cdf", "a forecast must be on a binary question", "given"),
    ),
)
"""``forecast_data.csv`` of the data download of Metaculus."""

GJP = Format(
    "gjp",
    frozenset({"ifp_id", "user_id", "answer_option", "value"}),
    {
        "question_id": ("ifp_id",),
        "forecaster_id": ("user_id",),
        "probability": ("value",),
        "outcome": ("outcome",),
        "timestamp": ("timestamp", "fcast_date"),
    },
    {"option": "answer_option", "kind": "fcast_type", "status": "q_status"},
    (
        (
            "question",
            "a question must not be conditional on another (its name ends in -1 to -5)",
            "regexp_full_match({}, '.*-[1-5]')",
        ),
        ("kind", "a forecast must not be withdrawn (fcast_type 4)", "{0} = '4' OR {0} = '4.0'"),
        ("status", "a question must not be voided", "{} = 'voided'"),
    ),
)
"""``survey_fcasts`` of the Good Judgment Project."""

IQISA = Format(
    "iqisa",
    frozenset({"question_id", "user_id", "probability", "answer_option"}),
    {
        "question_id": ("question_id",),
        "forecaster_id": ("user_id",),
        "probability": ("probability",),
        "outcome": ("outcome",),
        "timestamp": ("timestamp",),
    },
    {"option": "answer_option", "status": "q_status"},
    (("status", "a question must not be voided", "{} = 'voided'"),),
)
"""The common form into which iqisa brings the data of several platforms."""

HUBVERSE = Format(
    "hubverse",
    frozenset({"model_id", "output_type", "output_type_id", "value"}),
    {"forecaster_id": ("model_id",), "probability": ("value",), "outcome": ("outcome",)},
    {"option": "output_type_id", "output_type": "output_type"},
    (("output_type", "output_type must be pmf", "{} <> 'pmf'"),),
    question_is_the_rest=True,
)
"""Model output of a forecasting hub: the columns of the task together are the question."""

FORMATS = {each.name: each for each in (METACULUS, GJP, HUBVERSE, IQISA, OURS)}
"""By name; the first whose signs a table has is its format."""


def plain(name: str) -> str:
    """The name of a column in small letters, with one underscore between the words.

    >>> plain("Question ID"), plain("Forecaster (Anonymized)"), plain("user.ID")
    ('question_id', 'forecaster_anonymized', 'user_id')
    """
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")


def check_different(names: list[str]) -> None:
    """Refuse names of columns that stand there twice; columns without a name are no columns."""
    seen: dict[str, int] = {}
    for i, name in enumerate(names, start=1):
        if name and name in seen:
            raise InputError(
                f"columns must have different names; {name!r} is the name of columns {seen[name]} and {i}."
            )
        seen[name] = i


def told_format(names: list[str]) -> Format:
    """The format that the names of the columns tell; ours, if they tell no other.

    >>> told_format(["ifp_id", "user_id", "answer_option", "value", "fcast_date"]).name
    'gjp'
    """
    found = {plain(name) for name in names}
    return next(each for each in FORMATS.values() if each.signs <= found)
