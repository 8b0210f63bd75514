"""Designs and certificates over HTTP: as the commands, and nothing is lost when a worker or the server is killed."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest

import robustpool as rp
from programs import run_robustpool
from robustpool.cli import main
from robustpool.families.family_file import EXAMPLES
from servers import Server, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GAME = {"reports": 10, "priors": 20, "method": "multiplicative-weights", "tolerance": 0}
SMALL = {"reports": 4, "priors": 8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(folder, "--workers", "1", "--queue", "2") as server:
        yield server


def played(rounds: int) -> rp.Solution:
    """So many rounds of the game, by the library itself."""
    return rp.solve(rp.ConditionallyIndependent(2, 10, 20), method="multiplicative-weights", tolerance=0, rounds=rounds)


@pytest.fixture(scope="module")
def rounds() -> int:
    """Rounds that take some seconds on this machine, so that a job is still under way when a test looks at it."""
    played(50)  # compiles
    return max(600, int(2.0 * 500 / played(500).seconds))


@pytest.fixture(scope="module")
def undisturbed(rounds: int) -> dict[str, Any]:
    """The result of these rounds when nothing happens."""
    solution = played(rounds)
    return essence({"lower": solution.lower, "upper": solution.upper, "aggregator": solution.aggregator.as_data()})


def essence(design: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on how often a design was stopped."""
    bounds = design.get("bounds", design)
    return {"lower": bounds["lower"], "upper": bounds["upper"], "forecasts": design["aggregator"]}


def post(server: Server, path: str, **options: Any) -> dict[str, Any]:
    """Start a job."""
    response = server.call("POST", path, json=options)
    assert response.status_code == 202, response.text
    started: dict[str, Any] = response.json()
    assert response.headers["location"] == f"/api/v1/{path}/{started['id']}"
    return started


def wait(server: Server, id: str, true: Callable[[dict[str, Any]], Any], seconds: float = 60) -> dict[str, Any]:
    """The job, once something is true of it."""
    end = time.monotonic() + seconds
    while True:
        job: dict[str, Any] = server.call("GET", f"jobs/{id}").json()
        if true(job):
            return job
        assert time.monotonic() < end, job
        time.sleep(0.05)


def ended(job: dict[str, Any]) -> bool:
    return job["state"] in {"done", "failed", "cancelled"}


def under_way(job: dict[str, Any]) -> bool:
    return job["progress"].get("round", 0) > 50


def workers(server: Server) -> list[int]:
    """The processes that a server started, found as a stranger finds them."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == server.process.pid and state != "Z":
                found.append(int(stat.parent.name))
    return found


def alive(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def saved_design(server: Server, id: str) -> dict[str, Any]:
    design: dict[str, Any] = server.call("GET", f"designs/{id}/files/design.json").json()
    return design


def test_a_design_is_that_of_the_command(server: Server, tmp_path: Path) -> None:
    started = post(server, "designs", **SMALL)
    assert started["title"] == (
        "2 conditionally independent agents, reports in steps of 1/4, priors in steps of 1/8, square loss, additive"
    )
    job = wait(server, started["id"], ended)
    assert job["state"] == "done", job
    solution = rp.solve(rp.ConditionallyIndependent(2, 4, 8))
    result = job["result"]
    assert (result["lower"], result["upper"], result["gap"]) == (solution.lower, solution.upper, solution.gap)
    assert (result["rounds"], result["stopped"]) == (solution.rounds, "the gap reached the tolerance")
    assert result["facts"]["value of the game"].startswith("between ")
    assert result["certifiable"] is True
    assert list(job["files"]) == ["design.json", "report.html"]
    file = tmp_path / "design.json"
    file.write_bytes(httpx.get(server.url + job["files"]["design.json"][1:]).content)
    assert rp.load_design(file).lower == solution.lower
    report = httpx.get(server.url + job["files"]["report.html"][1:])
    assert report.headers["content-type"] == "text/html; charset=utf-8"
    assert "sandbox allow-scripts" in report.headers["content-security-policy"]
    assert "A robust aggregator for 2 independent forecasters" in report.text
    listed = server.call("GET", "jobs").json()["jobs"]
    assert listed[0]["id"] == job["id"]
    assert listed[0]["result"] is None


def test_events_begin_with_the_state_and_end_with_the_job(server: Server, rounds: int) -> None:
    id = post(server, "designs", **GAME, rounds=rounds)["id"]
    with httpx.stream("GET", f"{server.url}api/v1/designs/{id}/events", timeout=60) as stream:
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        lines = [line for line in stream.iter_lines() if line]
    assert lines[0] == "retry: 1000"
    events = [json.loads(line.removeprefix("data: ")) for line in lines[1:]]
    assert (events[0]["state"], events[-1]["state"]) == ("running", "done")
    told = [event["progress"]["round"] for event in events if event["progress"]]
    assert told == sorted(told)
    assert len(set(told)) >= 2
    last = events[-1]["progress"]
    assert (last["lower"], last["upper"]) == ("0.0224999", "0.0225001")  # rounded outward, as they are shown
    assert 2 <= len(last["points"]) <= 121
    assert last["points"][-1][0] == last["round"]
    assert last["scale"]["low"] <= last["points"][-1][1] <= last["points"][-1][2] <= last["scale"]["high"]


def test_a_design_of_a_family_is_proved_by_its_id(server: Server) -> None:
    family = json.loads((EXAMPLES / "weather.json").read_text())
    id = post(server, "designs", family=family, lipschitz=2, symmetric=True)["id"]
    assert wait(server, id, ended)["state"] == "done"
    proof = post(server, "certificates", design=id)
    job = wait(server, proof["id"], ended)
    assert job["state"] == "done", job
    assert job["result"]["lower"] <= job["result"]["upper"]
    assert "(proved)" in job["result"]["facts"]["worst-case regret"]
    certificate = server.call("GET", f"certificates/{job['id']}/files/certificate.json").json()
    assert rp.verify(certificate).verified
    inline = post(server, "certificates", design=saved_design(server, id), family=family)
    again = wait(server, inline["id"], ended)
    assert again["result"]["upper"] == job["result"]["upper"]


def test_a_rule_is_proved(server: Server) -> None:
    job = wait(server, post(server, "certificates", rule="minimax", prior_range=[0.1, 0.5])["id"], ended)
    assert job["state"] == "done", job
    assert job["title"] == "minimax, 2 conditionally independent agents, any reports, any prior from 0.1 to 0.5"
    assert job["result"]["upper"] - job["result"]["lower"] < 1e-8
    assert job["result"]["finished"] is True


WRONG = [
    (["design", "--agents", "0"], {"agents": 0}),
    (["design", "--reports", "0"], {"reports": 0}),
    (["design", "--priors", "many"], {"priors": "many"}),
    (["design", "--priors", "4.5"], {"priors": 4.5}),
    (["design", "--nature", "continuous", "--priors", "7"], {"nature": "continuous", "priors": 7}),
    (["design", "--nature", "round"], {"nature": "round"}),
    (["design", "--nature", "continuous", "--loss", "log"], {"nature": "continuous", "loss": "log"}),
    (["design", "--prior-range", "0.4", "0.2"], {"prior_range": [0.4, 0.2]}),
    (["design", "--prior-range", "0.4", "2"], {"prior_range": [0.4, 2]}),
    (["design", "--world", "nowhere"], {"world": "nowhere"}),
    (["design", "--overlap", "0.2", "0.6"], {"overlap": [0.2, 0.6]}),
    (["design", "--loss", "cubic"], {"loss": "cubic"}),
    (["design", "--paradigm", "none"], {"paradigm": "none"}),
    (["design", "--method", "magic"], {"method": "magic"}),
    (["design", "--lipschitz", "-1"], {"lipschitz": -1}),
    (["design", "--tolerance", "-1"], {"tolerance": -1}),
    (["design", "--rounds", "0"], {"rounds": 0}),
    (["design", "--epsilon", "0.1", "--rounds", "3"], {"epsilon": 0.1, "rounds": 3}),
    (["certify", "nope"], {"rule": "nope"}),
    (["certify", "minimax", "--agents", "0"], {"rule": "minimax", "agents": 0}),
    (["certify", "minimax", "--tolerance", "7"], {"rule": "minimax", "tolerance": 7}),
    (["certify", "minimax", "--loss", "cubic"], {"rule": "minimax", "loss": "cubic"}),
    (["certify", "minimax", "--fraction", "0.1"], {"rule": "minimax", "fraction": 0.1}),
    (["certify", "minimax", "--paradigm", "ratio"], {"rule": "minimax", "paradigm": "ratio"}),
]


@pytest.mark.parametrize(
    ("command", "options"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_wrong_options_get_the_sentence_of_the_command(
    server: Server,
    command: list[str],
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    before = len(server.call("GET", "jobs").json()["jobs"])
    path = "designs" if command[0] == "design" else "certificates"
    response = server.call("POST", path, json=options)
    assert response.status_code == 422, response.text
    assert len(server.call("GET", "jobs").json()["jobs"]) == before
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["robustpool", *command])
    with pytest.raises(SystemExit, match=r"^2$"):
        main()
    sentence = capsys.readouterr().err.strip().removeprefix("robustpool: ")
    assert response.json()["detail"] == sentence


@pytest.mark.parametrize(
    ("path", "options", "sentence"),
    [
        ("designs", {"agent": 2}, "there is no option 'agent'; the options are world, agents, prior_range,"),
        ("designs", {"agents": "2"}, "agents must be a whole number, at least 0 and at most 1000000000; it is '2'."),
        ("designs", {"agents": True}, "agents must be a whole number, at least 0 and at most 1000000000; it is True."),
        ("designs", {"loss": ["square"]}, "loss must be a text; it is ['square']."),
        ("designs", {"tolerance": "small"}, "tolerance must be a number; it is 'small'."),
        ("designs", {"prior_range": 0.5}, "prior_range must be a pair, from low to high; it is 0.5."),
        ("designs", {"symmetric": 1}, "symmetric must be true or false; it is 1."),
        ("designs", {"priors": [4]}, "priors must be a whole number or continuous; it is [4]."),
        ("designs", {"family": "/etc/passwd"}, "family must be the JSON object of a file; it is '/etc/passwd'."),
        (
            "designs",
            {"family": {}, "agents": 2},
            "--agents is for a world with a name; --family has its own structures.",
        ),
        ("designs", {"family": {"format": "x"}}, "the family must have the field 'states'; it has 'format'."),
        ("designs", {"canonical": "/etc/x.json"}, "canonical must be a name; '/etc/x.json' is a file, which belongs"),
        ("certificates", {}, "give a rule or a design: the one is missing, or both are there."),
        ("certificates", {"rule": "/etc/x.json"}, "rule must be a name; '/etc/x.json' is a file, which belongs"),
        ("certificates", {"rule": 7}, "rule must be a text; it is 7."),
        ("certificates", {"design": {"a": 1}}, "'the design' is not a design: format must be 'robustpool-design/1'"),
        ("certificates", {"design": 7}, "design must be the JSON object of a file; it is '7'."),
    ],
)
def test_options_of_the_wrong_kind_are_refused(
    server: Server, path: str, options: dict[str, Any], sentence: str
) -> None:
    response = server.call("POST", path, json=options)
    assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")
    assert response.json()["detail"].startswith(sentence)


@pytest.mark.parametrize("id", ["..%2f..", "0" * 16, "x", "%00", "'--"])
def test_forged_ids_and_names_are_not_there(server: Server, id: str) -> None:
    for method, path in [
        ("GET", f"designs/{id}"),
        ("GET", f"jobs/{id}/events"),
        ("DELETE", f"certificates/{id}"),
        ("POST", f"designs/{id}/pause"),
        ("POST", f"jobs/{id}/resume"),
        ("GET", f"jobs/{id}/files/design.json"),
    ]:
        assert server.call(method, path).status_code == 404, (method, path)
    done = next(job for job in server.call("GET", "jobs").json()["jobs"] if job["state"] == "done")
    assert server.call("GET", f"jobs/{done['id']}/files/{id}").status_code == 404
    assert server.call("GET", f"jobs/{done['id']}/files/..%2f..%2fjobs.sqlite").status_code == 404
    response = server.call("POST", "certificates", json={"design": id})
    assert response.status_code == 404


def test_a_design_is_no_certificate(server: Server) -> None:
    id = post(server, "designs", **SMALL)["id"]
    assert server.call("GET", f"certificates/{id}").json()["detail"] == f"there is no certificate '{id}'."
    wait(server, id, ended)
    assert server.call("DELETE", f"designs/{id}").json() == {"id": id, "state": "removed"}
    assert server.call("GET", f"designs/{id}").status_code == 404


def test_cancelling_frees_the_worker_and_a_full_queue_is_said(server: Server) -> None:
    long = GAME | {"rounds": 1_000_000}
    first = post(server, "designs", **long)["id"]
    waiting = [post(server, "designs", **long)["id"] for _ in range(2)]
    full = server.call("POST", "designs", json=long)
    assert (full.status_code, full.headers["retry-after"]) == (429, "10")
    assert full.json()["detail"] == "2 jobs are waiting, which is the limit here; try again later."
    assert server.call("GET", f"jobs/{waiting[1]}").json()["waiting"] == 1
    early = server.call("POST", "certificates", json={"design": first})
    assert early.json()["detail"] == f"design must be the id of a design that is done; '{first}' is running."
    wait(server, first, under_way)
    began = time.monotonic()
    assert server.call("DELETE", f"designs/{first}").json()["state"] == "cancelled"
    assert server.call("GET", f"designs/{waiting[0]}").json()["state"] == "running"
    assert time.monotonic() - began < 2
    for id in waiting:
        assert server.call("DELETE", f"designs/{id}").json()["state"] == "cancelled"
    paused = server.call("POST", f"designs/{first}/resume")
    assert (paused.status_code, paused.json()["detail"]) == (
        409,
        f"the design '{first}' cannot continue: it is cancelled.",
    )


def test_pausing_changes_nothing(server: Server, rounds: int, undisturbed: dict[str, Any]) -> None:
    id = post(server, "designs", **GAME, rounds=rounds)["id"]
    before = wait(server, id, under_way)["progress"]["round"]
    assert server.call("POST", f"designs/{id}/pause").json()["state"] == "paused"
    assert wait(server, post(server, "designs", **SMALL)["id"], ended)["state"] == "done"  # the worker is free
    assert server.call("POST", f"designs/{id}/resume").json()["state"] == "running"
    first = wait(server, id, lambda job: job["progress"].get("round", 0) > before or ended(job))
    assert first["progress"].get("round", rounds) > before
    job = wait(server, id, ended)
    assert (job["state"], job["result"]["rounds"]) == ("done", rounds)
    assert essence(saved_design(server, id)) == undisturbed


def test_killed_workers_and_a_killed_server_lose_little(
    tmp_path: Path, rounds: int, undisturbed: dict[str, Any]
) -> None:
    with serving(tmp_path, checkpoint_seconds=0.2) as first:
        id = post(first, "designs", **GAME, rounds=rounds)["id"]
        wait(first, id, lambda job: job["progress"].get("round", 0) > rounds / 5)
        checkpoint = tmp_path / "jobs" / id / "checkpoint.npz"
        assert checkpoint.exists()
        for process in workers(first):
            os.kill(process, signal.SIGKILL)
        job = wait(first, id, lambda job: job["progress"].get("round", 0) > rounds / 2 or ended(job))
        assert job["state"] == "running"
        doomed = workers(first)
        first.kill()
        end = time.monotonic() + 10
        while any(map(alive, doomed)):  # no orphan computes on
            assert time.monotonic() < end, "a worker outlives its server"
            time.sleep(0.02)
    with np.load(checkpoint) as saved:
        reached = int(saved["round"])
    assert reached > rounds / 5
    with serving(tmp_path) as second:
        job = wait(second, id, lambda job: job["state"] == "running" or ended(job))
        assert job["state"] == "running"
        told = job["progress"]["round"]  # known at once, and at most a second older than what was reached
        job = wait(second, id, lambda job: job["progress"].get("round") != told or ended(job))
        assert (
            job["progress"].get("round", rounds) >= reached
        )  # it goes on from the checkpoint; after all rounds none is told
        job = wait(second, id, ended)
        assert (job["state"], job["result"]["rounds"]) == ("done", rounds)
        design = saved_design(second, id)
        assert essence(design) == undisturbed
        steps = design["trace"]["round"]
        assert steps == sorted(set(steps))  # the trace goes on where the checkpoint was
        id = post(second, "designs", **GAME | {"rounds": 1_000_000})["id"]
        with httpx.stream("GET", f"{second.url}api/v1/jobs/{id}/events", timeout=20) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 1000"
            second.process.send_signal(signal.SIGINT)
            assert list(lines)[-1] == ""  # an open stream does not keep the server
        second.process.wait(10)
        assert second.process.stderr is not None
        assert second.process.stderr.read() == "robustpool: stopped before there was a result.\n"


@pytest.mark.usefixtures("server")
def test_two_servers_cannot_share_a_folder(folder: Path) -> None:
    second = run_robustpool("serve", "--port", "0", "--data", str(folder))
    assert second.returncode == 2
    assert second.stderr == (
        f"robustpool: another server keeps its jobs in {str(folder)!r}; stop it, or give another folder.\n"
    )
