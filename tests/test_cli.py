"""The command line as a user meets it: exit status, one sentence, JSON alone on standard output."""

from __future__ import annotations

import json
import math
import os
import pty
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from programs import PROGRAM, run_program, run_python
from programs import run_robustpool as run
from robustpool import aggregate, load_design
from robustpool.cli import main
from robustpool.errors import InputError, SolverError, UnsupportedError, WorkersLostError
from robustpool.families.family_file import EXAMPLES
from robustpool.locks import HeldError, locked

WEATHER = str(EXAMPLES / "weather.json")
UNKNOWN = str(EXAMPLES / "weather-unknown.json")


def run_json(*arguments: str, cwd: Path | None = None) -> Any:
    done = run(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def test_aggregate() -> None:
    done = run_program(PROGRAM, "aggregate", "0.7", "0.6")
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) == pytest.approx(aggregate([0.7, 0.6]), rel=1e-5)
    data = run_json("aggregate", "0.7", "0.6", "--rule", "average-prior")
    assert data["rule"] == "average-prior"
    assert data["forecast"] == aggregate([0.7, 0.6], rule="average-prior")


def test_aggregate_warns_of_a_contradiction_on_standard_error() -> None:
    done = run("aggregate", "0", "1", "--clip", "0", "--json")
    assert json.loads(done.stdout)["forecast"] == 0.5
    assert "contradict each other" in done.stderr


@pytest.mark.parametrize("explain", [[], ["--explain"]])
def test_aggregate_says_what_it_clips(explain: list[str]) -> None:
    done = run("aggregate", "0", "0.4", "--json", *explain)
    data = json.loads(done.stdout)
    assert (data["forecast"], data["clipped"], data["reports"]) == (aggregate([0.0, 0.4], clip=0.01), 1, [0.0, 0.4])
    clipped = "robustpool: 1 of 2 reports was clipped to [0.01, 0.99]; --clip 0 turns this off.\n"
    assert done.stderr == clipped
    for arguments in (["0", "0.4", "--clip", "0.01"], ["0.7", "0.4"], ["0", "0.4", "--rule", "mean"]):
        quiet = run("aggregate", *arguments, "--json", *explain)
        assert (json.loads(quiet.stdout)["clipped"], quiet.stderr) == (int("--clip" in arguments), "")


@pytest.mark.parametrize("explain", [[], ["--explain"]])
def test_a_clip_that_changes_nothing_is_said(explain: list[str]) -> None:
    done = run("aggregate", "0", "0.4", "--rule", "mean", "--clip", "0.1", "--json", *explain)
    data = json.loads(done.stdout)
    assert (data["forecast"], data["clipped"]) == (0.2, 0)
    assert done.stderr == (
        "robustpool: --clip has no effect on mean: an average of probabilities treats 0 and 1 like any other number.\n"
    )


def test_percentages_are_read() -> None:
    assert run_json("aggregate", "70%", "60%")["reports"] == [0.7, 0.6]
    mixed = run_json("aggregate", "70%", "0.6", "1/2", "12.5%", "--rule", "mean", "--clip", "0")
    assert mixed["reports"] == [0.7, 0.6, 0.5, 0.125]
    assert run("aggregate", "70%", "60%").stdout == run("aggregate", "0.7", "0.6").stdout
    assert run("aggregate", "70%", "60%", "--explain").stdout == run("aggregate", "0.7", "0.6", "--explain").stdout


def test_rules() -> None:
    rules = run_json("rules")["rules"]
    assert [rule["name"] for rule in rules][:4] == ["robust", "minimax", "minimax-log", "mean"]
    assert all({"name", "formula", "source", "regret", "proved"} <= set(rule) for rule in rules)
    assert rules[0]["proved"]
    assert all(rule["lower"] <= rule["regret"] for rule in rules if rule["proved"])
    shown = run("rules").stdout
    assert "geometric-odds" in shown
    over = "two agents with independent private evidence, with any public evidence"
    assert run_json("rules")["worst_cases_over"] == over
    assert f"Regrets are worst cases with defaults, for\n{over}.\n" in shown


def test_design_then_aggregate(tmp_path: Path) -> None:
    data = run_json("design", "--family", WEATHER, "--out", "weather.json", cwd=tmp_path)
    assert {"lower", "upper", "gap", "rounds", "seconds", "stopped", "output"} <= set(data)
    assert data["stopped"] == "the gap reached the tolerance"
    assert run_json("aggregate", "0.5", "0.5", "--rule", "weather.json", cwd=tmp_path)["forecast"] == pytest.approx(0.7)
    assert [file.name for file in tmp_path.iterdir()] == ["weather.json"]
    done = run("aggregate", "0.5", "0.4", "--rule", "weather.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "reports must be a profile of the design's family; row 0 is (0.5, 0.4)" in done.stderr


def test_design_for_people(tmp_path: Path) -> None:
    options = "--symmetric --monotone --lipschitz 3 --loss log"
    done = run("design", "--family", UNKNOWN, *options.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 structures, 4 report profiles, log loss, additive" in done.stdout
    assert "measured in floating point, not proved" in done.stdout
    assert (tmp_path / "design.json").exists()


def test_design_of_vector_reports(tmp_path: Path) -> None:
    options = "--structures 3 --states 3 --report higher-order --out f.json"
    run_json("random-family", *options.split(), cwd=tmp_path)
    run_json("design", "--family", "f.json", "--out", "d.json", cwd=tmp_path)
    design: Any = load_design(tmp_path / "d.json")
    texts = [",".join(map(repr, agent)) for agent in design.aggregator.reports[0].tolist()]
    data = run_json("aggregate", *texts, "--rule", "d.json", cwd=tmp_path)
    assert data["forecast"] == pytest.approx(design.aggregator.forecasts[0].tolist())


def test_a_run_that_does_not_converge_says_no_and_can_be_resumed(tmp_path: Path) -> None:
    run_json("random-family", "--structures", "50", "--resolution", "6", "--seed", "5", "--out", "f.json", cwd=tmp_path)
    options = ["design", "--family", "f.json", "--tolerance", "1e-9", "--method", "multiplicative-weights"]
    done = run(*options, "--rounds", "5", "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["stopped"] == "the round limit was reached; increase the rounds or the tolerance"
    assert (tmp_path / "design.json.checkpoint.npz").exists()
    again = run(*options, "--rounds", "5", "--resume", cwd=tmp_path)
    assert "the same command with --resume and more --rounds, from design.json.checkpoint.npz" in " ".join(
        again.stdout.split()
    )
    resumed = run_json(*options, "--resume", cwd=tmp_path)
    whole = run_json(*options, "--out", "whole.json", cwd=tmp_path)
    assert all(resumed[key] == whole[key] for key in ("lower", "upper", "rounds"))
    assert not (tmp_path / "design.json.checkpoint.npz").exists()


def test_theory_mode_records_its_guarantee(tmp_path: Path) -> None:
    data = run_json("design", "--family", UNKNOWN, "--epsilon", "0.2", cwd=tmp_path)
    assert data["guarantee"]["epsilon"] == 0.2
    assert data["stopped"] == "all rounds that the theorem requires were run"


def test_ctrl_c_keeps_what_was_reached_and_a_bar_shows_the_way(tmp_path: Path) -> None:
    """On a terminal: the bar appears, Ctrl-C ends the run with a design, a checkpoint and exit status 1."""
    run_json("random-family", "--structures", "2000", "--seed", "1", "--out", "f.json", cwd=tmp_path)
    master, slave = pty.openpty()
    command = [PROGRAM, "design", "--family", "f.json", "--epsilon", "0.001"]  # 248 million rounds
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=slave, text=True)
    os.close(slave)
    seen, deadline = "", time.monotonic() + 100
    while "gap" not in seen and time.monotonic() < deadline:
        if select.select([master], [], [], 1)[0]:
            seen += os.read(master, 65536).decode(errors="replace")
    assert "value" in seen
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # the terminal closes when the process ends; until then keep it from filling up
        while os.read(master, 65536):
            pass
    process.wait(timeout=60)
    assert process.returncode == 1
    assert process.stdout is not None
    assert "the run was interrupted; the best result so far is kept" in process.stdout.read()
    process.stdout.close()
    os.close(master)
    assert load_design(tmp_path / "design.json").stopped.reason == "interrupted"
    assert (tmp_path / "design.json.checkpoint.npz").exists()


BAD = [
    ("aggregate", "give some probabilities, or one file"),
    ("aggregate 70 60", "report 1 must lie in [0, 1]; it is 70; for 70 % write 0.7."),
    ("aggregate 0.7 1.2", "report 2 must lie in [0, 1]; it is 1.2; for 1.2 % write 0.012."),
    ("aggregate 0.7 100", "report 2 must lie in [0, 1]; it is 100; for 100 % write 1."),
    ("aggregate 0.7 100.5", "probability must lie in [0, 1]; entry 1 is 100.5"),
    ("aggregate 0.7 abc", "report 2 must be a number; it is 'abc'."),
    ("aggregate 0.7 155%", "report 2 must lie between 0% and 100%; it is 155%."),
    ("aggregate 0.7 -5%", "report 2 must lie between 0% and 100%; it is -5%."),
    ("aggregate 0.7 nan%", "report 2 must be a number; it is 'nan%'."),
    ("aggregate 0.7 5,5%", "report 2 must be a number; it is '5,5%'; write 5.5%."),
    ("aggregate 0.7 1/2%", "report 2 must be a number; it is '1/2%'."),
    ("aggregate 0.7 %", "report 2 must be a number; it is '%'."),
    ("aggregate 0.7 0.6 --rule magic", "rule must be one of robust, minimax, minimax-log, mean,"),
    ("aggregate 0.7 0.6 --rule none.json", "the design or pool file 'none.json' does not exist."),
    (
        "aggregate 0.6,0.3,0.1 0.5,0.2,0.3 --rule minimax",
        (
            "report 1 must be a number; it is '0.6,0.3,0.1'; for a question with more than two outcomes give a file with a row for each "
            "forecaster and option (`robustpool aggregate FILE.csv`)."
        ),
    ),
    ("aggregate 0,7 0.6", "report 1 must be a number; it is '0,7'; write 0.7."),
    ("aggregate -0.1 0.6", "probability must lie in [0, 1]; entry 0 is -0.1"),
    ("aggregate 1/0 0.6", "report 1 must be a number; it is '1/0'."),
    ("aggregate 0.1 0.9 --rule d.json --clip 0.1", "the design or pool file 'd.json' cannot be read"),
    ("aggregate 0.1 --clip 0.7", "clip must lie in [0, 0.5); it is 0.7."),
    ("design --family none.json", "the family file 'none.json' does not exist."),
    ("design --family bad.json", "'bad.json': probabilities must sum to 1; structures[0].joint sums to 0.9."),
    ("design --family text.json", "'text.json' is not JSON"),
    (
        f"design --family {WEATHER} --lipschitz nan",
        "the Lipschitz constant must be a finite number, greater than 0; it is nan.",
    ),
    (f"design --family {WEATHER} --lipschitz abc", "it is 'abc'."),
    (f"design --family {WEATHER} --loss hinge", "loss must be one of square, log; it is 'hinge'."),
    (
        f"design --family {WEATHER} --out no-folder-file/x.json",
        "'no-folder-file/x.json' cannot be written: 'no-folder-file' is not a folder",
    ),
    (f"design --family {WEATHER} --out .", "'.' cannot be written: it is not a regular file."),
    ("design --family family.json --out family.json", "--out must not be the family file 'family.json'"),
    (f"design --family {WEATHER} --out text.json", "--out must be a new file or a design; 'text.json' is neither."),
    (f"design --family {WEATHER} --out /dev/null", "'/dev/null' cannot be written: it is not a regular file."),
    (f"design --family {WEATHER} --epsilon 0.1 --rounds 5", "give rounds or epsilon, not both"),
    ("design --reports 0", "reports must be a whole number, at least 1; it is 0."),
    (f"design --family {WEATHER} --prior-range 0.1 0.2", "--prior-range is for a world with a name; --family"),
    (f"certify mean --world identical --family {WEATHER}", "--world is for a world with a name; --family"),
    (f"certify mean --agents 3 --family {WEATHER}", "--agents is for a world with a name; --family"),
    (f"certify mean --prior-range 0.1 0.2 --family {WEATHER}", "--prior-range is for a world with a name; --family"),
    (
        "design --world correlated --nature continuous",
        "a design for arbitrary correlation needs a number of reports, additive or absolute regret",
    ),
    ("design --world common-source --nature continuous", "continuous nature is for conditionally independent agents"),
    (
        "design --world second-question --nature continuous",
        "reports, priors and second_answers must be three numbers, or None for all; they are",
    ),
    (
        "design --world correlated --priors continuous",
        "--priors is not an option of the world correlated; it belongs to independent,",
    ),
    ("design --nature continuous --priors 7", "--nature continuous means any prior; --priors is '7'."),
    ("design --priors many", "--priors must be a whole number or continuous; it is 'many'."),
    ("design --prior-range 0.6 0.4", "prior_range must be from low to high; it is (0.6, 0.4)."),
    ("design --prior-range 0.301 0.302", "prior_range must hold a multiple of 1/400; it is (0.301, 0.302)."),
    ("design --epsilon 0.1 --method cutting-planes", "epsilon belongs to the method multiplicative-weights"),
    ("design --method magic", "method must be one of cutting-planes, multiplicative-weights; it is 'magic'."),
    ("design --priors 1", "priors must be a whole number, at least 2; it is 1."),
    ("design --reports 400 --priors 4000 --method multiplicative-weights", "GB of memory"),
    ("worst-case magic", "rule must be one of robust, minimax, minimax-log, mean,"),
    ("worst-case mean --loss hinge", "loss must be one of square, log; it is 'hinge'."),
    ("lipschitz-curve --constants 1,x", "--constants must be numbers with commas; it is '1,x'."),
    ("lipschitz-curve --constants 0", "the Lipschitz constant must be a finite number, greater than 0; it is 0.0."),
    ("plan --epsilon 0.1", "reports"),
    (f"design --family {WEATHER} --resume", "there is nothing to resume; 'design.json.checkpoint.npz' does not exist."),
    ("worst-case mean --seed -5", "the seed must be a whole number, at least 0; it is -5."),
    (
        "design --reports 5 --priors 5 --epsilon 1e-300",
        "the theorem requires inf rounds at epsilon = 1e-300; increase epsilon.",
    ),
    ("design --reports 1000000000", "a table for 2 agents would need about"),
    ("design --priors 1000000000", "so many priors would need about"),
    ("random-family --structures 1000000000", "1,000,000,000 structures with 8 probabilities each would need about"),
    ("random-family --structures 0", "structures must be a whole number, at least 1; it is 0."),
    ("random-family --report gut", "report must be one of posterior, higher-order, decision; it is 'gut'."),
    ("dessign", "No such command 'dessign'"),
    ("rules --colour", "No such option: --colour"),
    ("aggregate 0.7 0.6 --jsn", "there is no option '--jsn'; did you mean --json?"),
    ("aggregate 0.7 --rul=mean 0.6", "there is no option '--rul'; did you mean --rule?"),
    ("aggregate f.csv --zzz 3", "there is no option '--zzz'; `robustpool aggregate --help` lists them."),
]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("it is wrong."), 2),
        (UnsupportedError("it is wrong."), 2),
        (SolverError("it is wrong."), 1),  # the input is right, and there is no answer
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_each_kind_of_failure_has_its_status(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("robustpool.families.worst_case.worst_case", fail)
    monkeypatch.setattr(sys, "argv", ["robustpool", "worst-case", "mean"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == status
    sentence = "stopped before there was a result." if status == 130 else "it is wrong."
    assert capsys.readouterr() == ("", f"robustpool: {sentence}\n")


@pytest.mark.parametrize(
    ("command", "sentence"), BAD, ids=[command.replace(WEATHER, "weather.json") for command, _ in BAD]
)
def test_bad_input_gets_one_sentence_status_2_and_no_file(command: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(
        '{"format": "robustpool-family/1", "states": ["a", "b"], "agents": ["x"], "structures": [{"joint": [[0.5], [0.4]]}]}'
    )
    (tmp_path / "text.json").write_text("not json")
    (tmp_path / "family.json").write_text(Path(WEATHER).read_text())
    (tmp_path / "no-folder-file").write_text("")
    (tmp_path / "d.json").write_text("")
    before = sorted(tmp_path.rglob("*"))
    done = run(*command.split(), cwd=tmp_path)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.startswith("robustpool: ")
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


COMMANDS = (
    "aggregate rules design worst-case certify verify plan compare reproduce lipschitz-curve random-family table sweep"
)


@pytest.mark.parametrize("command", COMMANDS.split())
def test_help_has_an_example(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"robustpool {command}" in done.stdout
    assert "--json" in done.stdout


def test_no_arguments_show_the_commands_and_the_version_is_said() -> None:
    lines = run_program(PROGRAM).stdout.splitlines()
    commands = lines[lines.index("Commands:") + 1 :]
    assert [line.split()[0] for line in commands][:2] == ["aggregate", "compare"]
    assert all(line.endswith(".") and "..." not in line and len(line) < 80 for line in commands)
    assert run("--version").stdout.startswith("robustpool ")


def test_the_shell_completes_commands_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--install-completion" in run("--help").stdout
    monkeypatch.setenv("_ROBUSTPOOL_COMPLETE", "complete_bash")
    for words, completions in (("robustpool c", "compare certify"), ("robustpool rules --js", "--json")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        assert run_program(PROGRAM).stdout.split() == completions.split()


def test_a_small_sum_does_not_import_heavy_packages() -> None:
    code = (
        "import sys; sys.argv = ['robustpool', 'aggregate', '0.7', '0.6']\n"
        "from robustpool.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'scipy', 'numba', 'cvxpy', 'clarabel', 'matplotlib', 'rich.progress'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr


def test_work_that_sets_up_for_long_shows_a_sign_of_life(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from robustpool.cli import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with progress.progress_bar(patience=0.0):
        time.sleep(0.3)
    assert capfd.readouterr().err == "setting up\n"
    with progress.progress_bar(patience=0.0) as tell:
        tell("round 1", news=True)
        time.sleep(0.3)
    assert capfd.readouterr().err == "round 1\n"


def test_an_infinite_regret_between_the_grid_points_is_told_and_kept(tmp_path: Path) -> None:
    """Under the log loss a table that says 0 or 1 at a corner may be infinitely wrong next to it."""
    line = ("design", "--loss", "log", "--reports", "13", "--priors", "50", "--report", "d.html", "--out", "d.json")
    done = run(*line, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "off the grid        regret infinite (found by search)" in done.stdout
    assert json.loads(run(*line, "--json", cwd=tmp_path).stdout)["off_grid"] == "infinite"
    assert json.loads((tmp_path / "d.json").read_text())["bounds"]["off_grid"] == "infinite"
    assert load_design(tmp_path / "d.json").bounds.off_grid == math.inf
    assert "infinite (found by search)" in (tmp_path / "d.html").read_text(encoding="utf-8")
    done = run("aggregate", "0.7", "0.6", "--rule", "d.json", cwd=tmp_path)
    assert 0.6 < float(done.stdout) < 0.8


def test_a_design_holds_its_job_to_the_end_and_keeps_what_a_search_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the search between the grid points: the checkpoint stays, and --resume makes the search."""
    line = ("design", "--agents", "3", "--reports", "3", "--priors", "6", "--out", "d.json", "--json")
    whole = json.loads(run(*line, cwd=tmp_path).stdout)["off_grid"]
    assert whole > 0
    refused = []

    def stop(_solution: Any) -> Any:
        with pytest.raises(HeldError), locked(tmp_path / "d.json.checkpoint.npz.lock"):
            pass
        refused.append(True)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("robustpool.solvers.solution.Solution.with_off_grid", stop)
        done = run(*line, cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["off_grid"], refused) == (0, None, [True])
    again = run(*line, "--resume", cwd=tmp_path)
    assert json.loads(again.stdout)["off_grid"] == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.json"]


def test_huge_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    with (tmp_path / "big.json").open("wb") as file:
        file.truncate(2**28 + 1)
    (tmp_path / "s.toml").write_text('kind = "worst-case"\n[[cells]]\nrule = "big.json"\n')
    for line in ("design --family big.json", "aggregate 0.5 0.5 --rule big.json", "certify big.json"):
        done = run(*line.split(), cwd=tmp_path)
        assert (done.returncode, done.stderr) == (
            2,
            "robustpool: 'big.json' has more than 268,435,456 bytes, which is the limit for such files.\n",
        )
    done = run("sweep", "s.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert "big.json' has more than 268,435,456 bytes" in done.stdout


def test_work_that_is_lost_says_how_it_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def lose(*_: object, **__: object) -> None:
        raise WorkersLostError("the scheduler at tcp://10.0.0.1:8786 was lost in the middle of the work.")

    monkeypatch.setattr("robustpool.solvers.solve.solve", lose)
    monkeypatch.setattr("robustpool.families.worst_case.worst_case", lose)
    said = "robustpool: the scheduler at tcp://10.0.0.1:8786 was lost in the middle of the work"
    assert run("design", cwd=tmp_path).stderr == f"{said}; if anything was saved, --resume continues from it.\n"
    done = run("worst-case", "mean", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{said}.\n")
