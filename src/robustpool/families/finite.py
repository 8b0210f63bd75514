"""A finite family of information structures, as flat arrays [Guo2024, Section 4].

A structure is the list of signal profiles that can come; each of these *support points* has Pr[s, omega] for every
state and the number of the report profile x(s) that it shows. Two support points of one structure may show the same
profile: the omniscient aggregator tells them apart, a function of the reports cannot. At two states a support point
takes 20 bytes.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks, html
from ..designs.records import ListedMixture
from ..errors import InputError, UnsupportedError
from ..numerics import merge_rounded, unique_rows
from ..structures.information_structure import InformationStructure, check_shape, shown_distribution
from ..structures.report_formats import Names, ReportFormat, ReportFunction, as_seen, report_format
from ..wording import counted
from .nature import NO_CONTINUUM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from ..typing import Floats, Integers
    from .finite_game import FiniteNature


SHOWN = 5
"""Structures, states and agents that a notebook shows."""


@dataclass(frozen=True, eq=False)
class FiniteFamily:
    """Finitely many structures over the same states and agents. Build one with a ``from_`` method.

    >>> certain = InformationStructure([[0.5, 0.0], [0.0, 0.5]], name="certain")
    >>> useless = InformationStructure([[0.25, 0.25], [0.25, 0.25]], name="useless")
    >>> family = FiniteFamily.from_structures([certain, useless])
    >>> family.profiles[:, 0]
    array([0. , 0.5, 1. ])
    >>> len(family), family.names
    (2, ('certain', 'useless'))
    """

    states: tuple[str, ...]
    agents: tuple[str, ...]
    report: ReportFormat
    reports: Floats  # (profiles, agents, coordinates), in lexicographic order
    start: Integers  # (structures + 1,): structure t has the support points start[t]:start[t + 1]
    profile: NDArray[np.int32]  # (points,): the profile x(s) of a support point
    mass: Floats  # (points, states): Pr_theta[s, omega]
    names: tuple[str, ...] | None = None

    @classmethod
    def from_structures(
        cls,
        structures: Sequence[InformationStructure],
        *,
        report: str | ReportFunction | ReportFormat = "posterior",
        states: Sequence[str] | None = None,
        agents: Sequence[str] | None = None,
    ) -> FiniteFamily:
        """The family of the given structures; they need the same states and agents, not the same signals."""
        if len(structures) == 0:
            raise InputError("a family must have at least one structure; it is empty.")
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        first = structures[0]
        for number, structure in enumerate(structures):
            if (structure.states, structure.agents) != (first.states, first.agents):
                raise InputError(
                    f"structures of a family must have the same states and agents; structure {number} has "
                    f"{structure.states} states and {structure.agents} agents, structure 0 has {first.states} and {first.agents}."
                )
            groups[structure.joint.shape].append(number)
        named = any(structure.name is not None for structure in structures)
        names = tuple(structure.name or f"structure {number}" for number, structure in enumerate(structures))
        stacks = [(np.array(numbers), np.stack([structures[i].joint for i in numbers])) for numbers in groups.values()]
        return _flatten(stacks, report_format(report), states, agents, names if named else None)

    @classmethod
    def from_joints(
        cls,
        joints: ArrayLike,
        *,
        report: str | ReportFunction | ReportFormat = "posterior",
        states: Sequence[str] | None = None,
        agents: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
    ) -> FiniteFamily:
        """The family of many structures of one shape: ``joints[t, omega, s_1, ..., s_n]``, without a loop over t.

        >>> family = FiniteFamily.from_joints([[[0.5, 0], [0, 0.5]], [[0.2, 0.3], [0.1, 0.4]]])
        >>> len(family)
        2
        """
        if np.size(joints) == 0:
            raise InputError("a family must have at least one structure; it is empty.")
        array = checks.distributions("joints", joints, stacked=True)
        check_shape("a structure of joints", array.shape[1:])
        labels = None if names is None else _labels("names", names, len(array))
        return _flatten([(np.arange(len(array)), array)], report_format(report), states, agents, labels)

    def __len__(self) -> int:
        """The number of structures."""
        return len(self.start) - 1

    @property
    def profiles(self) -> Floats:
        """The report profiles as an aggregator takes them: (profiles, agents) or (profiles, agents, coordinates)."""
        return as_seen(self.reports)

    @property
    def structure_of_point(self) -> Integers:
        """For each support point, the number of its structure."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def name(self, structure: int) -> str:
        """What to call a structure in a sentence."""
        return self.names[structure] if self.names else f"structure {structure}"

    def record(self, numbers: Integers, weights: Floats, exchanged: tuple[str, ...]) -> ListedMixture:  # noqa: ARG002
        """See Structures."""
        structure = tuple(numbers.tolist())
        name = tuple(map(self.name, structure)) if self.names else None
        return ListedMixture(structure=structure, name=name, weight=weights)

    def __repr__(self) -> str:
        """How many there are of everything, in a line."""
        parts = ((len(self), "structure"), (len(self.states), "state"), (len(self.agents), "agent"))
        return f"FiniteFamily({', '.join(counted(*part) for part in (*parts, (len(self.reports), 'report profile')))})"

    def as_data(self) -> dict[str, Any]:
        """See Family."""
        return {
            "kind": "finite",
            "states": list(self.states),
            "agents": list(self.agents),
            "report": self.report.name,
            "structures": len(self),
            "fingerprint": self.fingerprint(),
        }

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002
        """See Family."""
        return counted(len(self), "structure")

    def nature(
        self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid"
    ) -> FiniteNature:
        """See Family."""
        if kind == "continuous":
            raise UnsupportedError(NO_CONTINUUM)
        return self.written_out(loss, paradigm, restrictions)

    def written_out(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction]) -> FiniteNature:
        """The structures are in a list already."""
        from .finite_game import FiniteNature, finite_game

        return FiniteNature(finite_game(self, loss, paradigm, restrictions), self)

    def _repr_html_(self) -> html.Html:
        """In a notebook: how many of what there are, and the first structures."""
        facts = [
            ("structures", f"{len(self):,}"),
            ("states", ", ".join(self.states[:SHOWN]) + (" ..." if len(self.states) > SHOWN else "")),
            ("agents", ", ".join(self.agents[:SHOWN]) + (" ..." if len(self.agents) > SHOWN else "")),
            ("reports", f"{self.report.name}, {len(self.reports):,} profiles"),
        ]
        masses = np.split(self.mass, self.start[1 : SHOWN + 1])[: min(len(self), SHOWN)]
        rows = [[self.name(t), shown_distribution(mass.sum(axis=0)), f"{len(mass):,}"] for t, mass in enumerate(masses)]
        shown = html.table(["structure", "prior", "signal profiles"], rows, len(self) - SHOWN, "structures")
        return html.card("Finite family", html.facts(facts), shown)

    def fingerprint(self) -> str:
        """A hash of everything that the game depends on."""
        digest = hashlib.sha256(repr((self.states, self.agents, self.report.name)).encode())
        for array in (self.reports, self.start, self.profile, self.mass):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def _labels(what: str, labels: Sequence[str] | None, count: int, default: str = "") -> tuple[str, ...]:
    if labels is None:
        return tuple(f"{default} {i}" for i in range(count))
    if len(labels) != count or len(set(labels)) != count:
        raise InputError(f"{what} must be {count} different names; they are {checks.shown(list(labels))}.")
    return tuple(labels)


def _flatten(
    stacks: list[tuple[Integers, Floats]],
    report: ReportFormat,
    states: Sequence[str] | None,
    agents: Sequence[str] | None,
    names: Names,
) -> FiniteFamily:
    """Support points of stacks (numbers of the structures, joints of one shape), in the order of the structures."""
    owners, masses, shown = zip(*(_support(numbers, joints, report, names) for numbers, joints in stacks), strict=True)
    if len({array.shape[2] for array in shown}) > 1:
        raise InputError(f"{report.name} must return reports of one length for all structures.")
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    mass = np.concatenate(masses)[order]
    distinct, coordinate = merge_rounded(np.concatenate(shown)[order])
    count, agent_count, width = coordinate.shape
    rows, profile = unique_rows(coordinate.reshape(count, -1))
    sizes = np.bincount(owner, minlength=sum(len(numbers) for numbers, _ in stacks))
    return FiniteFamily(
        states=_labels("states", states, mass.shape[1], "state"),
        agents=_labels("agents", agents, agent_count, "agent"),
        report=report,
        reports=checks.frozen(distinct[rows].reshape(-1, agent_count, width)),
        start=checks.frozen(np.concatenate(([0], np.cumsum(sizes)))),
        profile=checks.frozen(profile.astype(np.int32)),
        mass=checks.frozen(np.ascontiguousarray(mass)),
        names=names,
    )


def _support(numbers: Integers, joints: Floats, report: ReportFormat, names: Names) -> tuple[Integers, Floats, Floats]:
    """The signal profiles that can come: their structure, Pr[s, omega], and the reports (points, agents, coordinates)."""
    by_agent = [report.reports(joints, agent, numbers, names) for agent in range(joints.ndim - 2)]
    widths = {array.shape[2] for array in by_agent}
    if len(widths) > 1:
        raise InputError(
            f"{report.name} must return reports of one length for all agents; it returned {sorted(widths)}."
        )
    structure, *signals = np.nonzero(joints.any(axis=1))
    shown = np.stack([array[structure, signal] for array, signal in zip(by_agent, signals, strict=True)], axis=1)
    mass = np.moveaxis(joints, 1, -1)[(structure, *signals)]
    return numbers[structure], mass, shown
