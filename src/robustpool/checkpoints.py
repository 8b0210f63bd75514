"""What a long job has reached, in a file, so that it goes on from there whatever ended it.

A checkpoint is a tree of objects, lists, numbers, texts and arrays in a NumPy archive without pickles, with the hash of the job that
it belongs to and of its own content. It is written whole, and the one before it is kept. One process works on a job at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
import zipfile
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from .errors import InputError
from .files import check_writable, write_bytes, write_whole
from .locks import HeldError, locked
from .processes import own_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .typing import FilePath

State = TypeVar("State")
Resume = bool | Literal["auto"]
"""Whether to continue from a checkpoint; "auto": if there is one."""

SIGN, HASH, JOB, TREE = (f"robustpool-{name}" for name in ("checkpoint", "hash", "job", "tree"))
VERSION = 2
SECONDS, SHARE = 1.0, 0.05
"""A state is saved after so many seconds, or so much later that saving takes this share of the time."""
PREVIOUS, DAMAGED, OTHER, LOCK = ".previous", ".damaged", ".other", ".lock"
"""How the names of the files beside a checkpoint end."""
ARRAY = "an array"
"""What stands in the tree in place of an array, with its place."""


_kept_here: ContextVar[Path | None] = ContextVar("kept_here", default=None)
"""The file that `keeping` holds for the work inside it, which need not take the lock again."""


class CheckpointWarning(UserWarning):
    """A checkpoint was set aside, or could not be saved; the work goes on."""


class DamagedError(Exception):
    """A file is no whole checkpoint; ``ours`` tells whether it begins as one."""

    def __init__(self, why: str, *, ours: bool = True) -> None:
        super().__init__(why)
        self.ours = ours


class _Saved(NamedTuple):
    job: str
    data: Any


def job_hash(*parts: Any) -> str:
    """A hash of all that a job depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()


class Checkpoint(Generic[State]):
    """The checkpoint of a job in a file, held by this process from ``with`` on; without a file, nothing is kept.

    ``job`` is the hash of all that decides the result; ``read`` makes a state of saved data, or raises an error if nobody can have
    saved them.
    """

    def __init__(self, path: FilePath | None, job: str, read: Callable[[Any], State], seconds: float = SECONDS) -> None:
        self.path = None if path is None else Path(path)
        self.job = job
        self._read = read
        self._seconds = seconds
        self._due = time.monotonic() + seconds
        self._held = ExitStack()
        self._told = False

    def __enter__(self) -> Self:
        """Take the job, or say who has it."""
        if self.path is not None:
            check_writable(self.path)  # say so now, not after hours
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                if self.path != _kept_here.get():
                    self._held.enter_context(locked(_beside(self.path, LOCK)))
            except HeldError as error:
                raise InputError(
                    f"{error.owner} is working with the checkpoint {str(self.path)!r}; wait for it, stop it, or give "
                    "another output."
                ) from None
            except OSError as error:
                raise InputError(f"{str(self.path)!r} cannot be written ({error.strerror or error}).") from None
        return self

    def __exit__(self, *_: object) -> None:
        """Let others have the job."""
        self._held.close()

    # ---------------------------------------------------------------------------------------------------------- reading

    def begin(self, resume: Resume, finished: Callable[[State], bool] = lambda _: False) -> State | None:
        """The state to go on from; None to begin at the beginning.

        A run that is to begin anew does not overwrite what an unfinished one of the same job saved. A damaged checkpoint, or that of
        another job, is renamed, and files of other kinds are left alone.
        """
        if self.path is None:
            return None
        previous = _beside(self.path, PREVIOUS)
        if previous.is_file() and not _is_ours(previous):
            raise InputError(
                f"{str(previous)!r} is not a checkpoint; it is left as it is: move it away, or give another output."
            )
        files = [path for path in (self.path, _beside(self.path, PREVIOUS)) if path.exists() and not path.is_fifo()]
        for number, file in enumerate(files):
            try:
                state = self._state(file)
            except DamagedError as error:
                before = any(map(_is_ours, files[number + 1 :]))
                if not before and (resume is True or not error.ours):
                    raise InputError(
                        f"{str(file)!r} is not a checkpoint, or a damaged one ({error}); it is left as it is: move it away, or give "
                        "another output."
                    ) from None
                then = "the one before it is used" if before else "the work begins again"
                self._aside(file, DAMAGED, f"is damaged ({error}); {then}")
                continue
            if state is None:
                other = "belongs to another family, version or settings"
                if resume is True:
                    raise InputError(f"{str(file)!r} {other}, so it cannot be resumed.")
                self._aside(file, OTHER, other)
                continue
            if not resume and not finished(state):
                raise InputError(
                    f"{str(file)!r} holds an unfinished run of this job; continue it with --resume (in Python: resume=True), or delete "
                    "the file to begin again."
                )
            return state if resume else None
        if resume is True:
            raise InputError(f"there is nothing to resume; {str(self.path)!r} does not exist.")
        return None

    def _state(self, file: Path) -> State | None:
        """The state in a file; None if it belongs to another job."""
        saved = _load(file)
        if saved.job != self.job:
            return None
        try:
            return self._read(saved.data)
        except Exception as error:
            raise DamagedError(str(error) if isinstance(error, InputError) else type(error).__name__) from error

    def _aside(self, file: Path, ending: str, why: str) -> None:
        """Rename a file, to a name that is free."""
        names = (_beside(file, ending + number) for number in ("", *(f".{k}" for k in range(2, 1000))))
        aside = next(name for name in names if not name.exists())
        file.replace(aside)
        warnings.warn(f"{str(file)!r} {why}; it was renamed to {aside.name!r}.", CheckpointWarning, stacklevel=3)

    # ---------------------------------------------------------------------------------------------------------- writing

    def offer(self, data: Callable[[], Any], *, now: bool = False) -> None:
        """Save the state if it is time, or in any case ``now``. A disk that is full is told once, and does not end the work."""
        if self.path is None or not (now or time.monotonic() >= self._due):
            return
        began = time.monotonic()
        try:
            _save(self.path, _Saved(self.job, data()))
        except InputError as error:
            if not self._told:
                self._told = True
                warnings.warn(f"no checkpoint: {error} The work goes on.", CheckpointWarning, stacklevel=2)
        after = time.monotonic()
        self._due = after + max(self._seconds, (after - began) / SHARE)

    def remove(self) -> None:
        """Forget what was saved: the result is there."""
        if self.path is not None:
            for file in (self.path, _beside(self.path, PREVIOUS)):
                with suppress(OSError):
                    if _is_ours(file):
                        file.unlink()


def remove_checkpoint(path: FilePath) -> None:
    """Remove a checkpoint and the one before it, unless somebody works with it."""
    with suppress(InputError), Checkpoint(path, "", lambda data: data) as saved:
        saved.remove()


def put_checkpoint(path: Path, content: bytes) -> None:
    """Save a checkpoint that was made elsewhere, unless somebody works with the file, or it is of another kind."""
    with suppress(InputError), Checkpoint(path, "", lambda data: data):
        if not path.exists() or _is_ours(path):
            write_bytes(path, content)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a checkpoint for all that is done with it inside the block, or say who has it."""
    with Checkpoint(path, "", lambda data: data):
        token = _kept_here.set(path)
        try:
            yield
        finally:
            _kept_here.reset(token)


@contextmanager
def keeping(path: Path) -> Iterator[Path]:
    """A file for a checkpoint, held for work that may be done anywhere.

    It is one of the same name in a temporary folder where the file cannot be had: on another machine, or if another process
    has it, such as a worker that was given up but goes on.
    """
    with ExitStack() as stack:
        try:
            here = path.parent.is_dir()
            if here:
                stack.enter_context(held(path))
        except InputError:
            here = False
        if not here:
            path = stack.enter_context(own_folder()) / path.name
            stack.enter_context(held(path))
        yield path


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _is_ours(path: Path) -> bool:
    """Whether a file begins as a checkpoint; an empty one is nobody's."""
    with path.open("rb") as file:
        beginning = file.read(200)
    return not beginning or (beginning[:2] == b"PK" and SIGN.encode() in beginning)


# ------------------------------------------------------------------------------------------------------------- the file


def _save(path: Path, saved: _Saved) -> None:
    arrays: dict[str, Any] = {}
    tree = json.dumps(_stored(saved.data, "", arrays))
    content = {JOB: np.array(saved.job), TREE: np.array(tree), **arrays}

    def write(partial: Path) -> None:
        with partial.open("wb") as file:
            signed: dict[str, Any] = {SIGN: np.array(VERSION), HASH: np.array(_hash(content)), **content}
            np.savez(file, allow_pickle=False, **signed)

    write_whole(path, write, keep=_beside(path, PREVIOUS))


def _load(path: Path) -> _Saved:
    """What a checkpoint holds."""
    try:
        ours = _is_ours(path)
        with path.open("rb") as file:
            _check_stored(file, os.fstat(file.fileno()).st_size)
            with np.load(file, allow_pickle=False) as archive:
                content = {name: archive[name] for name in archive.files}
        if int(content.pop(SIGN)) != VERSION:
            return _Saved("", None)
        if str(content.pop(HASH)) != _hash(content):
            raise DamagedError("its content does not match its hash")  # noqa: TRY301
        job, tree = str(content.pop(JOB)), json.loads(str(content.pop(TREE)))
        return _Saved(job, _restored(tree, content))
    except DamagedError:
        raise
    except Exception as error:
        raise DamagedError(type(error).__name__, ours=ours) from error


def _check_stored(file: Any, size: int) -> None:
    """Refuse an archive that would become larger than its file."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    if any(each.compress_type != zipfile.ZIP_STORED for each in entries) or sum(e.file_size for e in entries) > size:
        raise DamagedError("its parts are larger than it")
    file.seek(0)


def _hash(content: dict[str, Any]) -> str:
    """A hash of arrays by name."""
    digest = hashlib.sha256()
    for name, array in sorted(content.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _stored(value: Any, place: str, arrays: dict[str, Any]) -> Any:
    """A tree as JSON has it; its arrays are put aside, by their place."""
    if isinstance(value, dict):
        return {key: _stored(item, f"{place}.{key}", arrays) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_stored(item, f"{place}.{number}", arrays) for number, item in enumerate(value)]
    if isinstance(value, np.ndarray):
        name = place.removeprefix(".")
        arrays[name] = value
        return {ARRAY: name}
    return value.item() if isinstance(value, np.generic) else value


def _restored(tree: Any, arrays: dict[str, Any]) -> Any:
    """The tree with its arrays in place."""
    if isinstance(tree, dict):
        if tree.keys() == {ARRAY}:
            return arrays[tree[ARRAY]]
        return {key: _restored(item, arrays) for key, item in tree.items()}
    return [_restored(item, arrays) for item in tree] if isinstance(tree, list) else tree


def check(what: str, holds: bool | Iterable[bool]) -> None:
    """Refuse saved data that nobody can have saved; for those who read them."""
    if not (holds if isinstance(holds, bool) else all(holds)):
        raise InputError(f"{what} cannot be what was saved")
