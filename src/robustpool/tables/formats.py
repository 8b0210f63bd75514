"""What the columns of a table are called, in our format and in the exports of others.

Names are compared in small letters, with one underscore for everything between the words: ``Question ID`` is
``question_id``. Of a format we know which columns tell that it is this one, and which of them plays which role.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import InputError
from .engine import among

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES = (
    *("question_id", "forecaster_id", "probability"),
    *("outcome", "timestamp", "weight", "cluster", "option", "resolved"),
)
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
    question: tuple[str, ...] = ()  # or these do
    options: tuple[str, ...] = ()  # of a wide format: how the columns of a forecaster end
    odds: bool = False  # values are decimal odds


OURS = Format(
    "robustpool",
    frozenset(),
    {
        "question_id": ("question_id", "question", "qid", "event_id", "event", "ifp_id"),
        "forecaster_id": ("forecaster_id", "forecaster", "user_id", "user", "agent_id", "agent", "expert", "model_id"),
        "probability": ("probability", "prob", "p", "forecast", "prediction", "report"),
        "outcome": ("outcome", "resolution", "resolved_to"),
        "timestamp": (
            *("timestamp", "time", "datetime", "date", "created_at", "forecast_time", "forecast_date"),
            *("forecast_timestamp", "submitted_at", "updated_at", "submission_time", "fcast_date"),
        ),
        "weight": ("weight",),
        "cluster": ("cluster", "cluster_id"),
        "option": ("option", "answer_option"),
        "resolved": (
            *("resolved", "resolved_at", "resolution_date", "resolution_time", "resolve_time", "date_resolved"),
            *("resolved_on", "resolve_date"),
        ),
    },
)
"""The plain long format."""

OUR_NAMES = {name: role for role, names in OURS.roles.items() for name in names}
"""The role of each name that is understood."""

TOPICS = ("category", "choice")
"""Names of an option that are more often something else: they count if somebody answers one question for several."""

A_TIME = re.compile(r"(.*_)?(timestamp|datetime|date|time|day|at|on)|(date|time|day)_.*")
"""What a column may be called that holds times."""

AGGREGATES = re.compile(r"(bb)?(mx|av|max|avg|average|mean|median|consensus|market)c?", re.IGNORECASE)
"""Forecasters of a wide table with options who are made of the others; bookmakers' closing odds end in c."""

ONE_PERSON = "a row must be the forecast of one forecaster, not an aggregate of several"
BINARY = "a forecast must be on a binary question"
NOT_VOIDED = ("status", "a question must not be voided", "{} = 'voided'")
METHODS = among(
    "{}", ("recency_weighted", "unweighted", "single_aggregation", "metaculus_prediction", "community_prediction")
)

METACULUS = Format(
    "metaculus",
    frozenset({"question_id", "probability_yes"}),
    {
        "question_id": ("question_id",),
        "forecaster_id": ("forecaster_id", "forecaster_anonymized", "forecaster_username", "forecaster"),
        "probability": ("probability_yes",),
        "outcome": ("outcome", "resolution"),
        "timestamp": ("start_time", "forecast_timestamp"),
    },
    {
        "count": "forecaster_count",
        "username": "forecaster_username",
        "categories": "probability_yes_per_category",
        "cdf": "continuous_cdf",
        "type": "type",
        "end": "end_time",
    },
    (
        ("count", ONE_PERSON, "given"),
        ("forecaster_id", ONE_PERSON, METHODS),
        ("username", ONE_PERSON, f"forecaster = '' AND {METHODS}"),
        ("categories", BINARY, "given"),
        ("cdf", BINARY, "given"),
        ("type", BINARY, "{0} <> 'binary' AND {0} <> ''"),
    ),
)
"""``forecast_data.csv`` of the data download of Metaculus, and the newer export with ``forecast_timestamp``."""

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
        NOT_VOIDED,
    ),
)
"""``survey_fcasts`` of the Good Judgment Project."""

GJP_CLOSED, GJP_DATES = "date_closed", "%m/%d/%y"
"""The day on which a question was closed in the Good Judgment Project's ``ifps.csv``, and how that file writes days."""

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
    (NOT_VOIDED,),
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

BOOKMAKERS = Format(
    "bookmakers",
    frozenset({"date", "hometeam", "awayteam"}),
    {"outcome": ("ftr",)},
    question=("date", "hometeam", "awayteam"),
    options=("H", "D", "A"),
    odds=True,
)
"""Decimal odds on football matches, three columns a bookmaker (B365H, B365D, B365A), as football-data.co.uk has them."""

FORMATS = {each.name: each for each in (METACULUS, GJP, HUBVERSE, IQISA, BOOKMAKERS, OURS)}
"""By name; the first whose signs a table has is its format."""


WITHDRAWN = "a forecast must not be withdrawn (its end time)"
KINDS = frozenset({WITHDRAWN, *(rule for each in FORMATS.values() for _, rule, _ in each.sieves)})
"""Why rows are left out that are no forecasts, or not on such questions: nothing is wrong with them."""


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
