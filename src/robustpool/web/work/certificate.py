"""A certificate as a job: the options of `robustpool certify`, with the design itself in place of its file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ...aggregators.rules import get_rule
from ...certificates.certify import certification, certify
from ...checkpoints import remove_checkpoint
from ...designs.design_file import DESIGN_FORMAT, read_design, unsealed
from ...errors import InputError
from ...families.asked_world import AskedWorld
from ...families.family_file import family_from_json
from ...families.world import World
from ...views import results
from ...views.progress import proof_so_far
from .. import options as read

if TYPE_CHECKING:
    from ...certificates.progress import Progress
    from ..jobs.task import Task

OPTIONS = {
    "rule": read.word,
    "design": read.content,
    **read.WORLD,
    "family": read.content,
    "loss": read.text,
    "paradigm": read.text,
    "tolerance": read.number,
}
PROVING = ("loss", "paradigm", "tolerance")


def check(task: Task) -> dict[str, Any]:
    """Refuse options that no proof can have; the work itself is not begun."""
    name, aggregator, family, proving = _asked(task.options)
    certification(aggregator, family, **proving)
    over = family.words() if isinstance(family, World) else None
    return {"title": ", ".join(filter(None, [name, over]))}


def run(task: Task) -> dict[str, Any]:
    """Prove the bounds, and write the certificate."""
    name, aggregator, family, proving = _asked(task.options)
    began, last = time.perf_counter(), None

    def progress(state: Progress) -> None:
        nonlocal last
        last = state
        bound, priors = proof_so_far(state)
        task.progress({"doing": bound, "left": priors, "share": state.done / max(1, state.done + state.left)})

    checkpoint = task.folder / "checkpoint.npz"
    certificate = certify(
        aggregator,
        family,
        **proving,
        progress=progress,
        checkpoint=checkpoint,
        checkpoint_seconds=task.checkpoint_seconds,
        resume="auto",
    )
    certificate.save(task.results / "certificate.json")
    remove_checkpoint(checkpoint)
    assert last is not None
    seconds = time.perf_counter() - began
    ending: dict[str, Any] = {"finished": last.left == 0, "seconds": seconds, "obstacle": last.obstacle}
    data, _ = results.certificate(name, certificate, "certificate.json", **ending)
    facts = results.certificate_facts(certificate, **ending)
    return data | {"facts": {name: text for name, text in facts.items() if text is not None}}


def _asked(given: dict[str, Any]) -> tuple[str, Any, Any, dict[str, Any]]:
    """The name of the rule, the aggregator, the family and the other options of `certify`."""
    options = read.read_options(given, OPTIONS)
    if ("rule" in options) == ("design" in options):
        raise InputError("give a rule or a design: the one is missing, or both are there.")
    if "rule" in options:
        name, aggregator = options["rule"], options["rule"]
        get_rule(name)
    else:
        aggregator = unsealed(options["design"], "the design", "design", DESIGN_FORMAT, read_design)
        name = aggregator.name
    world = AskedWorld(**{each: options[each] for each in read.WORLD if each in options})
    family: Any = options.get("family")
    if family is not None:
        world.check_no_family()
        family_from_json(family)
    else:
        family = world.about(aggregator)
    return name, aggregator, family, {each: options[each] for each in PROVING if each in options}
