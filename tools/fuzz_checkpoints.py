"""Hand-made checkpoints for `fuzz_files.py`: small jobs, changes that are signed again, and what may become of them.

A job that continues from a changed checkpoint may refuse it, set it aside, or go on. It must not claim what is false: the bounds
of a design are compared with those of the undisturbed run, and a certificate is verified.
"""

from __future__ import annotations

import io
import json
import math
import sys
import tempfile
import warnings
import zipfile
import zlib
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from changes import ODD, TOKENS, change_place, check_size, damaged, places

import robustpool as rp
from robustpool.certificates.certify import certification
from robustpool.checkpoints import HASH, JOB, SIGN, TREE, VERSION, CheckpointWarning, _hash
from robustpool.families.family_file import EXAMPLES
from robustpool.families.worlds import make_world

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

CLOSE, SEARCHED = 1e-6, 1e-3
"""By how much the bounds of two runs may cross: what is measured, and what is searched."""

LARGEST = 1_000_000
ODD_NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, 1e300, -1e300, 1e18, np.nan, np.inf, -np.inf]


@dataclass(frozen=True)
class Job:
    """Some work: what saves a checkpoint early on, what continues from one, and what is wrong with a result."""

    begin: Callable[[Path], object]
    resume: Callable[[Path, Any], Any]
    fault: Callable[[Any, Any], str | None]  # of a result, beside the undisturbed one


# ---------------------------------------------------------------------------------------------------------------- designs


def design(family: Any, last: int = 1, resume: dict[str, Any] | None = None, **options: Any) -> Job:
    """A design that is stopped after so many rounds, and has some more to go."""
    then = {"tolerance": 1e-6, "rounds": 6} if resume is None else resume
    first = then if "epsilon" in then else {**then, "tolerance": 0.0}

    def stop(state: Any, _: int) -> None:
        if state.round == last:
            raise KeyboardInterrupt

    return Job(
        lambda path: rp.solve(family, checkpoint=path, progress=stop, **options, **first),
        lambda path, how: rp.solve(family, checkpoint=path, resume=how, **options, **then),
        _design_fault,
    )


def _design_fault(solution: rp.Solution, whole: rp.Solution) -> str | None:
    """Bounds that cannot both be true, or an aggregator that breaks what it was asked to respect."""
    slack = SEARCHED if whole.searched else CLOSE
    if solution.lower > whole.upper + slack:
        return f"the lower bound {solution.lower!r} lies above {whole.upper!r}"
    if solution.upper < whole.lower - slack:
        return f"the upper bound {solution.upper!r} lies below {whole.lower!r}"
    if solution.converged and solution.settings.epsilon is None and solution.gap > 2e-3:
        return f"it converged with a gap of {solution.gap!r}"
    weights = solution.mixture.weights
    if not ((weights >= 0).all() and abs(weights.sum() - 1) < CLOSE):
        return "the mixture is none"
    solution._repr_html_()
    solution.design._repr_html_()
    return None


# ----------------------------------------------------------------------------------------------------------- certificates


def certificate(rule: Any, family: Any, tolerance: float, steps: int) -> Job:
    """A proof that is stopped after some steps."""
    game: dict[str, Any] = {"family": family, "tolerance": tolerance}

    def begin(path: Path) -> None:
        with closing(certification(rule, checkpoint=path, checkpoint_seconds=0.0, **game)) as some:
            for number, _ in enumerate(some, 1):
                if number == steps:
                    return

    def resume(path: Path, how: Any) -> rp.Certificate:
        return rp.certify(rule, checkpoint=path, resume=how, **game)

    return Job(begin, resume, _certificate_fault)


def _certificate_fault(made: rp.Certificate, whole: rp.Certificate) -> str | None:
    verdict = rp.verify(made.data)
    if not verdict.verified:
        return f"a certificate is not accepted: {verdict.sentence}"
    upper, most = (math.inf if each.upper is None else each.upper for each in (made, whole))
    return "bounds that cannot both be true" if upper < whole.lower or made.lower > most else None


# ----------------------------------------------------------------------------------------------------------- reproduction


def reproduction() -> Job:
    """Table 1 with all of its rows but one, and the numbers of a figure; made up, as nobody reads them as a proof."""
    from robustpool.reproduction import run
    from robustpool.reproduction.figures.convergence import SOLVERS, Convergence
    from robustpool.reproduction.table_1 import Row

    rows = {name: Row(name, name, None, 0.1, 0.1, 0.2, f"{name}.json") for name in ("mean", "minimax")}
    trace = {"round": [1.0, 2.0], "seconds": [0.1, 0.2], "lower": [0.1, 0.2], "upper": [0.4, 0.3]}
    made = {"N": 4, "M": 10} | {f"{solver}_{name}": values for solver in SOLVERS for name, values in trace.items()}

    class Quick(Convergence):
        def numbers(self, bench: Any) -> Any:  # noqa: ARG002
            return made

    figure = Quick()
    run.FIGURES = (figure,)
    run.table_1 = lambda bench: (bench.rows_before.get(name, row) for name, row in rows.items())

    def begin(path: Path) -> None:
        for result in run.reproduction(run.Reproduction(run.FULL, path.parent), "all"):
            if result.numbers:
                (path.parent / "checkpoints" / "parts.npz").rename(path)
                return

    def resume(path: Path, how: Any) -> run.Reproduction:  # noqa: ARG001
        (path.parent / "checkpoints").mkdir()
        path.rename(path.parent / "checkpoints" / "parts.npz")
        return run.reproduce("all", path.parent, resume=True)

    return Job(begin, resume, lambda result, _: None if result.finished else "it did not finish")


# ------------------------------------------------------------------------------------------------------------------ jobs


@cache
def jobs() -> dict[str, Job]:
    """Every kind of job that saves checkpoints, as small as it can be."""
    independent = rp.ConditionallyIndependent
    small, weather = independent(2, 4, 6), rp.load_family(EXAMPLES / "weather.json")
    weights: dict[str, Any] = {"method": "multiplicative-weights"}
    loose = {"tolerance": 1e-3, "rounds": 4}
    all_jobs = {
        "grid": design(small),
        "slopes": design(small, lipschitz=1.5),
        "monotone": design(independent(2, 3, 4, (0.2, 0.7)), restrictions=[rp.Monotone()]),
        "three agents": design(independent(3, 3, 4)),
        "any prior": design(independent(2, 4, None, (0.2, 0.7))),
        "log loss": design(small, loss="log"),
        "canonical": design(small, resume={"tolerance": 1e-4, "rounds": 6, "canonical": "smooth"}),
        "continuous": design(independent(2, 2, None), nature="continuous", resume=loose),
        "listed": design(weather),
        "ratio": design(weather, paradigm="ratio"),
        "weights": design(small, 8, {"tolerance": 1e-3, "rounds": 60}, **weights),
        "theory": design(independent(2, 2, 3), 100, {"epsilon": 0.4}, **weights),
    }
    for name in ("common-source", "partial-information", "neglect", "identical", "correlated", "second-question"):
        options: dict[str, Any] = {"reports": 4} if name in ("common-source", "neglect", "identical") else {}
        all_jobs[name] = design(make_world(name, options), resume=loose)
    ranges = {"mean": (0.3, 0.4), "arieli-tuned": (0.4, 0.42)}
    all_jobs |= {rule: certificate(rule, independent(2, None, None, ranges[rule]), 1e-2, 1) for rule in ranges}
    rough = rp.GridAggregator(np.array([[0.1, 0.3], [0.6, 0.9]]))
    all_jobs["table"] = certificate(rough, independent(2, None, None, (0.3, 0.35)), 1e-3, 2)
    all_jobs["tails"] = certificate("mean", None, 1e-2, 8)
    all_jobs["many"] = certificate("mean", independent(3, None, None, (0.45, 0.55)), 1e-4, 2)
    all_jobs["reproduction"] = reproduction()
    return all_jobs


@cache
def begun() -> dict[str, bytes]:
    """The checkpoint of each job."""
    saved = {}
    for name, job in jobs().items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.npz"
            job.begin(path)
            saved[name] = path.read_bytes()
    return saved


@cache
def undisturbed() -> dict[str, Any]:
    """The result of each job, by the hash that its checkpoint has."""
    results = {}
    for name, content in begun().items():
        result, _ = _resumed(jobs()[name], content, True)
        results[_job_of(content)] = jobs()[name], result
    return results


def _job_of(content: bytes) -> str:
    """The hash of the job that a checkpoint is for; empty if it cannot be read."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return str(archive[JOB])
    except Exception:  # noqa: BLE001  # whatever is in it
        return ""


def _resumed(job: Job, content: bytes, how: Any) -> tuple[Any, list[str]]:
    """What a job comes to from a checkpoint, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        path.write_bytes(content)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", CheckpointWarning)
            result = job.resume(path, how)
    return result, [str(each.message) for each in told]


def prepare() -> None:
    """Make all checkpoints and results, before the time is taken."""
    undisturbed()


def use_checkpoint(file: str) -> tuple[str, Callable[[], str | None]]:
    """What `design --resume`, `certify --resume`, `reproduce --resume` and `sweep --resume` do with a checkpoint."""
    content = Path(file).read_bytes()
    number = zlib.crc32(content)
    known = undisturbed()
    job, whole = known.get(_job_of(content)) or list(known.values())[number % len(known)]
    result, told = _resumed(job, content, True if number & 1024 else "auto")
    assert all(sentence.isprintable() and len(sentence) < 2000 for sentence in told), told
    return "refused" if told else "read", partial(job.fault, result, whole)


# --------------------------------------------------------------------------------------------------------------- changes


def seeds() -> list[bytes]:
    """A checkpoint of each job."""
    return list(begun().values())


def changed(content: bytes, rng: random.Random) -> bytes:
    """Some bytes, or some members of the archive, which is signed again."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            members = {name: archive[name] for name in archive.files}
            members = {name: member for name, member in members.items() if isinstance(member, np.ndarray)}
    except Exception:  # noqa: BLE001  # kept for what it was, and now changed as bytes
        return damaged(content, rng, TOKENS)
    if rng.random() < 0.08 or TREE not in members:
        return damaged(content, rng, TOKENS)
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        _change_member(members, rng)
    if rng.random() < 0.97:
        members.pop(SIGN, None)
        members.pop(HASH, None)
        members = {SIGN: np.array(VERSION), HASH: np.array(_hash(members)), **members}
    written = _written(members, rng)
    return written if len(written) < LARGEST else damaged(content, rng, TOKENS)


def _change_member(members: dict[str, Any], rng: random.Random) -> None:
    """One change of the tree, of an array, or of which arrays there are."""
    name, way = rng.choice(list(members)), rng.random()
    if way < 0.25 and TREE in members:
        _change_tree(members, rng)
    elif way < 0.3 and len(members) > 1:
        del members[name]
    elif way < 0.35:
        members[rng.choice(["", "x", "é", "../x", *members])] = members[name]
    elif way < 0.4:
        members[rng.choice(list(members))] = rng.choice(ODD_ARRAYS)(rng)
    else:
        arrays = [each for each in members if each not in (SIGN, HASH, JOB, TREE)]
        name = rng.choice(arrays) if arrays and rng.random() < 0.97 else name
        members[name] = changed_array(members[name], rng)


def _change_tree(members: dict[str, Any], rng: random.Random) -> None:
    try:
        tree = json.loads(str(members[TREE]))
        if found := places(tree):
            change_place(tree, *rng.choice(found), rng)
        check_size(tree)
        members[TREE] = np.array(json.dumps(tree)[:LARGEST].encode("utf-8", "replace").decode())
    except (ValueError, RecursionError):
        members[TREE] = np.array(json.dumps(rng.choice(ODD[:20])))


ODD_ARRAYS: list[Callable[[random.Random], Any]] = [
    lambda _: np.zeros(0),
    lambda _: np.zeros((0, 5)),
    lambda _: np.zeros((3, 0)),
    lambda _: np.array("text"),
    lambda _: np.array(["a", "b"]),
    lambda _: np.array(b"\xff"),
    lambda _: np.array(True),
    lambda _: np.array("2020-01-01", dtype="datetime64[D]"),
    lambda _: np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]),
    lambda _: np.zeros(4, dtype="V0"),
    lambda _: np.array(1 + 2j),
    lambda _: np.array(2**63, dtype=np.uint64),
    lambda rng: np.zeros((1,) * rng.choice([3, 8, 32])),
    lambda rng: np.array(rng.choice([0, 1, -1, 7, 10**9, 2**62])),
    lambda rng: np.array(rng.choice(ODD_NUMBERS)),
    lambda rng: np.full(rng.choice([1, 2, 7, 5000]), rng.choice(ODD_NUMBERS)),
]


def changed_array(array: Any, rng: random.Random) -> Any:
    """Other numbers, another shape or another type."""
    try:
        with np.errstate(all="ignore"):
            return rng.choice(NUMBERS if rng.random() < 0.7 else SHAPES)(array, rng)
    except (TypeError, ValueError, IndexError, OverflowError, np.exceptions.AxisError):
        return rng.choice(ODD_ARRAYS)(rng)


def _set(array: Any, rng: random.Random, value: Callable[[Any], Any]) -> Any:
    changed = np.array(array)
    if changed.size:
        place = rng.randrange(changed.size)
        changed.reshape(-1)[place] = value(changed.reshape(-1)[place])
    return changed


def _row(array: Any, rng: random.Random, change: Callable[[Any], Any]) -> Any:
    changed = np.array(array)
    row = rng.randrange(len(changed))
    changed[row] = change(changed[row])
    return changed


NUMBERS: list[Callable[[Any, random.Random], Any]] = [
    lambda a, rng: _set(a, rng, lambda _: rng.choice(ODD_NUMBERS)),
    lambda a, rng: _set(a, rng, lambda _: rng.random()),
    lambda a, rng: _set(a, rng, lambda x: x + rng.choice([1, -1, 0.1, -0.1, 1e-3, 1e-9, 0.5])),
    lambda a, rng: _row(a, rng, lambda x: x + rng.choice([1, -1, 0.1, -0.1, 0.5])),
    lambda a, rng: _row(a, rng, lambda x: x[::-1]),
    lambda a, rng: a + a.dtype.type(rng.choice([1, -1, 0.1, -0.1, 1e-3, 1e-9])),
    lambda a, rng: a * a.dtype.type(rng.choice([-1, 0, 2, 0.5, 0.9, 1.1, 1e-3, 1e3, 1e300])),
    lambda a, rng: 1 - a,  # noqa: ARG005
    lambda a, rng: np.full_like(a, rng.choice([0, 1, 0.5, 1e-9])),
    lambda a, rng: np.array([rng.random() for _ in range(a.size)]).reshape(a.shape).astype(a.dtype),
    lambda a, rng: np.random.default_rng(rng.randrange(99)).permutation(a, axis=rng.randrange(a.ndim)),
    lambda a, rng: np.sort(a, axis=None).reshape(a.shape),  # noqa: ARG005
]
SHAPES: list[Callable[[Any, random.Random], Any]] = [
    lambda a, rng: a[: rng.randrange(len(a) + 1)],
    lambda a, rng: np.concatenate((a, a[: rng.choice([1, len(a)])])),
    lambda a, rng: np.concatenate((a, a), axis=rng.randrange(a.ndim)),
    lambda a, rng: np.repeat(a, rng.choice([2, 70, 1000]), axis=0),
    lambda a, rng: a.T,  # noqa: ARG005
    lambda a, rng: a.reshape(-1),  # noqa: ARG005
    lambda a, rng: a[None],  # noqa: ARG005
    lambda a, rng: a[..., None],  # noqa: ARG005
    lambda a, rng: a[..., : rng.randrange(a.shape[-1])],
    lambda a, rng: a.astype(rng.choice(["f4", "f2", ">f8", "i8", "i4", "u1", "c16", "U5", "S3", "?", "g"])),
    lambda a, rng: np.asfortranarray(a),  # noqa: ARG005
]


def _written(members: dict[str, Any], rng: random.Random) -> bytes:
    """An archive as NumPy writes it, or one as nobody does."""
    file, odd = io.BytesIO(), rng.random()
    method = zipfile.ZIP_DEFLATED if odd < 0.01 else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that come twice, and formats
        for name, array in members.items():
            archive.writestr(f"{name}.npy", _npy(array, rng if odd > 0.97 else None))
        if 0.01 <= odd < 0.02:
            archive.writestr(f"{rng.choice(list(members))}.npy", _npy(np.zeros(3), None))
        if 0.02 <= odd < 0.03:
            archive.writestr(rng.choice(["x", "/etc/x", "robustpool-tree"]), b"\x00" * 300)
    return file.getvalue()


def _npy(array: Any, rng: random.Random | None) -> bytes:
    """An array as NumPy writes it; with ``rng`` its header may lie."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=True)
    content = file.getvalue()
    if rng is None or rng.random() < 0.6:
        return content
    shape, lie = str(np.shape(array)).encode(), rng.choice(LIES)
    return content.replace(b"'shape': " + shape, b"'shape': " + lie).replace(b"'<f8'", rng.choice([b"'<f8'", b"'|O'"]))


LIES = [
    b"(10,)",
    b"(-1,)",
    b"(999999999,)",
    b"(99999999999,)",
    b"(9999999999999999999999,)",
    b"(" + b"1," * 70 + b")",
    b"(0, 99999999999)",
    b"('a',)",
    b"(" * 300,
    b"(1.5,)",
]
