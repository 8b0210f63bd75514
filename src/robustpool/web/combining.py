"""What ``POST aggregate`` says: one question, or many, from the JSON of a request to that of its answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..aggregators.rules import get_rule
from ..designs.aggregator_file import read_aggregator
from ..designs.any_aggregator import LONGEST, as_aggregator
from ..designs.design import Design
from ..errors import InputError
from ..forecasts import (
    ALL_RULED_OUT,
    CONTRADICTION,
    UNNAMED,
    at_once,
    clipped_words,
    few_answers,
    few_words,
    low_end,
    pooled,
)
from ..wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats

FIELDS = ("forecasts", "rule", "weights", "clip", "forecasters")
FIELDS_OF_MANY = ("questions", "rule", "clip")
FIELDS_OF_A_QUESTION = ("id", "forecasts", "weights", "forecasters")


def combined(data: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, for one question or for many.

    >>> combined({"forecasts": [0.75, 0.5], "rule": "mean"})
    {'forecast': 0.625, 'rule': 'mean', 'clipped': 0, 'warnings': []}
    """
    if "questions" in data:
        return _many(data)
    _check_fields("the body", data, FIELDS)
    if "forecasts" not in data:
        raise InputError("the body must have forecasts, or questions with forecasts each; it has neither.")
    forecasts, rule, clip = data["forecasts"], data.get("rule", "robust"), data.get("clip")
    if len(data) < 4 and "weights" not in data and "forecasters" not in data:
        forecast = at_once(forecasts, rule, clip)
        if forecast is not None:
            return {"forecast": forecast, "rule": rule, "clipped": 0, "warnings": []}
    aggregator = aggregator_of(rule)
    question = Question(0, None, forecasts, data.get("weights"), data.get("forecasters"))
    forecast, clipped, words = question.alone(aggregator, clip)
    return {"forecast": forecast, "rule": name_of(rule, aggregator), "clipped": clipped, "warnings": words}


def aggregator_of(rule: Any) -> Any:
    """The rule of a name, or the design or fitted pool of a JSON object; never a file, whatever its name is.

    >>> aggregator_of("mean").name
    'mean'
    """
    if isinstance(rule, str):
        return as_aggregator(rule) if len(rule) <= LONGEST and not rule.endswith(".json") else get_rule(rule)
    if isinstance(rule, dict):
        return read_aggregator(rule, "rule")
    raise InputError(
        f"rule must be the name of a rule, or the JSON object of a design or of a fitted pool; it is {_kind(rule)}."
    )


def name_of(rule: Any, aggregator: Any) -> str:
    """How an answer calls its rule: as it was called, or the hash of the file that was given."""
    return rule if isinstance(rule, str) else f"{'design' if isinstance(aggregator, Design) else 'pool'} {rule['hash']}"


# ------------------------------------------------------------------------------------------------------ one question


class Question(NamedTuple):
    """The forecasts of one question, as they came."""

    place: int
    id: Any
    forecasts: Any
    weights: Any
    forecasters: Any

    @property
    def name(self) -> str:
        """What sentences call it."""
        return f"question {self.id!r}"

    @property
    def options(self) -> int:
        """Of how many outcomes each forecast is a distribution; 0 if forecasts are numbers."""
        if self.forecasts and type(self.forecasts[0]) is float:  # as in most questions
            return 0
        return next((len(each) for each in self.forecasts if isinstance(each, list)), 0)

    @property
    def reports(self) -> list[Any]:
        """The forecasts; who did not answer has no number for any of the options."""
        size = self.options
        return [[None] * size if each is None else each for each in self.forecasts] if size else self.forecasts

    def check(self) -> None:
        """Refuse what is no list of forecasts, or does not go with it."""
        if not isinstance(self.forecasts, list):
            raise InputError(f"forecasts must be a list; they are {_kind(self.forecasts)}.")
        for name, given in (("weights", self.weights), ("forecasters", self.forecasters)):
            if given is not None and (not isinstance(given, list) or len(given) != len(self.forecasts)):
                size = f"a list of {len(given)}" if isinstance(given, list) else _kind(given)
                raise InputError(f"{name} must be a list with one entry for each forecast; it is {size}.")
        if self.forecasters is not None and not all(isinstance(name, str) for name in self.forecasters):
            raise InputError("forecasters must be names; one is no text.")

    def alone(self, aggregator: Any, clip: Any) -> tuple[Any, int, list[str]]:
        """The forecast, how many reports were clipped, and what to say of them."""
        self.check()
        if self.options and isinstance(aggregator, Design) and not aggregator.decided_by_one:
            return _by_design(aggregator, self.reports, clip), 0, []
        reports = [self.reports] if self.options else self.reports
        _, result, remarks = pooled(reports, aggregator, clip, self.weights, self.forecasters)
        return _plain(result.forecasts)[0], result.clipped, [remark.words for remark in remarks]


def _by_design(design: Design, reports: list[Any], clip: Any) -> Any:
    """The forecast of a design whose reports are vectors."""
    if clip is not None:
        raise InputError("clip is for rules; a design uses the reports of its family unchanged.")
    return _plain(design([reports]))[0]


def _plain(forecasts: Floats) -> list[Any]:
    """The forecasts as JSON has them: None where there is none."""
    numbers = forecasts.tolist()
    if not np.isnan(forecasts).any():
        return numbers
    return [
        [None if math.isnan(x) else x for x in each] if isinstance(each, list) else None if math.isnan(each) else each
        for each in numbers
    ]


# ------------------------------------------------------------------------------------------------------ many questions


def _many(data: dict[str, Any]) -> dict[str, Any]:
    """The forecasts of many questions; those alike in shape are combined as one array."""
    _check_fields("the body", data, FIELDS_OF_MANY)
    entries, rule, clip = data["questions"], data.get("rule", "robust"), data.get("clip")
    if not isinstance(entries, list):
        raise InputError(f"questions must be a list; they are {_kind(entries)}.")
    aggregator = aggregator_of(rule)
    low_end(clip)
    questions = [_question(place, entry) for place, entry in enumerate(entries)]
    batch = Batch(aggregator, clip, len(questions))
    for group in _groups(questions).values():
        batch.add(group)
    if batch.wrong:
        question, error = min(batch.wrong, key=lambda pair: pair[0].place)
        raise InputError(f"{question.name}: {error}")
    answers = [{"id": each.id, "forecast": batch.forecasts[each.place]} for each in questions]
    return {
        "forecasts": answers,
        "rule": name_of(rule, aggregator),
        "clipped": batch.clipped,
        "warnings": batch.words(),
    }


def _question(place: int, entry: Any) -> Question:
    """An entry of the list; without an id it is called by its place, from 0."""
    if not isinstance(entry, dict):
        raise InputError(f"a question must be an object with forecasts; question {place} is {_kind(entry)}.")
    name = entry.get("id", place)
    if "forecasts" not in entry:
        raise InputError(f"a question must have forecasts; question {name!r} has none.")
    if len(entry) > 2:
        _check_fields(f"question {name!r}", entry, FIELDS_OF_A_QUESTION)
    question = Question(place, name, entry["forecasts"], entry.get("weights"), entry.get("forecasters"))
    try:
        question.check()
    except InputError as error:
        raise InputError(f"{question.name}: {error}") from None
    return question


def _groups(questions: list[Question]) -> dict[Any, list[Question]]:
    """The questions that fit into one array, by their number of forecasts and options."""
    groups: dict[Any, list[Question]] = {}
    for each in questions:
        names = None if each.forecasters is None else tuple(each.forecasters)
        groups.setdefault((len(each.forecasts), each.options, each.weights is None, names), []).append(each)
    return groups


class Batch:
    """Combines groups of questions, and keeps what is to be said of them all."""

    def __init__(self, aggregator: Callable[[Any], Any], clip: Any, size: int) -> None:
        """Nothing yet."""
        self._aggregator, self._clip, self._size = aggregator, clip, size
        self.forecasts: list[Any] = [None] * size
        self._clipped = {False: 0, True: 0}  # answers that are numbers, and those that are distributions
        self._answers = {False: 0, True: 0}
        self._unnamed = False
        self._at_odds: list[tuple[Question, str]] = []
        self._few: list[tuple[Question, int]] = []
        self.wrong: list[tuple[Question, InputError]] = []

    @property
    def clipped(self) -> int:
        """How many answers were clipped."""
        return sum(self._clipped.values())

    def add(self, group: list[Question]) -> None:
        """Combine questions of one shape; of those that cannot be, keep the first."""
        try:
            self._add(group)
        except InputError:
            self.wrong.append(self._first_wrong(group))

    def _add(self, group: list[Question]) -> None:
        first = group[0]
        if not first.forecasts or (first.options and isinstance(self._aggregator, Design)):
            for each in group:
                self.forecasts[each.place], _, _ = each.alone(self._aggregator, self._clip)
            return
        reports = [each.reports for each in group]
        weights = None if first.weights is None else [each.weights for each in group]
        values, result, remarks = pooled(reports, self._aggregator, self._clip, weights, first.forecasters)
        for each, forecast in zip(group, _plain(result.forecasts), strict=True):
            self.forecasts[each.place] = forecast
        options = first.options > 0
        self._clipped[options] += result.clipped
        count = np.count_nonzero(~np.isnan(values[..., 0] if options else values), axis=1)
        self._answers[options] += int(count.sum())
        self._unnamed |= any(remark.words == UNNAMED for remark in remarks)
        self._at_odds += [(group[row], ALL_RULED_OUT if options else CONTRADICTION) for row in result.at_odds]
        if not options:
            few = np.flatnonzero(few_answers(self._aggregator, count)).tolist()
            self._few += [(group[row], int(count[row])) for row in few]

    def _first_wrong(self, group: list[Question]) -> tuple[Question, InputError]:
        """The first question of a group that cannot be combined, found by halving, and why."""
        while len(group) > 1:
            half = group[: len(group) // 2]
            try:
                Batch(self._aggregator, self._clip, self._size)._add(half)
            except InputError:
                group = half
            else:
                group = group[len(half) :]
        try:
            group[0].alone(self._aggregator, self._clip)
        except InputError as error:
            return group[0], error
        raise AssertionError("a question is refused alone if its group is")

    def words(self) -> list[str]:
        """What a user should know, as for a table."""
        words = [UNNAMED] if self._unnamed else []
        if self._few:
            question, count = min(self._few, key=lambda pair: pair[0].place)
            size = f"{len(self._few):,} of {counted(self._size, 'question')}"
            words.append(few_words(self._aggregator, question.name, count, size))
        for options, clipped in self._clipped.items():
            if clipped and self._clip is None:
                words.append(clipped_words(clipped, self._answers[options], "clip=0", "answer", options=options))
        if self._at_odds:
            question, sentence = min(self._at_odds, key=lambda pair: pair[0].place)
            size = f"{len(self._at_odds):,} of {counted(self._size, 'question')}"
            words.append(f"{sentence.format(question.name)} ({size}).")
        return words


# ---------------------------------------------------------------------------------------------------------- arrays


def combined_array(body: bytes, rule: str, clip: float | None) -> tuple[bytes, int]:
    """Reports (m, n) or (m, n, k) in a .npy file to the forecasts in another, and how many reports were clipped.

    >>> answer, clipped = combined_array(npy_of(np.array([[0.2, 0.4]])), "mean", None)
    >>> array_of(answer), clipped
    (array([0.3]), 0)
    """
    reports = array_of(body)
    if reports.ndim not in (2, 3):
        raise InputError(
            "the array must have the shape (questions, agents) or (questions, agents, options); "
            f"the shape is {reports.shape}."
        )
    _, result, _ = pooled(reports, aggregator_of(rule), clip)
    return npy_of(result.forecasts), result.clipped


def array_of(body: bytes) -> Floats:
    """The array in a .npy file, without a copy; its header is believed only as far as the body goes."""
    from io import BytesIO
    from tokenize import TokenError

    from numpy.lib import format

    stream = BytesIO(body[:HEADER])
    try:
        read = {(1, 0): format.read_array_header_1_0, (2, 0): format.read_array_header_2_0}[format.read_magic(stream)]
        shape, by_columns, dtype = read(stream)
    except (ValueError, KeyError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
        raise InputError(f"the body must be a .npy file ({str(error).splitlines()[0][:100]}).") from None
    if dtype.kind != "f" or dtype.itemsize not in (4, 8):
        raise InputError(f"the array must have the type float64 or float32; it has {str(dtype)[:40]}.")
    room, size = len(body) - stream.tell(), math.prod(shape) * dtype.itemsize
    if size != room or any(length < 0 for length in shape):
        raise InputError(
            f"the array must fill the body; its shape {shape} needs {size:,} bytes and there are {room:,}."
        )
    values = np.frombuffer(body, dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if by_columns else "C").astype(np.float64, copy=False)


HEADER = 12_000
"""More than the header of a .npy file may have."""


def npy_of(array: Floats) -> bytes:
    """A .npy file."""
    from io import BytesIO

    from numpy.lib import format

    head = BytesIO()
    format.write_array_header_1_0(head, format.header_data_from_array_1_0(array))
    return b"".join((head.getvalue(), np.ascontiguousarray(array).data))


# -------------------------------------------------------------------------------------------------------------- words


def _check_fields(what: str, data: dict[str, Any], fields: tuple[str, ...]) -> None:
    """Refuse a field that nobody reads, such as one with a typing error."""
    for name in data:
        if name not in fields:
            raise InputError(f"{what} has no field {name[:80]!r} here; it takes {', '.join(fields)}.")


KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def _kind(value: Any) -> str:
    """What a JSON value is."""
    return KINDS.get(type(value), "a number")
