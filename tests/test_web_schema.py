"""Schemathesis reads the OpenAPI document and sends what it allows and what it forbids: every answer is one that the document names.

Long jobs never start in the quick version, because the server has no worker for them: a design is checked, queued and removed. In the
slow version they run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from robustpool.web.app import create_app
from robustpool.web.jobs.store import DONE, Job, Store
from servers import Server, serving
from siege import OUR_ERROR, wrongs_of_problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from schemathesis import Case, Response

DOCUMENT = create_app().openapi()
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
QUICK, MANY = 25, 100
SECONDS = 5.0
"""That a job may take."""


def described() -> Any:
    """What Schemathesis makes of the document."""
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.config.phases.coverage.enabled = False  # it has hundreds of cases for each option of a table
    return schema


def examples(count: int) -> settings:
    """So many requests for each call, always the same."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


# ----------------------------------------------------------------------------------------------------------- tables

CELLS = st.sampled_from(["0.5", "0", "1", "", "1.2", "x", "70%", "NaN", "-1", '"', "0,5", "1e999", "=1+1", "ü"])


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Tables of which the most can be read, with some odd cells."""
    head, row = draw(st.sampled_from(HEADS))
    rows = [row.format(k, draw(CELLS), k % 2) for k in range(draw(st.integers(0, 30)))]
    return "\n".join([head, *rows, ""]).encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "latin-1"])))


HEADS = [
    ("question_id,forecaster_id,probability,outcome", "q{0},ann,0.5,{2}\nq{0},bob,{1},{2}"),
    ("question_id,ann,bob,outcome", "q{0},{1},0.25,{2}"),
    ("question_id,ann,bob", "q{0},0.5,{1}"),
    ("a,b", "{0},{1}"),
]
schemathesis.openapi.media_type("text/csv", tables())


# ----------------------------------------------------------------------------------------------------------- a server


@dataclass
class Served:
    """A server with a job that is done of each kind, and whether long jobs run on it."""

    server: Server
    ids: dict[str, str]
    runs: bool

    def answer(self, case: Case[Any]) -> None:
        """Send a request, and look at the answer."""
        self._name_a_job(case)
        response = case.call(base_url=self.server.url.rstrip("/"), timeout=60, allow_redirects=False)
        try:
            case.validate_response(response, checks=CHECKS)
            self._check(case, response)
        finally:
            self._clear(response)

    def _name_a_job(self, case: Case[Any]) -> None:
        """Let about half of the requests for a job be for one that there is; but do not remove it."""
        id = str((case.path_parameters or {}).get("id", ""))
        if len(id) == 16 and id[-1] in "02468ace" and case.method != "DELETE":
            case.path_parameters["id"] = self.ids[case.path.split("/")[3]]
            if "name" in case.path_parameters:
                case.path_parameters["name"] = "design.json"

    def _check(self, case: Case[Any], response: Response) -> None:
        named = DOCUMENT["paths"][case.operation.path][case.method.lower()]["responses"]
        assert str(response.status_code) in named, f"{response.status_code} is not named: {response.text}"
        if response.status_code >= 400:
            assert response.headers["content-type"] == ["application/problem+json"]
            assert not list(wrongs_of_problem(response.status_code, response.json()))
        assert response.status_code != 429, "nothing is tested by a server that is busy"

    def _clear(self, response: Response) -> None:
        """Remove the job that a request started; where jobs run, it must not have failed by our fault."""
        place = response.headers.get("location", [""])[0]
        if not place.startswith("/api/v1/"):
            return
        path = place.removeprefix("/api/v1/")
        deadline = time.monotonic() + 60
        while self.runs and (job := self.server.call("GET", path).json())["state"] in ("queued", "running"):
            assert time.monotonic() < deadline, job
            time.sleep(0.05)
            assert OUR_ERROR not in str(job["error"]), job
        while self.server.call("DELETE", path).json()["state"] != "removed":
            pass


def ready(folder: Path, **limits: Any) -> Iterator[Served]:
    """A server whose folder has jobs that are done; at the end it is as it was."""
    store, ids = Store(folder), {"jobs": "a" * 16, "designs": "b" * 16, "certificates": "c" * 16}
    for (base, id), kind in zip(ids.items(), ("fit", "design", "certificate"), strict=True):
        store.save(Job(id, kind, {}, time.time(), base, DONE, 1.0, {"share": 1}, {"upper": 0.5}))
        (folder / "jobs" / id / "results").mkdir(parents=True)
        (folder / "jobs" / id / "results" / "design.json").write_text("{}")
    store.close()
    with serving(folder, queue=1000, job_seconds=SECONDS, request_seconds=30.0, **limits) as server:
        yield Served(server, ids, runs=limits["workers"] > 0)
        assert server.call("GET", "health").json()["status"] == "ok"
        one = server.call("POST", "aggregate", json={"forecasts": [0.25, 0.75], "rule": "mean"})
        assert one.json()["forecast"] == 0.5
        assert {each["id"] for each in server.call("GET", "jobs").json()["jobs"]} == {
            ids["designs"],
            ids["certificates"],
        }
        for base, id in ids.items():
            assert server.call("DELETE", f"{base}/{id}").json() == {"id": id, "state": "removed"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from ready(tmp_path_factory.mktemp("served"), workers=0)


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from ready(tmp_path_factory.mktemp("working"), workers=2)


@described().parametrize()  # type: ignore[untyped-decorator]
@examples(QUICK)
def test_every_call_keeps_to_the_document(case: Case[Any], served: Served) -> None:
    served.answer(case)


@pytest.mark.slow
@described().parametrize()  # type: ignore[untyped-decorator]
@examples(MANY)
def test_every_call_keeps_to_the_document_at_length(case: Case[Any], working: Served) -> None:
    working.answer(case)
