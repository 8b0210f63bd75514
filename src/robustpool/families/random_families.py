"""Families drawn at random, for experiments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from .finite import FiniteFamily

if TYPE_CHECKING:
    from ..structures.report_formats import ReportFormat, ReportFunction
    from ..typing import Floats


def random_family(
    structures: int,
    *,
    states: int = 2,
    agents: int = 2,
    signals: int = 2,
    resolution: int | None = 12,
    report: str | ReportFunction | ReportFormat = "posterior",
    rng: int | np.random.Generator = 0,
) -> FiniteFamily:
    """Structures drawn independently and uniformly, the same ones for the same seed.

    With a ``resolution`` every Pr[omega, s] is a multiple of 1/resolution, so that reports are simple fractions which
    many structures share; with ``resolution=None`` the joint distributions are uniform on the simplex and hardly any
    two structures share a profile (then the game is easy: a profile gives its structure away).

    >>> family = random_family(1000, rng=1)
    >>> len(family), family.reports.shape
    (1000, (557, 2, 1))
    """
    joints = random_joints(structures, states=states, agents=agents, signals=signals, resolution=resolution, rng=rng)
    return FiniteFamily.from_joints(joints, report=report)


def random_joints(
    structures: int,
    *,
    states: int = 2,
    agents: int = 2,
    signals: int = 2,
    resolution: int | None = 12,
    rng: int | np.random.Generator = 0,
) -> Floats:
    """The joint distributions of ``random_family``, shape (structures, states, signals, ..., signals)."""
    structures = checks.whole("structures", structures, least=1)
    states, signals = checks.whole("states", states, least=2), checks.whole("signals", signals, least=1)
    shape = (states, *(signals,) * checks.whole("agents", agents, least=1, most=20))
    size = math.prod(shape)
    checks.fits_in_memory(f"{structures:,} structures with {size} probabilities each", 60.0 * structures * size)
    seed = rng if isinstance(rng, np.random.Generator) else checks.whole("rng", rng, least=0)
    generator = np.random.default_rng(seed)
    if resolution is None:
        joints = generator.dirichlet(np.ones(size), size=structures)
    else:
        resolution = checks.whole("resolution", resolution, least=1, most=10**9)
        joints = generator.multinomial(resolution, np.full(size, 1 / size), size=structures) / resolution
    return joints.reshape(structures, *shape)
