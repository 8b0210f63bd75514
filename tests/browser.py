"""A headless Chromium for tests of pages, and what every page has to pass in it."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Playwright, Request, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (400, 1600)


def executable(playwright: Playwright) -> str | None:
    """A Chromium on the PATH, or the one that `playwright install chromium` brought."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or (own if Path(own := playwright.chromium.executable_path).exists() else None)


def without(reason: str) -> NoReturn:
    """Skip what needs a browser, or fail where there has to be one."""
    if os.environ.get("CI"):
        pytest.fail(f"no browser: {reason}")
    pytest.skip(f"no browser: {reason}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser. Where there is none, the tests are skipped; with the environment variable CI, they fail."""
    with sync_playwright() as playwright:
        path = executable(playwright)
        if path is None:
            without(f"none of {', '.join(NAMES)} is on the PATH (`make test` tries to install one)")
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            without(f"{path} does not start: {error.message.splitlines()[0]}")
        try:
            yield browser
        finally:
            KEPT.clear()
            browser.close()


KEPT: dict[str, Page] = {}
"""Pages that nobody uses, by how their contexts were made. A new context and its processes take a second of processor time."""


@contextmanager
def clean_page(browser: Browser, width: int, *, apart: bool = False, **how: Any) -> Iterator[Page]:
    """An empty page. It may have been another test's, which passed: then nothing is left of that but what the browser cached.

    What a test adds to its page would stay, such as a listener: it asks for a page ``apart``.
    """
    key = repr(sorted(how.items()))
    page = None if apart else KEPT.pop(key, None)
    if page is None:
        page = browser.new_context(viewport={"width": width, "height": 900}, **how).new_page()
    elif page.viewport_size != {"width": width, "height": 900}:
        page.set_viewport_size({"width": width, "height": 900})
    try:
        yield page
        if not apart and key not in KEPT and not page.is_closed():
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
            page.context.clear_cookies()
            for other in page.context.pages:
                if other is not page:
                    other.close()
            page.goto("about:blank")
            KEPT[key] = page
    finally:
        if KEPT.get(key) is not page:
            page.context.close()


@contextmanager
def complaining(page: Page, wrong: Callable[[Request], bool]) -> Iterator[list[str]]:
    """What a page complains of, and where the requests go that are wrong."""
    complaints: list[str] = []

    def console(message: ConsoleMessage) -> None:
        complaints.append(f"{message.type}: {message.text}")

    def error(error: Error) -> None:
        complaints.append(f"error: {error}")

    def request(sent: Request) -> None:
        if wrong(sent):
            complaints.append(sent.url)

    listeners: dict[Any, Callable[[Any], None]] = {"console": console, "pageerror": error, "request": request}
    for event, listener in listeners.items():
        page.on(event, listener)
    yield complaints
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


@contextmanager
def opened(browser: Browser, file: Path, width: int = 1600, *, script: bool = True) -> Iterator[Page]:
    """A page from a file; at the end it must have asked for nothing else, and complained of nothing."""
    with (
        clean_page(browser, width, java_script_enabled=script) as page,
        complaining(page, lambda sent: not harmless(sent.url, file)) as complaints,
    ):
        page.goto(file.as_uri())
        yield page
        assert complaints == [], complaints


@contextmanager
def visited(
    browser: Browser, url: str, width: int = 1280, *, dark: bool = False, expected: tuple[str, ...] = (), **how: Any
) -> Iterator[Page]:
    """A page from a server; at the end it must have asked no other host, and complained of nothing but what is ``expected``.

    Chromium complains of every answer with a status of 400 or more: a test that sends bad input expects "status of 422".
    """
    origin = "/".join(url.split("/")[:3])
    with (
        clean_page(browser, width, color_scheme="dark" if dark else "light", **how) as page,
        complaining(page, lambda sent: not sent.url.startswith((origin, "data:", "blob:"))) as complaints,
    ):
        page.goto(url)
        yield page
        surprises = [each for each in complaints if not any(text in each for text in expected)]
        assert surprises == [], surprises


def check_page(page: Page, part: str | None = None) -> None:
    """What every page has to pass at any time: no serious finding of axe, and nothing wider than the window.

    On a long page axe takes seconds; where only a ``part`` has changed since another test, it can look at that alone.
    """
    assert findings(page, part) == []
    assert overflow(page) <= 0


def harmless(url: str, file: Path) -> bool:
    """Whether a request is for the page itself or for what is in it."""
    return url.partition("#")[0] == file.as_uri() or url.startswith("data:")


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def findings(page: Page, part: str | None = None) -> list[tuple[str, str, list[Any]]]:
    """The serious and critical findings of axe-core, on the page or on the part with this selector."""
    violations: list[Any] = Axe().run(page, context=part).response["violations"]
    return [
        (found["id"], found["help"], [node["html"][:200] for node in found["nodes"][:3]])
        for found in violations
        if found["impact"] in {"serious", "critical"}
    ]
