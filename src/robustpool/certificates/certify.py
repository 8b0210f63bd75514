"""Certify: choose how an aggregator can be proved, find the witnesses, and put the certificate together."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .. import __version__, checks
from ..checkpoints import SECONDS, Checkpoint, Resume, check, job_hash
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..designs.design import Design
from ..errors import InputError, UnfitWorkersError, UnsupportedError
from ..families.conditionally_independent import ConditionallyIndependent
from ..families.family_file import read_family_file
from ..families.finite import FiniteFamily
from ..families.world import World
from ..structures.information_structure import InformationStructure
from ..typing import FilePath
from ..verification.divergences import DIVERGENCES
from ..verification.reading import Refused
from ..verification.verify import verify
from .certifiable import describe
from .certificate import Certificate, label_of, write_certificate
from .common_source import prove_common_source
from .finite import finite_certificate
from .independent import prove_independent
from .neglect import prove_neglect
from .progress import Progress, Steps
from .saved_proofs import check_proof

Proof = Callable[[Any, Any, str, float | None, int, Any], Steps]
PROOFS: dict[str, Proof] = {
    "conditionally-independent": prove_independent,
    "common-source": prove_common_source,
    "neglect": prove_neglect,
}
"""By the kind of the world; of the others only lower bounds are proved."""

AnyFamily = World | FiniteFamily | FilePath | Mapping[str, Any] | Sequence[InformationStructure]


def certify(
    aggregator: AnyAggregator,
    family: AnyFamily | None = None,
    *,
    loss: str = "square",
    paradigm: str | None = None,
    tolerance: float | None = None,
    rng: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
    checkpoint: FilePath | None = None,
    checkpoint_seconds: float = SECONDS,
    resume: Resume = False,
) -> Certificate:
    """Prove bounds on the worst-case regret of an aggregator over all conditionally independent structures of a family.

    The aggregator is a rule, a design or a table; the family gives the number of agents and the range of the priors (two
    agents and all priors, or the design's own). A finite family (a family file, its parsed content, a `FiniteFamily` or the
    list of its structures) is certified by exact enumeration, for any ``paradigm``; a design has its own. The bounds are at most
    ``tolerance`` (5e-7; for functions of the summed log-odds 1e-9) apart, if the search finds structures that show it.
    For ``minimax`` and ``mean`` with three, four and five agents they are 5e-5, 5e-4 and 5e-3 apart, and the proof takes minutes.
    Other rules that are not functions of the summed log-odds have no upper bound for three or more agents; the lower
    ones are proved all the same. With the ``loss`` "log", upper bounds are proved for functions of the summed log-odds, with any
    number of agents, and lower ones for all rules. Ctrl-C keeps the bound that was reached.

    With a ``checkpoint`` file the intervals that are done are saved every ``checkpoint_seconds``, and ``resume=True`` continues
    from there to the same certificate as an uninterrupted run; ``resume="auto"`` does so if there is such a file. Without
    ``resume`` an unfinished run of the same proof is not overwritten: that is an error. Proofs of seconds save nothing.

    >>> certificate = certify("minimax")
    >>> certificate.upper, certificate.upper - certificate.lower < 1e-15
    (0.022542485937368562, True)
    """
    game: dict[str, Any] = {"loss": loss, "paradigm": paradigm, "tolerance": tolerance, "rng": rng}
    kept: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_seconds": checkpoint_seconds, "resume": resume}
    last: Progress | None = None
    try:
        with closing(certification(aggregator, family, **game, **kept)) as steps:
            for last in steps:
                progress(last)
    except KeyboardInterrupt:
        if last is None or last.certificate is None:
            raise
    assert last is not None
    if last.certificate is None:
        raise UnsupportedError("no bound could be proved for this aggregator; worst_case searches for its worst case.")
    return last.certificate()


def certification(
    aggregator: AnyAggregator,
    family: AnyFamily | None = None,
    *,
    loss: str = "square",
    paradigm: str | None = None,
    tolerance: float | None = None,
    rng: int = 0,
    checkpoint: FilePath | None = None,
    checkpoint_seconds: float = SECONDS,
    resume: Resume = False,
) -> Steps:
    """The same step by step, for those who want to watch."""
    if resume and checkpoint is None:
        raise InputError("resume needs a checkpoint file to continue from; checkpoint is None.")
    if tolerance is not None and not 0 < checks.number("tolerance", tolerance) < 1:
        raise InputError(f"tolerance must lie between 0 and 1; it is {tolerance!r}.")
    if loss not in DIVERGENCES:
        raise InputError(f"certificates are for the losses {' and '.join(DIVERGENCES)}; the loss is {loss!r}.")
    chosen, family = _asked(aggregator, family)
    if not isinstance(family, World):
        if loss != "square":
            raise UnsupportedError(f"a finite family is certified for the loss 'square' only; it is {loss!r}.")
        return _exact(chosen, family, paradigm)
    _check_design(chosen, paradigm, loss)
    proof: Proof = PROOFS.get(family.kind, _from_below)
    prove = partial(proof, chosen, family, loss, tolerance, rng)
    if checkpoint is None:
        return prove(None)
    job = _job(chosen, family, loss=loss, tolerance=tolerance, rng=rng)
    return _with_checkpoint(prove, Checkpoint(checkpoint, job, _saved, checkpoint_seconds), resume)


def _with_checkpoint(prove: Callable[[Any], Steps], checkpoint: Checkpoint[Any], resume: Resume) -> Steps:
    """The steps of a proof, saved as it goes on and when it ends, whatever ends it."""
    with checkpoint:
        start = checkpoint.begin(resume, lambda data: data["finished"])
        last, finished = None, False
        try:
            for last in prove(None if start is None else start["proof"]):
                if last.standing is not None:
                    checkpoint.offer(partial(_standing, last, finished=False))
                if start is None or last.certificate is None:
                    yield last
                else:
                    yield replace(last, certificate=partial(_checked, last.certificate, checkpoint))
            finished = True
        except InputError as error:
            if start is None or isinstance(error, UnfitWorkersError):
                raise
            raise _not_ours(checkpoint, str(error)) from None
        finally:
            if last is not None and last.standing is not None:
                checkpoint.offer(partial(_standing, last, finished=finished), now=True)


def _checked(make: Callable[[], Certificate], checkpoint: Checkpoint[Any]) -> Certificate:
    """The certificate of a proof that went on from a file: proved again from its own data, as those of a file are."""
    try:
        certificate = make()
    except Refused as refused:  # of a worst structure that is none
        raise _not_ours(checkpoint, str(refused)) from None
    verdict = verify(certificate.data, budget=sys.maxsize)
    if not verdict:
        raise _not_ours(checkpoint, verdict.sentence)
    return certificate


def _not_ours(checkpoint: Checkpoint[Any], why: str) -> InputError:
    return InputError(
        f"{str(checkpoint.path)!r} is not what this proof saved, or was changed ({why.rstrip('.')}); move it away, or give another output."
    )


def _standing(step: Progress, *, finished: bool) -> dict[str, Any]:
    assert step.standing is not None
    return {"finished": finished, "proof": step.standing()}


def _saved(data: Any) -> Any:
    """What a checkpoint holds, if somebody can have saved it."""
    check(
        "the data", isinstance(data, dict) and data.keys() == {"finished", "proof"} and type(data["finished"]) is bool
    )
    check_proof(data["proof"])
    return data


def _job(chosen: Any, family: World, **game: Any) -> str:
    """A hash of all that decides the certificate."""
    parts = [label_of(chosen), family.as_data(), game]
    with suppress(UnsupportedError):
        parts.append(describe(chosen, family.agents))
    return job_hash("certificate", __version__, *parts)


def _asked(aggregator: AnyAggregator, family: AnyFamily | None) -> tuple[Any, Any]:
    """The aggregator and the family that are meant."""
    chosen = as_aggregator(aggregator)
    if family is None:
        return chosen, _own_family(chosen)
    return chosen, read_family_file(family) if isinstance(family, (str, os.PathLike)) else family


def _own_family(chosen: Any) -> World:
    """What a design was made for, with any reports and any prior; two agents for a rule."""
    if not isinstance(chosen, Design):
        return ConditionallyIndependent(getattr(chosen, "agents", None) or 2, None, None)
    if not isinstance(chosen.family, World):
        raise InputError(f"{chosen.name} is for a finite family; give that family (certify DESIGN --family FILE.json).")
    if isinstance(chosen.family, ConditionallyIndependent):
        return replace(chosen.family, reports=None, priors=None)
    return chosen.family


def _check_design(chosen: Any, paradigm: str | None, loss: str) -> None:
    if paradigm not in (None, "additive"):
        raise UnsupportedError(
            f"independent agents are certified for the paradigm 'additive' only; it is {paradigm!r}."
        )
    if not isinstance(chosen, Design):
        return
    if loss != "square":
        raise UnsupportedError(f"a design is certified for the loss 'square' only; it is {loss!r}.")
    settings = chosen.settings
    for name, value, only in (("loss", settings.loss, "square"), ("paradigm", settings.paradigm, "additive")):
        if value != only:
            raise UnsupportedError(
                f"{chosen.name} was made for the {name} {value!r}; independent agents are certified for {only!r} only."
            )


def _exact(chosen: Any, family: Any, paradigm: str | None) -> Steps:
    parts = finite_certificate(chosen, family, paradigm=paradigm)
    upper, lower = parts["upper"]["bound"], parts["lower"]["bound"]
    yield Progress(upper, lower, 1, 0, partial(write_certificate, parts, label_of(chosen)))


def _from_below(
    chosen: Any,
    family: World,
    loss: str,
    tolerance: float | None,  # noqa: ARG001
    rng: int,  # noqa: ARG001
    saved: Any = None,  # noqa: ARG001
) -> Steps:
    """Lower bounds from some structures of a world; nothing is claimed about its other structures."""
    structures = family.hard_structures()
    if structures is None:
        raise UnsupportedError(
            f"no bound can be proved for {family.words()}; worst_case searches for the worst structure."
        )
    if isinstance(chosen, Design):
        raise UnsupportedError(
            f"a design for this world has no certificate; `certify RULE --world {family.kind}` proves the lower bound."
        )
    if loss != "square":
        raise UnsupportedError(
            f"the lower bound of this world is certified for the loss 'square' only; it is {loss!r}."
        )
    parts = finite_certificate(family.heard(chosen), structures, np.ones(len(structures["structures"])))
    del parts["upper"]  # it would be that of these structures only
    yield Progress(math.inf, parts["lower"]["bound"], 1, 0, partial(write_certificate, parts, label_of(chosen)))
