"""The jobs of a server: a queue, workers, and what everybody may ask about a job."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..problems import RequestError
from .kinds import KINDS
from .process import Worker
from .store import CANCELLED, DONE, ENDED, FAILED, PAUSED, QUEUED, RUNNING, Job, Store

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from ..settings import Settings
    from .kinds import Kind

MOST_DEATHS = 3
"""A job whose worker dies so often is not tried again."""

MOST_USES = 100
REUSE_SECONDS = 30.0
"""A worker is replaced after so many jobs, or after one that took so long: then its memory is in pieces."""

MOST_SPARE = 2
"""Workers that wait for work."""

PAUSE_SECONDS = 5.0
"""A job that has not stopped by then goes back to its last checkpoint."""

PATIENCE = 0.9
"""The share of the time of a request for which it waits for its job; then it says so, before it is cut off."""

HEARTBEAT = 10.0
SAVE_EVERY = 1.0
"""Seconds between two writings of the progress."""


@dataclass
class Running:
    """A job that a worker is doing; ``wanted`` is the state that somebody asked for."""

    began: float = field(default_factory=time.monotonic)
    worker: Worker | None = None
    wanted: str | None = None
    task: asyncio.Task[None] | None = None
    saved: float = 0.0


class Jobs:
    """All jobs, of this server and of those before it with the same folder."""

    def __init__(self, settings: Settings, kinds: Mapping[str, Kind] = KINDS) -> None:
        self.settings = settings
        self.kinds = kinds
        self._store: Store | None = None
        self._queue: list[str] = []
        self._running: dict[str, Running] = {}
        self._live: dict[str, Job] = {}  # queued or running, with the latest progress
        self._spare: list[Worker] = []
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._preparing = False
        self._closing = False

    # --- the life of the server ---------------------------------------------------------------------------------------

    def open(self) -> None:
        """Take the folder, or say that another server has it."""
        if self._store is None:
            self._store = Store(self.settings.data)

    async def start(self) -> None:
        """Continue what ran when the last server ended, and prepare a worker."""
        self.open()
        self._closing = False
        self._remove_strangers()
        for job in self.store.all(RUNNING, QUEUED):
            if job.kind not in self.kinds:
                self._change(replace(job, state=FAILED, error=f"this version has no jobs of the kind {job.kind!r}."))
                continue
            self._change(replace(job, state=QUEUED))
            self._queue.append(job.id)
        self._dispatch()

    def close_streams(self) -> None:
        """End all streams of events, so that the server can stop."""
        self._closing = True
        for events in self._watchers.values():
            for event in events:
                event.set()

    async def stop(self) -> None:
        """Stop the workers, designs at a checkpoint. In the store the jobs still run: the next server continues them."""
        self.close_streams()
        for id, run in self._running.items():
            run.wanted = RUNNING
            if run.worker is not None and self.kinds[self._live[id].kind].pausable:
                run.worker.interrupt()
        tasks = [run.task for run in self._running.values() if run.task is not None]
        if any(self.kinds[self._live[id].kind].pausable for id in self._running):
            await asyncio.wait(tasks, timeout=2.0)
        for each in [*tasks, *self._background]:
            each.cancel()
        await asyncio.gather(*tasks, *self._background, return_exceptions=True)
        for worker in self._spare:
            await worker.end()
        self._spare.clear()
        self.store.close()
        self._store = None

    @property
    def store(self) -> Store:
        """The table of jobs."""
        assert self._store is not None, "the jobs are not open"
        return self._store

    # --- what everybody may ask ---------------------------------------------------------------------------------------

    def submit(
        self, kind: str, options: dict[str, Any], files: Mapping[str, bytes] | None = None, *, title: str = ""
    ) -> str:
        """Put a job into the queue, with files for it by names that the server chose; the answer is its id."""
        self._check_room(kind)
        self._prune()
        job = Job(secrets.token_hex(8), kind, options, time.time(), title)
        folder = self.folder(job.id)
        try:
            folder.mkdir(parents=True, mode=0o700)
            if files:
                (folder / "uploads").mkdir()
                for name, content in files.items():
                    (folder / "uploads" / name).write_bytes(content)
            self._enqueue(job)
        except (OSError, sqlite3.Error) as error:
            shutil.rmtree(folder, ignore_errors=True)  # people's data are not left behind
            why = getattr(error, "strerror", None) or error
            raise RequestError(507, f"the job cannot be kept on the disk of the server ({why}).") from None
        return job.id

    def get(self, id: str, kind: str | None = None) -> Job:
        """A job as it stands, with the time that it has run."""
        job = self._live.get(id) or self.store.get(id)
        if job is None or kind not in (None, job.kind):
            raise RequestError(404, f"there is no {kind or 'job'} {id!r}.")
        return self._timed(job)

    def recent(self, *kinds: str, most: int = 20) -> list[Job]:
        """The latest jobs, the newest first."""
        return [self._timed(self._live.get(job.id, job)) for job in self.store.recent(kinds, most)]

    def place(self, id: str) -> int | None:
        """How many jobs are before this one in the queue; None if it does not wait."""
        return self._queue.index(id) if id in self._queue else None

    async def finished(self, id: str, seconds: float) -> Job:
        """Wait for the end of a job, but not longer than this; the answer is the job as it stands then."""
        try:
            async with asyncio.timeout(seconds), aclosing(self.events(id)) as events:
                async for job in events:
                    if job is not None and job.ended:
                        return job
        except TimeoutError:
            pass
        return self.get(id)

    async def ask(self, kind: str, options: dict[str, Any], files: Mapping[str, bytes] | None = None) -> dict[str, Any]:
        """The result of a short job, which leaves nothing behind; its failure is an error here."""
        id = self.submit(kind, options, files)
        try:
            return self.result(await self.finished(id, PATIENCE * self.settings.request_seconds))
        finally:
            await self.remove(id)

    def result(self, job: Job) -> dict[str, Any]:
        """The result of a job that has ended; if it failed, the reason is raised."""
        if job.state == DONE and job.result is not None:
            return job.result
        if job.state == FAILED:
            if job.status == 422:
                raise InputError(job.error)
            raise RequestError(job.status or 500, job.error or "")
        if job.state == CANCELLED:
            raise RequestError(409, f"the job {job.id!r} was cancelled.")
        raise RequestError(
            429,
            f"the answer took longer than {self.settings.request_seconds:g} seconds; `Prefer: respond-async` does not wait.",
            {"Retry-After": "10"},
        )

    async def events(self, id: str) -> AsyncGenerator[Job | None]:
        """The job now, then after each change until it ends; None as a sign of life when nothing changes."""
        self.get(id)
        changed = asyncio.Event()
        watchers = self._watchers.setdefault(id, set())
        watchers.add(changed)
        try:
            while not self._closing:
                changed.clear()
                try:
                    job = self.get(id)
                except RequestError:  # it was removed
                    return
                yield job
                if job.ended:
                    return
                while not await _set_within(changed, HEARTBEAT):
                    yield None
        finally:
            watchers.discard(changed)
            if not watchers:
                self._watchers.pop(id, None)

    async def cancel(self, id: str) -> Job:
        """End a job that has not ended; its worker is free when this returns."""
        job = self.get(id)
        if not job.ended:
            await self._halt(id, CANCELLED)
        return self.get(id)

    async def pause(self, id: str) -> Job:
        """Stop a job at a checkpoint, and let another one have its worker."""
        job = self.get(id)
        if not self.kinds[job.kind].pausable:
            raise RequestError(409, f"a {job.kind} cannot pause; cancel it.")
        if job.state not in (QUEUED, RUNNING, PAUSED):
            raise RequestError(409, f"the {job.kind} {id!r} cannot pause: it is {job.state}.")
        if job.state != PAUSED:
            await self._halt(id, PAUSED)
        return self.get(id)

    async def resume(self, id: str) -> Job:
        """Put a job that pauses into the queue again."""
        job = self.get(id)
        if job.state in (QUEUED, RUNNING):
            return job
        if job.state != PAUSED:
            raise RequestError(409, f"the {job.kind} {id!r} cannot continue: it is {job.state}.")
        self._check_room(job.kind)
        self._enqueue(replace(job, state=QUEUED))
        return self.get(id)

    async def remove(self, id: str) -> None:
        """Cancel a job if it has not ended, and forget it with its files."""
        await self.cancel(id)
        self.store.remove(id)
        self._notify(id)
        await asyncio.to_thread(shutil.rmtree, self.folder(id), ignore_errors=True)

    def files(self, id: str) -> dict[str, Path]:
        """The files that a job left, by name."""
        folder = self.folder(id) / "results"
        return {path.name: path for path in sorted(folder.iterdir())} if folder.is_dir() else {}

    def file(self, id: str, name: str) -> Path:
        """One of them. The name is looked up in the list: it never becomes a path."""
        files = self.files(self.get(id).id)
        if name not in files:
            raise RequestError(404, f"the job {id!r} has no file {name!r}; it has {', '.join(files) or 'none'}.")
        return files[name]

    def folder(self, id: str) -> Path:
        """The folder of a job that is known."""
        return self.settings.data / "jobs" / id

    def count(self) -> dict[str, int]:
        """How many jobs wait and run, and how many workers do nothing: for the metrics."""
        return {"queued": len(self._queue), "running": len(self._running), "spare": len(self._spare)}

    # --- the queue ----------------------------------------------------------------------------------------------------

    def _check_room(self, kind: str) -> None:
        short = self.kinds[kind].short
        waiting = sum(self.kinds[self._live[id].kind].short == short for id in self._queue)
        if waiting >= self.settings.queue:
            raise RequestError(
                429, f"{waiting} jobs are waiting, which is the limit here; try again later.", {"Retry-After": "10"}
            )

    def _enqueue(self, job: Job) -> None:
        self.store.save(job)  # first: what cannot be saved does not wait
        self._queue.append(job.id)
        self._change(job)
        self._dispatch()

    def _dispatch(self) -> None:
        """Start what can start, in the order of the queue; then prepare a worker for the next one."""
        for id in list(self._queue):
            if self._has_worker(self.kinds[self._live[id].kind]):
                self._queue.remove(id)
                self._running[id] = run = Running()
                self._change(replace(self._live[id], state=RUNNING))
                run.task = asyncio.create_task(self._run(id, run))
        if not self._spare and not self._preparing and not self._closing:
            self._preparing = True
            self._later(self._prepare())

    def _has_worker(self, kind: Kind) -> bool:
        """Long jobs have so many workers; short ones may take those, too, and have one for themselves."""
        long = sum(not self.kinds[self._live[id].kind].short for id in self._running)
        short = len(self._running) - long
        if kind.short:
            return len(self._running) <= self.settings.workers
        return long + max(0, short - 1) < self.settings.workers

    async def _prepare(self) -> None:
        try:
            worker = await self._new_worker()
            if worker is not None:
                self._spare.append(worker)
        finally:
            self._preparing = False

    async def _new_worker(self) -> Worker | None:
        """A worker with its imports done; None if it does not start."""
        worker = await Worker.start(sorted({kind.work.partition(":")[0] for kind in self.kinds.values()}))
        try:
            return worker if await worker.ready() else None
        except asyncio.CancelledError:
            await worker.end(grace=0)
            raise

    # --- one job ------------------------------------------------------------------------------------------------------

    async def _run(self, id: str, run: Running) -> None:
        """Let a worker do a job, and note how it ended."""
        outcome: dict[str, Any] = {}
        try:
            left = self.settings.job_seconds - self._live[id].seconds
            async with asyncio.timeout(left):
                outcome = await self._work(id, run)
        except TimeoutError:
            limit = f"the job took longer than it may here ({self.settings.job_seconds:g} seconds)."
            outcome = {"error": limit, "status": 422}
        finally:
            job = self._timed(self._live[id])
            await self._release(run, reuse=outcome.get("fit", False) and time.monotonic() - run.began < REUSE_SECONDS)
            del self._running[id]
            if run.wanted != RUNNING:  # else the server stops, and the next one goes on
                self._finish(self._outcome(job, outcome, run.wanted))
                self._dispatch()

    async def _work(self, id: str, run: Running) -> dict[str, Any]:
        """What the worker says at the end; nothing if it dies."""
        while run.worker is None and self._spare:
            spare = self._spare.pop(0)
            run.worker = spare if spare.alive else None
        if run.worker is None:
            run.worker = await self._new_worker()
        if run.worker is None:
            return {
                "error": "the process that does the work does not start; the log of the server says more.",
                "status": 500,
            }
        self._dispatch()  # prepares the next one
        if run.wanted is not None:
            return {}
        job = self._live[id]
        run.began = time.monotonic()
        order = {
            "work": self.kinds[job.kind].work,
            "options": job.options,
            "folder": str(self.folder(id)),
            "memory": self.settings.job_memory,
            "checkpoint_seconds": self.settings.checkpoint_seconds,
        }
        async for message in run.worker.work(order):
            if "progress" not in message:
                return message
            now = time.monotonic()
            save = now - run.saved >= SAVE_EVERY
            run.saved = now if save else run.saved
            self._change(replace(self._live[id], progress=message["progress"]), save=save)
        return {}

    async def _release(self, run: Running, *, reuse: bool) -> None:
        """Keep the worker for the next job, or end it."""
        if run.worker is None:
            return
        if reuse and run.wanted is None and run.worker.jobs < MOST_USES and len(self._spare) < MOST_SPARE:
            self._spare.append(run.worker)
        else:
            await run.worker.end()

    def _outcome(self, job: Job, outcome: dict[str, Any], wanted: str | None) -> Job:
        """The job after its worker stopped."""
        if wanted == CANCELLED:
            return replace(job, state=CANCELLED)
        if "result" in outcome:
            return replace(job, state=DONE, result=outcome["result"])
        if "error" in outcome:
            return replace(job, state=FAILED, error=outcome["error"], status=outcome["status"])
        if wanted == PAUSED:
            return replace(job, state=PAUSED)
        if job.deaths + 1 < MOST_DEATHS:
            return replace(job, state=QUEUED, deaths=job.deaths + 1)
        return replace(job, state=FAILED, error=f"the process that did the work died {MOST_DEATHS} times.", status=500)

    def _finish(self, job: Job) -> None:
        if job.state == QUEUED:
            self._queue.insert(0, job.id)
        if job.ended:
            shutil.rmtree(self.folder(job.id) / "uploads", ignore_errors=True)  # people's data are not kept
        self._change(job)

    async def _halt(self, id: str, state: str) -> None:
        """Bring a job that waits, runs or pauses into another state."""
        run = self._running.get(id)
        if run is None:
            if id in self._queue:
                self._queue.remove(id)
            self._finish(replace(self.get(id), state=state))
            return
        run.wanted = state
        assert run.task is not None
        if run.worker is None:
            await asyncio.sleep(0)  # a task that is cancelled before its first step would never note its end
            if run.worker is None:
                run.task.cancel()  # its worker is not there yet
        if state == PAUSED and run.worker is not None:
            run.worker.interrupt()
            await asyncio.wait([run.task], timeout=PAUSE_SECONDS)
        if run.worker is not None and not run.task.done():
            await run.worker.end()
        await asyncio.wait([run.task])

    # --- what is known ------------------------------------------------------------------------------------------------

    def _timed(self, job: Job) -> Job:
        """The job with the seconds that its worker has been at it."""
        run = self._running.get(job.id)
        return job if run is None else replace(job, seconds=job.seconds + time.monotonic() - run.began)

    def _change(self, job: Job, *, save: bool = True) -> None:
        if job.state in (QUEUED, RUNNING):
            self._live[job.id] = job
        else:
            self._live.pop(job.id, None)
        if save:
            self.store.save(self._timed(job))
        self._notify(job.id)

    def _notify(self, id: str) -> None:
        for event in self._watchers.get(id, ()):
            event.set()

    def _prune(self) -> None:
        """Forget the oldest jobs that have ended."""
        ended = self.store.ids(*ENDED)
        for id in ended[: max(0, len(ended) - self.settings.kept_jobs + 1)]:
            self.store.remove(id)
            shutil.rmtree(self.folder(id), ignore_errors=True)

    def _remove_strangers(self) -> None:
        """Remove folders of jobs that the store does not know: a server that died may have left them."""
        folder = self.settings.data / "jobs"
        for path in folder.iterdir() if folder.is_dir() else ():
            if self.store.get(path.name) is None:
                shutil.rmtree(path, ignore_errors=True)

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
