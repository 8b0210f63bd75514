"""The Compare page in Chromium, as a person uses it: good tables and bad ones, scores, pools, and the files to take away."""

from __future__ import annotations

import html
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest
from playwright.sync_api import expect

import robustpool as rp
from browser import check_page, chromium, visited
from forecasters import simulated
from quick import only
from robustpool.cli import main
from robustpool.errors import InputError
from robustpool.tables.reading import read_forecasts
from robustpool.tables.sources import NamedFile
from robustpool.web.pages import render
from robustpool.web.settings import Settings
from sample_tables import as_csv, as_excel, as_parquet, rows
from servers import Server, running, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Download, Page

    from robustpool.learning.records import FittedPool

PATIENCE = 60_000  # milliseconds
READ = "242 rows, 240 usable answers, 80 questions, 3 forecasters. 2 of 242 rows could not be used."
NEW = b"question_id,f0,f1,f2\na,0.2,0.4,0.7\nb,0.9,,0.8\n"
"""Forecasts without outcomes, by people of whom the pool has learned."""


class Commanded(NamedTuple):
    """What the command leaves: the rows of its scores and its advice as its page has them, the rejected rows; and the library's pool."""

    scores: list[list[str]]
    advice: list[str]
    rejects: bytes
    pool: FittedPool


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[Server]:
    with serving(data, "--workers", "1") as server:
        yield server


@pytest.fixture(scope="module")
def commanded(tmp_path_factory: pytest.TempPathFactory) -> Commanded:
    folder = tmp_path_factory.mktemp("commanded")
    (folder / "forecasts.csv").write_bytes(as_csv())
    words = ["forecasts.csv", "--rejects", "rejects.csv", "--report", "report.html", "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["robustpool", "compare", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    report = (folder / "report.html").read_text(encoding="utf-8")
    table = report.partition("<caption>Scores</caption>")[2].partition("</table>")[0]
    lines = [[plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in table.split("<tr>")[2:]]
    lead = report.partition('<div class="lead">')[2].partition("</div>")[0]
    advice = [plain(text) for text in re.findall("<p>(.*?)</p>", lead)]
    pool = rp.compare(read_forecasts(folder / "forecasts.csv")).fitted
    assert pool is not None
    return Commanded(lines, advice, (folder / "rejects.csv").read_bytes(), pool)


def plain(markup: str) -> str:
    """The text of a piece of HTML."""
    return html.unescape(re.sub("<[^>]*>", "", markup)).replace("\xa0", " ").strip()


def compared(browser: Browser, server: Server, width: int = 1280, place: str = "", **how: Any) -> Any:
    return visited(browser, f"{server.url}compare{place}", width, **how)


def choose(page: Page, name: str, content: bytes, field: str = "#table") -> None:
    page.locator(field).set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": content})


def drop(page: Page, *names: str, content: bytes = b"") -> None:
    """Let files fall on the page."""
    add = "(names, bytes) => names.forEach((name) => data.items.add(new File([new Uint8Array(bytes)], name)))"
    script = f"([names, bytes]) => {{ const data = new DataTransfer(); ({add})(names, bytes); return data; }}"
    transfer = page.evaluate_handle(script, [list(names), list(content)])
    page.dispatch_event("#drop", "dragover", {"dataTransfer": transfer})
    expect(page.locator("#drop")).to_have_class(re.compile("over"))
    page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def result(page: Page) -> None:
    """Wait for it."""
    expect(page.locator("#state")).to_have_text("done", timeout=PATIENCE)
    page.locator("#view section").first.wait_for()


def refused(page: Page) -> str:
    """Wait for the sentence beside the upload."""
    expect(page.locator("#sentence")).not_to_be_empty(timeout=PATIENCE)
    return page.locator("#sentence").text_content() or ""


def taken(page: Page, link: str) -> Download:
    """A file that the page offers."""
    with page.expect_download() as download:
        page.get_by_role("link", name=link, exact=True).click()
    return download.value


def content(page: Page, link: str) -> bytes:
    return taken(page, link).path().read_bytes()


def forecasts(csv: bytes) -> list[tuple[Any, ...]]:
    return pl.read_csv(csv).rows()


def id_of(page: Page) -> str:
    return page.url.rpartition("=")[2]


# --- a good table, in every format ------------------------------------------------------------------------------------

WAYS: dict[str, tuple[str, bytes, int, bool]] = {
    "a CSV that is chosen": ("forecasts.csv", as_csv(), 1280, False),
    "a Parquet file that is chosen on a dark phone": ("forecasts.parquet", as_parquet(), 360, True),
    "a workbook that is dropped on a large screen": ("forecasts.xlsx", as_excel(), 2000, False),
}


@pytest.mark.parametrize("way", only(["a Parquet file that is chosen on a dark phone"], WAYS))
def test_the_page_says_what_the_command_says(
    browser: Browser, server: Server, commanded: Commanded, data: Path, tmp_path: Path, way: str
) -> None:
    name, table, width, dark = WAYS[way]
    with compared(browser, server, width, dark=dark) as page:
        check_page(page)
        expect(page.locator("#stays")).to_contain_text("Your data stay on this machine.")
        if "dropped" in way:
            drop(page, name, content=table)
        else:
            choose(page, name, table)
        expect(page.locator("#chosen")).to_have_text(name)
        press(page, "Compare")
        expect(page.locator("#title")).to_be_focused()
        result(page)
        expect(page.locator("#title")).to_have_text(f"Rules compared on {name}")
        expect(page.locator(".read")).to_have_text(READ)
        cells = page.locator("table:has(caption:text-is('Scores')) tbody tr").all()
        shown = [[text.replace("\xa0", " ") for text in row.locator("th, td").all_text_contents()] for row in cells]
        assert shown == commanded.scores
        assert page.locator("#view section:first-child p").all_text_contents() == commanded.advice
        for title in ("Are the forecasts calibrated?", "What was read", "What was left out"):
            expect(page.get_by_role("heading", name=title)).to_be_visible()
        check_page(page)
        (tmp_path / "forecasts").write_bytes(table)
        read = read_forecasts(NamedFile(tmp_path / "forecasts", name))
        read.rejected.write(tmp_path / "rejects.csv")
        rejects = content(page, "Rejected rows")
        assert rejects == (tmp_path / "rejects.csv").read_bytes()
        assert rejects == commanded.rejects or not name.endswith("csv")
        taken(page, "Fitted pool").save_as(tmp_path / "pool.json")
        pool = rp.load_pool(tmp_path / "pool.json")
        assert pool.hash == commanded.pool.hash
        by = re.fullmatch(r"The pooled forecasts are those of (.*)\.", page.locator("#pooled-by").text_content() or "")
        assert by is not None
        own = pool.aggregate(read) if by[1] == "the fitted pool" else rp.aggregate_table(read, by[1].split()[-1])
        assert forecasts(content(page, "Pooled forecasts")) == own.frame("polars").rows()
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Report", exact=True).click()
        expect(opened.value.locator("h1")).to_have_text(f"Rules compared on {name}")
        opened.value.close()
        assert [each.name for each in (data / "jobs" / id_of(page)).iterdir()] == ["results"]  # the table is gone
        page.reload()
        result(page)
        press(page, "Fit a pool with its own report")
        expect(page.locator("#said")).to_have_text("Choose the table again: the server has deleted it.")
        expect(page.get_by_label("Fit a pool")).to_be_checked()


@pytest.mark.slow
def test_a_pool_is_fitted_and_combines_new_forecasts(browser: Browser, server: Server, tmp_path: Path) -> None:
    with compared(browser, server) as page:
        press(page, "Try it with an example")
        result(page)
        example = content(page, "Pooled forecasts")
        press(page, "Fit a pool with its own report")
        expect(page.locator("#title")).to_have_text("A pool fitted to forecasts.csv", timeout=PATIENCE)
        result(page)
        check_page(page)
        taken(page, "Fitted pool").save_as(tmp_path / "pool.json")
        pool = rp.load_pool(tmp_path / "pool.json")
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Report", exact=True).click()
        expect(opened.value.get_by_role("heading", name="What learning costs in the worst case")).to_be_visible()
        opened.value.close()
        for sentence in pool.summary:
            expect(page.locator("#view section").first).to_contain_text(sentence)

        page.get_by_role("link", name="Use the pool on new forecasts").click()
        expect(page.get_by_label("Rule", exact=True)).to_have_value(re.compile("^[0-9a-f]{16}$"))
        expect(page.locator("#rule option:checked")).to_have_text("the pool fitted to forecasts.csv")
        expect(page.locator("#table")).to_be_focused()
        choose(page, "new.csv", NEW)
        press(page, "Combine")
        result(page)
        expect(page.locator("#title")).to_have_text("Combined forecasts from new.csv")
        expect(page.locator("#view")).to_contain_text("2 questions, combined by a fitted pool.")
        (tmp_path / "new.csv").write_bytes(NEW)
        own = pool.aggregate(read_forecasts(tmp_path / "new.csv")).frame("polars").rows()
        by_job = forecasts(content(page, "Pooled forecasts"))
        assert by_job == own
        assert len(example.splitlines()) == 301

        page.get_by_role("link", name="Another table").click()
        page.get_by_label("Combine it").check()
        page.get_by_label("Rule", exact=True).select_option("a pool or a design in a file")
        choose(page, "new.csv", NEW)
        press(page, "Combine")
        assert refused(page) == "Choose the file of a pool or a design."
        page.get_by_label("Pool or design").set_input_files(tmp_path / "pool.json")
        press(page, "Combine")
        result(page)
        assert forecasts(content(page, "Pooled forecasts")) == by_job


# --- tables without outcomes, and how tables are read -----------------------------------------------------------------


def test_a_table_without_outcomes_is_combined(browser: Browser, server: Server, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_bytes(NEW)
    with compared(browser, server) as page:
        choose(page, "new.csv", NEW)
        press(page, "Compare")
        assert refused(page).startswith("a comparison needs at least one question with an outcome")
        expect(page.locator("#hint")).to_have_text(
            "Without outcomes the table cannot be scored, but it can be combined."
        )
        check_page(page)
        press(page, "Combine it without outcomes")
        result(page)
        expect(page.locator("#view")).to_contain_text("2 questions, combined by the rule robust.")
        assert (
            forecasts(content(page, "Pooled forecasts"))
            == rp.aggregate_table(tmp_path / "new.csv").frame("polars").rows()
        )
        expect(page.get_by_role("link", name="Rejected rows")).to_be_hidden()

        page.get_by_role("link", name="Another table").click()
        expect(page.locator("#chosen")).to_have_text("new.csv")  # it is still chosen
        page.get_by_label("Combine it", exact=True).check()
        page.get_by_label("Rule", exact=True).select_option("mean")
        page.get_by_text("How to read it").click()
        choose(page, "outcomes.csv", b"question_id,outcome\na,0\nb,1\n", "#outcomes")
        press(page, "Combine")
        result(page)
        mean = rp.aggregate_table(tmp_path / "new.csv", "mean").frame("polars").rows()
        assert forecasts(content(page, "Pooled forecasts")) == [
            (*row, outcome) for row, outcome in zip(mean, (0, 1), strict=True)
        ]


def test_how_a_table_is_read(browser: Browser, server: Server) -> None:
    table = b"match;who;chance\na;ann;70,5\na;bob;20\n"
    with compared(browser, server, 360) as page:
        page.get_by_label("Combine it").check()
        page.get_by_label("Rule", exact=True).select_option("mean")
        choose(page, "matches.csv", table)
        press(page, "Combine")
        assert "question_id" in refused(page)
        assert page.locator("#reading").get_attribute("open") is not None  # what may help is in sight
        page.get_by_label("Percentages").check()
        page.get_by_label("Decimal commas").check()
        page.get_by_label("Layout").select_option("long")
        for label, name in (("Question", "match"), ("Forecaster", "who"), ("Probability", "chance")):
            page.get_by_label(label, exact=True).fill(name)
        check_page(page)
        press(page, "Combine")
        result(page)
        assert content(page, "Pooled forecasts") == b"question_id,forecast,forecasters\na,0.4525,2\n"


# --- bad tables -------------------------------------------------------------------------------------------------------

HALF = b"question_id,forecaster_id,probability,outcome\nq,a,7,1\nq,b,8,1\nq,c,0.5,1\n"
BAD = {
    "empty.csv": b"",
    "noise.bin": bytes(range(256)) * 4,
    "columns.csv": b"when,what\n1,a\n",
    "page.pdf": b"%PDF-1.7\n",
    "unusable.csv": b"question_id,forecaster_id,probability\nq,a,0.5%\n",
}


def test_bad_files_are_said_beside_the_upload(browser: Browser, server: Server, tmp_path: Path) -> None:
    """In the sentence of the library, without a message in the console; the next table is compared all the same."""
    with compared(browser, server) as page:
        press(page, "Compare")
        assert refused(page) == "Choose a table first."
        for name, table in BAD.items():
            (tmp_path / name).write_bytes(table)
            with pytest.raises(InputError) as error:
                read_forecasts(NamedFile(tmp_path / name, name))
            choose(page, name, table)
            expect(page.locator("#sentence")).to_be_empty()
            press(page, "Compare")
            assert refused(page).startswith(str(error.value))
            expect(page.locator("#table")).to_be_focused()
        assert content(page, "Download the rejected rows").startswith(b"line,reason\n2,")
        choose(page, "half.csv", HALF)
        press(page, "Compare")
        assert refused(page).startswith("there is no forecast, because more than half of the rows cannot be used: ")
        check_page(page)
        lines = content(page, "Download the rejected rows").splitlines()
        assert [line.partition(b",")[0] for line in lines] == [b"line", b"2", b"3"]
        page.reload()
        assert refused(page).startswith("there is no forecast, because more than half")
        drop(page, "one.csv", "two.csv")
        assert refused(page).startswith("Drop one table at a time.")
        expect(page.locator("#recent tr").first).to_contain_text("Rules compared on half.csv")
        expect(page.locator("#recent")).not_to_contain_text("noise.bin")  # what was tried again is not kept


HOSTILE = "<img src=x onerror=document.title='bad'>"


def test_what_is_in_a_table_is_only_text(browser: Browser, server: Server) -> None:
    bad = [(f"{HOSTILE}{question}", f"{HOSTILE}{who}", p, y) for question, who, p, y in rows()]
    lines = [
        f"question_id,forecaster_id,probability,outcome,{HOSTILE}",
        *(",".join([*map(str, row), "0"]) for row in bad),
    ]
    with compared(browser, server) as page:
        choose(page, f"{HOSTILE}.csv", "\n".join(lines).encode())
        press(page, "Compare")
        result(page)
        expect(page.locator("#title")).to_have_text(f"Rules compared on {HOSTILE}.csv")
        expect(page.locator("#view")).to_contain_text(f"{HOSTILE}not used")
        expect(page.locator("#view")).to_contain_text("<img src=x")  # in the rows that were left out
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Report", exact=True).click()
        expect(opened.value.locator("h1")).to_have_text(f"Rules compared on {HOSTILE}.csv")
        press(page, "Fit a pool with its own report")
        expect(page.locator("#title")).to_have_text(f"A pool fitted to {HOSTILE}.csv", timeout=PATIENCE)
        result(page)
        for each in (page, opened.value):
            assert each.locator("img:not([src^='data:'])").count() == 0
            assert each.title() != "bad"
        opened.value.close()
        page.get_by_role("link", name="Another table").click()
        expect(page.locator("#recent tr").first).to_contain_text(HOSTILE)


# --- jobs -------------------------------------------------------------------------------------------------------------


def long_table() -> bytes:
    """Forecasts whose comparison takes some seconds."""
    table = simulated(20_000, 3, slope=3.0, shared=0.3, seed=2)
    answers = table.probability.round(3).reshape(-1, 3).tolist()
    lines = [
        ",".join(map(str, [k, *row, int(y)])) for k, (row, y) in enumerate(zip(answers, table.outcome, strict=True))
    ]
    return "\n".join(["question_id,f0,f1,f2,outcome", *lines]).encode()


def works(page: Page) -> None:
    """Progress shows in words."""
    expect(page.locator("#doing")).to_have_text(re.compile(r"^[a-z ]+, \d+ s$"), timeout=PATIENCE)
    expect(page.locator("#read")).to_have_text(
        "60,000 cells, 60,000 usable answers, 20,000 questions, 3 forecasters.", timeout=PATIENCE
    )


def test_reload_cancel_and_remove_by_keyboard_on_a_phone(browser: Browser, server: Server, data: Path) -> None:
    with compared(browser, server, 360) as page:
        choose(page, "long.csv", long_table())
        press(page, "Compare")
        works(page)
        id = id_of(page)
        page.reload()
        expect(page.locator("#title")).to_have_text("Rules compared on long.csv", timeout=PATIENCE)
        works(page)
        assert id_of(page) == id
        check_page(page)
        page.get_by_role("button", name="Cancel").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_have_text("Cancelled. Nothing of it is kept.", timeout=PATIENCE)
        assert server.call("GET", f"jobs/{id}").status_code == 404
        assert not (data / "jobs" / id).exists()

        page.get_by_label("Combine it").check()
        choose(page, "new.csv", NEW)
        press(page, "Combine")
        result(page)
        id = id_of(page)
        page.get_by_role("button", name="Remove this from the server").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_have_text("Removed. Nothing of it is kept.")
        expect(page.locator("#begin-title")).to_be_focused()
        assert not (data / "jobs" / id).exists()
        before = page.locator("#recent tr").count()
        page.locator("#recent tr").first.get_by_role("button", name="Remove").click()
        expect(page.locator("#recent tr")).to_have_count(before - 1)
        expect(page.locator("#recent-title")).to_be_focused()
        check_page(page)


def test_a_result_is_found_again_by_its_address(browser: Browser, server: Server) -> None:
    job = server.call("POST", "aggregate?files=true&name=mine.csv", content=NEW, headers={"Content-Type": "text/csv"})
    id = job.headers["location"].rpartition("/")[2]
    with compared(browser, server, place=f"#job={id}") as page:
        result(page)
        expect(page.locator("#title")).to_have_text("Combined forecasts from mine.csv")
    with compared(browser, server, place="#job=0000000000000000", expected=("status of 404",)) as page:
        assert refused(page) == "The server does not know this job."
        expect(page.locator("#form")).to_be_visible()
    with compared(browser, server, place="#pool=0000000000000000", expected=("status of 404",)) as page:
        assert refused(page) == "there is no job '0000000000000000'."


def test_everything_is_reached_by_tab(browser: Browser, server: Server) -> None:
    with compared(browser, server, dark=True, apart=True) as page:
        new = {"name": "new.csv", "mimeType": "text/csv", "buffer": NEW}
        page.on("filechooser", lambda chooser: chooser.set_files(new))
        page.locator("#begin-title").focus()
        page.keyboard.press("Tab")
        expect(page.locator("#table")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#chosen")).to_have_text("new.csv")
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
            if reached[-1] == "work-compare":
                page.keyboard.press("ArrowUp")  # to the last of them
                reached.append("work-aggregate")
            if reached[-1] == "How to read it":
                page.keyboard.press("Enter")
            if reached[-1] == "start":
                break
        wanted = ["example", "work-aggregate", "rule", "percent", "odds", "decimal", "layout", "format", "date-format"]
        wanted += ["outcomes", "column-question_id", "column-cluster", "start"]
        assert [id for id in reached if id in wanted] == wanted
        page.keyboard.press("Enter")
        result(page)
        expect(page.locator("#title")).to_be_focused()


# --- what is said before ----------------------------------------------------------------------------------------------


def test_the_limit_is_said_before_and_a_large_table_is_not_sent(browser: Browser, tmp_path: Path) -> None:
    with running(Settings(data=tmp_path, body_bytes=2**16)) as small:
        with visited(browser, f"http://127.0.0.1:{small.port}/compare") as page:
            expect(page.locator("#drop")).to_contain_text("up to 64 kB")
            choose(page, "large.csv", b"0" * 2**16)
            press(page, "Compare")
            assert refused(page).startswith("The server takes up to 64 kB at once, and this is more.")
        assert not (tmp_path / "jobs").exists()


def test_where_the_data_stay_is_true_with_a_host() -> None:
    assert "<b>Your data stay on this machine.</b>" in render("compare")
    elsewhere = render("compare", Settings(host="0.0.0.0", token="t"))
    assert "<b>Your data stay on the machine that runs this server.</b>" in elsewhere
    for page in ("compare", "design", "table"):
        assert "this machine" not in render(page, Settings(host="0.0.0.0", token="t"))
