"""The job core: a queue, limits, workers that die, and jobs that outlive their server."""

from __future__ import annotations

import asyncio
import os
import re
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobs_for_tests import KINDS
from robustpool.errors import InputError
from robustpool.web.jobs.manager import Jobs
from robustpool.web.jobs.store import Job
from robustpool.web.problems import RequestError
from robustpool.web.settings import MB, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find the kinds of this folder."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)


@asynccontextmanager
async def working(data: Path, **limits: Any) -> AsyncIterator[Jobs]:
    """Jobs in a folder, until the block ends."""
    jobs = Jobs(Settings(data=data, **limits), KINDS)
    await jobs.start()
    try:
        yield jobs
    finally:
        await jobs.stop()


async def until(true: Callable[[], Any], seconds: float = 20) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become true"
        await asyncio.sleep(0.01)


def alive(process: int) -> bool:
    """Whether a process is there and computes: a zombie is not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_job_is_done_and_leaves_its_files(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path) as jobs:
            id = jobs.submit("count", {"to": 20})
            seen = [job async for job in jobs.events(id)]
            assert isinstance(seen[0], Job)
            assert (seen[0].state, seen[-1].state) == ("running", "done")  # type: ignore[union-attr]
            steps = [job.progress["step"] for job in seen if job is not None and job.progress]
            assert steps == sorted(steps)
            assert len(steps) >= 2
            job = jobs.get(id)
            assert job.result is not None
            assert job.result["count"] == 20
            assert 0.3 < job.seconds < 60
            assert jobs.file(id, "count.csv").read_text() == "=1+1\n"
            assert [each.id for each in jobs.recent("count")] == [id]
            await jobs.remove(id)
            assert not jobs.folder(id).exists()
            with pytest.raises(RequestError, match=f"^there is no job '{id}'.$"):
                jobs.get(id)

    asyncio.run(scenario())


def test_names_and_ids_of_clients_are_never_paths(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path) as jobs:
            id = jobs.submit("count", {"to": 1})
            await jobs.finished(id, 20)
            for name in ("../checkpoint", "..", "", "/etc/passwd", "checkpoint"):
                with pytest.raises(
                    RequestError, match=rf"^the job '{id}' has no file {re.escape(repr(name))}; it has count.csv"
                ):
                    jobs.file(id, name)
            for forged in ("..", f"../jobs/{id}", "", "' OR 1=1 --", id.upper() + "x"):
                with pytest.raises(RequestError, match=r"^there is no job "):
                    jobs.file(forged, "count.csv")
            assert re.fullmatch("[0-9a-f]{16}", id)

    asyncio.run(scenario())


def test_short_jobs_pass_long_ones_and_a_full_queue_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path, workers=1, queue=1) as jobs:
            first = jobs.submit("count", {"to": 1000})
            second = jobs.submit("count", {"to": 1})
            assert (jobs.get(first).state, jobs.get(second).state) == ("running", "queued")
            assert (jobs.place(first), jobs.place(second)) == (None, 0)
            with pytest.raises(RequestError, match=r"^1 jobs are waiting, which is the limit here") as full:
                jobs.submit("count", {"to": 1})
            assert (full.value.status, full.value.headers) == (429, {"Retry-After": "10"})
            answers = [await jobs.ask("upload", {}, {"data.csv": text}) for text in (b"one", b"two")]
            assert [answer["text"] for answer in answers] == ["one", "two"]
            assert answers[0]["infinity"] is None
            assert jobs.get(first).state == "running"
            assert jobs.recent("upload") == []  # nothing is left of them
            assert [each.name for each in (tmp_path / "jobs").iterdir() if each.name not in (first, second)] == []
            await jobs.cancel(first)
            assert (await jobs.finished(second, 20)).state == "done"

    asyncio.run(scenario())


def test_uploads_are_not_kept_and_a_worker_is_used_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path) as jobs:
            ids = []
            for _ in range(3):
                ids.append(jobs.submit("upload", {}, {"data.csv": b"text"}))
                assert (await jobs.finished(ids[-1], 20)).state == "done"
            assert not (jobs.folder(ids[0]) / "uploads").exists()
            results = [jobs.get(id).result or {} for id in ids]
            assert len({result["process"] for result in results}) < 3

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", ["count", "stubborn"])
def test_a_cancelled_job_frees_its_worker_within_two_seconds(tmp_path: Path, kind: str) -> None:
    async def scenario() -> None:
        async with working(tmp_path, workers=1) as jobs:
            id = jobs.submit(kind, {"to": 10_000})
            await until(lambda: jobs.get(id).progress)
            waits = jobs.submit("count", {"to": 1})
            process = jobs._running[id].worker.process.pid  # type: ignore[union-attr]
            began = time.monotonic()
            job = await jobs.cancel(id)
            assert job.state == "cancelled"
            assert not alive(process)
            assert jobs.get(waits).state == "running"
            assert time.monotonic() - began < 2
            assert (await jobs.finished(waits, 20)).state == "done"

    asyncio.run(scenario())


def test_a_job_that_pauses_continues_where_it_stopped(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path, workers=1) as jobs:
            id = jobs.submit("count", {"to": 100})
            await until(lambda: jobs.get(id).progress)
            paused = await jobs.pause(id)
            assert paused.state == "paused"
            assert (await jobs.pause(id)).state == "paused"
            assert jobs.count()["running"] == 0
            await jobs.resume(id)
            await jobs.resume(id)
            job = await jobs.finished(id, 30)
            assert job.result is not None
            assert job.result["from"] >= paused.progress["step"]
            assert job.seconds > paused.seconds
            with pytest.raises(RequestError, match=f"^the count '{id}' cannot continue: it is done.$"):
                await jobs.resume(id)
            with pytest.raises(RequestError, match=f"^the count '{id}' cannot pause: it is done.$"):
                await jobs.pause(id)
            assert (await jobs.cancel(id)).state == "done"

    asyncio.run(scenario())


def test_what_cannot_pause_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path) as jobs:
            id = jobs.submit("dying", {"times": 0})
            with pytest.raises(RequestError, match=r"^a dying cannot pause; cancel it.$"):
                await jobs.pause(id)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("kind", "limit", "sentence"),
    [
        ("hungry", {"job_memory": 200 * MB}, "the job needs more memory than it may have here (200 MB)."),
        ("stubborn", {"job_seconds": 1.5}, "the job took longer than it may here (1.5 seconds)."),
    ],
)
def test_limits_of_time_and_memory(tmp_path: Path, kind: str, limit: dict[str, Any], sentence: str) -> None:
    async def scenario() -> None:
        async with working(tmp_path, **limit) as jobs:
            job = await jobs.finished(jobs.submit(kind, {}), 30)
            assert (job.state, job.error) == ("failed", sentence)

    asyncio.run(scenario())


def test_errors_of_the_library_are_told_and_others_are_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with working(tmp_path) as jobs:
            with pytest.raises(InputError, match=r"^agents must be few.$"):
                await jobs.ask("wrong", {"sentence": "agents must be few."})
            with pytest.raises(RequestError, match=r"^the job failed because of an error in the server") as other:
                await jobs.ask("wrong", {})
            assert other.value.status == 500

    asyncio.run(scenario())
    assert "the secret of the server" in capfd.readouterr().err


def test_a_worker_that_dies_is_replaced_but_not_for_ever(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path) as jobs:
            twice, thrice = jobs.submit("dying", {"times": 2}), jobs.submit("dying", {"times": 3})
            assert (await jobs.finished(twice, 30)).result == {"deaths": 2}
            job = await jobs.finished(thrice, 30)
            assert (job.state, job.error) == ("failed", "the process that did the work died 3 times.")

    asyncio.run(scenario())


def test_the_next_server_continues(tmp_path: Path) -> None:
    """Also what the last one did not stop properly: then the states in the store are as they were."""

    async def first() -> tuple[str, str, int]:
        async with working(tmp_path, workers=1) as jobs:
            id, waiting = jobs.submit("count", {"to": 60}), jobs.submit("count", {"to": 1})
            await until(lambda: jobs.get(id).progress)
            process = jobs._running[id].worker.process.pid  # type: ignore[union-attr]
            with pytest.raises(InputError, match=r"^another server keeps its jobs in '.*'; stop it, or give another"):
                Jobs(jobs.settings, KINDS).open()
        return id, waiting, process

    async def second(id: str, waiting: str) -> None:
        async with working(tmp_path) as jobs:
            job = await jobs.finished(id, 30)
            assert job.result is not None
            assert job.result["from"] > 0
            assert (await jobs.finished(waiting, 30)).state == "done"

    id, waiting, process = asyncio.run(first())
    assert not alive(process)
    asyncio.run(second(id, waiting))


def test_only_the_latest_jobs_are_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path, kept_jobs=2) as jobs:
            ids = []
            for _ in range(4):
                ids.append(jobs.submit("upload", {}, {"data.csv": b""}))
                await jobs.finished(ids[-1], 20)
            assert [job.id for job in jobs.recent("upload")] == [ids[3], ids[2]]
            assert not jobs.folder(ids[0]).exists()

    asyncio.run(scenario())


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"^jobs cannot be kept in '.*file/x' \(Not a directory\)"):
        Jobs(Settings(data=tmp_path / "file" / "x")).open()
    (tmp_path / "jobs.sqlite").write_text("no database" * 100)
    with pytest.raises(InputError, match=r"^the jobs in '.*jobs.sqlite' cannot be read \(file is not a database\)"):
        Jobs(Settings(data=tmp_path)).open()


def test_a_job_that_is_cancelled_at_once_frees_its_place(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with working(tmp_path, workers=1) as jobs:
            id = jobs.submit("stubborn", {})
            assert (await jobs.cancel(id)).state == "cancelled"
            assert jobs.count()["running"] == 0

    asyncio.run(scenario())


def test_an_upload_that_cannot_be_kept_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    async def scenario() -> None:
        async with working(tmp_path) as jobs:
            monkeypatch.setattr(Path, "write_bytes", full)
            with pytest.raises(
                RequestError, match=r"^the job cannot be kept on the disk of the server \(No space left"
            ):
                jobs.submit("count", {"to": 1}, {"table": b"people's data"})
            assert list((tmp_path / "jobs").iterdir()) == []

    asyncio.run(scenario())


def test_folders_of_jobs_that_nobody_knows_are_removed(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "jobs" / "0123456789abcdef" / "uploads").mkdir(parents=True)
        async with working(tmp_path):
            assert list((tmp_path / "jobs").iterdir()) == []

    asyncio.run(scenario())
