"""``POST aggregate`` gives what the library gives, to the last bit, and says what the library says."""

from __future__ import annotations

import io
import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustpool as rp
from refusals import input_error
from robustpool.aggregators.learned_rule import LearnedRule
from robustpool.aggregators.rules import RULES
from robustpool.designs.aggregator_file import POOL_FORMAT
from robustpool.designs.design_file import as_object, content_hash, save_design
from robustpool.forecasts import UNNAMED
from robustpool.web import aggregating
from robustpool.web.app import create_app
from robustpool.web.combining import array_of, combined, combined_array, npy_of
from robustpool.web.settings import Settings
from servers import Inside

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NAMES = [name if name != "bordley" else "bordley:prior=0.3" for name in RULES]
PROBABILITIES = st.floats(0.0, 1.0, allow_subnormal=False)


@pytest.fixture(scope="module")
def client() -> Inside:
    """The application, without a server around it."""
    return Inside(create_app(Settings(json_bytes=200_000, body_bytes=400_000)))


def call(client: Inside, body: Any) -> Any:
    """What the server answers to a JSON body."""
    return client.call("POST", "/api/v1/aggregate", json=body)


def library(*arguments: Any, **options: Any) -> tuple[Any, list[str]]:
    """What the library answers, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forecast = rp.aggregate(*arguments, **options)
    return forecast, [str(warning.message) for warning in caught]


@given(
    reports=st.lists(PROBABILITIES | st.none(), min_size=1, max_size=12),
    rule=st.sampled_from(NAMES),
    clip=st.sampled_from([None, 0.0, 0.2]),
)
@settings(max_examples=150, deadline=None)
def test_one_question_is_that_of_the_library(reports: list[Any], rule: str, clip: float | None) -> None:
    forecast, words = library(reports, rule, clip=clip)
    given = {"forecasts": reports, "rule": rule} | ({} if clip is None else {"clip": clip})
    answer = combined(given)
    assert answer["forecast"] == (None if np.isnan(forecast) else forecast)
    assert answer["rule"] == rule
    assert answer["warnings"] == words
    assert set(answer) == {"forecast", "rule", "clipped", "warnings"}


@given(
    questions=st.lists(st.lists(PROBABILITIES | st.none(), min_size=1, max_size=5), max_size=12),
    rule=st.sampled_from(NAMES),
)
@settings(max_examples=100, deadline=None)
def test_many_questions_are_each_of_them(questions: list[list[Any]], rule: str) -> None:
    answer = combined(
        {"questions": [{"id": f"q{k}", "forecasts": each} for k, each in enumerate(questions)], "rule": rule}
    )
    alone = [combined({"forecasts": each, "rule": rule}) for each in questions]
    assert answer["forecasts"] == [{"id": f"q{k}", "forecast": each["forecast"]} for k, each in enumerate(alone)]
    assert answer["clipped"] == sum(each["clipped"] for each in alone)


def test_the_default_is_the_library_s(client: Inside) -> None:
    answer = call(client, {"forecasts": [0.7, 0.6]})
    assert answer.json() == {"forecast": rp.aggregate([0.7, 0.6]), "rule": "robust", "clipped": 0, "warnings": []}
    assert answer.headers["content-type"] == "application/json"
    assert client.call("POST", "/api/v1/aggregate", content=b'{"forecasts": [0.7, 0.6]}').json() == answer.json()


def test_a_large_body_gets_the_same_answer(client: Inside) -> None:
    reports = np.random.default_rng(0).random((3000, 2)).round(4).tolist()
    body = {"questions": [{"forecasts": each} for each in reports]}
    assert len(json.dumps(body)) > aggregating.SMALL
    forecasts, words = library(reports)
    answer = call(client, body).json()
    assert [each["forecast"] for each in answer["forecasts"]] == forecasts.tolist()
    assert [each["id"] for each in answer["forecasts"]] == list(range(3000))
    assert answer["warnings"] == [words[0].replace("report", "answer")]


@pytest.mark.parametrize("rule", ["robust", "mean", "geometric-odds", "minimax"])
def test_distributions_over_outcomes(client: Inside, rule: str) -> None:
    one, other = [[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]], [[0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]
    forecast, words = library([one, other], rule)
    assert call(client, {"forecasts": one, "rule": rule}).json()["forecast"] == forecast[0].tolist()
    answer = call(client, {"questions": [{"forecasts": one}, {"forecasts": other}], "rule": rule}).json()
    assert [each["forecast"] for each in answer["forecasts"]] == forecast.tolist()
    assert answer["warnings"] == words


def test_who_gave_no_distribution_did_not_answer(client: Inside) -> None:
    assert call(client, {"forecasts": [None, [0.2, 0.3, 0.5]]}).json()["forecast"] == [0.2, 0.3, 0.5]


def test_weights(client: Inside) -> None:
    expected = rp.aggregate([0.7, 0.6], weights=[1, 3])
    assert call(client, {"forecasts": [0.7, 0.6], "weights": [1, 3]}).json()["forecast"] == expected
    many = [{"forecasts": [0.7, 0.6], "weights": [1, 3]}, {"forecasts": [0.7, 0.6]}]
    answer = call(client, {"questions": many}).json()["forecasts"]
    assert [each["forecast"] for each in answer] == [expected, rp.aggregate([0.7, 0.6])]


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """A file's content with its hash."""
    return data | {"hash": content_hash(data)}


POOL = sealed(
    {"format": POOL_FORMAT, "aggregator": as_object(LearnedRule(rule="robust", weights={"ann": 3.0, "bob": 1.0}))}
)


def test_a_fitted_pool_in_the_request(client: Inside) -> None:
    answer = call(client, {"forecasts": [0.7, 0.6], "forecasters": ["ann", "bob"], "rule": POOL}).json()
    assert answer["forecast"] == rp.aggregate([0.7, 0.6], weights=[3, 1])
    assert answer["rule"] == f"pool {POOL['hash']}"
    assert answer["warnings"] == []
    nameless = call(client, {"forecasts": [0.7, 0.6], "rule": POOL}).json()
    assert (nameless["forecast"], nameless["warnings"]) == (rp.aggregate([0.7, 0.6]), [UNNAMED])
    many = call(client, {"questions": [{"forecasts": [0.7, 0.6], "forecasters": ["bob", "ann"]}], "rule": POOL}).json()
    assert many["forecasts"][0]["forecast"] == rp.aggregate([0.7, 0.6], weights=[1, 3])


def test_a_design_in_the_request(client: Inside, tmp_path: Path) -> None:
    solution = rp.solve(rp.ConditionallyIndependent(agents=2, reports=4, priors=8), tolerance=1e-3)
    save_design(solution, tmp_path / "design.json")
    design = json.loads((tmp_path / "design.json").read_text())
    answer = call(client, {"forecasts": [0.7, 0.6], "rule": design}).json()
    assert answer["forecast"] == rp.aggregate([0.7, 0.6], tmp_path / "design.json")
    assert answer["rule"] == f"design {design['hash']}"
    refused = call(client, {"questions": [{"id": "q", "forecasts": [0.7, 0.6, 0.5]}], "rule": design}).json()
    assert refused["detail"].startswith("question 'q': ")


def test_warnings_name_the_question(client: Inside) -> None:
    questions = [{"id": "a", "forecasts": [0.2]}, {"id": "b", "forecasts": [0, 1]}, {"id": "c", "forecasts": [1, 0]}]
    answer = call(client, {"questions": questions, "clip": 0}).json()
    assert answer["warnings"] == [
        "0 and 1 for the same question contradict each other, so the forecast is 0.5; question 'b' has both (2 of 3 questions)."
    ]
    mixed = [{"forecasts": [0.0, 0.5]}, {"forecasts": [[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]]}]
    assert call(client, {"questions": mixed}).json()["warnings"] == [
        "1 of 2 answers was clipped to [0.01, 0.99]; clip=0 turns this off.",
        "1 of 2 answers was raised to at least 0.01 for each option; clip=0 turns this off.",
    ]


OUT_OF_RANGE = "probability must lie in [0, 1]; entry 1 is 1.2 (1 of 2 are out of range)."


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"forecasts": [0.7, 1.2]}, OUT_OF_RANGE),
        ({"questions": [{"id": "q4", "forecasts": [0.7, 1.2]}]}, f"question 'q4': {OUT_OF_RANGE}"),
        ({"questions": [{"forecasts": [0.7]}, {"forecasts": [0.7, 1.2]}]}, f"question 1: {OUT_OF_RANGE}"),
        ([0.7], "the body must be a JSON object; it is list."),
        ({}, "the body must have forecasts, or questions with forecasts each; it has neither."),
        ({"forecasts": 0.7}, "forecasts must be a list; they are a number."),
        ({"forecasts": []}, "probabilities must hold at least one number; the shape is (0,)."),
        ({"forecasts": ["0.7"]}, "probability must be a number; entry 0 is '0.7' (1 of 1 are not)."),
        (
            {"forecasts": [0.7], "weight": [1]},
            "the body has no field 'weight' here; it takes forecasts, rule, weights, clip, forecasters.",
        ),
        ({"questions": [], "weights": []}, "the body has no field 'weights' here; it takes questions, rule, clip."),
        (
            {"questions": [{"id": 1, "forecasts": [0.7], "clip": 0}]},
            "question 1 has no field 'clip' here; it takes id, forecasts, weights, forecasters.",
        ),
        ({"questions": {"id": 1}}, "questions must be a list; they are an object."),
        ({"questions": [None]}, "a question must be an object with forecasts; question 0 is null."),
        ({"questions": [{"id": "a"}]}, "a question must have forecasts; question 'a' has none."),
        ({"questions": [{"id": "a", "forecasts": "x"}]}, "question 'a': forecasts must be a list; they are a text."),
        (
            {"questions": [{"forecasts": []}]},
            "question 0: probabilities must hold at least one number; the shape is (0,).",
        ),
        (
            {"forecasts": [0.7], "rule": 3},
            "rule must be the name of a rule, or the JSON object of a design or of a fitted pool; it is a number.",
        ),
        (
            {"forecasts": [0.7], "rule": "karmarkar:a=-1"},
            "parameter a of rule karmarkar must lie in (0, inf); it is -1.",
        ),
        (
            {"forecasts": [0.7], "rule": {"format": "x"}},
            "'rule' is not a design: format must be 'robustpool-design/1'; it is 'x'.",
        ),
        (
            {"forecasts": [0.7], "rule": POOL | {"hash": "sha256:0"}},
            "'rule' was changed after it was written: its content does not match its hash.",
        ),
        ({"forecasts": [0.7], "clip": 0.7}, "clip must lie in [0, 0.5); it is 0.7."),
        ({"questions": [], "clip": "a"}, "clip must be a number; it is 'a'."),
        (
            {"forecasts": [0.7, 0.6], "weights": [1]},
            "weights must be a list with one entry for each forecast; it is a list of 1.",
        ),
        (
            {"forecasts": [0.7], "weights": 1},
            "weights must be a list with one entry for each forecast; it is a number.",
        ),
        ({"forecasts": [0.7], "weights": [-1]}, "weight must not be negative; entry 0 is -1.0 (1 of 1 are)."),
        (
            {"forecasts": [0.7], "weights": [10**400]},
            "weights must be a full array of numbers (int too large to convert to float).",
        ),
        ({"forecasts": [0.7], "rule": "median", "weights": [1]}, "rule median does not accept weights."),
        ({"forecasts": [0.7], "forecasters": [1]}, "forecasters must be names; one is no text."),
        (
            {"forecasts": [[0.2, 0.3, 0.6]]},
            "the probabilities of an answer must sum to 1 (within 1e-06); row 0, agent 0 sums to 1.1 (1 of 1 answers).",
        ),
        (
            {"forecasts": [0.2, [0.3, 0.7]]},
            "probabilities must have rows of equal length; write NaN for a missing answer.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(client: Inside, body: Any, sentence: str) -> None:
    answer = call(client, body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["detail"] == sentence


def test_the_first_wrong_question_is_named_whatever_its_size(client: Inside) -> None:
    questions: list[Any] = [{"id": f"q{k}", "forecasts": [0.5] * (1 + k % 3)} for k in range(60)]
    questions[41]["forecasts"] = [2.0] * 3
    questions[31]["forecasts"] = [0.5, -1.0]
    questions[50]["forecasts"] = [3.0]
    assert call(client, {"questions": questions}).json()["detail"].startswith("question 'q31': probability must lie in")


@pytest.mark.parametrize(
    "body", [b"{", b'{"forecasts": [NaN]}', b"", b"\xff", b'{"forecasts": [Infinity]}', b"[" * 5000]
)
def test_what_is_no_json_is_refused(client: Inside, body: bytes) -> None:
    answer = client.call("POST", "/api/v1/aggregate", content=body)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("the body must be JSON (")


def test_a_rule_is_never_a_file(client: Inside, tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    for name in (str(tmp_path / "pool.json"), "x" * 200 + ".json"):
        answer = call(client, {"forecasts": [0.7], "rule": name})
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("rule must be one of robust, ")
    answer = client.call(
        "POST",
        "/api/v1/aggregate",
        params={"rule": str(tmp_path / "pool.json")},
        content=npy_of(np.full((1, 2), 0.5)),
        headers=NPY,
    )
    assert answer.json()["detail"].startswith("rule must be one of robust, ")


# -------------------------------------------------------------------------------------------------------------- arrays

NPY = {"content-type": "application/x-npy"}


def saved(array: np.ndarray) -> bytes:
    """The array as numpy saves it."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("type", [np.float64, np.float32, ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_gives_an_array(client: Inside, type: Any, order: Any) -> None:
    reports = np.random.default_rng(1).random((50, 3)).astype(type, order=order)
    answer = client.call("POST", "/api/v1/aggregate", params={"rule": "mean"}, content=saved(reports), headers=NPY)
    assert answer.headers["content-type"] == "application/x-npy"
    assert answer.headers["robustpool-clipped"] == "0"
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.content)), rp.aggregate(reports, "mean"))


def test_an_array_of_distributions_and_a_clip(client: Inside) -> None:
    reports = np.random.default_rng(1).dirichlet([0.1] * 3, (20, 4))
    answer = client.call("POST", "/api/v1/aggregate", params={"clip": "0.05"}, content=saved(reports), headers=NPY)
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.content)), rp.aggregate(reports, clip=0.05))
    assert int(answer.headers["robustpool-clipped"]) > 0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", r"^the body must be a \.npy file \(EOF: reading magic string"),
        (b"\x93NUMPY\x03\x00", r"^the body must be a \.npy file \(\(3, 0\)\)\.$"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': __im}\n", r"^the body must be a \.npy file \("),
        (saved(np.zeros(3)), r"^the array must have the shape \(questions, agents\) or .*; the shape is \(3,\)\.$"),
        (saved(np.zeros((1, 2), dtype=int)), r"^the array must have the type float64 or float32; it has int64\.$"),
        (
            saved(np.zeros((2, 2)))[:-1],
            r"^the array must fill the body; its shape \(2, 2\) needs 32 bytes and there are 31\.$",
        ),
        (saved(np.full((1, 2), 1.5)), r"^probability must lie in \[0, 1\]; row 0, column 0 is 1\.5 \(2 of 2 "),
    ],
)
def test_what_is_no_array_of_reports_is_refused(body: bytes, sentence: str) -> None:
    with input_error(sentence):
        combined_array(body, "robust", None)


def test_a_header_that_promises_more_than_there_is_costs_nothing() -> None:
    head = saved(np.zeros((0, 2))).replace(b"(0, 2), }", b"(900000000000, 2), }").replace(b" " * 11 + b"\n", b"\n")
    with input_error(r"^the array must fill the body; its shape \(900000000000, 2\) needs 14,400,000,000,000 bytes "):
        array_of(head)


def test_a_pickle_is_not_opened() -> None:
    with input_error(r"^the array must have the type float64 or float32; it has object\.$"):
        array_of(saved(np.array([{}], dtype=object)))


def test_a_clip_in_the_address_is_a_number(client: Inside) -> None:
    answer = client.call(
        "POST", "/api/v1/aggregate", params={"clip": "abc"}, content=saved(np.zeros((1, 2))), headers=NPY
    )
    assert answer.json()["detail"] == "clip must be a number; it is 'abc'."


def test_a_body_beyond_the_limit(client: Inside) -> None:
    answer = client.call("POST", "/api/v1/aggregate", content=b" " * 200_001)
    assert (answer.status_code, answer.json()["detail"]) == (
        413,
        "a body may have at most 200,000 bytes here; this one has more.",
    )
    assert client.call("POST", "/api/v1/aggregate", content=b" " * 400_001, headers=NPY).status_code == 413


def test_a_body_that_comes_in_parts_has_the_same_limit(client: Inside) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 50_000

    answer = client.call("POST", "/api/v1/aggregate", content=parts())
    assert answer.status_code == 413
    assert answer.json()["detail"] == "a body may have at most 200,000 bytes here; this one has more."


def test_rules_and_health(client: Inside) -> None:
    assert client.call("GET", "/api/v1/health").json() == {"status": "ok", "version": rp.__version__}
    assert [rule["name"] for rule in client.call("GET", "/api/v1/rules").json()["rules"]] == list(RULES)


# --------------------------------------------------------------------------------------- the short way and the long one

BODIES: list[Any] = [{"forecasts": [0.7, 0.6]}, {"forecasts": [0.7, 2]}, {"forecasts": [1, 0.4]}, [], {"questions": []}]


@pytest.mark.parametrize("body", BODIES)
def test_the_short_way_and_the_long_one_say_the_same(client: Inside, body: Any) -> None:
    kinds = ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/problem+json"]
    text = json.dumps(body).encode()
    answers = [client.call("POST", "/api/v1/aggregate", content=text, headers={"Content-Type": kind}) for kind in kinds]
    first = answers[0]
    for each in answers[1:]:
        assert (each.status_code, each.content, each.headers) == (first.status_code, first.content, first.headers)


def test_a_body_in_parts_takes_the_long_way(client: Inside) -> None:
    async def parts() -> Any:
        yield b'{"forecasts": '
        yield b"[0.7, 0.6]}"

    headers = {"Content-Type": "application/json"}
    answer = client.call("POST", "/api/v1/aggregate", content=parts(), headers=headers)
    assert answer.json()["forecast"] == rp.aggregate([0.7, 0.6])
