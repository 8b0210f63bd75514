"""``robustpool random-family``: a family for experiments."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from .render import JsonFlag, show


def random_family(
    structures: Annotated[int, Option(help="How many structures.")] = 100,
    states: Annotated[int, Option(help="How many states.")] = 2,
    agents: Annotated[int, Option(help="How many agents.")] = 2,
    signals: Annotated[int, Option(help="How many signals each agent may get.")] = 2,
    resolution: Annotated[int, Option(help="Probabilities are multiples of 1/RESOLUTION.")] = 12,
    report: Annotated[str, Option(help="posterior, higher-order or decision.")] = "posterior",
    seed: Annotated[int, Option(help="The same seed gives the same family.")] = 0,
    out: Annotated[str, Option("--out", "-o", help="The family file to write.")] = "family.json",
    as_json: JsonFlag = False,
) -> None:
    """Draw a finite family of information structures at random and write it as a family file.

    \b
    Example:
      robustpool random-family --structures 1000 --seed 1 --out family.json
      robustpool design --family family.json
    """
    from ..families.family_file import FORMAT, save_family
    from ..families.random_families import random_joints
    from ..files import refuse_foreign
    from ..structures.information_structure import InformationStructure

    refuse_foreign("--out", out, FORMAT, "a family")
    joints = random_joints(structures, states=states, agents=agents, signals=signals, resolution=resolution, rng=seed)
    save_family([InformationStructure(joint) for joint in joints], out, report=report)
    show({"structures": structures, "output": out}, [f"{structures} structures are in {out}."], as_json=as_json)
