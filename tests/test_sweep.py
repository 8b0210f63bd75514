"""`robustpool sweep`: every combination of some options, each kept as soon as it is done."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import robustpool as rp
from programs import PROGRAM, run_robustpool
from refusals import input_error
from robustpool.families.asked_world import AskedWorld
from robustpool.locks import locked
from robustpool.processes import own_prefix
from robustpool.solvers.cutting_planes import CuttingPlanes
from robustpool.sweeps import run as runner
from robustpool.sweeps.run import sweep
from robustpool.sweeps.settings import OPTIONS, RANGES, read_settings
from robustpool.sweeps.table import write_table
from robustpool.sweeps.view import as_data, as_lines
from robustpool.sweeps.work import KINDS, NUMBERS, work

EXAMPLE = Path(str(files("robustpool.sweeps") / "examples" / "value-curves.toml"))
DESIGNS = """kind = "design"
[settings]
reports = 6
priors = 12
[[grid]]
agents = [1, 2]
prior-range = [[0.0, 1.0], [0.1, 0.5]]
[[cells]]
agents = 3
"""


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text(DESIGNS)
    return path


def rows_of(out: Path) -> list[dict[str, str]]:
    with (out / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_cells_are_the_combinations_of_the_lists_and_those_of_their_own(settings: Path) -> None:
    cells = read_settings(settings)
    assert [cell.options for cell in cells[:2]] == [
        {"reports": 6, "priors": 12, "agents": 1, "prior_range": [0.0, 1.0]},
        {"reports": 6, "priors": 12, "agents": 1, "prior_range": [0.1, 0.5]},
    ]
    assert len(cells) == len({cell.digest for cell in cells}) == 5
    assert cells[4].words == "reports 6, priors 12, agents 3"
    settings.write_text(DESIGNS.replace("agents = 3", "agents = 2\nprior_range = [0.0, 1.0]"))
    assert len(read_settings(settings)) == 4  # the last is one of the others


def test_a_sweep_makes_a_table_and_keeps_every_design(settings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = run_robustpool("sweep", str(settings), "--out", str(out), "--json")
    assert run.returncode == 0, run.stderr
    data = json.loads(run.stdout)
    assert {name: data[name] for name in ("output", "done", "failed", "cells", "finished")} == {
        "output": str(out), "done": 5, "failed": 0, "cells": 5, "finished": True,
    }  # fmt: skip
    table, text = pl.read_parquet(out / "results.parquet"), rows_of(out)
    assert table["agents"].to_list() == [1, 1, 2, 2, 3]
    assert table["prior_range_high"].to_list() == [1.0, 0.5, 1.0, 0.5, None]
    assert set(table["status"]) == {"done"}
    assert [float(row["upper"]) for row in text] == table["upper"].to_list()
    for row in table.iter_rows(named=True):
        design = rp.load_design(out / "cells" / row["cell"] / "design.json")
        low, high = row["prior_range_low"], row["prior_range_high"]
        family = rp.ConditionallyIndependent(row["agents"], 6, 12, *([] if low is None else [(low, high)]))
        solution = rp.solve(family)
        assert (design.lower, design.upper) == (solution.lower, solution.upper) == (row["lower"], row["upper"])


def test_only_what_is_left_is_done_again(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, done = tmp_path / "out", list[Any]()
    first = sweep(settings, out)
    with input_error("has the results of a sweep: --resume continues it"):
        sweep(settings, out)

    def counted(common: None, item: Any) -> Any:
        done.append(item[0].options)
        return work(common, item)

    monkeypatch.setattr(runner, "work", counted)
    again = sweep(settings, out, resume=True)
    assert (done, again.kept, again.rows()) == ([], 5, first.rows())
    (first.home(first.cells[1]) / "result.json").write_text("{")  # damaged
    (first.home(first.cells[2]) / "design.json").unlink()  # lost
    settings.write_text(DESIGNS.replace("agents = 3", "agents = 4"))  # another cell
    again = sweep(settings, out, resume=True)
    assert again.kept == 2
    assert [(cell["agents"], cell.get("prior_range")) for cell in done] == [(1, [0.1, 0.5]), (2, [0.0, 1.0]), (4, None)]
    assert again.done == 5


def test_a_changed_file_is_another_cell(tmp_path: Path) -> None:
    path, design = tmp_path / "s.toml", tmp_path / "d.json"
    rp.save_design(rp.solve(rp.ConditionallyIndependent(2, 4, 8)), design)
    path.write_text('kind = "worst-case"\n[grid]\nrule = ["mean", "d.json"]\n')
    before = read_settings(path)
    rp.save_design(rp.solve(rp.ConditionallyIndependent(2, 5, 8)), design)
    after = read_settings(path)
    assert before[0].digest == after[0].digest
    assert before[1].digest != after[1].digest
    assert after[1].options["rule"] == str(design)


def test_a_cell_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    path, out = tmp_path / "s.toml", tmp_path / "out"
    path.write_text(
        'kind = "certify"\n[settings]\nprior_range = [0.2, 0.3]\ntolerance = 1e-2\n[grid]\nrule = ["=bad", "minimax"]\n[[cells]]\nrule = "mean"\nprior_range = [0.2, 0.2]\n'
    )
    run = run_robustpool("sweep", str(path), "-o", str(out))
    assert run.returncode == 1
    assert run.stdout.startswith("1 of 3 cells done, 2 failed.\n")
    assert "a certificate needs a range of priors, not the single prior 0.2" in run.stdout
    rows = {row["rule"]: row for row in rows_of(out)}
    assert rows["minimax"]["status"] == "done"
    assert rows["'=bad"]["status"] == "failed"  # no spreadsheet runs it
    assert rows["'=bad"]["error"].startswith("rule must be one of robust")
    assert rp.verify(out / "cells" / rows["minimax"]["cell"] / "certificate.json").verified
    failure = json.loads((out / "cells" / rows["mean"]["cell"] / "failure.json").read_text())
    assert failure["error"] == rows["mean"]["error"]


def test_worst_cases_are_swept(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'kind = "worst-case"\n[settings]\nagents = 6\n[grid]\nrule = ["mean", "geometric-odds"]\nloss = ["square"]\n'
    )
    rows = sweep(path, tmp_path / "out").rows()
    worst = rp.worst_case("mean", rp.ConditionallyIndependent(6, None, None))
    assert rows[0]["regret"] == worst.regret
    assert rows[0]["proved"] is False


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_what_is_done_outlives_the_sweep(stop: signal.Signals, tmp_path: Path) -> None:
    path, out = tmp_path / "s.toml", tmp_path / "out"
    path.write_text(
        'kind = "design"\n[[cells]]\nreports = 4\npriors = 8\n'
        '[[cells]]\nreports = 8\npriors = 50\nmethod = "multiplicative-weights"\ntolerance = 0.0\nrounds = 1_000_000\n'
    )
    process = subprocess.Popen(
        [PROGRAM, "sweep", str(path), "-o", str(out), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 100
    while len({path.parent for name in ("result.json", "checkpoint.npz") for path in out.glob(f"cells/*/{name}")}) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(stop)
    said, _ = process.communicate(timeout=60)
    if stop is signal.SIGINT:
        assert process.returncode == 1
        assert json.loads(said)["done"] == 1
        assert not json.loads(said)["finished"]
        assert len((out / "results.csv").read_text().splitlines()) == 2
    path.write_text('kind = "design"\n[[cells]]\nreports = 4\npriors = 8\n')
    assert sweep(path, out, resume=True).kept == 1


def test_results_and_files_that_were_changed_or_cut_off_are_computed_again(settings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = sweep(settings, out)
    homes = [first.home(cell) for cell in first.cells]
    whole = [(home / "design.json").read_text() for home in homes]
    (homes[0] / "design.json").write_text(whole[0][:-1])
    (homes[1] / "design.json").unlink()
    data = json.loads((homes[2] / "result.json").read_text())
    data["numbers"]["upper"] = float(np.nextafter(data["numbers"]["upper"], 0.0))
    (homes[2] / "result.json").write_text(json.dumps(data))
    again = sweep(settings, out, resume=True)
    assert (again.kept, again.done) == (2, 5)
    tables = [json.loads(text)["aggregator"] for text in whole]
    assert [json.loads((home / "design.json").read_text())["aggregator"] for home in homes] == tables
    assert [row["upper"] for row in again.rows()] == [row["upper"] for row in first.rows()]


def test_a_file_that_changes_while_the_sweep_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out, mine = tmp_path / "s.toml", tmp_path / "out", tmp_path / "mine.json"
    path.write_text('kind = "worst-case"\n[[cells]]\nrule = "mine.json"\n[[cells]]\nrule = "mean"\n')
    solutions = [rp.solve(rp.ConditionallyIndependent(2, N, 4), tolerance=1e-2) for N in (3, 4)]
    rp.save_design(solutions[0], mine)

    def meddling(options: dict[str, Any], folder: Path) -> Any:
        rp.save_design(solutions[1], mine)
        return KINDS["worst-case"](options, folder)

    with monkeypatch.context() as patch:
        patch.setattr("robustpool.sweeps.work.KINDS", KINDS | {"worst-case": meddling})
        done = sweep(path, out)
    ((cell, error),) = done.failures
    assert (cell.options["rule"], done.done) == (str(mine), 1)
    assert error == f"{str(mine)!r} was changed while the sweep was at work; --resume does the cell again."


def test_a_sweep_tells_which_designs_did_not_reach_the_tolerance(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'kind = "design"\n[settings]\nreports = 4\npriors = 8\n[grid]\ntolerance = [1e-2, 0.0]\nrounds = [3]\n'
    )
    done = sweep(path, tmp_path / "out")
    assert as_data(done)["not_converged"] == 1
    assert "1 design did not reach the tolerance: see the column converged." in as_lines(done)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_disk_that_fills_up_during_a_sweep(settings: Path, tmp_path: Path, workers: int | None) -> None:
    """A limit on the size of files stands for it: neither a design nor the table can be written."""
    more = [] if workers is None else ["--workers", str(workers)]
    limited = ["bash", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "-", PROGRAM, "sweep", str(settings), *more]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(
        r"^robustpool: 'sweep/cells/.*' cannot be written \(File too large\)\. 0 cells of 5 are done; --resume does the others\.$",
        done.stderr.splitlines()[-1],
    ), done.stderr


def test_temporary_folders_of_a_killed_sweep_are_removed(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next one, also if nothing is left to do."""
    sweep(settings, tmp_path / "out")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / "tmp" / f"{own_prefix().rsplit('-', 2)[0]}-{ended.pid}-abc").mkdir()
    (tmp_path / "tmp" / f"{own_prefix()}abc").mkdir()
    sweep(settings, tmp_path / "out", resume=True)
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == [f"{own_prefix()}abc"]


def test_a_cell_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rounds = tmp_path / "s.toml", list[int]()
    path.write_text(
        'kind = "design"\n[[cells]]\nreports = 8\npriors = 20\ntolerance = 1e-9\nprior_range = [0.1, 0.9]\n'
    )
    step = CuttingPlanes.step

    def stopped_in_the_second_round(self: CuttingPlanes, nature: Any, master: Any, state: Any) -> Any:
        rounds.append(state.round)
        if len(rounds) == 2:
            raise KeyboardInterrupt
        return step(self, nature, master, state)

    monkeypatch.setattr(CuttingPlanes, "step", stopped_in_the_second_round)
    stopped = sweep(path, tmp_path / "out")
    assert (stopped.finished, stopped.done) == (False, 0)
    assert sweep(path, tmp_path / "out", resume=True).done == 1
    assert rounds[:3] == [0, 1, 1]
    whole = sweep(path, tmp_path / "whole")
    again = sweep(path, tmp_path / "out", resume=True)
    assert (again.kept, again.outcomes[again.cells[0].digest].numbers) == (
        1,
        whole.outcomes[whole.cells[0].digest].numbers,
    )


def test_a_cell_that_failed_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "s.toml", tmp_path / "out"
    path.write_text('kind = "worst-case"\n[[cells]]\nrule = "mean"\n')

    def unlucky(_options: dict[str, Any], _folder: Path) -> Any:
        raise rp.InputError("not today.")

    with monkeypatch.context() as patch:
        patch.setattr("robustpool.sweeps.work.KINDS", KINDS | {"worst-case": unlucky})
        first = sweep(path, out)
    assert (first.done, first.failed, first.failures[0][1]) == (0, 1, "not today.")
    assert [*out.glob("cells/*/failure.json")] != []
    again = sweep(path, out, resume=True)
    assert (again.kept, again.done, again.failed) == (0, 1, 0)
    assert [each["status"] for each in rows_of(out)] == ["done"]


def test_files_stand_beside_the_settings_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the same name in the current folder is not read: its content would not be part of the cell."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    rp.save_design(rp.solve(rp.ConditionallyIndependent(2, 3, 4), tolerance=1e-2), "mine.json")
    for text in (
        'kind = "worst-case"\n[[cells]]\nrule = "mine.json"\n',
        'kind = "design"\n[[cells]]\nfamily = "mine.json"\n',
    ):
        (tmp_path / "s.toml").write_text(text)
        with input_error(f"file {str(tmp_path / 'mine.json')!r} does not exist"):
            sweep(tmp_path / "s.toml", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_whatever_a_cell_ends_with_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlucky(options: dict[str, Any], folder: Path) -> Any:
        if options["agents"] == 1:
            raise AttributeError("no such thing")
        return KINDS["design"](options, folder)

    monkeypatch.setattr("robustpool.sweeps.work.KINDS", KINDS | {"worst-case": unlucky})
    path = tmp_path / "s.toml"
    path.write_text('kind = "worst-case"\n[settings]\nrule = "mean"\n[grid]\nagents = [1, 2]\n')
    done = sweep(path, tmp_path / "out")
    assert (done.done, done.failures[0][1]) == (1, "AttributeError: no such thing")


def test_what_a_cell_comes_to_does_not_hide_an_option(tmp_path: Path) -> None:
    assert not {name for options in OPTIONS.values() for name in options} & set(NUMBERS)
    path = tmp_path / "s.toml"
    path.write_text('kind = "design"\n[[cells]]\nreports = 4\npriors = 8\nrounds = 50\n')
    (row,) = sweep(path, tmp_path / "out").rows()
    assert row["rounds"] == 50
    assert 0 < row["rounds_played"] < 50


@pytest.mark.parametrize(
    "numbers",
    [
        {'x" INTEGER); CREATE TABLE y ("z': 1},
        {"regret": "text"},
        {"regret": 2**63},
        {"regret": [0.1]},
        [],
    ],
)
def test_a_result_that_no_sweep_writes_is_computed_again(numbers: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "s.toml", tmp_path / "out"
    path.write_text('kind = "worst-case"\n[[cells]]\nrule = "mean"\n')
    first = sweep(path, out)
    (file,) = out.glob("cells/*/result.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"numbers": numbers}))
    again = sweep(path, out, resume=True)
    assert again.kept == 0
    assert [row["regret"] for row in again.rows()] == [row["regret"] for row in first.rows()]


def test_names_of_columns_are_names_and_texts_are_safe_where_they_need_to_be(tmp_path: Path) -> None:
    write_table([{'a" b': "=1+1"}, {'a" b': "plain"}], tmp_path)
    assert rows_of(tmp_path) == [{'a" b': "'=1+1"}, {'a" b': "plain"}]
    assert pl.read_parquet(tmp_path / "results.parquet")['a" b'].to_list() == ["=1+1", "plain"]


def test_a_folder_of_somebody_else_is_left_alone(settings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "cells").mkdir(parents=True)
    (out / "results.csv").write_text("mine\n")
    for about in (None, "{}", "[]", "not JSON"):
        if about is not None:
            (out / "sweep.json").write_text(about)
        with pytest.raises(rp.InputError, match=r"^--out must be a new folder or that of a sweep; '.*' is neither\.$"):
            sweep(settings, out, resume=True)
    assert (out / "results.csv").read_text() == "mine\n"


ALLOWED = "must be a finite number, true, false or a text of at most 1,000 characters"
PAIR = "must be a list of two numbers"
LIST_OF_RANGES = r"must be a list of ranges such as \[\[0, 1\], \[0\.1, 0\.9\]\]; each is a list of two numbers"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kind = ", "is not TOML: Invalid value .at (line 1, column 8|end of document)"),
        ("", "must have a kind, one of design, worst-case, certify; it has none\\.$"),
        ('kind = "bake"', "must have a kind, one of design, worst-case, certify; it is 'bake'"),
        ('kind = "design"', "has no cells: give lists in .grid., or options in"),
        ('kind = "design"\nagents = 2', "may have kind, settings, grid and cells; it has 'agents'"),
        ('kind = "design"\n[grid]\nagent = [2]', "\\[grid\\]: 'agent' is no option of 'design'; the options are family"),
        ('kind = "design"\n[grid]\nagents = 2', "\\[grid\\]: agents must be a list of values; it is 2"),
        ('kind = "design"\n[grid]\nagents = []', "\\[grid\\]: agents must be a list of values; it is \\[\\]"),
        ('kind = "design"\nsettings = 3', "\\[settings\\] must be a table of options; it is 3"),
        ('kind = "design"\ncells = [3]', "\\[\\[cells\\]\\] must be a table of options; it is 3"),
        ('kind = "design"\n[settings]\nagents = 2024-01-01', f"{ALLOWED}; it is datetime.date\\(2024, 1, 1\\)"),
        ('kind = "design"\n[settings]\ntolerance = nan', f"{ALLOWED}; it is nan"),
        ('kind = "design"\n[[cells]]\nprior-range = ["a", "b"]', f"prior_range {PAIR}; it is \\['a', 'b'\\]"),
        ('kind = "design"\n[settings]\nprior-range = 0.5', f"prior_range {PAIR}; it is 0.5"),
        ('kind = "design"\n[grid]\nprior-range = [0, 1]', f"\\[grid\\]: prior_range {LIST_OF_RANGES}; it is 0"),
        ('kind = "design"\n[settings]\nagents = [2, 3]', f"\\[settings\\]: agents {ALLOWED}; it is \\[2, 3\\]"),
        ('kind = "design"\n[grid]\noverlap = [[0, 1, 2]]', f"\\[grid\\]: overlap {LIST_OF_RANGES}; it is \\[0, 1, 2\\]"),
        ('kind = "design"\n[settings]\nagents = 9223372036854775808', f"{ALLOWED}; it is 9223372036854775808"),
        ('kind = "design"\n[settings]\nagents = 0x1' + "0" * 9999, f"{ALLOWED}; it is a whole number of 39,997 bits"),
        (f'kind = "design"\n[settings]\nfamily = "{"x" * 1001}"', f"{ALLOWED}; it is 'xxx"),
        ('kind = "design"\n[settings]\nagents = ' + "9" * 5000, "is not TOML: Exceeds the limit"),
        ('kind = "design"\n[settings]\nprior-range = 1\nprior_range = 1', "given once; 'prior-range' is given with - and with _"),
        ('kind = "design"\n#\n' + '"a" . b.' * 30 + "c = 1", "line 3 has a key of more than 50 parts"),
        ('kind = "design"\n#' + "x" * 2**20, "may have at most 1,048,576 bytes; .* has more"),
        ('kind = "design"\n' + "".join(f"{'x' * 300}{i} = 1\n" for i in range(9)), "it has 'x{90,}[.]{3}x+0', .* and 5 more"),
        ("kind = [" + "'x', " * 9999 + "]", "it is \\['x', .*, [.]{3}\\][.]"),
        ('kind = "design"\n[grid]\nrounds = [' + "1, " * 400 + "]\nreports = [" + "1, " * 400 + "]", "at most 100,000 cells; it has 160,000"),
    ],
)  # fmt: skip
def test_settings_that_are_wrong_are_said_with_their_place(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with input_error(sentence):
        sweep(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_options_with_two_ends_are_those_of_the_worlds() -> None:
    assert {field.name for field in fields(AskedWorld) if "tuple" in str(field.type)} == set(RANGES)


def test_a_huge_product_of_grids_is_refused_at_once(tmp_path: Path) -> None:
    path, values = tmp_path / "s.toml", list(range(1000))
    names = ("agents", "reports", "priors", "rounds", "tolerance", "epsilon", "lipschitz", "states", "signals")
    path.write_text('kind = "design"\n[grid]\n' + "".join(f"{name} = {values}\n" for name in names))
    began = time.process_time()
    with input_error("must have at most 100,000 cells; it has 1(,000){9}\\."):
        read_settings(path)
    assert time.process_time() - began < 1


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'kind = "worst-case"\n[grid]\nrule = ["{"x" * 400}", "a\\u0000b", "", ".", "mean"]\n')
    done = sweep(path, tmp_path / "out")
    assert (done.done, done.failed) == (1, 4)
    errors = [outcome.error or "" for outcome in done.outcomes.values()]
    assert not [error for error in errors if "Error: " in error]


def test_files_that_are_no_settings_or_no_folders(tmp_path: Path, settings: Path) -> None:
    with input_error("the file .* does not exist"):
        sweep(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with input_error("cannot be read"):
        sweep(tmp_path / "bytes.toml")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with input_error("--out must be a new folder or that of a sweep"):
        sweep(settings, tmp_path / "full", resume=True)
    with input_error("--out must be a folder"):
        sweep(settings, settings)


def test_the_example_makes_both_curves() -> None:
    cells = [cell.options for cell in read_settings(EXAMPLE)]
    assert len([cell for cell in cells if "prior_range" in cell]) == 10
    assert [cell["agents"] for cell in cells if "agents" in cell] == [1, 2, 3, 4]


def test_a_second_process_on_one_sweep_is_told_who_has_it(settings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with (
        locked(out / "sweep.lock"),
        pytest.raises(rp.InputError, match=rf"^process {os.getpid()} is working on the same sweep, in"),
    ):
        sweep(settings, out)
    (out / "sweep.json").write_text('{"format": "robustpool-sweep/1"}')
    with locked(out / "sweep.lock"), input_error(f"process {os.getpid()} is working on the same sweep"):
        sweep(settings, out)  # also where --resume is missing
    (out / "sweep.json").unlink()
    (out / "sweep.lock").touch()  # what a process leaves that is killed before it has done anything
    assert sweep(settings, out).finished
    assert not (out / "sweep.lock").exists()


def test_a_folder_that_cannot_be_made_is_said(settings: Path) -> None:
    with input_error(r"'/proc/no/such' cannot be written \("):
        sweep(settings, "/proc/no/such")


def test_results_of_other_settings_are_counted(settings: Path, tmp_path: Path) -> None:
    sweep(settings, tmp_path / "out")
    settings.write_text('kind = "worst-case"\n[[cells]]\nrule = "mean"\n')
    again = sweep(settings, tmp_path / "out", resume=True)
    assert (again.kept, again.done, again.others) == (0, 1, 5)
    assert as_lines(again)[-1] == (
        "The folder also has 5 cells with other settings or from another version; the table leaves them out."
    )


def test_a_bound_from_below_is_not_above_by_rounding() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(1, 6, 12))
    assert solution.lower <= solution.upper < 1e-12
