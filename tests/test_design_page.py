"""The Design page in Chromium, as a person uses it: the bounds close in, through reloads, pauses and a killed server."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import check_page, chromium, visited
from robustpool.families.family_file import EXAMPLES
from servers import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = 1_000_000
PATIENCE = 60_000  # milliseconds


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("page"), "--workers", "1") as server:
        yield server


def fill(page: Page, rounds: int) -> None:
    """A game that takes as many rounds as one wants."""
    page.get_by_label("Steps of the reports").fill("10")
    page.get_by_label("Steps of the base rate").fill("20")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Method").select_option("multiplicative weights")
    page.get_by_label("Stop at a gap of").fill("0")
    page.get_by_label("Rounds at most").fill(str(rounds))


def start(page: Page, rounds: int) -> None:
    """Start such a design, and wait for its first bounds."""
    fill(page, rounds)
    page.get_by_role("button", name="Design", exact=True).click()
    bounds_show(page)


def bounds_show(page: Page) -> None:
    expect(page.locator("#lower")).to_have_text(re.compile(r"^0\.0\d{6}$"), timeout=PATIENCE)


def rounds_shown(page: Page) -> int:
    return int(re.sub(r"\D", "", page.locator("#doing").inner_text().partition("of")[0]))


def goes_on(page: Page) -> None:
    """The round that is shown grows."""
    expect(page.locator("#doing")).to_have_text(re.compile(r"^round [\d,]+ of at most "), timeout=PATIENCE)
    before = rounds_shown(page)
    end = time.monotonic() + PATIENCE / 1000
    while rounds_shown(page) <= before:  # after a restart it may first fall back to the checkpoint
        assert time.monotonic() < end, f"still at round {before}"
        page.wait_for_timeout(50)


def state(page: Page, text: str) -> None:
    expect(page.locator("#state")).to_have_text(text, timeout=PATIENCE)


def test_a_design_from_the_form_to_its_files(browser: Browser, server: Server) -> None:
    with visited(browser, f"{server.url}design") as page:
        check_page(page)
        start(page, 400)
        assert page.locator("#lower-line").get_attribute("d") is not None
        state(page, "done")
        page.get_by_role("link", name="Report", exact=True).wait_for(timeout=PATIENCE)
        expect(page.locator("#lower")).to_have_text("0.0224998")
        expect(page.locator("#upper")).to_have_text("0.0225001")
        facts = page.locator("#facts").inner_text()
        assert "between 0.0224" in facts
        assert "400 rounds" in facts
        with page.expect_download() as file:
            page.get_by_role("link", name="Design file").click()
        assert file.value.suggested_filename == "design.json"
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Report", exact=True).click()
        expect(opened.value.locator("h1")).to_have_text("A robust aggregator for 2 independent forecasters")
        opened.value.close()
        page.get_by_label("to within").fill("0.5")
        page.get_by_role("button", name="Prove it").click()
        page.get_by_role("link", name="Certificate", exact=True).wait_for(timeout=PATIENCE)
        expect(page.locator("#proof-facts")).to_contain_text("(proved)")
        check_page(page)
        page.reload()
        page.get_by_role("link", name="Certificate", exact=True).wait_for(timeout=PATIENCE)
        expect(page.locator("#facts")).to_contain_text("400 rounds")
        assert page.locator("#recent tr").count() == 2


def test_reload_pause_continue_cancel_by_keyboard_on_a_dark_phone(browser: Browser, server: Server) -> None:
    with visited(browser, f"{server.url}design", 360, dark=True) as page:
        fill(page, LONG)
        page.get_by_label("Rounds at most").press("Enter")
        bounds_show(page)
        expect(page.locator("#title")).to_be_focused()
        page.reload()
        goes_on(page)
        check_page(page)
        for name, then in (("Pause", "paused"), ("Continue", "running")):
            page.get_by_role("button", name=name).focus()
            page.keyboard.press("Enter")
            state(page, then)
        goes_on(page)
        page.get_by_role("button", name="Cancel").focus()
        page.keyboard.press("Space")
        state(page, "cancelled")
        expect(page.get_by_role("button", name="Pause")).to_be_hidden()
        rows = page.locator("#recent tr")
        expect(rows.first).to_contain_text("cancelled")
        before = rows.count()
        rows.first.get_by_role("button", name="Remove").click()
        expect(rows).to_have_count(before - 1)
        expect(page.locator("#job")).to_be_hidden()
        check_page(page)


def test_every_field_is_reached_by_tab(browser: Browser, server: Server) -> None:
    with visited(browser, f"{server.url}design") as page:
        page.get_by_label("It lies in a range").check()
        page.get_by_label("How many").focus()
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id"))
        wanted = ["reports", "priors", "ranged", "low", "high", "loss", "lipschitz", "start"]
        assert [id for id in reached if id in wanted] == wanted


def test_a_family_and_wrong_options(browser: Browser, server: Server, tmp_path: Path) -> None:
    with visited(browser, f"{server.url}design", expected=("status of 422",)) as page:
        button, problem = page.get_by_role("button", name="Design", exact=True), page.locator("#problem")
        page.get_by_label("How many").fill("0")
        button.click()
        expect(problem).to_have_text("agents must be a whole number, at least 1; it is 0.", timeout=PATIENCE)
        check_page(page)
        page.get_by_label("How many").fill("2")
        page.get_by_text("More", exact=True).click()
        page.get_by_label("Stop at a gap of").fill("abc")
        button.click()
        expect(problem).to_have_text(re.compile("^tolerance must be a number; it is 'abc'"), timeout=PATIENCE)
        page.get_by_label("Stop at a gap of").fill("")
        page.get_by_label("A family of structures in a file").check()
        expect(page.get_by_label("How many")).to_be_hidden()
        button.click()
        expect(problem).to_have_text("Choose a family file.")
        (tmp_path / "bad.json").write_text("{")
        page.get_by_label("Family file").set_input_files(tmp_path / "bad.json")
        button.click()
        expect(problem).to_have_text("bad.json is not JSON.")
        page.get_by_label("Family file").set_input_files(EXAMPLES / "weather.json")
        button.click()
        state(page, "done")
        expect(page.locator("#facts")).to_contain_text("between ")
        expect(problem).to_be_empty()


def test_a_job_that_is_not_there(browser: Browser, server: Server) -> None:
    with visited(browser, f"{server.url}design#job=0000000000000000", expected=("status of 404",)) as page:
        expect(page.locator("#lost")).to_have_text("The server does not know this job.")


@pytest.mark.slow
def test_a_server_that_is_killed_and_starts_again(browser: Browser, tmp_path: Path) -> None:
    """The page waits for it, and the design goes on from its checkpoint."""
    expected = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET")
    with serving(tmp_path, checkpoint_seconds=0.2) as first:
        port = int(first.url.rstrip("/").rpartition(":")[2])
        with visited(browser, f"{first.url}design", expected=expected) as page:
            start(page, LONG)
            goes_on(page)
            page.wait_for_timeout(500)
            reached = rounds_shown(page)
            first.kill()
            waits = "The server does not answer. The page waits for it; the job is not lost."
            expect(page.locator("#lost")).to_have_text(waits, timeout=PATIENCE)
            with serving(tmp_path, port=port):
                expect(page.locator("#lost")).to_be_empty(timeout=PATIENCE)
                goes_on(page)
                assert rounds_shown(page) > reached / 4  # not from the start
                page.get_by_role("button", name="Cancel").click()
                state(page, "cancelled")
