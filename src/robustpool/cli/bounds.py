"""``robustpool rules``, ``worst-case``, ``certify`` and ``verify``: worst cases on record, searched, proved and re-checked."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, cast

from typer import Argument, Option

from ..verification.reading import STEPS
from .command import checkpoint_of, command
from .output import Answer
from .progress import progress_bar, share_bar
from .running import RunningOptions  # noqa: TC001  # typer looks at the types
from .worlds import WorldOptions  # noqa: TC001  # typer looks at the types

Rule = Annotated[str, Argument(help="A rule (see `robustpool rules`) or a design file.", show_default=False)]


@command
def rules() -> Answer:
    """List the rules: name, parameters, formula, source, worst-case regret and whether that is proved.

    \b
    Example:
      robustpool rules --json
    """
    from ..views import results

    return Answer(*results.rules())


@command
def worst_case(
    *,
    rule: Rule,
    world: WorldOptions,
    loss: Annotated[str, Option(help="square or log.")] = "square",
    seed: Annotated[int, Option(help="The same seed gives the same search.")] = 0,
    running: RunningOptions,
) -> Answer:
    """Search for the information structure on which a rule loses most to someone who knows the structure.

    Searches all priors and all reports of conditionally independent agents, or the structures of another --world. What
    it finds is a lower bound on the worst case: found, not proved.

    \b
    Examples:
      robustpool worst-case average-prior
      robustpool worst-case log-odds:alpha=0.6 --json
      robustpool worst-case design.json
    """
    from ..families.worst_case import worst_case as search
    from ..views import results

    searching = "searching for the worst structure"
    with running.in_use(), progress_bar(searching, doing=searching):
        worst = search(rule, world.of(rule), loss=loss, rng=seed)
    return Answer(*results.worst_case(rule, worst))


@command
def certify(
    *,
    rule: Rule,
    out: Annotated[
        str | None, Option("--out", "-o", help="Where to write the certificate.", show_default="CERT-<rule>.json")
    ] = None,
    world: WorldOptions,
    family: Annotated[str | None, Option(help="A family file; certify over its structures.")] = None,
    loss: Annotated[str, Option(help="square, or log for rules.")] = "square",
    paradigm: Annotated[
        str | None,
        Option(
            help="additive, absolute or ratio, for a rule on a finite family.", show_default="additive, or the design's"
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        Option(
            help="How far the proved bound may lie above the worst structure found.",
            show_default="1e-9 for functions of the summed log-odds, else 5e-7; 5e-5, 5e-4 and 5e-3 for 3, 4 and 5 agents",
        ),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue from the checkpoint next to the certificate.")] = False,
    running: RunningOptions,
) -> Answer:
    """Prove bounds on the worst-case regret, over all priors, all reports and any number of signals.

    The upper bound is proved with rigorous arithmetic, the lower bound by an explicit structure, and both can be re-checked
    with `robustpool verify`. With up to 100 agents, functions of the summed log-odds take seconds. `minimax` and `mean` take a
    minute or two with 3 agents, some minutes with 4 and up to half an hour with 5; with more agents, and for
    `median`, only lower bounds are proved. Ctrl-C and SIGTERM keep the best bound so far: before the first upper bound, the
    lower ones. --resume then continues from the checkpoint next to the certificate, also after a crash. Exit status 1: a bound
    was proved, but it lies further above the worst structure found than the tolerance.

    \b
    Examples:
      robustpool certify minimax
      robustpool certify design.json --out certificate.json
      robustpool certify log-odds:alpha=0.6 --prior-range 0.05 0.5
      robustpool certify minimax --agents 3
      robustpool certify minimax --agents 3 --resume
      robustpool certify minimax-log --loss log
    """
    from ..certificates.certify import certify as prove
    from ..checkpoints import remove_checkpoint
    from ..files import refuse_foreign
    from ..verification.verify import CERTIFICATE_FORMAT
    from ..views import results
    from ..views.progress import proof_so_far

    by_loss = "" if loss == "square" else f"-{loss}-loss"
    target = f"CERT-{_stem(rule, world)}{by_loss}.json" if out is None else out
    refuse_foreign("--out", target, CERTIFICATE_FORMAT, "a certificate")
    about: Any = family
    if family is not None:
        world.check_no_family(family)
    else:
        about = world.about(rule)
    began = time.perf_counter()
    checkpoint, last = checkpoint_of(target), cast("Any", None)
    of_priors = "{task.completed:,} of {task.total:,} intervals of priors"
    bar = progress_bar("{task.fields[bound]}", of_priors, total=1, bound="")
    with running.in_use(), bar as tell:

        def progress(state: Any) -> None:
            """Show the bound as it falls, and how many intervals of priors are left."""
            nonlocal last
            last = state
            bound, priors = proof_so_far(state)
            tell(f"{bound}, {priors}", completed=state.done, total=state.done + state.left, bound=bound)

        game: dict[str, Any] = {"loss": loss, "paradigm": paradigm, "tolerance": tolerance}
        certificate = prove(rule, about, **game, progress=progress, checkpoint=checkpoint, resume=resume)
    certificate.save(target)
    finished, seconds = last.left == 0, time.perf_counter() - began
    if finished or last.obstacle is not None:
        remove_checkpoint(checkpoint)  # there is nothing left to resume
    left = str(checkpoint) if checkpoint.exists() else None
    about = {"finished": finished, "seconds": seconds, "obstacle": last.obstacle, "checkpoint": left}
    return Answer(*results.certificate(rule, certificate, target, **about), finished)


def _stem(rule: str, world: WorldOptions) -> str:
    """The part of a certificate's file name that distinguishes it.

    >>> _stem("log-odds:alpha=0.6", WorldOptions(world="neglect", agents=3, prior_range=(0.1, 0.5), neglect=(0.75, 0.75)))
    'log-odds-alpha=0.6-neglect-3-agents-0.1-to-0.5-neglect-0.75-to-0.75'
    """
    parts = [Path(rule).stem if rule.endswith(".json") else rule.replace(":", "-").replace(",", "-")]
    parts += [] if world.world is None else [world.world]
    for option, value in world.given.items():
        name = option.replace("_", "-")
        if isinstance(value, int):
            parts.append(f"{value}-{name}")
        else:
            parts += [] if option == "prior_range" else [name]
            parts.append("-to-".join(f"{end:.12g}" for end in (value if isinstance(value, tuple) else (value,))))
    return "-".join(parts)


@command
def verify(
    certificate: Annotated[str, Argument(help="A file that `robustpool certify` wrote.")],
    budget: Annotated[
        int, Option(min=1, help="How much work the check may take, in steps of about a microsecond.")
    ] = STEPS,
) -> Answer:
    """Re-check every bound of a certificate from the file alone, without the code that made it.

    Shows each claim that was proved. A label is shown separately; nothing is proved about it. Exit status 1: not
    verified, with a sentence that says which claim does not hold, or that the check needs more than the budget.

    \b
    Examples:
      robustpool verify CERT-minimax.json
      robustpool verify CERT-design.json --budget 1000000000
    """
    from ..verification.verify import verify as check
    from ..views import results

    began = time.perf_counter()
    with share_bar() as bar:
        verdict = check(certificate, lambda share: bar("re-checking the certificate", share), budget=budget)
    return Answer(*results.verdict(verdict, time.perf_counter() - began), verdict.verified)
