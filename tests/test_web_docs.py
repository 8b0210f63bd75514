"""The OpenAPI document says of every call what it takes and answers, and the page made from it loads nothing from elsewhere."""

from __future__ import annotations

import gzip
import importlib
import pkgutil
import re
import shlex
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi.routing import APIRoute

from browser import check_page, chromium, visited
from quick import slowly
from robustpool import web
from robustpool.html import TEMPLATES
from robustpool.minimax.proofs import file_of
from robustpool.web.app import create_app
from robustpool.web.documentation import Shown, shown_calls
from robustpool.web.openapi import API, calls
from servers import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

APP = create_app()
DOCUMENT: dict[str, Any] = APP.openapi()
ENTRIES = {
    f"{method.upper()} {path}": entry
    for path, methods in DOCUMENT["paths"].items()
    for method, entry in methods.items()
}


def routes() -> Iterator[APIRoute]:
    """The routes of every module of the server: an application does not list those of its parts in all versions of FastAPI."""
    for found in pkgutil.iter_modules(web.__path__, f"{web.__name__}."):
        router = getattr(importlib.import_module(found.name), "router", None)
        yield from (route for route in getattr(router, "routes", ()) if isinstance(route, APIRoute))


ROUTES = [
    f"{method} {API}{route.path}" for route in routes() if route.include_in_schema for method in route.methods or ()
]
SHOWN = {f"{call.method} {call.path}": call for call in shown_calls(DOCUMENT)}
PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def test_every_route_of_the_api_is_in_the_document() -> None:
    """Which `include_in_schema` would hide: only pages, their files and this documentation may."""
    hidden = {route.path for route in routes() if not route.include_in_schema}
    assert {path for path in hidden if path.startswith(API)} == {f"{API}/docs"}
    assert sorted(ROUTES) == sorted(ENTRIES) == sorted(SHOWN)


@pytest.mark.parametrize("name", ROUTES)
def test_a_call_has_a_summary_a_description_and_its_problems(name: str) -> None:
    entry, (method, path) = ENTRIES[name], name.split()
    assert f"{method} {path.removeprefix(API)}" in calls(), "web/openapi.py has to say something of this call"
    assert entry["summary"] == calls()[f"{method} {path.removeprefix(API)}"].summary
    assert entry["description"]
    problems = {status: about["content"] for status, about in entry["responses"].items() if status >= "400"}
    assert {"401", "422", "default"} <= set(problems)
    assert all(content == PROBLEM for content in problems.values())
    assert any(status < "400" for status in entry["responses"])
    if "{id}" in path:
        assert "404" in problems
    if "requestBody" in entry:
        assert "413" in problems
        assert all("schema" in about for about in entry["requestBody"]["content"].values())


def test_every_call_with_a_body_says_so() -> None:
    without = {name for name in ROUTES if name.startswith("POST") and "requestBody" not in ENTRIES[name]}
    assert all(name.endswith(("/pause", "/resume")) for name in without), without


def test_the_document_has_no_errors_that_are_not_sent() -> None:
    assert "HTTPValidationError" not in str(DOCUMENT)
    assert "Problem" in DOCUMENT["components"]["schemas"]


def test_options_have_a_schema_of_their_kind() -> None:
    schema = ENTRIES[f"POST {API}/designs"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["additionalProperties"] is False
    kinds = {name: schema["properties"][name]["type"][0] for name in ("agents", "tolerance", "prior_range")}
    assert kinds == {"agents": "integer", "tolerance": "number", "prior_range": "array"}
    assert schema["properties"]["family"]["anyOf"][0] == {"$ref": "#/components/schemas/Family"}
    assert schema["properties"]["loss"]["enum"] == ["square", "log", None]


def test_the_server_sends_the_document(server: Server) -> None:
    assert server.call("GET", "openapi.json").json() == DOCUMENT


# ------------------------------------------------------------------------------------------------------------ the examples


def run_curl(command: str, url: str) -> httpx.Response:
    """What curl would do; a file is that of the row `independent-2`."""
    program, *words = shlex.split(command)
    assert program == "curl"
    method, headers, body = "GET", {}, None
    target = words.pop().replace("http://127.0.0.1:8000/", url)
    while words:
        option = words.pop(0)
        if option == "-X":
            method = words.pop(0)
        elif option == "-H":
            header, _, value = words.pop(0).partition(": ")
            headers[header] = value
        else:
            assert option == "--data-binary"
            method, body = "POST", words.pop(0)
    if body == "@minimax.json":
        return httpx.request(
            method, target, headers=headers, content=gzip.decompress(file_of("certify minimax").read_bytes())
        )
    if body == "@forecasts.csv":
        body = (TEMPLATES / "web" / "forecasts.csv").read_text()
    return httpx.request(method, target, headers=headers, content=body, timeout=60)


@pytest.mark.parametrize("name", [name for name in ROUTES if "{id}" not in name])
def test_the_examples_work(server: Server, name: str) -> None:
    answer = run_curl(SHOWN[name].example, server.url)
    assert str(answer.status_code) in ENTRIES[name]["responses"]
    assert answer.status_code < 300, answer.text


def test_an_example_shows_how_to_call() -> None:
    examples = {name: SHOWN[f"{name.split()[0]} {API}{name.split()[1]}"].example for name in calls() if "/jobs" in name}
    assert examples["GET /jobs/{id}/events"] == "curl -N http://127.0.0.1:8000/api/v1/jobs/ID/events"
    assert examples["DELETE /jobs/{id}"] == "curl -X DELETE http://127.0.0.1:8000/api/v1/jobs/ID"
    assert examples["POST /jobs/{id}/pause"] == "curl -X POST http://127.0.0.1:8000/api/v1/jobs/ID/pause"


# ---------------------------------------------------------------------------------------------------------------- the page


@pytest.mark.parametrize(("width", "dark"), [(360, True), slowly((1280, False))])
def test_the_page_shows_every_call(server: Server, browser: Browser, width: int, dark: bool) -> None:
    with visited(browser, f"{server.url}api/v1/docs", width, dark=dark) as page:
        assert page.locator("section.call").count() == len(ROUTES)
        for details in page.locator("section.call details").all()[:3]:
            details.locator("summary").click()
        page.get_by_role("link", name="POST /verify").click()
        assert page.url.endswith("#" + key(f"POST {API}/verify"))
        check_page(page)


def key(name: str) -> str:
    call: Shown = SHOWN[name]
    return call.key


def test_keys_are_different() -> None:
    keys = [call.key for call in SHOWN.values()]
    assert len({*keys}) == len(keys)
    assert all(re.fullmatch("[a-z-]+", each) for each in keys)


def test_the_page_loads_nothing_from_other_hosts(server: Server) -> None:
    answer = httpx.get(f"{server.url}api/v1/docs")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    loaded = re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="([^"]*)"', answer.text)
    assert loaded
    assert all(place.startswith(("/static/", "data:")) for place in loaded)
    assert not re.search(r"https?://(?!127\.0\.0\.1)", answer.text)
