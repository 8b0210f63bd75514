"""The page of the certified table in a browser: filter it, verify its certificates and one's own, by mouse, keyboard and phone."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import forging
from browser import check_page, chromium, overflow, visited
from quick import one_of
from robustpool.minimax.proofs import proofs
from robustpool.minimax.rows import minimax_rows
from robustpool.views import minimax_table as view
from robustpool.web import table_page
from robustpool.web.pages import render
from servers import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

ROWS = {row.name: row for row in minimax_rows()}
GOOD = proofs(ROWS["independent-2"])[0].content()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def table(browser: Browser, server: Server, width: int = 1280, fragment: str = "", **how: Any) -> Any:
    return visited(browser, f"{server.url}table{fragment}", width, **how)


def names(page: Page) -> list[str]:
    """The rows that can be seen."""
    return page.locator("tbody tr[data-setting]:visible").evaluate_all("rows => rows.map((row) => row.id)")


def row(page: Page, name: str) -> Locator:
    return page.locator(f'tr[id="{name}"]')


def forged() -> bytes:
    data = json.loads(GOOD)
    data["upper"]["bound"] = 0.0225
    return json.dumps(forging.sign(data)).encode()


@pytest.mark.parametrize(("width", "dark"), one_of(2, [(360, False), (1280, True)]))
def test_the_page_shows_what_the_command_says(browser: Browser, server: Server, width: int, dark: bool) -> None:
    with table(browser, server, width, dark=dark) as page:
        assert names(page) == list(ROWS)
        for shown in view.as_shown(list(ROWS.values())):
            cells = page.locator(f'tr[id="{shown.name}"] > *').all_text_contents()
            assert [shown.name in cells[0], shown.family in cells[0]] == [True, True]
            assert (cells[1], cells[2]) == (shown.agents, shown.loss)
            assert " ".join(cells[3].split()) == f"[{shown.lower}, {shown.upper}] {shown.kind}"
            assert shown.rule in cells[4]
            assert shown.formula in cells[4]
            assert shown.how in cells[4]
            assert shown.command in cells[4]
            assert cells[5] == (shown.published or "–")
        check_page(page)


def test_rows_are_filtered_and_the_address_remembers(browser: Browser, server: Server) -> None:
    with table(browser, server) as page:
        page.get_by_label("Setting", exact=True).select_option("prior-range")
        assert names(page) == [name for name, each in ROWS.items() if each.setting == "prior-range"]
        page.get_by_label("Setting", exact=True).select_option("")
        page.get_by_label("Forecasters", exact=True).select_option("3")
        page.get_by_label("Loss", exact=True).select_option("log")
        assert names(page) == ["log-3-found", "log-3"]
        assert page.get_by_role("status").first.text_content() == f"2 of {len(ROWS)} rows"
        page.get_by_label("Bounds", exact=True).select_option("proved")
        assert names(page) == ["log-3"]
        assert page.url.endswith("#agents=3&loss=log&kind=proved")
        page.reload()
        assert names(page) == ["log-3"]
        page.get_by_role("button", name="Show all").click()
        assert names(page) == list(ROWS)
        assert page.url.endswith("/table")


def test_an_unknown_filter_in_the_address_shows_everything(browser: Browser, server: Server) -> None:
    with table(browser, server, fragment="#setting=nothing&agents=x") as page:
        assert names(page) == list(ROWS)


@pytest.mark.parametrize(("width", "dark"), one_of(3, [(1280, True), (360, False), (2000, False)]))
def test_a_row_is_verified(browser: Browser, server: Server, width: int, dark: bool) -> None:
    with table(browser, server, width, dark=dark) as page:
        row(page, "independent-2").get_by_role("button", name="Verify the certificate of independent-2").click()
        outcome = page.locator("tr.outcome")
        outcome.get_by_text("The verifier took").wait_for()
        text = outcome.text_content() or ""
        assert re.search(r"verified Every claim was proved again from the file\. The verifier took \d+\.\d s\.", text)
        assert re.search(r"The referee's checker proves the same bounds\. It took \d+\.\d s\.", text)
        for claim in json.loads(GOOD)["claims"]:
            assert claim in text
        outcome.locator("summary").click()
        assert outcome.get_by_text("Proved: the rule's worst-case regret is at most").is_visible()
        check_page(page, "tr.outcome")
        page.get_by_label("Setting", exact=True).select_option("log-loss")
        assert not outcome.is_visible()


def test_each_bound_of_a_row_with_two_certificates_is_verified(browser: Browser, server: Server) -> None:
    with table(browser, server) as page:
        for side in ("lower", "upper"):
            button = page.get_by_role("button", name=f"Verify the certificate of the {side} bound of second-question-2")
            button.click()
            page.wait_for_function("button => !button.hasAttribute('aria-disabled')", arg=button.element_handle())
        assert page.locator("tr.outcome").count() == 1


def test_a_certificate_that_takes_minutes_has_a_command_in_place_of_the_button() -> None:
    html = render("table")
    assert "<code>robustpool verify common-source-world-common-source.json --budget 1000000000000</code>" in html
    assert 'data-certificate="table/common-source-2/certificate"' not in html


def test_a_certificate_is_downloaded(browser: Browser, server: Server) -> None:
    with table(browser, server) as page, page.expect_download() as download:
        page.get_by_role("link", name="Download the certificate of independent-2", exact=True).click()
    assert download.value.suggested_filename == "minimax.json"


@pytest.mark.parametrize(
    ("content", "words", "status"),
    [
        (GOOD, r"verified Every claim was proved again from the file\.", ()),
        (forged(), r"not verified .*The referee's checker refuses it\.", ()),
        (b"{}", r"this file is not a certificate: it must be a JSON object", ("status of 422",)),
    ],
    ids=["good", "forged", "none"],
)
def test_a_certificate_of_ones_own_is_verified(
    browser: Browser, server: Server, content: bytes, words: str, status: tuple[str, ...]
) -> None:
    with table(browser, server, expected=status) as page:
        page.locator("#file").set_input_files({"name": "own.json", "mimeType": "application/json", "buffer": content})
        page.locator("#own .message").wait_for()
        assert re.search(words, page.locator("#own").text_content() or "")
        check_page(page, "#own")


def test_a_certificate_is_dropped(browser: Browser, server: Server) -> None:
    with table(browser, server) as page:
        transfer = page.evaluate_handle(
            "text => { const data = new DataTransfer(); data.items.add(new File([text], 'c.json')); return data; }",
            GOOD.decode(),
        )
        page.dispatch_event("#drop", "dragover", {"dataTransfer": transfer})
        assert "over" in (page.locator("#drop").get_attribute("class") or "")
        page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
        page.locator("#own .badge.proved").wait_for()


def test_all_by_keyboard(browser: Browser, server: Server) -> None:
    with table(browser, server) as page:
        page.get_by_label("Setting", exact=True).focus()
        page.keyboard.type("second")
        assert names(page)[0] == "second-question-2"
        for _ in range(200):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.dataset.certificate !== undefined"):
                break
        page.keyboard.press("Enter")
        page.locator("tr.outcome .badge.proved").wait_for()
        assert page.evaluate("document.activeElement.dataset.certificate !== undefined")  # the focus stays


def test_without_a_script_all_rows_are_there(browser: Browser, server: Server) -> None:
    with table(browser, server, 360, java_script_enabled=False) as page:
        assert page.locator("tbody tr[data-setting]").count() == len(ROWS)
        assert not page.locator("#filters").is_visible()


@pytest.mark.parametrize("width", one_of(3, [360, 768, 1024]))
def test_nothing_is_wider_than_the_window(browser: Browser, server: Server, width: int) -> None:
    with table(browser, server, width) as page:
        for details in page.locator("details").all()[:6]:
            details.locator("summary").click()
        assert overflow(page) <= 0


def test_without_a_server_commands_replace_the_buttons() -> None:
    html = render("table", **table_page.values(static=True))
    assert '<button type="button" data-certificate' not in html
    assert "<code>robustpool verify minimax.json</code>" in html
    assert "table.js" not in html
    links = set(re.findall(r'href="[^"]*?(certificates/[^"]+)"', html))
    assert links == set(table_page.files())
    assert table_page.files()["certificates/minimax.json"] == GOOD
