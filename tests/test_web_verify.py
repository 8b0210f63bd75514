"""Certificates over HTTP: those of the table, good ones, forged ones, hostile ones, and what is no certificate at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import forging
import robustpool as rp
from hostile import ATTACKS
from robustpool.minimax.proofs import proofs
from robustpool.minimax.rows import minimax_rows
from robustpool.verification.reading import STEPS
from robustpool.views import minimax_table as view
from robustpool.web.jobs.task import Task
from robustpool.web.work import verify as work
from servers import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = {row.name: row for row in minimax_rows()}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


def verdict(server: Server, content: bytes | dict[str, Any], **query: Any) -> dict[str, Any]:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = server.call("POST", "verify", content=body, params=query)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()
    return data


def refusal(answer: httpx.Response, status: int) -> str:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    return str(answer.json()["detail"])


# ------------------------------------------------------------------------------------------------------------- the table


def test_the_table_is_that_of_the_command(server: Server) -> None:
    data = server.call("GET", "table").json()
    expected = json.loads(json.dumps(view.as_data(list(ROWS.values()))))
    assert data["proved"] == expected["proved"]
    for row, other in zip(data["rows"], expected["rows"], strict=True):
        assert {name: row[name] for name in other} == other
        assert row["formula"] == view.formula(ROWS[row["name"]])
    assert {row["setting"] for row in server.call("GET", "table", params={"setting": "neglect"}).json()["rows"]} == {
        "neglect"
    }
    wrong = server.call("GET", "table", params={"setting": "none"})
    assert refusal(wrong, 422).startswith("--setting must be one of independent, ")


def test_each_row_says_where_its_certificate_is(server: Server) -> None:
    with httpx.Client(base_url=server.url) as client:
        rows = {row["name"]: row for row in client.get("/api/v1/table").json()["rows"]}
        for name, row in ROWS.items():
            assert len(rows[name]["certificates"]) == len(proofs(row))
            for place, proof in zip(rows[name]["certificates"], proofs(row), strict=True):
                assert place["proves"] == list(proof.bounds)
                if proof.file is None:
                    assert place["url"] is None
                    continue
                answer = client.get(place["url"])
                assert answer.content == proof.content()
                assert answer.headers["content-disposition"] == f'attachment; filename="{proof.name}"'


def test_without_a_choice_the_certificate_is_of_the_upper_bound(server: Server) -> None:
    either, upper, lower = (
        server.call("GET", f"table/second-question-2/certificate{query}").json()["family"]
        for query in ("", "?bound=upper", "?bound=lower")
    )
    assert either == upper != lower
    only = server.call("GET", "table/independent-5-found/certificate").json()
    assert only["family"]["agents"] == 5


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("nothing/certificate", 404, "the table has no row 'nothing'; /api/v1/table lists the rows."),
        (
            "correlated-2/certificate",
            404,
            "there is no certificate for the bounds of 'correlated-2': Both bounds: a theorem (docs/worlds/arbitrary-correlation.md).",
        ),
        (
            "independent-5-found/certificate?bound=upper",
            404,
            "there is no certificate for the upper bound of 'independent-5-found': Lower bound: a certificate. Upper bound: found by a search.",
        ),
        ("independent-2/certificate?bound=both", 422, "bound: Input should be 'lower' or 'upper'."),
        ("..%2F..%2Frecord.json/certificate", 404, "there is nothing at"),
    ],
)
def test_certificates_that_are_not_there(server: Server, path: str, status: int, sentence: str) -> None:
    assert refusal(server.call("GET", f"table/{path}"), status).startswith(sentence)


# ----------------------------------------------------------------------------------------------------------- the verdict


def test_a_verdict_is_that_of_the_command(server: Server) -> None:
    content = proofs(ROWS["independent-2"])[0].content()
    data = verdict(server, content)
    again = rp.verify(json.loads(content))
    assert (data["verified"], data["upper"], data["lower"], data["value"]) == (
        True,
        again.upper,
        again.lower,
        again.value,
    )
    assert (data["claims"], data["sentence"]) == (list(again.claims), again.sentence)
    assert "referee" not in data


@pytest.mark.parametrize(
    ("name", "agrees"), [("independent-2", True), ("prior-range-0.3-0.7", True), ("neglect-0.75-2", None)]
)
def test_the_referee_agrees_or_does_not_check(server: Server, name: str, agrees: bool | None) -> None:
    data = verdict(server, proofs(ROWS[name])[0].content(), referee=True)
    assert data["verified"]
    assert data["referee"]["agrees"] is agrees
    words = "proves the same bounds" if agrees else "does not check certificates of this kind"
    assert data["referee"]["summary"].startswith(f"The referee's checker {words}. It took ")
    assert data["summary"].startswith("Every claim was proved again from the file. The verifier took ")
    if agrees:
        assert any(
            line.startswith("Proved: the rule's worst-case regret is at most ") for line in data["referee"]["sentences"]
        )


def test_the_referee_says_what_it_did_not_check(server: Server) -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 4, 8), tolerance=1e-4)
    certificate = rp.certify(solution.aggregator, tolerance=5e-3)
    data = verdict(server, json.dumps(certificate.data).encode(), referee=True)
    assert data["verified"]
    assert data["referee"]["agrees"] is None
    words = "proves the bounds for all aggregators, and does not check those of this one"
    assert data["referee"]["summary"].startswith(f"The referee's checker {words}. It took ")


def test_a_forged_bound_is_refused_by_both(server: Server) -> None:
    data = json.loads(proofs(ROWS["independent-2"])[0].content())
    data["upper"]["bound"] = 0.0225
    answer = verdict(server, forging.sign(data), referee=True)
    assert (answer["verified"], answer["claims"], answer["upper"]) == (False, [], None)
    assert answer["over_budget"] is False
    assert answer["referee"]["agrees"] is False
    assert answer["referee"]["summary"].startswith("The referee's checker refuses it. It took ")


def test_a_changed_file_is_not_verified(server: Server) -> None:
    data = json.loads(proofs(ROWS["independent-2"])[0].content())
    data["label"] = "another"
    assert (
        verdict(server, data)["sentence"]
        == "the file was changed after it was written: its content does not match its hash."
    )


@pytest.mark.parametrize(
    "kind", ["knots of a table", "nodes", "structures with long fractions", "agents, higher-order"]
)
def test_a_hostile_certificate_is_stopped_by_the_budget_of_the_command(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is counted: with a budget of a thousandth, as much is refused as `verify` refuses with it."""
    budgets = []

    def counted(content: bytes, watch: Any, *, budget: int = STEPS) -> rp.Verification:
        budgets.append(budget)
        return rp.verify(content, watch, budget=budget // 1000)

    monkeypatch.setattr(work, "verify", counted)
    make, size = ATTACKS[kind]
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / work.FILE).write_text(json.dumps(make(size)))
    data = work.run(Task({}, tmp_path, tell=print))
    assert not data["verified"]
    assert data["over_budget"]
    assert data["sentence"] == "this needs more than the budget of 120,000 steps; run with --budget 1200000."
    assert budgets == [STEPS]


def test_the_referee_is_stopped_in_time(tmp_path: Path) -> None:
    pipe = tmp_path / "never.json"
    os.mkfifo(pipe)
    opinion = work.second_opinion(pipe, seconds=0.5)
    assert opinion["agrees"] is False
    assert opinion["sentences"] == ["The check took longer than 0.5 s and was stopped."]


# ------------------------------------------------------------------------------------------------- what is no certificate


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "this file cannot be read ('Expecting value: line 1 column 1"),
        (b"\xff\xfe\x00", "this file cannot be read ("),
        (b"question,ann\nq1,0.5\n", "this file cannot be read ('Expecting value"),
        (b"[]", "this file is not a certificate: it must be a JSON object with the format 'robustpool-certificate/2'."),
        (b'{"format": "robustpool-design/1"}', "this file is not a certificate: it must be a JSON object"),
        (
            b'{"format": "robustpool-certificate/2", "format": 1}',
            "this file cannot be read ('an object in it has a name twice",
        ),
        (b"[" * 500_000, "this file cannot be read ('maximum recursion depth exceeded"),
        (b'{"a":' * 200_000, "this file cannot be read ('maximum recursion depth exceeded"),
    ],
    ids=["nothing", "no text", "CSV", "a list", "a design", "a name twice", "deep lists", "deep objects"],
)
def test_a_file_that_is_no_certificate_is_a_problem(server: Server, content: bytes, sentence: str) -> None:
    assert refusal(server.call("POST", "verify?referee=true", content=content), 422).startswith(sentence)


def test_a_file_that_is_longer_than_the_budget_allows_is_not_read(server: Server) -> None:
    data = verdict(server, b'{"format": "robustpool-certificate/2"' + b" " * 2**25 + b"}")
    assert data["over_budget"]
    assert data["sentence"].startswith("this needs more than the budget of 120,000,000 steps")


def test_a_body_that_is_too_large_is_refused_before_it_is_there(server: Server) -> None:
    def long() -> Iterator[bytes]:
        yield from (b" " * 2**20 for _ in range(66))

    try:
        answer = httpx.post(f"{server.url}api/v1/verify", content=long(), timeout=60)
    except (httpx.WriteError, httpx.ReadError):  # the server closed the connection while we were writing
        return
    assert refusal(answer, 413) == "a body may have at most 67,108,864 bytes here; this one has more."


def test_the_server_still_answers(server: Server) -> None:
    assert server.call("GET", "health").json()["status"] == "ok"
