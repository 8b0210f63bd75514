"""Families of aggregators: what a table of forecasts must satisfy [Guo2024, Sections 3 and 6.3].

Restrictions combine: give several and the table meets all of them. ``Symmetric`` makes report profiles share a cell of
the table; ``Lipschitz`` and ``Monotone`` are *difference constraints* f[upper] - f[lower] <= slack between cells, for
every state's forecast; ``Constrained`` is any convex set that cvxpy can state.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import InputError, UnsupportedError
from ..numerics import merge_rounded, unique_rows
from ..structures.report_formats import as_seen
from .multisets import additions, multisets, ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..structures.report_formats import ReportFormat
    from ..typing import Booleans, Floats, Integers

MOST_PROFILES = 4000
"""Above this many profiles that do not form a grid, pairs of profiles are too many to look at."""


MOST_SYMMETRIC_AGENTS = 8


@dataclass(frozen=True)
class Lipschitz:
    """|f(x) - f(x')| <= L |x - x'|_1 for every state's forecast."""

    constant: float

    def __post_init__(self) -> None:
        """Check the constant."""
        object.__setattr__(self, "constant", checks.number("the Lipschitz constant", self.constant, above=0))

    def slacks(self, differences: Floats, ordered: int) -> Floats:  # noqa: ARG002
        """L |x' - x|_1 for differences x' - x of shape (..., agents, coordinates)."""
        return self.constant * np.abs(differences).sum(axis=(-1, -2))


@dataclass(frozen=True)
class Monotone:
    """f(x) <= f(x') whenever x <= x' in each agent's own probability of the second state, all else equal.

    With more than two states, give the number of a ``state``, from 0 on. Its forecast does not fall from x to x' if every
    agent finds it at least as likely in x', and no other state likelier. That is stated in cvxpy.
    """

    state: int | None = None

    def __repr__(self) -> str:
        """As it is written."""
        return "Monotone()" if self.state is None else f"Monotone(state={self.state})"

    def in_one_of(self, states: int) -> Constrained:
        """The same for more than two states, as constraints on the forecast of the state."""
        if self.state is None:
            raise UnsupportedError(
                "monotone needs two states, or the state to order by, such as Monotone(state=0): reports over more states "
                "have no order of their own."
            )
        state = checks.whole("state", self.state, least=0, most=states - 1)

        def rises(table: Any, reports: Floats) -> list[Any]:
            checks.fits_in_memory("a monotone table", 1.0 * len(reports) * reports.size)
            news = reports * np.where(np.arange(reports.shape[2]) == state, 1.0, -1.0)
            better = (news[:, None] <= news[None]).all(axis=(2, 3)) & ~np.eye(len(news), dtype=bool)
            direct = better & ~(better.astype(np.float32) @ better.astype(np.float32) > 0)  # the others follow
            lower, upper = np.nonzero(direct)
            return [table[lower, state] <= table[upper, state]] if len(lower) else []

        return Constrained(rises, f"monotone in state {state}")

    def slacks(self, differences: Floats, ordered: int) -> Floats:
        """0 where f(x') may not exceed f(x), that is where x' <= x; infinite elsewhere."""
        lower, same = differences[..., :ordered] <= 0, differences[..., ordered:] == 0
        return np.where(lower.all(axis=(-1, -2)) & same.all(axis=(-1, -2)), 0.0, np.inf)


@dataclass(frozen=True)
class Symmetric:
    """f does not change when the agents change places."""


@dataclass(frozen=True)
class Mirrored:
    """f(1 - x) = 1 - f(x): the two states are treated alike. For two states and posterior reports."""


@dataclass(frozen=True)
class Constrained:
    """Any convex set, stated as cvxpy constraints on the table of forecasts.

    ``function(table, reports)`` returns a list of constraints. ``table`` is a cvxpy expression with the forecast for
    each profile of ``reports``: shape (profiles,) for two states, else (profiles, states).

    >>> cautious = Constrained(lambda table, reports: [table >= 0.05, table <= 0.95], name="cautious")
    """

    function: Callable[[Any, Floats], Sequence[Any]]
    name: str = "constrained"

    def __post_init__(self) -> None:
        """Refuse what cannot be solved."""
        checks.extra("a constraint of your own", "cvxpy")

    def __repr__(self) -> str:
        """Its name is all that can be said of it."""
        return f"Constrained({self.name})"


Restriction = Lipschitz | Monotone | Symmetric | Mirrored | Constrained


@dataclass(frozen=True, eq=False)
class Differences:
    """f[upper[e]] - f[lower[e]] <= slack[e] for each e, between cells of a table."""

    lower: Integers
    upper: Integers
    slack: Floats

    def __len__(self) -> int:
        """The number of constraints."""
        return len(self.slack)

    def matrix(self, cells: int) -> Any:
        """G with (G f)[e] = f[upper[e]] - f[lower[e]], sparse, shape (constraints, cells)."""
        from scipy import sparse

        edge = np.arange(len(self))
        signs = np.repeat([1.0, -1.0], len(self))
        ends = (np.concatenate((edge, edge)), np.concatenate((self.upper, self.lower)))
        return sparse.csc_matrix((signs, ends), shape=(len(self), cells))

    def repaired(self, table: Floats, pinned: Booleans) -> Floats:
        """The same table with the solver's small violations taken out; it moves by no more than they add up to.

        Two states: raise f[lower] to f[upper] - slack around the pinned cells, then lower f[upper] to f[lower] + slack,
        each until nothing changes; pinned cells stay. More states: shrink towards the uniform forecast, which keeps
        each row a distribution; not where cells are pinned, which that would move.
        """
        if len(self) == 0 or (table.shape[1] > 2 and pinned.any()):
            return table
        if table.shape[1] > 2:
            jump = table[self.upper] - table[self.lower]
            shrink = min(1.0, float(np.min(self.slack[:, None] / np.maximum(jump, self.slack[:, None]))))
            return shrink * table + (1 - shrink) / table.shape[1]
        floor = _settled(np.maximum, np.where(pinned, table[:, 1], 0.0), self.lower, self.upper, -self.slack)
        second = _settled(np.minimum, np.maximum(table[:, 1], floor), self.upper, self.lower, self.slack)
        second = np.where(pinned, table[:, 1], np.clip(second, 0.0, 1.0))
        return np.stack((1.0 - second, second), axis=1)


def _settled(better: np.ufunc, values: Floats, to: Integers, of: Integers, gain: Floats) -> Floats:
    """values[to] = better(values[to], values[of] + gain), again and again until nothing changes."""
    while True:
        after = values.copy()
        better.at(after, to, values[of] + gain)
        if np.array_equal(after, values):
            return values
        values = after


@dataclass(frozen=True, eq=False)
class TableLayout:
    """Which profiles a table of forecasts answers, which of them share a cell, and how the cells bind each other."""

    reports: Floats  # (profiles, agents, coordinates): the family's, and all their images under symmetries
    cell: Integers  # (profiles,): the cell of a profile
    flipped: Booleans  # (profiles,): whether a profile says the mirror image of its cell, f = 1 - table
    balanced: Booleans  # (cells,): cells that are their own mirror image, so that they say 1/2
    cells: int
    of_family: Integers  # (profiles of the family,): their number among ``reports``
    differences: Differences
    constraints: tuple[Constrained, ...]

    def folded(self, profile: NDArray[Any], mass: Floats) -> tuple[NDArray[np.int32], Floats]:
        """The cells of profiles (...), and their masses (..., states) as the cells see them: flipped or balanced."""
        cell = self.cell[profile].astype(np.int32)
        if self.flipped.any() or self.balanced.any():
            mass = np.where(self.flipped[profile][..., None], mass[..., ::-1], mass)
            mass = np.where(self.balanced[cell][..., None], mass.mean(axis=-1, keepdims=True), mass)
        return cell, mass

    def spread(self, table: Floats) -> Floats:
        """A table (cells, states) as forecasts of every profile, shape (profiles, states)."""
        return np.where(self.flipped[:, None], table[self.cell][:, ::-1], table[self.cell])

    @property
    def first_profiles(self) -> Floats:
        """The first profile of each cell that is not flipped, as an aggregator takes it."""
        upright = np.flatnonzero(~self.flipped)
        _, first = np.unique(self.cell[upright], return_index=True)
        return as_seen(self.reports[upright[first]])

    def table_of(self, aggregator: Callable[[Floats], Floats]) -> Floats:
        """The table of an aggregator for two states: what it says at the first profiles."""
        second = aggregator(self.first_profiles)
        return np.where(self.balanced[:, None], 0.5, np.stack((1.0 - second, second), axis=1))

    def user_constraints(self, forecasts: Any) -> list[Any]:
        """The user's cvxpy constraints on the table; ``forecasts`` is the variable over cells."""
        import cvxpy as cp

        table, profiles = forecasts[self.cell], as_seen(self.reports)
        if self.flipped.any():
            sign = np.where(self.flipped, -1.0, 1.0)
            table = cp.multiply(sign, table) + self.flipped.astype(float)
        found: list[Any] = []
        for restriction in self.constraints:
            stated = restriction.function(table, profiles)
            if not isinstance(stated, (list, tuple)) or not all(isinstance(c, cp.Constraint) for c in stated):
                raise InputError(f"{restriction.name} must return a list of cvxpy constraints; it returned {stated!r}.")
            if not all(constraint.is_dcp() for constraint in stated):
                raise UnsupportedError(f"{restriction.name} states a set that is not convex by cvxpy's rules.")
            found.extend(stated)
        return found


def lay_out(reports: Floats, report: ReportFormat, states: int, restrictions: Sequence[Restriction]) -> TableLayout:
    """The layout of the table for a family's report profiles under restrictions."""
    for restriction in restrictions:
        if not isinstance(restriction, Restriction):
            raise InputError(
                f"a restriction must be Lipschitz, Monotone, Symmetric, Mirrored or Constrained; it is {restriction!r}."
            )
    if states > 2:
        if report.name not in ("posterior", "decision") and any(isinstance(r, Monotone) for r in restrictions):
            raise UnsupportedError(
                f"monotone in one of {states} states needs reports that are posteriors or decisions; they are {report.name}."
            )
        restrictions = [r.in_one_of(states) if isinstance(r, Monotone) else r for r in restrictions]
    images, mirrored = _images(reports, report, states, restrictions)
    distinct, coordinate = merge_rounded(images)
    rows, image = unique_rows(coordinate.reshape(len(images), -1))
    image = image.reshape(len(mirrored), len(reports))
    plain = image[~mirrored].min(axis=0)  # an orbit is named after its first member
    turned = image[mirrored].min(axis=0, initial=len(rows))
    closure = distinct[rows].reshape(-1, *reports.shape[1:])
    orbit, flipped = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=bool)
    orbit[image] = np.minimum(plain, turned)
    flipped[image] = mirrored[:, None] ^ (turned < plain)
    names, cell = np.unique(orbit, return_inverse=True)
    balanced = np.zeros(len(names), dtype=bool)
    balanced[cell[image[0]]] = plain == turned
    flipped &= ~balanced[cell]
    pairwise = [r for r in restrictions if isinstance(r, (Lipschitz, Monotone))]
    bonds = [_bonds(closure, restriction, report.ordered(states)) for restriction in pairwise]
    return TableLayout(
        reports=checks.frozen(closure),
        cell=cell,
        flipped=flipped,
        balanced=balanced,
        cells=len(names),
        of_family=image[0],
        differences=_between_cells(bonds, cell, flipped, balanced),
        constraints=tuple(r for r in restrictions if isinstance(r, Constrained)),
    )


def lay_out_multisets(x: Floats, agents: int, restrictions: Sequence[Restriction]) -> TableLayout:
    """The layout of a table that treats the agents alike, with probabilities ``x`` as reports: a profile for each multiset.

    The reports 1 - x are those of the mirror. Constraints of users are stated on all profiles, so they are not for this.
    """
    rows, size = multisets(len(x), agents), len(x)
    plain = np.arange(len(rows))
    turned = plain if not any(isinstance(r, Mirrored) for r in restrictions) else ranks(size - 1 - rows)
    names, cell = np.unique(np.minimum(plain, turned), return_inverse=True)
    flipped = turned < plain
    balanced = np.zeros(len(names), dtype=bool)
    balanced[cell] = (turned == plain) & any(isinstance(r, Mirrored) for r in restrictions)
    reports = x[rows][:, :, None]
    step = additions(size, agents)
    above = step.ranks[step.first[-1] :].reshape(-1, size).astype(np.int64)  # one agent's report rises by a step
    low, high = above[:, :-1].ravel(), above[:, 1:].ravel()
    lower, upper = np.concatenate((low, high)), np.concatenate((high, low))
    bonds = []
    for restriction in restrictions:
        if isinstance(restriction, (Lipschitz, Monotone)):
            slack = restriction.slacks(reports[upper] - reports[lower], 1)
            keep = np.isfinite(slack)
            bonds.append((lower[keep], upper[keep], slack[keep]))
    return TableLayout(
        reports=checks.frozen(reports),
        cell=cell,
        flipped=flipped,
        balanced=balanced,
        cells=len(names),
        of_family=plain,
        differences=_between_cells(bonds, cell, flipped, balanced),
        constraints=(),
    )


def _images(
    reports: Floats, report: ReportFormat, states: int, restrictions: Sequence[Restriction]
) -> tuple[Floats, Booleans]:
    """The profiles under each symmetry, one after the other, the identity first; and which symmetries mirror."""
    symmetric = any(isinstance(restriction, Symmetric) for restriction in restrictions)
    agents = reports.shape[1]
    if symmetric and agents > MOST_SYMMETRIC_AGENTS:
        raise UnsupportedError(
            f"symmetric tables need at most {MOST_SYMMETRIC_AGENTS} agents, because they answer every order of them; "
            f"there are {agents}."
        )
    orders = list(permutations(range(agents))) if symmetric else [tuple(range(agents))]
    mirror = any(isinstance(restriction, Mirrored) for restriction in restrictions)
    if mirror and (states != 2 or report.name != "posterior"):
        raise UnsupportedError(
            f"mirrored needs two states and posterior reports; there are {states} states and {report.name} reports."
        )
    checks.fits_in_memory(f"a symmetric table for {agents} agents", 32.0 * len(orders) * reports.size)
    images = [report.permuted(reports, order) for order in orders]
    mirrored = np.repeat([False, True], [len(orders), len(orders) if mirror else 0])
    return np.concatenate(images + ([1.0 - image for image in images] if mirror else [])), mirrored


Bonds = tuple["Integers", "Integers", "Floats"]


def _bonds(reports: Floats, restriction: Lipschitz | Monotone, ordered: int) -> Bonds:
    """The difference constraints between profiles that imply all others: (lower, upper, slack)."""
    neighbours, count = _grid_neighbours(reports), len(reports)
    if neighbours is None and count > MOST_PROFILES:
        raise UnsupportedError(
            f"Lipschitz and monotone tables need at most {MOST_PROFILES} profiles unless these form a grid; there are {count}."
        )
    lower, upper = neighbours or np.nonzero(~np.eye(count, dtype=bool))
    slack = restriction.slacks(reports[upper] - reports[lower], ordered)
    keep = np.isfinite(slack)
    if neighbours is None:
        from .reduction import irreducible

        matrix = np.full((count, count), np.inf)
        matrix[lower, upper] = slack
        keep = irreducible(matrix)[lower, upper]
    return lower[keep], upper[keep], slack[keep]


def _grid_neighbours(reports: Floats) -> tuple[Integers, Integers] | None:
    """If the profiles are a full grid: neighbours along each axis, both ways; a path of them joins any two."""
    flat = reports.reshape(len(reports), -1)
    sizes = [len(np.unique(column)) for column in flat.T]
    if float(np.prod(np.array(sizes, dtype=float))) != len(flat):
        return None
    grid = np.lexsort(flat.T[::-1]).reshape(sizes)
    low = np.concatenate([np.take(grid, range(n - 1), axis=a).ravel() for a, n in enumerate(sizes)])
    high = np.concatenate([np.take(grid, range(1, n), axis=a).ravel() for a, n in enumerate(sizes)])
    return np.concatenate((low, high)), np.concatenate((high, low))


def _between_cells(bonds: list[Bonds], cell: Integers, flipped: Booleans, balanced: Booleans) -> Differences:
    """The constraints between cells: of several between the same two, the tightest; none that always holds."""
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    lower, upper, slack = map(np.concatenate, zip(none, *bonds, strict=True))
    mixed = (flipped[lower] != flipped[upper]) & ~balanced[cell[lower]] & ~balanced[cell[upper]]
    if mixed.any():
        raise UnsupportedError(
            "mirrored can be combined with Lipschitz or monotone only if the profiles are a full grid of two agents."
        )
    turn = flipped[lower] | flipped[upper]  # (1 - t[upper]) - (1 - t[lower]) <= slack
    lower, upper = np.where(turn, cell[upper], cell[lower]), np.where(turn, cell[lower], cell[upper])
    useful = (lower != upper) & (slack < 1.0 - 1e-12)  # forecasts differ by at most 1
    lower, upper, slack = lower[useful], upper[useful], slack[useful]
    pairs, index = unique_rows(np.stack((lower, upper), axis=1))
    tightest = np.full(len(pairs), np.inf)
    np.minimum.at(tightest, index, slack)
    return Differences(pairs[:, 0], pairs[:, 1], tightest)
