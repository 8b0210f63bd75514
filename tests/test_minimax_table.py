"""The minimax table: its bounds are what its commands say, its proofs are verified, and the page shows it."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import typer

from programs import run_robustpool as run
from quick import only
from robustpool.cli import app as commands
from robustpool.cli import minimax as cli
from robustpool.errors import InputError, SolverError
from robustpool.minimax.recompute import agrees, recompute, rounded, save_record
from robustpool.minimax.rows import Bound, Row, minimax_rows, read_rows
from robustpool.reproduction.page import page
from robustpool.reproduction.run import Reproduction
from robustpool.reproduction.settings import QUICK
from robustpool.views import minimax_table as view
from robustpool.views.page import render
from test_references import ENTRY, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROWS = {row.name: row for row in minimax_rows()}
SOON = (
    "independent-1",
    "independent-2",
    "independent-10",
    "known-base-rate-2",
    "prior-range-0.05-0.2",
    "prior-range-0.45-0.55",
)
ENTRY_OF_A_ROW: dict[str, Any] = {
    "name": "a",
    "setting": "s",
    "agents": 2,
    "family": "f",
    "rule": "mean",
    "command": "certify mean",
}
BOUNDS = {"upper": 0.12345678912, "value": 0.12345678912, "regret": 0.12345678912, "verified": True, "output": "c.json"}


def answer(_: str) -> dict[str, Any]:
    return dict(BOUNDS)


def row(**changes: Any) -> Row:
    return read_rows([ENTRY_OF_A_ROW | changes], {})[0]


@pytest.mark.parametrize("name", only(SOON, ROWS))
def test_the_commands_give_the_bounds_on_record(name: str, tmp_path: Path) -> None:
    (new,) = recompute([ROWS[name]], lambda command: cli.run_command(command, tmp_path))
    assert ROWS[name].lower is not None
    assert ROWS[name].upper is not None
    assert agrees(new, ROWS[name])


def test_there_are_enough_rows_and_proofs() -> None:
    assert len(ROWS) >= 24
    assert sum(row.proved for row in ROWS.values()) >= 14


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_a_row_has_its_bounds_pages_and_sources(row: Row) -> None:
    for bound in (row.lower_from, row.upper_from):
        assert bound.theorem is None or (ROOT / bound.theorem).is_file()
    assert row.lower is not None
    assert row.upper is not None
    assert row.lower <= row.upper + 1e-9  # a found worst case is rounded down
    assert row.source is None or row.source in ENTRY.findall((ROOT / "references.bib").read_text())
    assert (row.source is None) == (row.published is None)
    assert row.commands


def test_bounds_are_rounded_outward() -> None:
    assert rounded(0.1234567891) == 0.123456789
    assert rounded(0.1234567891, up=True) == 0.12345679
    (proved,) = recompute([row()], answer)
    assert (proved.lower, proved.upper, proved.proved) == (0.123456789, 0.12345679, True)
    (found,) = recompute([row(upper={"command": "worst-case mean"})], answer)
    assert (found.lower, found.upper, found.proved) == (0.123456789, 0.123456789, False)
    (designed,) = recompute([row(command="design")], lambda _: {"lower": 0.12345678912, "upper": 0.12345678912})
    assert (designed.lower, designed.upper, designed.proved) == (0.123456789, 0.123456789, False)


def test_commands_run_once_and_in_order_and_certificates_are_verified() -> None:
    ran: list[str] = []

    def listening(command: str) -> dict[str, Any]:
        ran.append(command)
        return answer(command)

    list(recompute([row(first=["design --out d.json"], upper={"command": "worst-case d.json"})], listening))
    assert ran == ["design --out d.json", "certify mean", "worst-case d.json", "verify c.json --budget 1000000000000"]
    with pytest.raises(SolverError, match="the certificate of `robustpool certify mean` is not verified"):
        list(recompute([row()], lambda _: {**BOUNDS, "verified": False}))


def test_an_answer_without_the_bound_is_an_error() -> None:
    with pytest.raises(SolverError, match="the answer to `robustpool certify mean` has no 'value'"):
        list(recompute([row()], lambda _: {**BOUNDS, "value": None}))
    deep = row(lower={"field": "points.1.x"})
    (new,) = recompute([deep], lambda _: {**BOUNDS, "points": [{}, {"x": 0.1}]})
    assert new.lower == 0.1


def test_a_command_must_confirm_a_theorem() -> None:
    theorem = {"theorem": "docs/x.md", "value": "1/4", "command": "worst-case mean"}
    with pytest.raises(SolverError, match=r"`robustpool worst-case mean` finds 0.123\d+, and the theorem says 1/4"):
        list(recompute([row(upper=theorem)], answer))
    (new,) = recompute([row(upper=theorem)], lambda _: {**BOUNDS, "regret": 0.25 - 1e-7})
    assert (new.upper, new.proved) == (0.25, True)


def test_entries_that_cannot_be_computed_are_named() -> None:
    with pytest.raises(InputError, match=r"the lower bound of a row needs .* 'a' has 'worst-case mean'"):
        row(command="worst-case mean")
    with pytest.raises(InputError, match="a row has no field 'publshed'; 'a' has one"):
        row(publshed=0.1)
    with pytest.raises(InputError, match="a row must have a name of its own; 'a' is the name of 2 rows"):
        read_rows([ENTRY_OF_A_ROW, ENTRY_OF_A_ROW], {})


def test_rows_are_saved_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    save_record([replace(row(), lower=0.1, upper=0.2)], file)
    save_record([replace(row(name="b"), lower=0.3, upper=0.4)], file)
    assert json.loads(file.read_text()) == {"a": {"lower": 0.1, "upper": 0.2}, "b": {"lower": 0.3, "upper": 0.4}}


def test_a_bound_that_differs_from_the_record_is_noticed() -> None:
    right = ROWS["independent-2"]
    assert right.upper is not None
    assert view.agree([right], [right])
    wrong = replace(right, upper=right.upper + 2e-6)
    assert not view.agree([wrong], [right])
    assert view.as_data([wrong], [right])["rows"][0]["agrees"] is False
    assert "not as on record: independent-2" in view.as_lines([wrong], [right])[-1]


def test_a_proved_bound_must_be_as_on_record_to_the_digits_shown() -> None:
    """A search may find a little more or less; a proof says the same again."""
    proved, found = (
        replace(row(), lower=0.1, upper=0.2),
        replace(row(upper={"command": "worst-case mean"}), lower=0.1, upper=0.2),
    )
    assert agrees(replace(proved, lower=0.1 - 1e-9, upper=0.2 + 1e-9), proved)
    assert not agrees(replace(proved, upper=0.2 + 3e-9), proved)
    assert not agrees(replace(proved, lower=0.1 - 3e-9), proved)
    assert agrees(replace(found, upper=0.2 + 3e-9), found)
    assert not agrees(replace(found, upper=0.2 + 2e-6), found)
    assert not agrees(replace(found, lower=0.1 - 3e-9), found)


def test_a_row_that_was_never_computed_is_neither_proved_nor_on_record() -> None:
    never, half = row(), replace(row(name="b"), lower=0.1)
    old = replace(row(name="c"), lower=0.1, upper=0.2)
    assert [each.proved for each in (never, half, old)] == [False, False, True]
    assert [view._cells(each)[5] for each in (never, half, old)] == ["-", "-", "both"]
    data = view.as_data([never, half, old])
    assert data["proved"] == 1
    assert [(each["lower_proved"], each["upper_proved"]) for each in data["rows"]] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    assert "3 rows, 1 of them proved on both sides, 2 not computed yet." in " ".join(view.as_lines([never, half, old]))
    assert "The table has 3 rows, 2 not computed yet. In 1 of them" in view.markdown([never, half, old])

    new = replace(never, lower=0.1, upper=0.2)
    assert view.agree([new, old], [never, old])
    assert [each["agrees"] for each in view.as_data([new, old], [never, old])["rows"]] == [None, True]
    assert view.as_lines([new], [never])[-1] == "1 row computed again; not on record yet: a"
    assert view.as_lines([new, old], [never, old])[-1] == "2 rows computed again; 1 as on record; not on record yet: a"
    assert view.as_lines([old], [old])[-1] == "1 row computed again; all as on record"


def test_rows_of_prior_ranges_have_the_range_of_their_command() -> None:
    rows = [each for each in ROWS.values() if each.setting == "prior-range"]
    for each in rows:
        assert each.prior_range is not None
        low, high = each.prior_range
        assert each.name == f"prior-range-{low:g}-{high:g}"
        assert each.commands[0].endswith(f" --prior-range {low:g} {high:g}")
    assert view.as_data(rows[:1])["rows"][0]["prior_range"] == (0.0, 0.05)
    assert view.as_data([ROWS["independent-2"]])["rows"][0]["prior_range"] is None


def test_the_help_lists_the_settings() -> None:
    assert re.findall(r"[a-z-]+(?=[,.])", cli.SETTING.partition(":")[2]) == list(
        dict.fromkeys(each.setting for each in ROWS.values())
    )


def test_the_lower_bound_of_the_contaminated_row_is_no_more_than_its_theorem_says() -> None:
    """With 90 % of the questions independent and 10 % arbitrary it is 0.9 V + 0.1/4, V = (5 sqrt 5 - 11)/8."""
    claimed = ROWS["contaminated-0.1-2"].lower_from.value
    assert claimed is not None
    bound = Decimal("0.9") * (5 * Decimal(5).sqrt() - 11) / 8 + Decimal("0.025")
    assert bound - Decimal("1e-9") < Decimal(claimed) <= bound


def test_ctrl_c_keeps_the_rows_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that catches Ctrl-C and keeps what it has, as `certify` does, gives no row."""
    runs = 0

    def interrupted(_: str, __: str) -> dict[str, Any]:
        nonlocal runs
        runs += 1
        if runs == 3:
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        return dict(BOUNDS)

    monkeypatch.setattr(cli, "run_command", interrupted)
    before = signal.getsignal(signal.SIGINT)
    done, finished = cli._recompute([row(), row(name="b")], save=False)
    assert [each.name for each in done] == ["a"]
    assert not finished
    assert signal.getsignal(signal.SIGINT) is before


def stub(result: object, printed: str = "") -> Callable[..., object]:
    """An app that prints and then returns a status, or raises."""

    def app(*_: object, **__: object) -> object:
        sys.stdout.write(printed)
        if isinstance(result, BaseException):
            raise result
        return result

    return app


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(130), typer.Exit(130), typer.Abort(), 130], ids=repr)
def test_a_command_that_ctrl_c_stops_says_so(
    stop: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever way typer reports Ctrl-C, the rows done so far are kept."""
    monkeypatch.setattr(commands, "app", stub(stop))
    with pytest.raises(KeyboardInterrupt):
        cli.run_command("certify mean", ".")
    true_answer = cli.run_command
    monkeypatch.setattr(cli, "run_command", lambda text, folder: true_answer(text, folder) if done else answer(text))
    done: list[bool] = []

    def and_count(rows: list[Row], run: Callable[[str], dict[str, Any]], keep: Any) -> Iterator[Row]:
        for new in recompute(rows, run, keep):
            yield new
            done.append(True)

    monkeypatch.setattr("robustpool.minimax.recompute.recompute", and_count)
    rows, finished = cli._recompute([row(), row(name="b")], save=False)
    assert ([each.name for each in rows], finished) == (["a"], False)
    assert "robustpool: stopped after 1 of 2 rows." in capsys.readouterr().err


@pytest.mark.parametrize("result", [2, SystemExit(2), typer.Exit(2), 0, None], ids=repr)
def test_a_command_without_an_answer_is_an_error(result: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "app", stub(result))
    with pytest.raises(SolverError, match=r"`robustpool certify mean` gave no answer; its exit status is [02]\."):
        cli.run_command("certify mean", ".")
    for no in (1, typer.Exit(1)):
        monkeypatch.setattr(commands, "app", stub(no, '{"verified": false}'))
        assert cli.run_command("verify c.json", ".") == {"verified": False}


def test_ctrl_c_that_a_command_turned_into_an_error_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: str, __: str) -> dict[str, Any]:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        raise SolverError("gave no answer")

    monkeypatch.setattr(cli, "run_command", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cli._recompute([row()], save=False)


def test_the_command() -> None:
    data = json.loads(run("table", "--setting", "independent", "--json").stdout)
    second = data["rows"][1]
    fields = ("setting", "agents", "loss", "lower", "upper", "proved", "rule", "published", "source", "command")
    assert [second[name] for name in fields] == [
        "independent",
        2,
        "square",
        0.022542485,
        0.022542486,
        True,
        "minimax",
        0.0226,
        "Guo2024",
        "robustpool certify minimax",
    ]
    assert {row["setting"] for row in data["rows"]} == {"independent"}
    lines = run("table").stdout.splitlines()
    assert lines[0].split() == list(view.COLUMNS)
    assert len([line for line in lines if " square " in line or " log " in line]) >= 24
    again = run("table", "--recompute", "--row", "known-base-rate-2", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["rows"][0]["agrees"] is True


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--setting", "none"], "--setting must be one of independent, "),
        (["--row", "none"], "--row must be the name of a row (see `robustpool table`); it is 'none'."),
        (
            ["--setting", "unanimous", "--row", "log-2"],
            "--row must be the name of a row of the setting unanimous (see `robustpool table --setting unanimous`); it is 'log-2'.",
        ),
        (["--save"], "--slow and --save are for --recompute, which was not given."),
    ],
)
def test_wrong_options_are_named(arguments: list[str], sentence: str) -> None:
    done = run("table", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_the_page_is_what_the_command_writes() -> None:
    assert (ROOT / "docs" / "minimax-table.md").read_text() == view.markdown(list(ROWS.values()))


def test_the_report_has_the_table(tmp_path: Path) -> None:
    text = render(page(Reproduction(QUICK, tmp_path)))
    assert view.TITLE in text
    assert "0.022542486" in text


def test_a_bound_without_a_certificate_is_found() -> None:
    assert not Bound("worst-case mean", "regret").proved
    assert not Bound("design --agents 2", "upper").proved
    assert Bound("certify mean", "upper").proved
